"""The one place that decodes: transcripts, stops and samplers in, completions out, as many at once as are active.

A `Decoder` advances all its active generations by one batch at a time; a single episode is a batch of one. Every id is
evaluated at most once: a sampled id enters the transcript when it is kept and the cache with the next batch, and the
last ids of a run are never evaluated at all. It knows sequences and bytes, and nothing of what they mean.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from typing import Protocol as Interface, Union

import numpy as np

from local_react.decode.completion import Completion, Reason, TokenChoice, TokenLogprob
from local_react.decode.message import MessageScanner
from local_react.decode.stop import StopScanner
from local_react.decode.tag import TagScanner
from local_react.decode.transcript import Transcript
from local_react.errors import ContextOverflow
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling, logprobs

Scanner = Union[StopScanner, TagScanner, MessageScanner]
"""What says where a text ends: at a label, a tag, or as a message in a native format does."""


class SamplerLike(Interface):
    """What chooses the tokens of one sequence."""

    def begin(self) -> None: ...
    def sample(self, row: int) -> int: ...


class VocabularyLike(Interface):
    """Tokens ⇄ bytes."""

    bos: int | None
    wants_bos: bool

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]: ...
    def piece(self, token: int) -> bytes: ...
    def is_end(self, token: int) -> bool: ...
    def is_control(self, token: int) -> bool: ...


class ContextLike(Interface):
    """What computes: llama.cpp, or a script."""

    n_parallel: int
    n_batch: int
    window: int
    prefix: tuple[int, ...]

    def decode(self, chunks: Sequence[Chunk]) -> list[int]: ...
    def logits(self, row: int) -> np.ndarray: ...
    def sampler(self, settings: Sampling) -> SamplerLike: ...
    def copy(self, source: int, target: int, n_tokens: int) -> None: ...
    def clear(self, sequence: int) -> None: ...


class Generation:
    """One completion on its way; `completion` is set when it is there.

    It samples at most `max_tokens` tokens. `on_text` is given the text as it is released, in whole characters. With
    `n_top_logprobs`, the log-probability of each token is kept, beside those of that many likeliest ones.
    """

    def __init__(
        self, transcript: Transcript, sampler: SamplerLike, scanner: Scanner, *, max_tokens: int,
        n_top_logprobs: int | None = None, on_text: Callable[[str], None] | None = None,
    ) -> None:
        self.transcript = transcript
        self.sampler = sampler
        self.scanner = scanner
        self.max_tokens = max_tokens
        self.n_top_logprobs = n_top_logprobs
        self.completion: Completion | None = None
        self.n_sampled = 0
        self.n_forced = 0
        self.n_decode_calls = 0
        self._n_evaluated_before = transcript.n_evaluated
        self._on_text = on_text
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        self._text: list[str] = []
        self._pieces: list[bytes] = []
        self._logprobs: list[TokenLogprob] = []
        self._choices: list[TokenChoice] = []
        self._n_masks = 0

    def begin(self, vocabulary: VocabularyLike, window: int) -> None:
        """The generation becomes active. Raises ContextOverflow where the window has no room for a token."""
        self.sampler.begin()
        if len(self.transcript) >= window:
            raise ContextOverflow("The next step", needed=len(self.transcript) + 1, available=window, window=window)

    def advance(self, row: int, context: ContextLike, vocabulary: VocabularyLike) -> None:
        """Draw a token from a row of the last batch, and keep it or end here."""
        token = self.sampler.sample(row)
        self._note_draw(token, None if self.n_top_logprobs is None else context.logits(row))
        self._take(token, vocabulary, context.window)

    def _note_draw(self, token: int, logits: np.ndarray | None) -> None:
        """Count a draw; `logits`, the model's own row, is there where log-probabilities are wanted."""
        self.n_sampled += 1
        if logits is not None:
            self._logprobs.append(TokenLogprob(token, *logprobs(logits, token, self.n_top_logprobs or 0)))

    def _take(self, token: int, vocabulary: VocabularyLike, window: int) -> None:
        if vocabulary.is_end(token):
            self._finish("end")
            return
        piece = vocabulary.piece(token)
        self._release(self.scanner.feed(piece))
        if self.scanner.fired is not None:
            if self.scanner.fired.n_excess:
                # The token goes on behind the stop. It isn't evaluated yet, so its front half takes its place.
                piece = piece[: -self.scanner.fired.n_excess]
                ids = vocabulary.tokenize(piece)
                self.n_forced += len(ids)
                self.transcript.append(ids)
            else:
                self.transcript.append((token,))
            self._pieces.append(piece)
            self._finish("stop")
            return
        self.transcript.append((token,))
        self._pieces.append(piece)
        if self.n_sampled >= self.max_tokens:
            self._finish("length")
        elif len(self.transcript) >= window:
            self._finish("window")

    def _release(self, data: bytes) -> None:
        text = self._characters.decode(data)
        if text:
            self._text.append(text)
            if self._on_text is not None:
                self._on_text(text)

    def _finish(self, reason: Reason) -> None:
        label = self.scanner.held.decode("utf-8", "replace")
        if reason != "stop":
            self._release(self.scanner.flush())
        n_cut_bytes = len(self._characters.getstate()[0])
        self.completion = Completion(
            text="".join(self._text), reason=reason, label=label, pieces=tuple(self._pieces),
            n_sampled=self.n_sampled, n_forced=self.n_forced,
            n_evaluated=self.transcript.n_evaluated - self._n_evaluated_before, n_decode_calls=self.n_decode_calls,
            n_cut_bytes=n_cut_bytes, logprobs=tuple(self._logprobs), n_masks=self._n_masks, choices=tuple(self._choices),
        )


