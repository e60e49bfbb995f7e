"""The gbnf engine: llama.cpp's own grammar, with no further package.

Asked about the one token that was drawn it is as quick as any (6 µs); about the whole vocabulary it takes milliseconds,
which only a refused token costs. It follows each way to read the text by itself: two rules that begin alike, in brackets in
brackets, double them with each bracket, and what takes half a second at one depth takes half a minute three brackets on. So
the ways are counted before it is asked, and too many of them end the run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from local_react.decode.constraint import check_compile_time, check_ids, check_row
from local_react.errors import ConstraintError
from local_react.language.ambiguity import n_ways
from local_react.language.bounded import begin
from local_react.language.derivative import Recogniser
from local_react.language.emit import is_recursive, to_gbnf
from local_react.language.grammar import BOUNDS
from local_react.language.regular import Regular
from local_react.llama.grammar import NativeGrammar
from local_react.llama.vocabulary import Vocabulary

MAX_WAYS = 5000
"""In so many ways may a text be read at once: llama.cpp compares each with each (llama-cpp-python 0.3.36)."""


class GbnfEngine:
    """Compiles languages with llama.cpp."""

    name = "gbnf"
    bounds = BOUNDS

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._compiled: dict[Regular, NativeGrammar] = {}

    def match(self, language: Regular, *, limit_s: float | None = None) -> GbnfMatcher:
        """A matcher at the beginning of the language. llama.cpp can't be interrupted: the time is looked at behind it."""
        if language not in self._compiled:
            started = time.monotonic()
            grammar = NativeGrammar(to_gbnf(language), self._vocabulary)
            check_compile_time(started, limit_s, self.name)
            self._compiled[language] = grammar
        # Without brackets in brackets the ways don't grow.
        place = begin(language) if is_recursive(language) else None
        return GbnfMatcher(self._compiled[language].copy(), self._vocabulary, place)


class GbnfMatcher:
    """The state of one sequence."""

    def __init__(self, grammar: NativeGrammar, vocabulary: Vocabulary, place: Recogniser | None = None) -> None:
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._place = place

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""
        place = self._follow(token)
        return (place is None or not place.is_dead) and self._grammar.allows(token)

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came."""
        check_ids(ids, self._vocabulary)
        for token in ids:
            place = self._follow(token)
            self._grammar.accept(token)
            self._place = place

    def _follow(self, token: int) -> Recogniser | None:
        """The place behind a token, where the places are followed. Raises ConstraintError for one with too many ways."""
        if self._place is None:
            return None
        place = self._place.feed(self._vocabulary.piece(token))
        if (n := n_ways(place.rest)) > MAX_WAYS:
            raise ConstraintError(
                f"The grammar can be read in {n:,} ways at once here, and llama.cpp follows each by itself. Take the engine "
                "llguidance, or bring together alternatives that begin alike."
            )
        return place

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of what may not come next to -inf, in place."""
        check_row(logits, self._vocabulary)
        self._grammar.mask(logits)
