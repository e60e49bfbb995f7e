"""Beam search in a language: of the texts that a constraint admits, one that is likely as a whole.

Masked greedy decoding takes the likeliest token that is allowed, and pays later for what must follow it: held to spans of
"with Johnny Depp in the cast", a model that would rather go on than close the quotation mark writes all of them, though
the closed text is likelier in all. A beam of the likeliest beginnings finds that one.

What counts is the log-probability of the tokens that were chosen, under the model and before any mask. Text that the
language forces is appended and not counted, so texts should only be compared where the same is forced: in a language whose
calls all have one shape. Beginnings of the same text count once, however they are cut into tokens. The search ends where a
whole text is likelier than each beginning that is left, since probabilities only fall.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from local_react.decode.completion import Completion, TokenLogprob
from local_react.decode.constrained import spell
from local_react.decode.constraint import Matcher
from local_react.decode.generate import ContextLike
from local_react.decode.transcript import Transcript
from local_react.language.derivative import Recogniser
from local_react.llama.context import Chunk
from local_react.llama.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Beam:
    """A beginning of a text: its token ids, its bytes, the place behind them, and the tokens that were chosen.

    `parent` is the number of the beam that it goes on from, which had `n_before` ids.
    """

    ids: tuple[int, ...]
    text: bytes
    place: Recogniser
    chosen: tuple[TokenLogprob, ...] = ()
    parent: int = 0
    n_before: int = 0

    @property
    def logprob(self) -> float:
        """The natural log-probability of the chosen tokens together."""
        return sum(each.logprob for each in self.chosen)


class BeamSearch:
    """Searches on one context. `sequences` are two for each beam: those of one step, and those of the next."""

    def __init__(self, context: ContextLike, vocabulary: Vocabulary, sequences: Sequence[int]) -> None:
        self._context = context
        self._vocabulary = vocabulary
        self._n_beams = len(sequences) // 2
        self._sequences = (sequences[: self._n_beams], sequences[self._n_beams :])
        self._n_evaluated = self._n_decode_calls = 0

    def find(
        self, transcript: Transcript, start: Recogniser, match: Callable[[], Matcher], max_tokens: int
    ) -> Completion | None:
        """The likeliest text found behind a transcript, all of whose ids but the last are in the context.

        `match` gives a new matcher at `start`. A text ends where its language has nothing more to say. None where none of at
        most `max_tokens` tokens was found.
        """
        n_most = min(max_tokens, self._context.window - len(transcript))
        ids = tuple(spell(start, b"", start.forced(), self._vocabulary))
        text = self._vocabulary.join(ids)
        beams, places = [Beam(ids, text, start.feed(text))], [transcript.sequence]
        self._n_evaluated = self._n_decode_calls = 0
        rows = self._decode([Chunk(transcript.sequence, (*transcript.pending(1), *ids), transcript.n_held, True)])
        transcript.n_held += 1
        best = beams[0] if beams[0].place.is_complete else None
        for step in range(n_most):
            grown = [each for number, row in enumerate(rows) for each in self._grow(beams[number], number, row, match())]
            fitting = [each for each in grown if len(each.ids) <= n_most]
            whole = [each for each in fitting if each.place.is_complete]
            best = max(whole if best is None else [best, *whole], key=_logprob, default=None)
            beams = self._keep([each for each in fitting if not each.place.is_complete])
            if not beams or (best is not None and best.logprob >= beams[0].logprob):
                break
            places, rows = self._go_on(beams, places, self._sequences[step % 2], len(transcript))
        for sequence in (*self._sequences[0], *self._sequences[1]):
            self._context.clear(sequence)
        return None if best is None else Completion(
            text=best.text.decode("utf-8", "replace"), reason="constraint", label="",
            pieces=tuple(map(self._vocabulary.piece, best.ids)),
            n_sampled=len(best.chosen), n_forced=max(len(best.ids) - len(best.chosen), 0),
            n_evaluated=self._n_evaluated, n_decode_calls=self._n_decode_calls, logprobs=best.chosen,
        )

    def _grow(self, beam: Beam, number: int, row: int, matcher: Matcher) -> Iterator[Beam]:
        """The likeliest ways to go on from a beam by one token, and the text that it forces."""
        logits = self._context.logits(row).copy()
        highest = logits.max()
        total = float(highest + np.log(np.exp(logits - highest).sum()))
        matcher.advance(beam.ids)
        matcher.mask(logits)
        n_most = min(2 * self._n_beams, logits.size)
        for token in map(int, np.argpartition(logits, -n_most)[-n_most:]):
            if np.isneginf(logits[token]) or self._vocabulary.is_end(token):
                continue
            piece = self._vocabulary.piece(token)
            place = beam.place.feed(piece)
            if not place.is_dead:
                ids = spell(beam.place, piece, place.forced(), self._vocabulary) or [token]
                text = self._vocabulary.join(ids)
                chosen = TokenLogprob(token, float(logits[token]) - total, ())
                yield Beam(
                    (*beam.ids, *ids), beam.text + text, beam.place.feed(text), (*beam.chosen, chosen), number, len(beam.ids)
                )

    def _keep(self, grown: Sequence[Beam]) -> list[Beam]:
        """The likeliest beams, of those with the same text one."""
        kept: dict[bytes, Beam] = {}
        for beam in sorted(grown, key=_logprob, reverse=True):
            kept.setdefault(beam.text, beam)
        return list(kept.values())[: self._n_beams]

    def _go_on(
        self, beams: Sequence[Beam], parents: Sequence[int], sequences: Sequence[int], n_before: int
    ) -> tuple[Sequence[int], list[int]]:
        """The beams in the context, behind `n_before` ids of the transcript: their sequences and rows of logits."""
        for sequence in sequences:
            self._context.clear(sequence)
        chunks = []
        for beam, sequence in zip(beams, sequences):
            n_held = n_before + beam.n_before
            self._context.copy(parents[beam.parent], sequence, n_held)
            chunks.append(Chunk(sequence, beam.ids[beam.n_before :], n_held, True))
        return sequences, self._decode(chunks)

    def _decode(self, chunks: Sequence[Chunk]) -> list[int]:
        """The rows of logits behind the chunks, in one batch if they fit into it."""
        n_batch = self._context.n_batch
        self._n_evaluated += sum(len(chunk.ids) for chunk in chunks)
        if sum(len(chunk.ids) for chunk in chunks) > n_batch:
            for chunk in chunks:
                for start in range(0, len(chunk.ids) - 1, n_batch):
                    ids = chunk.ids[start : min(start + n_batch, len(chunk.ids) - 1)]
                    self._context.decode([replace(chunk, ids=ids, position=chunk.position + start, wants_logits=False)])
                    self._n_decode_calls += 1
            chunks = [replace(each, ids=each.ids[-1:], position=each.position + len(each.ids) - 1) for each in chunks]
        self._n_decode_calls += 1
        return self._context.decode(chunks)


def _logprob(beam: Beam) -> float:
    return beam.logprob
