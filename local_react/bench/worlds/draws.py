"""Random draws that stay the same on every machine and Python.

Only `Random.random()` is drawn from: its numbers are guaranteed to stay, those of `choice`, `sample` and `shuffle` are not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from random import Random
from typing import TypeVar

_Item = TypeVar("_Item")


class Draws:
    """A source of draws, made from a name and a seed: two names never share their draws."""

    def __init__(self, name: str, seed: int) -> None:
        self._random = Random(hashlib.sha256(f"{name} {seed}".encode()).hexdigest())

    def one(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.whole(0, len(items) - 1)]

    def some(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """`count` different items, in the order drawn; all of them, where there are no more."""
        left = list(items)
        return [left.pop(self.whole(0, len(left) - 1)) for _ in range(min(count, len(left)))]

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random.random() < probability
