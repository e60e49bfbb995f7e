"""A model that replays given completions: people test their tools with what we test with.

It stands where a real model stands, below the decoder, so stops, budgets, windows and parallel episodes are those of a
real run. It computes nothing and draws nothing: the same script gives the same run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import repeat

import numpy as np

from local_react.errors import ModelError, SettingsError
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling

_TOKEN = re.compile(rb" ?[A-Za-z]+|\d|\s|[\x00-\x7f]|[\xc2-\xf4][\x80-\xbf]+|[\x80-\xff]")
_END = 0

Script = Sequence["str | Sequence[bytes]"]
"""The completions of one episode, in order: a text, or the bytes of each token."""


class ScriptedModel:
    """Gives the completions of `script`, one for each time that the loop asks.

    A completion is a text, or the bytes of each of its tokens. Episodes that run one after another go on in the script;
    for parallel ones, give a list of scripts: the first episode gets the first one. An episode that asks for more than
    its script holds is a ModelError. `n_ctx` is the window in tokens (words, digits and signs here).
    """

    name = "scripted"

    def __init__(self, script: Script | Sequence[Script], *, n_ctx: int = 1_000_000) -> None:
        if isinstance(script, (str, bytes)):
            raise SettingsError("A script is a list of completions. For a single one, write [completion].")
        first = script[0] if script else ""
        has_episodes = not isinstance(first, str) and not all(isinstance(piece, bytes) for piece in first)
        self._scripts = map(iter, script) if has_episodes else repeat(iter(script))
        self.window = n_ctx
        self.vocabulary = _Words()

    @contextmanager
    def context(self, n_parallel: int) -> Iterator[ScriptedContext]:
        """A context for `n_parallel` episodes."""
        yield ScriptedContext(self, n_parallel)

    def describe(self) -> dict[str, object]:
        """What identifies this model in a trace."""
        return {"name": self.name, "n_ctx": self.window}

    def take_script(self) -> Iterator[str | Sequence[bytes]]:
        """The completions of the next episode."""
        return next(self._scripts, iter(()))


class ScriptedContext:
    """Stands for a `llama.Context`: keeps the counts and computes nothing."""

    def __init__(self, model: ScriptedModel, n_parallel: int) -> None:
        self.n_parallel = n_parallel
        self.n_batch = 512
        self.window = model.window
        self.prefix: tuple[int, ...] = ()
        self.n_evaluated = 0
        self.n_decode_calls = 0
        self._model = model

    def decode(self, chunks: Sequence[Chunk]) -> list[int]:
        """Count, and give every chunk that wants one a row."""
        self.n_evaluated += sum(len(chunk.ids) for chunk in chunks)
        self.n_decode_calls += 1
        return [row for row, chunk in enumerate(chunks) if chunk.wants_logits]

    def logits(self, row: int) -> np.ndarray:
        """A script has no logits."""
        raise SettingsError("A scripted model has no log-probabilities. Leave `logprobs` out, or load a real model.")

    def sampler(self, settings: Sampling) -> _ScriptedSampler:
        """The next episode's script, as a sampler."""
        return _ScriptedSampler(self._model.take_script(), self._model.vocabulary)

    def copy(self, source: int, target: int, n_tokens: int) -> None:
        """Nothing to copy."""

    def clear(self, sequence: int) -> None:
        """Nothing to clear."""


class _ScriptedSampler:
    def __init__(self, script: Iterator[str | Sequence[bytes]], vocabulary: _Words) -> None:
        self._script = script
        self._vocabulary = vocabulary
        self._rest: Iterator[int] = iter(())

    def begin(self) -> None:
        completion = next(self._script, None)
        if completion is None:
            raise ModelError("The script has no completion left. Give the scripted model one for each step.")
        self._rest = iter(self._vocabulary.encode(completion))

    def sample(self, row: int) -> int:
        return next(self._rest, _END)


class _Words:
    """A vocabulary that grows as it is used: words, digits, signs; 0 is its end token."""

    bos = None
    wants_bos = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = [b""]
        self._ids: dict[bytes, int] = {}

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        return self.encode(_TOKEN.findall(data))

    def encode(self, completion: str | Sequence[bytes]) -> list[int]:
        if isinstance(completion, str):
            return self.tokenize(completion)
        for piece in completion:
            if piece not in self._ids:
                self._ids[piece] = len(self._pieces)
                self._pieces.append(piece)
        return [self._ids[piece] for piece in completion]

    def piece(self, token: int) -> bytes:
        return self._pieces[token]

    def is_end(self, token: int) -> bool:
        return token == _END

    def is_control(self, token: int) -> bool:
        return token == _END
