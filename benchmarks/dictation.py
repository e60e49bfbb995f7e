"""Dictating to a model: each draw goes through the model's own sampler as usual, and then the next dictated id is taken.

So a loop can be timed on a text that it wouldn't have written, and does all the work that it does on its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from local_react.decode.generate import SamplerLike
from local_react.llama.model import Model


class Dictated:
    """A sampler that takes the given ids, one after another. Raises IndexError behind the last."""

    def __init__(self, sampler: SamplerLike, ids: Sequence[int]) -> None:
        self._sampler = sampler
        self._ids = ids
        self._n_taken = 0

    def begin(self) -> None:
        """A new completion begins; the dictation goes on from where it is."""
        self._sampler.begin()

    def sample(self, row: int) -> int:
        """Draw a token, and take the dictated one."""
        self._sampler.sample(row)
        self._n_taken += 1
        return self._ids[self._n_taken - 1]


@contextmanager
def dictating(model: Model, ids: Sequence[int]) -> Iterator[None]:
    """A single run on `model` in this block writes these ids."""
    with model.context(1) as context:
        make = context.sampler
        context.sampler = lambda settings: Dictated(make(settings), ids)  # type: ignore[method-assign]
    try:
        yield
    finally:
        del context.sampler
