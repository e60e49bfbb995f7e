"""Text from outside: nothing in it acts on a terminal, and nothing is lost."""

import json

import pytest
from hypothesis import given, strategies as st

from local_react.cli.text import make_visible, write_json

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def acts(character: str) -> bool:
    code = ord(character)
    is_control = (code < 0x20 and character not in "\t\n") or 0x7F <= code < 0xA0
    return is_control or 0xD800 <= code < 0xE000 or 0x202A <= code < 0x202F


@given(ANY_TEXT)
def test_nothing_visible_acts(text):
    assert not any(map(acts, make_visible(text)))
    make_visible(text).encode("utf-8")


@given(st.text(st.characters(exclude_categories=("C", "Zl", "Zp"))))
def test_harmless_text_stays_as_it_is(text):
    assert make_visible(text) == text


@given(ANY_TEXT)
def test_json_is_one_harmless_line_that_reads_back_equal(text):
    line = write_json({"a": [text]})
    assert not any(map(acts, line)) and "\n" not in line
    assert json.dumps(json.loads(line)) == json.dumps({"a": [text]})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31m", "␛[31m"), ("a\r\nb\rc", "a\nb␍c"), ("\x7f", "␡"), ("\x9b", "<U+009B>"), ("\u202e", "<U+202E>"),
        ("\ud83d", "\ufffd"), ("👩‍🚀 é\tü\n", "👩‍🚀 é\tü\n"), ("\u2028", "<U+2028>"),
    ],
)
def test_what_acts_is_shown_by_a_sign(text, shown):
    assert make_visible(text) == shown
