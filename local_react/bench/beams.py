"""Beam search in a language: the texts of a constraint that are likely, beside the one that greedy decoding finds.

Masked greedy decoding takes the likeliest token that is allowed, and pays later for what must follow it: held to spans of
"a film with Johnny Depp in the cast", a model that would rather go on than close the quotation mark writes the whole end of
the sentence, though the text that ends behind the name is likelier. Beams find that one as well.

They are led by the log-probability of the tokens that are chosen, under the model and before any mask. Text that the language
forces is appended without a look at it, so whoever chooses among the texts should compare the whole of them. Beginnings of
the same text count once, however they are cut into tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

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
    """One search on a context. `sequences` are two for each beam: those of one step, and those of the next."""

    def __init__(self, context: ContextLike, vocabulary: Vocabulary, sequences: Sequence[int]) -> None:
        self._context = context
        self._vocabulary = vocabulary
        self._n_beams = len(sequences) // 2
        self._sequences = (sequences[: self._n_beams], sequences[self._n_beams :])
        self._n_evaluated = self._n_decode_calls = self._n_masks = 0

    def find(
        self, transcript: Transcript, start: Recogniser, match: Callable[[], Matcher], max_tokens: int
    ) -> list[Completion]:
        """As many likely texts as there are beams at most, the likeliest first; none where all are longer than `max_tokens`.

        They come behind a transcript, all of whose ids but the last are in the context; it can't be written on afterwards.
        `match` gives a new matcher at `start`. A text ends where its language has nothing more to say. Ends where so many
        whole texts are likelier than each beginning that is left, since probabilities only fall. The counts of each
        completion are those of the whole search, but for its own tokens. Raises ConstraintError and DecodeError.
        """
        try:
            found = self._find(transcript, start, match, min(max_tokens, self._context.window - len(transcript)))
        finally:
            for sequence in (*self._sequences[0], *self._sequences[1]):
                self._context.clear(sequence)
        return [
            Completion(
                text=beam.text.decode(), reason="constraint", label="", pieces=tuple(map(self._vocabulary.piece, beam.ids)),
                n_sampled=len(beam.chosen), n_forced=len(beam.ids) - len(beam.chosen), n_evaluated=self._n_evaluated,
                n_decode_calls=self._n_decode_calls, n_masks=self._n_masks, logprobs=beam.chosen,
            )
            for beam in found
        ]

    def _find(
        self, transcript: Transcript, start: Recogniser, match: Callable[[], Matcher], max_ids: int
    ) -> list[Beam]:
        ids = tuple(spell(start, b"", start.forced(), self._vocabulary))
        text = self._vocabulary.join(ids)
        first = Beam(ids, text, start.feed(text))
        if first.place.is_complete or len(ids) > max_ids:
            return [first] if len(ids) <= max_ids else []
        beams, sequences, whole = [first], [transcript.sequence], []
        rows = self._decode([Chunk(transcript.sequence, (*transcript.pending(1), *ids), transcript.n_held, True)])
        n_steps = 0
        while beams:
            grown = [each for number, row in enumerate(rows) for each in self._grow(beams[number], number, row, match())]
            fitting = [each for each in grown if len(each.ids) <= max_ids]
            whole = self._keep([*whole, *(each for each in fitting if each.place.is_complete)])
            beams = self._keep([each for each in fitting if not each.place.is_complete])
            if beams and len(whole) == self._n_beams and whole[-1].logprob >= beams[0].logprob:
                break
            if beams:
                sequences, rows = self._go_on(beams, sequences, self._sequences[n_steps % 2], len(transcript))
            n_steps += 1
        return whole

    def _grow(self, beam: Beam, number: int, row: int, matcher: Matcher) -> Iterator[Beam]:
        """The likeliest ways to go on from a beam by one token, and the text that it forces."""
        logits = self._context.logits(row).copy()
        highest = logits.max()
        total = float(highest + np.log(np.exp(logits - highest).sum()))
        matcher.advance(beam.ids)
        matcher.mask(logits)
        logits[self._vocabulary.end_list] = -np.inf
        self._n_masks += 1
        # Twice as many as are kept: some spell the same text.
        n_best = min(2 * self._n_beams, logits.size)
        for token in map(int, np.argpartition(logits, -n_best)[-n_best:]):
            if np.isneginf(logits[token]):
                continue
            piece = self._vocabulary.piece(token)
            place = beam.place.feed(piece)
            if place.is_dead:
                continue
            ids = spell(beam.place, piece, place.forced(), self._vocabulary) or [token]
            text = self._vocabulary.join(ids)
            chosen = TokenLogprob(token, float(logits[token]) - total, ())
            yield Beam(
                (*beam.ids, *ids), beam.text + text, beam.place.feed(text), (*beam.chosen, chosen), number, len(beam.ids)
            )

    def _keep(self, grown: Sequence[Beam]) -> list[Beam]:
        """The likeliest beams, of those with the same text one."""
        kept: dict[bytes, Beam] = {}
        for beam in sorted(grown, key=attrgetter("logprob"), reverse=True):
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
