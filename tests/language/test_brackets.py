"""Where brackets close: only the opened kind counts, quotes count where a value begins, and time is linear."""

from __future__ import annotations

import time

import pytest

from local_react.language.brackets import BracketScanner, closing_bracket


@pytest.mark.parametrize(
    ("text", "closed"),
    [
        ("[a] b]", "[a]"),
        ("[a [b] c]d", "[a [b] c]"),
        ("[:)]", "[:)]"),
        ('["a]"]', '["a]"]'),
        ('["a\\"]"]', '["a\\"]"]'),
        ('[12" x 5"]', '[12" x 5"]'),
        ("[it's [sic] here]", "[it's [sic] here]"),
        ("[a=']', b=1]", "[a=']', b=1]"),
        ("['tis the season]\n, 'x']", "['tis the season]"),
        ("(f[)]", "(f[)"),
        ("【a]】", "【a]】"),
    ],
)
def test_a_bracket_closes_at_its_partner(text: str, closed: str) -> None:
    assert closing_bracket(text, 0) == len(closed) - 1


@pytest.mark.parametrize("text", ["[", "[a", "[[a]", '["a]', '[a: "b]'])
def test_a_bracket_without_partner_never_closes(text: str) -> None:
    assert closing_bracket(text, 0) is None


def test_a_break_ends_the_text_outside_of_quotes_only() -> None:
    assert closing_bracket("[a\nX: b]", 0, [3]) is None
    assert closing_bracket('["a\nX: b"]', 0, [4]) == 9
    assert closing_bracket('["a\nX: b" c]', 0, [4]) is None
    assert closing_bracket("['a X: b', c]", 0, [4]) == 12


def test_the_scanner_agrees_where_there_are_no_single_quotes() -> None:
    text = '[a [b], "c]", d=[{"e": "]"}]]'
    scanner = BracketScanner()
    for position, character in enumerate(text):
        scanner.feed(character)
        assert scanner.is_closed == (position == len(text) - 1)


@pytest.mark.parametrize("piece", ["('", ", '", ',"', "[", "' ' ", "'\n", "\\'"])
def test_time_is_linear_whatever_the_quotes(piece: str) -> None:
    started = time.process_time()
    closing_bracket("[" + piece * 100_000, 0, range(1, 100_000, 1000))
    # Milliseconds where it is linear, minutes where each quote searches the rest of the text.
    assert time.process_time() - started < 3
