"""The algebra: what is built alike is one object, and what an expression means is what Python's `re` says."""

from __future__ import annotations

import random
import re
import string
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from local_react.language.derivative import Recogniser, accepts, derive, random_word, shortest_word
from local_react.language.regular import (
    EMPTY,
    EPSILON,
    Characters,
    Regular,
    any_character,
    characters,
    choice,
    literal,
    not_empty,
    one_of_words,
    optional,
    repeat,
    sequence,
)

ALPHABET = "ab日é"
SHORT = ["".join(letters) for n in range(5) for letters in product(ALPHABET, repeat=n)]

LEAVES = st.sampled_from(["", "a", "ab", "日", "é日"]).map(lambda text: (literal(text), text)) | st.sampled_from(
    ["ab", "a日", "日é"]
).map(lambda text: (characters(text), f"[{text}]"))
COUNTS = st.tuples(st.integers(0, 2), st.none() | st.integers(0, 3)).filter(lambda c: c[1] is None or c[0] <= c[1])


def counted(part: tuple[Regular, str], counts: tuple[int, int | None]) -> tuple[Regular, str]:
    low, high = counts
    return repeat(part[0], low, high), f"(?:{part[1]}){{{low},{'' if high is None else high}}}"


EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(
            lambda parts: (sequence(*(part for part, _ in parts)), "".join(f"(?:{text})" for _, text in parts))
        ),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda parts: (choice(*(part for part, _ in parts)), "|".join(f"(?:{text})" for _, text in parts))
        ),
        st.tuples(inner, COUNTS).map(lambda pair: counted(*pair)),
    ),
    max_leaves=6,
)
"""An expression and the same as a pattern of Python's."""


@settings(max_examples=150, deadline=None)
@given(EXPRESSIONS)
def test_an_expression_means_what_the_same_pattern_means(pair: tuple[Regular, str]) -> None:
    expression, pattern = pair
    meant = re.compile(f"(?:{pattern})")
    for word in SHORT[:160]:
        assert accepts(expression, word) == (meant.fullmatch(word) is not None), (pattern, word)
    assert expression.is_nullable == (meant.fullmatch("") is not None)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, st.integers(0, 2**32))
def test_random_words_and_the_shortest_one_are_words(pair: tuple[Regular, str], seed: int) -> None:
    expression, pattern = pair
    source = random.Random(seed)
    words = [random_word(expression, source) for _ in range(5)]
    assert all(re.fullmatch(pattern, word.decode()) for word in words)
    shortest = shortest_word(expression)
    assert re.fullmatch(pattern, shortest.decode())
    assert all(len(shortest) <= len(word) for word in words)
    assert words == [random_word(expression, again) for again in [random.Random(seed)] for _ in range(5)]


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, st.integers(0, 2**32), st.data())
def test_from_every_place_in_a_word_the_way_out_ends_it(pair: tuple[Regular, str], seed: int, data: st.DataObject) -> None:
    expression, pattern = pair
    word = random_word(expression, random.Random(seed))
    cut = data.draw(st.integers(0, len(word)))
    place = Recogniser(expression).feed(word[:cut])
    assert not place.is_dead
    assert re.fullmatch(pattern, (word[:cut] + place.shortest()).decode())
    assert word[cut:].startswith(place.forced())
    assert place.feed(word[cut:]).accepts


@settings(max_examples=100, deadline=None)
@given(EXPRESSIONS)
def test_without_the_empty_word_all_others_stay(pair: tuple[Regular, str]) -> None:
    expression, rest = pair[0], not_empty(pair[0])
    assert not rest.is_nullable
    assert all(accepts(rest, word) == accepts(expression, word) for word in SHORT[1:60])


def test_what_is_built_alike_is_one_object() -> None:
    assert sequence("a", sequence("b", "c")) is sequence(sequence("a", "b"), "c") is literal("abc")
    assert choice("a", choice("b", "a")) is choice("a", "b")
    assert choice(characters("ab"), characters("bc")) is characters("abc")
    assert repeat("a", 1, 1) is literal("a")
    assert sequence("a", EMPTY) is EMPTY and choice(EMPTY, "a") is literal("a") and sequence() is EPSILON
    assert optional("a") is choice("a", EPSILON, "a") and optional(repeat("a")) is repeat("a")
    assert characters([]) is EMPTY and characters("a") is literal("a")
    assert choice(repeat("ab", 0, 3), repeat("ab", 2, 9)) is repeat("ab", 0, 9)
    assert literal("a") != literal("b")


