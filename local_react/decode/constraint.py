"""What a constraint engine is: a language in, a matcher for one sequence out.

An engine knows one vocabulary and compiles each language once. A matcher says which token may come next. It fails closed:
what it can't compute, or where it would allow nothing, is a ConstraintError, never an open mask. End tokens are none of
its business: a language ends where it leaves nothing to say. What takes too long to compile is refused before the run, and
the tool that is to blame is found.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Protocol as Interface

import numpy as np

from local_react.errors import ConstraintCompileTimeout, ConstraintError, GrammarError
from local_react.language.regular import Regular
from local_react.language.values import Bounds
from local_react.llama.vocabulary import Vocabulary

REGEX_BOUNDS = Bounds(max_text=None, depth=1, group_depth=0)
"""The bounds of a language that is written as one regular expression: without rules, whatever is shared is spelled again and
again, and each count is unrolled. Raw text has no brackets then; in quotes they can still be written."""


class Matcher(Interface):
    """The state of one sequence in a language."""

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came. Raises ConstraintError where one of them isn't allowed."""

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of every token that may not come next to -inf, in place; shape (n_vocab,), float32."""


class Engine(Interface):
    """Compiles languages for one vocabulary. `bounds` keep a language small enough for it."""

    name: str
    bounds: Bounds

    def match(self, language: Regular, *, limit_s: float | None = None) -> Matcher:
        """A matcher at the beginning of the language.

        Raises ConstraintCompileTimeout where it isn't compiled in `limit_s` seconds (None for no limit), GrammarError where
        it can't be.
        """


def check_mask(logits: np.ndarray, vocabulary: Vocabulary) -> None:
    """Raise ConstraintError where a mask has left nothing."""
    if not np.isfinite(logits.max()):
        raise ConstraintError(
            f"The constraint allows none of the {vocabulary.n_tokens:,} tokens here: the vocabulary can't spell what the "
            "language wants. The run stops, since it would go on unconstrained otherwise."
        )


def check_row(logits: np.ndarray, vocabulary: Vocabulary) -> None:
    """Raise ConstraintError for a row of logits of another vocabulary: a mask would lie beside it."""
    if logits.shape != (vocabulary.n_tokens,):
        raise ConstraintError(
            f"The constraint was compiled for a vocabulary of {vocabulary.n_tokens:,} tokens, and the logits have the shape "
            f"{logits.shape}. Make the engine from the vocabulary of the model that computes them."
        )


def check_ids(ids: Iterable[int], vocabulary: Vocabulary) -> None:
    """Raise ConstraintError for an id that the vocabulary doesn't have: llama.cpp would end the process."""
    wrong = next((id for id in ids if not 0 <= id < vocabulary.n_tokens), None)
    if wrong is not None:
        raise ConstraintError(
            f"There is no token {wrong} in the vocabulary of {vocabulary.n_tokens:,} tokens that the constraint was compiled "
            "for. Make the engine from the vocabulary of the model that is run."
        )


def check_compile_time(started: float, limit_s: float | None, engine: str) -> None:
    """Raise ConstraintCompileTimeout where more than `limit_s` seconds have gone by since `started`, of time.monotonic."""
    if limit_s is not None and time.monotonic() - started > limit_s:
        raise ConstraintCompileTimeout(engine, limit_s)


def find_slowest(engine: Engine, languages: Iterable[tuple[str, Regular]], limit_s: float) -> str | None:
    """The name of the language that takes the engine longest: more than half of `limit_s`, or, if none does, the most of all.

    Where even that is less than a tenth of the limit there is none. Takes twice the limit at most.
    """
    slowest, most, ends = None, limit_s / 10, time.monotonic() + 1.5 * limit_s
    for name, language in languages:
        started = time.monotonic()
        if started > ends:
            break
        try:
            engine.match(language, limit_s=limit_s / 2)
        except ConstraintCompileTimeout:
            return name
        except GrammarError:
            continue
        taken = time.monotonic() - started
        if taken > most:
            slowest, most = name, taken
    return slowest