class Decoder:
    """Runs generations on one context, all active ones in the same batches.

    `written` is the vocabulary by which the model's own tokens are read, where it isn't that of the program's texts.
    """

    def __init__(
        self, context: ContextLike, vocabulary: VocabularyLike, written: VocabularyLike | None = None
    ) -> None:
        self.vocabulary = vocabulary
        self.written = vocabulary if written is None else written
        self.window = context.window
        self._context = context
        self._free = list(range(context.n_parallel, 0, -1))
        self._active: list[Generation] = []

    @property
    def has_active(self) -> bool:
        """Whether a generation is on its way."""
        return bool(self._active)

    @property
    def has_room(self) -> bool:
        """Whether another transcript can be opened."""
        return bool(self._free)

    def open(self, prompt: Sequence[int], n_shared: int = 0) -> Transcript:
        """A new transcript that begins with `prompt`, a list of token ids.

        The first `n_shared` of them are expected in other prompts too: they are computed once, kept, and copied.
        Raises ContextOverflow where the prompt leaves no room for a single token.
        """
        if len(prompt) >= self.window:
            raise ContextOverflow("The prompt", needed=len(prompt) + 1, available=self.window, window=self.window)
        transcript = Transcript(self._free.pop())
        self._context.clear(transcript.sequence)
        # The last token of a prompt is evaluated for its logits, so it can't come from the prefix.
        prefix = tuple(prompt[: min(n_shared, len(prompt) - 1)])
        transcript.append(prompt)
        if prefix:
            transcript.n_evaluated += self._hold(prefix)
            self._context.copy(0, transcript.sequence, len(prefix))
            transcript.n_held = len(prefix)
        return transcript

    def _hold(self, prefix: tuple[int, ...]) -> int:
        """Have the prefix in sequence 0; returns how many ids were evaluated for it."""
        if self._context.prefix == prefix:
            return 0
        self._context.clear(0)
        self._context.prefix = ()
        for start in range(0, len(prefix), self._context.n_batch):
            self._context.decode([Chunk(0, prefix[start : start + self._context.n_batch], start, False)])
        self._context.prefix = prefix
        return len(prefix)

    def close(self, transcript: Transcript) -> None:
        """Give the transcript's place back; a generation on it is dropped."""
        self._active = [generation for generation in self._active if generation.transcript is not transcript]
        self._context.clear(transcript.sequence)
        self._free.append(transcript.sequence)

    def sampler(self, settings: Sampling) -> SamplerLike:
        """A new sampler for one episode."""
        return self._context.sampler(settings)

    def start(self, generation: Generation) -> None:
        """Make a generation active. Its transcript must hold at least one id that isn't evaluated yet."""
        generation.begin(self.written, self.window)
        self._active.append(generation)

    def step(self) -> list[Generation]:
        """Evaluate one batch and sample one token for each sequence that is ready; returns the generations that ended."""
        # A language may leave nothing to draw at all.
        if any(generation.completion is not None for generation in self._active):
            return self._remove_ended()
        room = self._context.n_batch
        chunks: list[Chunk] = []
        ready: list[Generation] = []
        for generation in self._active:
            if not room:
                break
            transcript = generation.transcript
            ids = transcript.pending(room)
            room -= len(ids)
            is_ready = len(ids) == transcript.n_pending
            chunks.append(Chunk(transcript.sequence, ids, transcript.n_held, is_ready))
            transcript.n_held += len(ids)
            transcript.n_evaluated += len(ids)
            generation.n_decode_calls += 1
            if is_ready:
                ready.append(generation)
        for generation, row in zip(ready, self._context.decode(chunks)):
            generation.advance(row, self._context, self.written)
        if len(self._active) > len(chunks):
            # A prefill took the whole batch: those that had to wait come first in the next one.
            self._active = self._active[len(chunks) :] + self._active[: len(chunks)]
        return self._remove_ended()

    def _remove_ended(self) -> list[Generation]:
        ended = [generation for generation in self._active if generation.completion is not None]
        if ended:
            self._active = [generation for generation in self._active if generation.completion is None]
        return ended
