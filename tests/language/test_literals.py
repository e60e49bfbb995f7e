"""Literals: JSON's and Python's spelling, the escapes of this language, and that nothing raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from local_react.language.literals import Literal, parse_literal, parse_quoted, write_literal, write_string

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@pytest.mark.parametrize(
    ("text", "value", "is_json"),
    [
        (' {"a": [1, -2.5e3, true, null]} ', {"a": [1, -2500.0, True, None]}, True),
        ("{'a': (1, True, None,)}", {"a": [1, True, None]}, False),
        ('"C:\\Dev \\/ \\n"', "C:\\Dev / \n", True),
        ("[]", [], True),
        ("[1,]", [1], False),
    ],
)
def test_a_literal_is_read_in_either_spelling(text: str, value: Any, is_json: bool) -> None:
    assert parse_literal(text) == Literal(value, is_json)


@pytest.mark.parametrize(
    "text",
    ["", "a", "1 2", "+1", ".5", "1.", "01", "NaN", "Infinity", "1e999", "[1", '{"a" 1}', "{a: 1}", "{1: 2}", '"a',
    "[" * 100_000,
     "9" * 5000, "--1", "f'x'", "1+1", "set()", "١"],
)
def test_what_is_no_literal_is_none(text: str) -> None:
    assert parse_literal(text) is None


def test_a_repeated_key_is_reported() -> None:
    literal = parse_literal('{"a": 1, "a": 2}')
    assert literal is not None
    assert literal.repeated == "a"


@given(TEXTS)
def test_a_written_string_stands_on_one_line_and_is_read_back(text: str) -> None:
    written = write_string(text)
    assert len(written.splitlines()) == 1
    assert parse_quoted(written) == text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
        lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner), max_leaves=10,
    )
)
def test_a_written_value_is_read_back(value: Any) -> None:
    assert parse_literal(write_literal(value)) == Literal(value)


@given(st.text(alphabet="[]{}(),:'\"\\ \n1-.eTrueNone“”u", max_size=40))
def test_any_text_is_a_literal_or_none(text: str) -> None:
    assert parse_literal(text) is None or isinstance(parse_literal(text), Literal)


def test_what_json_cannot_hold_is_not_written() -> None:
    with pytest.raises(ValueError):
        write_literal(float("nan"))
