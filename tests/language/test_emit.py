"""The regex of a language has its words and no others, and doesn't grow with what its parts end in alike."""

from __future__ import annotations

import random
import re

import pytest

from local_react.language.derivative import accepts, random_word
from local_react.language.emit import MAX_REGEX, to_regex
from local_react.language.grammar import action_language
from local_react.language.protocol import Protocol
from local_react.language.regular import (
    Regular,
    characters,
    choice,
    literal,
    one_of_words,
    optional,
    repeat,
    sequence,
)
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Date, Text
from local_react.language.values import Bounds

BOUNDS = Bounds(max_text=None, depth=1, group_depth=0)


def matches(regex: str, word: bytes) -> bool:
    """Whether Python's engine matches the whole word, with Rust's way to write a code point put into Python's."""
    spelled = re.sub(r"\\x\{([0-9A-F]+)\}", lambda code: f"\\U{int(code[1], 16):08x}", regex)
    try:
        return re.fullmatch(spelled, word.decode(), re.DOTALL) is not None
    except UnicodeDecodeError:
        return False


def tools(n: int) -> dict[str, Signature]:
    parameters = (Parameter("query", Text()), Parameter("since", Date(), required=False))
    return {f"tool_{number}": Signature(f"tool_{number}", "", parameters) for number in range(n)}


LANGUAGES: dict[str, Regular] = {
    "one end": choice("abx", "acx", "dx", "x", "bx"),
    "one end behind different counts": choice(sequence(repeat("a", 2, 3), "!"), sequence(repeat("b"), "!"), "!", "c!"),
    "an end that is an option": choice(sequence("a", optional("b")), sequence("c", optional("b")), "b", optional("b")),
    "characters of many bytes": choice("日本", "月本", "é本", "x日"),
    "ends in ends": choice("aXYZ", "bXYZ", "cYZ", "dYZ", "eZ", "fZ", "g"),
    "words": one_of_words([f"value \"{n}\" [x]" for n in range(0, 3000, 7)] + ["value", ""]),
    "sets": choice(sequence(characters("abc"), "d"), sequence(characters("xyz"), "d"), sequence("e", characters("xyz"))),
    "tools": action_language(Protocol(), tools(3), bounds=BOUNDS),
}


@pytest.mark.parametrize("name", LANGUAGES)
def test_the_regex_has_the_words_of_the_language_and_no_others(name: str) -> None:
    language, source = LANGUAGES[name], random.Random(name)
    regex = to_regex(language)
    for _ in range(150):
        word = random_word(language, source)
        assert matches(regex, word), word
        for _ in range(2):
            place = source.randrange(len(word) + 1)
            wrong = word[:place] + source.choice((b"", b"a", b"x", b'"', word[:1])) + word[place + 1 :]
            assert matches(regex, wrong) == accepts(language, wrong), wrong


def test_what_words_end_in_alike_is_written_once() -> None:
    """Regression: an enum of 10,000 values took outlines 5 s and a table of 120,000 states."""
    assert len(to_regex(one_of_words(f"value {n:04d} of them" for n in range(10_000)))) < 300


def test_tools_with_the_same_parameters_share_their_text() -> None:
    """Regression: for 50 tools the regex had 680,000 characters, and compiling took more than a second."""
    few, many = (len(to_regex(action_language(Protocol(), tools(n), bounds=BOUNDS))) for n in (1, 50))
    assert many < 1.2 * few


def test_a_sequence_of_thousands_of_parts_has_a_text() -> None:
    """Regression: its size was found by descending into each part behind the other."""
    long = sequence(*(choice("a", literal(f"b{n}")) for n in range(3000)))
    assert 3000 < len(to_regex(long)) < MAX_REGEX
