"""Several prompts that write one text together: the next token is chosen from a weighted sum of their logits.

One voice of weight 1 is ordinary generation. Two voices, one of which doesn't see the question, with weights 1 + g and -g,
are classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"). Several voices that show
the same exemplars in other orders average out what an order does. Since the sum is taken before the constraint is, a
constrained text stays in its language. The prefix of each voice is computed once and copied; so is a whole prompt, where
several texts are written or scored behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from local_react.decode.completion import Completion
from local_react.decode.generate import ContextLike, Generation, SamplerLike, VocabularyLike
from local_react.decode.transcript import Transcript
from local_react.errors import ContextOverflow, SettingsError
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling, logprobs


@dataclass(frozen=True, slots=True)
class Voice:
    """The ids of one prompt: those that other texts share, then its own, at least one; and the weight of its logits."""

    prefix: tuple[int, ...]
    own: tuple[int, ...]
    weight: float = 1.0


class Choir:
    """Writes texts on one context, with up to half as many voices as it has sequences: each has one for its prefix.

    Forks are taken from the other end: each voice needs a third sequence for them.
    """

    def __init__(self, context: ContextLike, vocabulary: VocabularyLike) -> None:
        self._context = context
        self._vocabulary = vocabulary
        self._prefixes: dict[int, tuple[int, ...]] = {}
        for sequence in range(context.n_parallel + 1):
            context.clear(sequence)
        context.prefix = ()

    @property
    def n_voices(self) -> int:
        """How many voices there is room for."""
        return self._context.n_parallel // 2

    def sampler(self, settings: Sampling) -> SamplerLike:
        """A new sampler on the context."""
        return self._context.sampler(settings)

    def open(self, voices: Sequence[Voice], *, first: int = 0) -> list[Transcript]:
        """A transcript for each voice, with its prefix in the context. Raises ContextOverflow where one doesn't fit.

        The voices are numbered from `first`: those of other numbers keep their prefixes.
        """
        return [self._open(number, voice) for number, voice in enumerate(voices, first)]

    def fork(self, transcripts: Sequence[Transcript]) -> list[Transcript]:
        """Copies that can be gone on with while the originals stay; earlier forks are lost.

        The last token of a transcript is left for its copies to evaluate, since they need its logits. Raises SettingsError
        where the context has no sequences left.
        """
        forks = []
        for number, transcript in enumerate(transcripts):
            sequence = self._context.n_parallel - number
            if sequence <= max(each.sequence for each in transcripts):
                raise SettingsError("There are no sequences for forks. Make the context with a third one for each voice.")
            self._settle(transcript)
            self._context.clear(sequence)
            self._context.copy(transcript.sequence, sequence, transcript.n_held)
            fork = Transcript(sequence)
            fork.append(transcript.ids)
            fork.n_held = transcript.n_held
            forks.append(fork)
        return forks

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

    def _open(self, number: int, voice: Voice) -> Transcript:
        n_ids, window = len(voice.prefix) + len(voice.own), self._context.window
        if n_ids >= window:
            raise ContextOverflow("The prompt", needed=n_ids + 1, available=window, window=window)
        home, transcript = 2 * number + 1, Transcript(2 * number + 2)
        self._context.clear(transcript.sequence)
        transcript.append((*voice.prefix, *voice.own))
        if not voice.prefix:
            return transcript
        if self._prefixes.get(home) != voice.prefix:
            self._context.clear(home)
            for start in range(0, len(voice.prefix), self._context.n_batch):
                chunk = voice.prefix[start : start + self._context.n_batch]
                self._context.decode([Chunk(home, chunk, start, False)])
            self._prefixes[home] = voice.prefix
        self._context.copy(home, transcript.sequence, len(voice.prefix))
        transcript.n_held = len(voice.prefix)
        return transcript

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
            self._decode(transcript, transcript.pending(min(self._context.n_batch, transcript.n_pending - 1)))

    def _decode(self, transcript: Transcript, ids: Sequence[int]) -> None:
        self._context.decode([Chunk(transcript.sequence, ids, transcript.n_held, False)])
        transcript.n_held += len(ids)
        transcript.n_evaluated += len(ids)
