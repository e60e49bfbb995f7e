"""New languages from old ones, compared word by word with what they should hold."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings, strategies as st

from local_react.language.codepoints import EVERY, common, has, invert, matching, of_text, unite, utf8, without
from local_react.language.derivative import accepts
from local_react.language.plain import SPACES
from local_react.language.regular import Regular, characters, choice, repeat, sequence
from local_react.language.reshape import (
    behind,
    ending_in,
    lengths,
    respelled,
    starting_in,
    with_length,
    within,
    without_assignment,
    without_word,
)
from tests.language.test_regular import EXPRESSIONS, SHORT

WORDS = SHORT[:341]
FEW = of_text("a日")


@settings(max_examples=80, deadline=None)
@given(EXPRESSIONS)
def test_each_change_keeps_exactly_the_words_that_it_should(pair: tuple[Regular, str]) -> None:
    expression, _ = pair
    least, most = lengths(expression)
    for word in WORDS[:200]:
        was = accepts(expression, word)
        assert accepts(within(expression, FEW), word) == (was and set(word) <= set("a日"))
        assert accepts(starting_in(expression, FEW), word) == (was and word[:1] in ("a", "日"))
        assert accepts(ending_in(expression, FEW), word) == (was and word[-1:] in ("a", "日"))
        assert accepts(behind(expression, "é"), word) == accepts(expression, "é" + word)
        assert accepts(without_word(expression, "ab"), word) == (was and word != "ab")
        assert accepts(with_length(expression, 1, 3), word) == (was and 1 <= len(word) <= 3)
        assert not was or (least <= len(word) and (most is None or len(word) <= most))


@settings(max_examples=60, deadline=None)
@given(EXPRESSIONS)
def test_respelling_replaces_each_character(pair: tuple[Regular, str]) -> None:
    doubled = respelled(pair[0], lambda ranges: choice(*(chr(low) * 2 for low, high in ranges if low == high)))
    if all(len(text) == 1 for text in re.findall(r"\[([^\]]*)\]", pair[1])):
        assert all(accepts(doubled, "".join(2 * c for c in word)) == accepts(pair[0], word) for word in WORDS[:100])


def test_texts_that_assign_to_a_name_are_left_out() -> None:
    anything = repeat(characters(EVERY))
    expression = without_assignment(anything, "ab")
    for word in ["ab", "a", "", "abc=", "ab c", "ab c=", "b=", "a=", " ab=", "ab: ="]:
        assert accepts(expression, word), word
    for word in ["ab=", "ab=1", "ab =", "ab = 1", "ab  = 1"]:
        assert not accepts(expression, word), word


def test_a_length_that_several_parts_share_is_exact_or_drawn_more_narrowly() -> None:
    word = repeat(characters([(0x61, 0x7A)]), 1)
    mail = sequence(word, "@", word, ".", word)
    exact = with_length(mail, 0, 12)
    assert accepts(exact, "a@bbbbbb.com") and not accepts(exact, "a@bbbbbbb.com")
    narrow = with_length(mail, 0, 200)
    assert accepts(narrow, "someone@example.org")
    assert not accepts(narrow, "a" * 196 + "@b.cd")


SETS = st.lists(st.tuples(st.integers(0, 0x10FFFF), st.integers(0, 0x2FF)), max_size=5).map(
    lambda pairs: unite((low, min(low + size, 0x10FFFF)) for low, size in pairs)
)


@given(SETS, SETS, st.integers(0, 0xD7FF) | st.integers(0xE000, 0x10FFFF))
def test_sets_of_characters_are_sets(one: tuple, other: tuple, code: int) -> None:
    assert has(common(one, other), code) == (has(one, code) and has(other, code))
    assert has(without(one, other), code) == (has(one, code) and not has(other, code))
    assert has(invert(one), code) != has(one, code)
    assert not any(has(invert(one), surrogate) for surrogate in (0xD800, 0xDFFF))
    data = chr(code).encode()
    in_bytes = any(
        len(parts) == len(data) and all(low <= byte <= high for byte, (low, high) in zip(data, parts)) for parts in utf8(one)
    )
    assert in_bytes == has(one, code)


@pytest.mark.parametrize("pattern", [r"\d", r"\w", r"\s", "[^a]", "."])
def test_the_characters_that_a_pattern_matches_are_those_that_python_matches(pattern: str) -> None:
    found = matching(pattern)
    for code in [*range(0, 0x3100, 3), 0xD7FF, 0xE000, 0x1D7CE, 0x10FFFF]:
        assert has(found, code) == (re.fullmatch(pattern, chr(code), re.S) is not None)


def test_what_is_stripped_is_white_space() -> None:
    assert SPACES == matching(r"\s")
    assert all(has(SPACES, code) == chr(code).isspace() for code in range(0x3100))
