"""Ways to go on are counted without being followed."""

from __future__ import annotations

import pytest

from local_react.language.ambiguity import n_ways
from local_react.language.regular import EMPTY, EPSILON, Regular, characters, choice, literal, optional, repeat, sequence


@pytest.mark.parametrize(("expression", "n"), [
    (EMPTY, 0), (EPSILON, 1), (literal("ab"), 1), (characters("abc"), 1), (choice("ab", "ac"), 2),
    (sequence(choice("ab", "ac"), choice("x", "y")), 2), (sequence(optional("ab"), "ac"), 3), (repeat(choice("ab", "ac")), 2),
])
def test_what_begins_at_once_is_counted(expression: Regular, n: int) -> None:
    assert n_ways(expression) == n
