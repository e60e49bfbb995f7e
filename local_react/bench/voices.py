"""Several prompts that write one text together: the next token is chosen from a weighted sum of their logits.

One voice of weight 1 is ordinary generation. Two voices, one of which doesn't see the question, with weights 1 + g and -g,
are classifier-free guidance (Sanchez et al. 2023, "Stay on topic with Classifier-Free Guidance"). Several voices that show
the same exemplars in other orders average out what an order does. Since the sum is taken before the constraint is, a
constrained text stays in its language. The prefix of each voice is computed once and copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from local_react.decode.completion import Completion
from local_react.decode.generate import ContextLike, Generation, VocabularyLike
from local_react.decode.transcript import Transcript
from local_react.errors import ContextOverflow
from local_react.llama.context import Chunk


@dataclass(frozen=True, slots=True)
class Voice:
    """The ids of one prompt: those that other texts share, then its own, at least one; and the weight of its logits."""

    prefix: tuple[int, ...]
    own: tuple[int, ...]
    weight: float = 1.0


class Choir:
    """Writes texts on one context, with up to half as many voices as it has sequences: each has one for its prefix."""

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

    def open(self, voices: Sequence[Voice]) -> list[Transcript]:
        """A transcript for each voice, with its prefix in the context. Raises ContextOverflow where one doesn't fit."""
        return [self._open(number, voice) for number, voice in enumerate(voices)]

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
            while transcript.n_pending > 1:
                self._decode(transcript, transcript.pending(min(self._context.n_batch, transcript.n_pending - 1)))
        chunks = [Chunk(each.sequence, each.pending(1), each.n_held, True) for each in transcripts]
        rows = self._context.decode(chunks)
        for transcript in transcripts:
            transcript.n_held += 1
            transcript.n_evaluated += 1
        if len(rows) > 1 or weights[0] != 1:
            total = sum(weight * self._context.logits(row) for weight, row in zip(weights, rows))
            self._context.logits(rows[0])[:] = np.asarray(total, dtype=np.float32)
        return rows[0]

    def _decode(self, transcript: Transcript, ids: Sequence[int]) -> None:
        self._context.decode([Chunk(transcript.sequence, ids, transcript.n_held, False)])
        transcript.n_held += len(ids)
        transcript.n_evaluated += len(ids)
