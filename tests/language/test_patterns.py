"""Regular expressions of Python's as expressions of the algebra."""

from __future__ import annotations

import random
import re

import pytest

from local_react.language.derivative import accepts, random_word
from local_react.language.patterns import UnsupportedPattern, find_expression

PATTERNS = [
    (r"^cus_\d+$", ["cus_1", "cus_٣"], ["cus_", "xcus_1", "cus_1x", "cus_1\n"]),
    (r"[A-Z]{3}", ["ABC", "xABCx", "\nABC"], ["AB", "abc"]),
    (r"^(a|b=)$", ["a", "b="], ["", "ab", "b"]),
    (r"a|^b|c$", ["xa", "bx", "xc", "ax"], ["xb", "cx", ""]),
    (r"^ab|ac$", ["abx", "xac", "ac"], ["xabx", "acx"]),
    (r"^[^\d\s]+$", ["abc", "日本"], ["a1", "a b", ""]),
    (r"\A\w+@\w+\.com\Z", ["a@b.com", "日@b.com"], ["a@b.org", "@b.com"]),
    (r"(?i)^yes|no$", ["Yes", "YES!", "so NO"], ["y", "nope"]),
    (r"^(?:\+\d{1,3} )?\d{4,}$", ["+49 1234", "12345"], ["123", "+1234 5678"]),
    (r"^x*?y??$", ["", "xx", "xy"], ["yx", "yy"]),
    (r"(?s)^a.b$", ["a\nb", "axb"], ["ab"]),
    (r"^a.b$", ["axb", "a🙂b"], ["a\nb"]),
    (r"(?a)^\w$", ["a"], ["é"]),
    (r"^((ab)*)*$", ["", "abab"], ["aba"]),
    (r"^(?P<year>\d{4})(?:-\d\d)?$", ["2024", "2024-05"], ["2024-5"]),
    (r"", ["", "anything"], []),
    (r"(^a$)", ["a"], ["ab"]),
    (r"^\$\.$", ["$."], ["$x"]),
]


@pytest.mark.parametrize(("pattern", "found", "missed"), PATTERNS)
def test_a_text_is_a_word_where_python_finds_the_pattern(pattern: str, found: list[str], missed: list[str]) -> None:
    expression = find_expression(pattern, 20)
    for text in found:
        assert accepts(expression, text), text
        assert re.search(pattern, text)
    for text in missed:
        assert not accepts(expression, text), text
        assert text.endswith("\n") or not re.search(pattern, text)
    source = random.Random(3)
    for _ in range(40):
        word = random_word(expression, source).decode()
        assert re.search(pattern, word), word


UNSUPPORTED = [
    (r"(a)\1", "back-reference"), (r"a(?=b)", "look-around"), (r"(?<!x)a", "look-around"), (r"\bword\b", r"\\b"),
    (r"a^b", "anchor"), (r"a$b", "anchor"), (r"(?m)^a$", r"\(\?m\)"), (r"(a)?(?(1)b|c)", "conditional"),
    (r"(?i)[^a]", "negated"), (r"(x|^a)*b", "anchor"),
]


@pytest.mark.parametrize(("pattern", "part"), UNSUPPORTED)
def test_what_is_not_regular_is_refused_by_name(pattern: str, part: str) -> None:
    with pytest.raises(UnsupportedPattern, match=part):
        find_expression(pattern, 20)
