"""What a constraint engine is: a language in, a matcher for one sequence out.

An engine knows one vocabulary and compiles each language once. A matcher says which token may come next. It fails closed:
what it can't compute, or where it would allow nothing, is a ConstraintError, never an open mask. End tokens are none of
its business: a language ends where it leaves nothing to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Interface

import numpy as np

from local_react.errors import ConstraintError
from local_react.language.regular import Regular
from local_react.llama.vocabulary import Vocabulary


class Matcher(Interface):
    """The state of one sequence in a language."""

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came. Raises ConstraintError where one of them isn't allowed."""

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of every token that may not come next to -inf, in place; shape (n_vocab,), float32."""


class Engine(Interface):
    """Compiles languages for one vocabulary."""

    name: str

    def match(self, language: Regular) -> Matcher:
        """A matcher at the beginning of the language."""


def check_mask(logits: np.ndarray, vocabulary: Vocabulary) -> None:
    """Raise ConstraintError where a mask has left nothing."""
    if not np.isfinite(logits.max()):
        raise ConstraintError(
            f"The constraint allows none of the {vocabulary.n_tokens:,} tokens here: the vocabulary can't spell what the "
            "language wants. The run stops, since it would go on unconstrained otherwise."
        )
