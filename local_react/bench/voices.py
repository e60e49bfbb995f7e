"""Several prompts that write one text together: the next token is chosen from a weighted sum of their logits.

One voice of weight 1 is ordinary generation. Two voices, one of which doesn't see the question, with weights 1 + g and -g,
are classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"). Several voices that show
the same exemplars in other orders average out what an order does. Since the sum is taken before the constraint is, a
constrained text stays in its language. The prefix of each voice is computed once and copied; so is a whole prompt, behind
which any number of texts are written or scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from local_react.bench.beams import BeamSearch
from local_react.decode.completion import Completion
from local_react.decode.constraint import Matcher
from local_react.decode.generate import ContextLike, Generation, SamplerLike
from local_react.decode.transcript import Transcript
from local_react.errors import ContextOverflow, SettingsError
from local_react.language.derivative import Recogniser
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling, logprobs
from local_react.llama.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Voice:
    """The ids of one prompt: those that other texts share, then its own, at least one; and the weight of its logits."""

    prefix: tuple[int, ...]
    own: tuple[int, ...]
    weight: float = 1.0


N_SEQUENCES = 3
"""Sequences of a context for each voice: its prefix, its whole prompt, and the copy of that which is written on."""


class Choir:
    """Writes texts on one context, with a voice for every three sequences that aren't kept for searches.

    What the last voices had in the context is kept if the new ones can use all of it, and is dropped otherwise: sums depend on
    the cells of the cache in which tokens lie, so only this way a text doesn't depend on what was asked before. The last
    `n_beam_sequences` of the context's sequences are kept for searches, two for each beam.
    """

    def __init__(self, context: ContextLike, vocabulary: Vocabulary, n_beam_sequences: int = 0) -> None:
        self._context = context
        self._n_beam_sequences = n_beam_sequences
        self._vocabulary = vocabulary
        self._prefixes: list[tuple[int, ...]] = []
        self._prompts: list[tuple[int, ...]] = []
        self._clear(range(context.n_parallel + 1))
        context.prefix = ()

    @property
    def n_voices(self) -> int:
        """How many voices there is room for."""
        return (self._context.n_parallel - self._n_beam_sequences) // N_SEQUENCES

    def sampler(self, settings: Sampling) -> SamplerLike:
        """A new sampler on the context."""
        return self._context.sampler(settings)

    def open(self, voices: Sequence[Voice]) -> list[Transcript]:
        """A new transcript for each voice, with its prompt in the context but for the last token. Earlier ones are lost.

        The same prompts as before are there already, longer ones go on from them, and of others with the same prefixes those
        are. Raises ContextOverflow where a prompt doesn't fit, SettingsError for too many voices.
        """
        if len(voices) > self.n_voices:
            raise SettingsError(
                f"There is room for {self.n_voices} voices, and {len(voices)} are asked for. Make the context with "
                f"{N_SEQUENCES} sequences for each."
            )
        transcripts = [self._begin(number, voice) for number, voice in enumerate(voices)]
        # The last token is left to whoever goes on: its logits are wanted.
        prompts = [transcript.ids[:-1] for transcript in transcripts]
        self._clear(map(_written, range(self.n_voices)))
        if not _go_on(self._prompts, prompts):
            self._prompts = []
            self._clear(map(_prompt, range(self.n_voices)))
            self._hold_prefixes([voice.prefix for voice in voices])
            for number, prefix in enumerate(self._prefixes):
                self._copy(_prefix(number), _prompt(number), prefix)
            self._prompts = list(self._prefixes)
        for number, (transcript, prompt) in enumerate(zip(transcripts, prompts)):
            self._extend(_prompt(number), len(self._prompts[number]), prompt)
            transcript.n_evaluated = len(prompt) - len(self._prompts[number])
            self._prompts[number] = prompt
        for number, (transcript, prompt) in enumerate(zip(transcripts, prompts)):
            self._copy(_prompt(number), _written(number), prompt)
            transcript.n_held = len(prompt)
        return transcripts

    def score(self, transcripts: Sequence[Transcript], weights: Sequence[float], ids: Sequence[int]) -> float:
        """The log-probability (natural) of `ids` behind the transcripts, summed with the voices' weights.

        It is that of the whole text under the model at temperature 1, before any constraint. The ids are appended.
        """
        return sum(weight * self._score(transcript, ids) for transcript, weight in zip(transcripts, weights))

    def _score(self, transcript: Transcript, ids: Sequence[int]) -> float:
        self._settle(transcript)
        transcript.append(ids)
        total, left = 0.0, list(ids)
        while left:
            # A context gives as many rows of logits in one call as it has sequences.
            given = transcript.pending(min(len(left), self._context.n_parallel))
            chunks = [Chunk(transcript.sequence, [id], transcript.n_held + n, True) for n, id in enumerate(given)]
            for row, id in zip(self._context.decode(chunks), left):
                total += logprobs(self._context.logits(row), id, 0)[0]
            transcript.n_held += len(given)
            transcript.n_evaluated += len(given)
            del left[: len(given)]
        return total

    def search(
        self, transcript: Transcript, start: Recogniser, match: Callable[[], Matcher], *, n_beams: int, max_tokens: int
    ) -> list[Completion]:
        """The texts that a beam search finds behind a transcript, as `BeamSearch.find` does; it can't be written on then.

        Raises SettingsError for more beams than sequences are kept for.
        """
        if 2 * n_beams > self._n_beam_sequences:
            raise SettingsError(
                f"There is room for {self._n_beam_sequences // 2} beams, and {n_beams} are asked for. Make the choir with two "
                "sequences for each."
            )
        self._settle(transcript)
        end = self._context.n_parallel + 1
        search = BeamSearch(self._context, self._vocabulary, range(end - 2 * n_beams, end))
        return search.find(transcript, start, match, max_tokens)

    def _begin(self, number: int, voice: Voice) -> Transcript:
        transcript, window = Transcript(_written(number)), self._context.window
        transcript.append((*voice.prefix, *voice.own))
        if len(transcript) >= window:
            raise ContextOverflow("The prompt", needed=len(transcript) + 1, available=window, window=window)
        return transcript

    def _hold_prefixes(self, prefixes: list[tuple[int, ...]]) -> None:
        if prefixes == self._prefixes:
            return
        self._prefixes = []
        self._clear(map(_prefix, range(self.n_voices)))
        for number, prefix in enumerate(prefixes):
            self._extend(_prefix(number), 0, prefix)
        self._prefixes = prefixes

    def _clear(self, sequences: Iterable[int]) -> None:
        for sequence in sequences:
            self._context.clear(sequence)

    def _extend(self, sequence: int, n_held: int, ids: tuple[int, ...]) -> None:
        """Evaluate `ids` from the `n_held`-th on."""
        for start in range(n_held, len(ids), self._context.n_batch):
            self._context.decode([Chunk(sequence, ids[start : start + self._context.n_batch], start, False)])

    def _copy(self, source: int, target: int, ids: tuple[int, ...]) -> None:
        """Let `target`, which is empty, hold the `ids` that `source` does."""
        if ids:
            self._context.copy(source, target, len(ids))

    def write(self, generation: Generation, transcripts: Sequence[Transcript], weights: Sequence[float]) -> Completion:
        """Run a generation on the first transcript to its end; the others follow it, token by token."""
        n_before = len(generation.transcript)
        generation.begin(self._vocabulary, self._context.window)
        while True:
            for transcript in transcripts:
                if transcript is not generation.transcript:
                    transcript.append(generation.transcript.ids[n_before:])
            if generation.completion is not None:
                return generation.completion
            n_before = len(generation.transcript)
            generation.advance(self._evaluate(transcripts, weights), self._context, self._vocabulary)
            generation.n_decode_calls += 1

    def _evaluate(self, transcripts: Sequence[Transcript], weights: Sequence[float]) -> int:
        """Evaluate all that is pending; returns a row that holds the weighted sum of logits."""
        for transcript in transcripts:
            self._settle(transcript)
        chunks = [Chunk(each.sequence, each.pending(1), each.n_held, True) for each in transcripts]
        rows = self._context.decode(chunks)
        for transcript in transcripts:
            transcript.n_held += 1
            transcript.n_evaluated += 1
        if len(rows) > 1 or weights[0] != 1:
            total = sum(weight * self._context.logits(row) for weight, row in zip(weights, rows))
            self._context.logits(rows[0])[:] = np.asarray(total, dtype=np.float32)
        return rows[0]

    def _settle(self, transcript: Transcript) -> None:
        """Evaluate all that is pending but the last token."""
        while transcript.n_pending > 1:
            ids = transcript.pending(min(self._context.n_batch, transcript.n_pending - 1))
            self._context.decode([Chunk(transcript.sequence, ids, transcript.n_held, False)])
            transcript.n_held += len(ids)
            transcript.n_evaluated += len(ids)


def _go_on(held: Sequence[tuple[int, ...]], wanted: Sequence[tuple[int, ...]]) -> bool:
    """Whether each text that is wanted begins with the one that is held for it."""
    return len(held) == len(wanted) and all(new[: len(old)] == old for old, new in zip(held, wanted))


def _prefix(number: int) -> int:
    """The sequence for the prefix of a voice."""
    return N_SEQUENCES * number + 1


def _prompt(number: int) -> int:
    """The sequence for the whole prompt of a voice."""
    return N_SEQUENCES * number + 2


def _written(number: int) -> int:
    """The sequence on which a voice is written."""
    return N_SEQUENCES * number + 3
