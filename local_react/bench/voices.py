"""Several prompts that write one text together: the next token is chosen from a weighted sum of their logits.

One voice of weight 1 is ordinary generation. Two voices, one of which doesn't see the question, with weights 1 + g and -g,
are classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"). Several voices that show
the same exemplars in other orders average out what an order does. Since the sum is taken before the constraint is, a
constrained text stays in its language. The prefix of each voice is computed once and copied; so is a whole prompt, behind
which any number of texts are written or scored.
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


N_SEQUENCES = 3
"""Sequences of a context for each voice: its prefix, its whole prompt, and the copy of that which is written on."""


class Choir:
    """Writes texts on one context, with up to a third as many voices as it has sequences."""

    def __init__(self, context: ContextLike, vocabulary: VocabularyLike) -> None:
        self._context = context
        self._vocabulary = vocabulary
        self._held: dict[int, tuple[int, ...]] = {}
        for sequence in range(context.n_parallel + 1):
            self._clear(sequence)
        context.prefix = ()

    @property
    def n_voices(self) -> int:
        """How many voices there is room for."""
        return self._context.n_parallel // N_SEQUENCES

    def sampler(self, settings: Sampling) -> SamplerLike:
        """A new sampler on the context."""
        return self._context.sampler(settings)

    def open(self, voices: Sequence[Voice], *, first: int = 0) -> list[Transcript]:
        """A new transcript for each voice, with its prompt in the context but for the last token. An earlier one is lost.

        What the prompt of the same number had in the context stays there as far as it is the same, or else the prefix. The
        voices are numbered from `first`. Raises ContextOverflow where a prompt doesn't fit, SettingsError for too many voices.
        """
        if first + len(voices) > self.n_voices:
            raise SettingsError(
                f"There is room for {self.n_voices} voices, and {first + len(voices)} are asked for. Make the context with "
                f"{N_SEQUENCES} sequences for each."
            )
        return [self._open(N_SEQUENCES * number, voice) for number, voice in enumerate(voices, first)]

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

    def _open(self, n_before: int, voice: Voice) -> Transcript:
        ids, window = (*voice.prefix, *voice.own), self._context.window
        if len(ids) >= window:
            raise ContextOverflow("The prompt", needed=len(ids) + 1, available=window, window=window)
        prefix, prompt, written = (n_before + n for n in range(1, N_SEQUENCES + 1))
        transcript = Transcript(written)
        transcript.append(ids)
        told = ids[:-1]  # the last token is left to whoever goes on: its logits are wanted
        # All that goes is cleared before anything is evaluated: sums depend on the cells of the cache that tokens come to lie
        # in, and so they are the same ones whatever was asked before.
        self._clear(written)
        if not self._begins(prompt, told):
            self._clear(prompt)
            if self._held.get(prefix) != voice.prefix:
                self._clear(prefix)
                self._extend(prefix, voice.prefix)
            self._copy(prefix, prompt)
        transcript.n_evaluated = self._extend(prompt, told)
        self._copy(prompt, written)
        transcript.n_held = len(told)
        return transcript

    def _begins(self, sequence: int, ids: tuple[int, ...]) -> bool:
        """Whether the sequence holds a beginning of `ids`, and holds something at all."""
        held = self._held.get(sequence, ())
        return bool(held) and ids[: len(held)] == held

    def _clear(self, sequence: int) -> None:
        self._context.clear(sequence)
        self._held[sequence] = ()

    def _extend(self, sequence: int, ids: tuple[int, ...]) -> int:
        """Evaluate what the sequence lacks of `ids`; returns how many tokens that were."""
        n_held = len(self._held[sequence])
        for start in range(n_held, len(ids), self._context.n_batch):
            chunk = ids[start : start + self._context.n_batch]
            self._context.decode([Chunk(sequence, chunk, start, False)])
            self._held[sequence] = ids[: start + len(chunk)]
        return len(ids) - n_held

    def _copy(self, source: int, target: int) -> None:
        """Let `target`, which is empty, hold what `source` does."""
        if self._held[source]:
            self._context.copy(source, target, len(self._held[source]))
            self._held[target] = self._held[source]

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
