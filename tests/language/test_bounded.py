"""A bounded place: as any other in a sane grammar, and dead where a text is too deep or too ambiguous."""

from __future__ import annotations

import time

from local_react.language.bounded import MAX_NEW, begin
from local_react.language.derivative import Recogniser
from local_react.language.regular import characters, literal
from local_react.language.rules import Rule, tie

LISTS: list[Rule] = [[[(literal("("), 1, 1), (0, 0, 1), (characters("ab"), 1, 1), (literal(")"), 1, 1)]]]
WILD: list[Rule] = [[[(literal("a"), 1, None), (0, 0, 2), (characters("ab"), 1, 1)], [(literal("b"), 1, 1)]]]
"""What may follow grows by half with each `a`."""


def test_the_work_is_bounded_however_ambiguous_the_rules_are() -> None:
    started = time.process_time()
    place, n = begin(tie(WILD)), 0
    while not place.is_dead and n < 1000:
        place, n = place.feed(b"a"), n + 1
    assert 10 < n < 100
    assert time.process_time() - started < 3


def test_brackets_are_followed_to_a_depth_and_no_further() -> None:
    place = begin(tie(LISTS)).feed(b"(" * 300)
    assert place.feed(b"a)" * 300).is_complete
    assert place.feed(b"(" * MAX_NEW).is_dead


def test_without_a_circle_a_place_is_the_usual_one() -> None:
    assert begin(literal("a")) == Recogniser(literal("a"))
