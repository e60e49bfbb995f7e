"""Looking for a pattern in a text of somebody else's: what is found, and that it never takes long."""

from __future__ import annotations

import re
import time
from typing import Annotated

import pytest
from hypothesis import given, strategies as st

from local_react.errors import ToolError
from local_react.grounding import Sightings
from local_react.language.arguments import Misfit, read_arguments
from local_react.language.matching import MAX_IRREGULAR, MAX_WORD, is_found, slow_part, whole_words
from local_react.tools.grounded import Grounded
from local_react.tools.tool import Tool

LENGTH = 50_000
TEXTS = ["a" * LENGTH + "!", "a b " * (LENGTH // 4), "aab" * (LENGTH // 3), "INV-12 \n" * (LENGTH // 8)]
SLOW_FOR_RE = [r"(a+)+$", r"(a|a)*c", r"(a?){1,50}c", r"\w+\s\d+x$", r"([a ]+)+!", r"(\w+\s?)*$", r".*a.{20}", r"(a{1,50}b?){1,50}c"]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text[:6])
@pytest.mark.parametrize("pattern", SLOW_FOR_RE)
def test_no_regular_pattern_takes_long_on_a_long_text(pattern, text):
    started = time.process_time()
    is_found(pattern, text)
    list(whole_words(pattern, text))
    assert time.process_time() - started < 3, "re would take years for some of these"


@pytest.mark.parametrize("pattern", [r"a+\b", r"(?=.*b)a+", r"(?m)^a+$"])
def test_an_irregular_pattern_is_looked_for_in_a_bounded_text(pattern):
    started = time.process_time()
    assert not is_found(pattern, "b" + "a" * LENGTH)
    assert list(whole_words(pattern, "a" * LENGTH)) in ([], ["a" * MAX_IRREGULAR])
    assert time.process_time() - started < 3
    assert is_found(pattern, "aab") or is_found(pattern, "aa")


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"A\d+", "A1, (A22) BA3 A4x A_5 and A66", ["A1", "A22", "A66"]),
        (r"^A\d+$", "is it A1 or A22?", ["A1", "A22"]),
        (r"INV|INV-\d+", "INV-12", ["INV-12"]),
        (r"A\d+?", "A123", ["A123"]),
        (r"日+", "日日 a日", ["日日"]),
        (r"(?i)é.", "É1 xé2", ["É1"]),
        (r"x*", "nothing here", []),
        (r"a b", "a b a b", ["a b", "a b"]),
        (r"a.c", "a\nc abc a\ud800c", ["abc"]),
        (r"(?<!-)A\d+", "A1 -A2", ["A1"]),
        (r"A\d\b", "A1 A23", ["A1"]),
    ],
)
def test_the_longest_matches_between_borders_of_words_are_found(pattern, text, expected):
    assert list(whole_words(pattern, text)) == expected


def test_a_match_has_a_longest_length():
    assert len(next(whole_words("[a ]+", "a " * LENGTH))) == MAX_WORD - 1, "the last character that ends a word"


PLAIN = st.sampled_from([r"a+b", r"(ab|c)*a$", r"^[^a]*b", r"a{2,3}", r"^(a|b)?c", r".b.", r"\bab", r"(?<=a)b"])


@given(PLAIN, st.text("abc ", max_size=12))
def test_a_pattern_is_found_where_re_finds_it(pattern, text):
    assert is_found(pattern, text) == (re.search(pattern, text) is not None)


@given(PLAIN, st.text("abc -", max_size=12))
def test_a_whole_word_is_one_for_re_too(pattern, text):
    bare = pattern.removeprefix("^").removesuffix("$")
    for word in whole_words(pattern, text):
        assert re.search(rf"(?<![^\W_]){bare}(?![^\W_])", text) and word in text


SLOW = [r"(a+)+\b", r"((a*b)*)\1", r"(?m)^(a+)+$", r"(?:a|aa)*\b", r"(a?b?)*\b", r"(?=(\w+\s?)*$)x", r"(a{1,60}b){2,}(?!c)"]
QUICK = [r"(a+)+$", r"a+\b", r"^(?=.*\d)(?=.*[a-z]).{8,}$", r"(?m)^a+$", r"(?<!x)a{1,40}", r"(a|b)\1", r"(?:ab)*\b", ""]


@pytest.mark.parametrize("pattern", SLOW)
def test_an_irregular_pattern_that_may_take_endless_time_is_told(pattern):
    assert "inside a repetition" in slow_part(pattern)


@pytest.mark.parametrize("pattern", QUICK)
def test_other_patterns_are_not(pattern):
    assert slow_part(pattern) is None


@pytest.mark.parametrize("mark", ["pattern", "x-grounded"])
def test_such_a_pattern_makes_no_tool(mark):
    schema = {"type": "object", "properties": {"id": {"type": "string", mark: r"(a+)+\b"}}, "required": ["id"]}
    with pytest.raises(ToolError, match=r"id.*endless time.*Write it without"):
        Tool.from_schema("look", "Look.", schema, lambda id: id)


def test_neither_a_long_observation_nor_a_long_value_holds_up_a_tool_with_a_hard_pattern():
    """Regression: both were searched with re, which never came back."""

    def look(thing: Annotated[str, Grounded(r"(a+)+$")]) -> str:
        """Look something up."""
        return thing

    started = time.process_time()
    seen = Sightings({"look": Tool.from_function(look)})
    seen.add("observation 1", "a" * LENGTH + "!")
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": r"^(a+)+$"}}, "required": ["id"]}
    tool = Tool.from_schema("look", "Look.", schema, lambda id: id)
    assert isinstance(read_arguments("a" * LENGTH + "!", tool), Misfit)
    assert time.process_time() - started < 3