def test_expressions_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        literal("a").data = b"b"  # type: ignore[misc]


@pytest.mark.parametrize("counts", [(-1, None), (3, 2)])
def test_impossible_counts_are_refused(counts: tuple[int, int | None]) -> None:
    with pytest.raises(ValueError, match="No text"):
        repeat("a", *counts)


def test_large_counts_stay_small() -> None:
    expression = sequence(repeat(any_character(), 0, 100_000), repeat(characters(string.ascii_letters), 3, 50_000), "!")
    place = Recogniser(expression).feed(b"x" * 300)
    assert place.shortest() == b"!" and not place.accepts
    assert len(place.rest.options) < 10  # type: ignore[attr-defined]


def test_ten_thousand_words_are_as_quick_as_a_few() -> None:
    words = [f"item_{number}" for number in range(10_000)]
    expression = one_of_words(words)
    assert all(accepts(expression, word) for word in words)
    assert not accepts(expression, "item_10000") and not accepts(expression, "item_")
    assert Recogniser(expression).forced() == b"item_"
    long = one_of_words(["x" * n for n in range(1, 400)])
    assert accepts(long, "x" * 399) and not accepts(long, "x" * 400)


FORCED = [
    (sequence("Action: ", choice("search[", "sum[")), b"Action: s"),
    (sequence(characters("èé"), "x"), "é".encode()[:1]),
    (optional("a"), b""),
    (repeat("ab", 2), b"abab"),
    (EPSILON, b""),
    (characters("ab"), b""),
]


@pytest.mark.parametrize(("expression", "forced"), FORCED)
def test_forced_text_is_the_longest_that_every_word_begins_with(expression: Regular, forced: bytes) -> None:
    assert Recogniser(expression).forced() == forced


def test_fine_so_far_is_told_from_refused_and_from_complete() -> None:
    start = Recogniser(sequence("日", repeat("x", 1, 2)))
    half = start.feed("日".encode()[:2])
    assert not half.is_dead and not half.accepts and half.shortest() == "日".encode()[2:] + b"x"
    assert half.feed(b"x").is_dead
    one = start.feed("日x".encode())
    assert one.accepts and not one.is_complete and one.allows(ord("x")) and not one.allows(ord("y"))
    assert one.feed(b"x").is_complete
    assert start.feed(b"") == start
    with pytest.raises(ValueError, match="empty language"):
        start.feed(b"?").shortest()
    with pytest.raises(ValueError, match="empty language"):
        random_word(EMPTY, random.Random(0))


NO_CHARACTERS = [
    b"\x80", b"\xc0\x80", b"\xc1\xbf", b"\xe0\x9b\xaa", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80", b"\xff",
]


@pytest.mark.parametrize("data", NO_CHARACTERS)
def test_bytes_that_are_no_utf8_are_no_character(data: bytes) -> None:
    assert Recogniser(any_character()).feed(data).is_dead


@given(st.characters(exclude_categories=["Cs"]), st.characters(exclude_categories=["Cs"]))
def test_a_set_holds_its_characters_and_no_other(member: str, other: str) -> None:
    assert accepts(any_character(), member)
    inside = characters([(min(ord(member), ord(other)), max(ord(member), ord(other)))])
    assert accepts(inside, member) and accepts(inside, other)
    assert not accepts(inside, chr(0x10FFFF)) or 0x10FFFF in (ord(member), ord(other))
    assert isinstance(inside, Characters) or member == other


def test_deriving_gives_the_rest_of_the_words() -> None:
    expression = choice("abc", "ad", repeat("b"))
    assert derive(expression, ord("a")) is choice("bc", "d")
    assert derive(expression, ord("b")) is repeat("b")
    assert derive(expression, ord("c")) is EMPTY
