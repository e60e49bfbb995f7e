"""The token ids of one episode: a list that only grows (design, invariant 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Owner = Literal["program", "model", "observation"]
"""Who put a token into the transcript."""


class Transcript:
    """The token ids of an episode.

    `sequence` is its place in the context. The first `n_held` ids are in the KV cache; `n_evaluated` of those were
    computed for this transcript, the others were copied from a shared prefix.
    """

    def __init__(self, sequence: int) -> None:
        self.sequence = sequence
        self.n_held = 0
        self.n_evaluated = 0
        self._ids: list[int] = []

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def ids(self) -> tuple[int, ...]:
        """All token ids so far."""
        return tuple(self._ids)

    @property
    def n_pending(self) -> int:
        """How many ids still have to be evaluated before the next token can be sampled."""
        return len(self._ids) - self.n_held

    def pending(self, limit: int) -> list[int]:
        """The next ids to evaluate, at most `limit`."""
        return self._ids[self.n_held : self.n_held + limit]

    def append(self, ids: Iterable[int]) -> None:
        """Add ids at the end."""
        self._ids.extend(ids)
