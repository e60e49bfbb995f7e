"""The scanner for the end of a think block: wherever the tag stands, and however it is cut into tokens."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from local_react.decode.tag import TagScanner

CASES = [
    ("</think>", ["so", "</think>"], ["so", ""], 0),
    ("</think>", ["so </th", "ink>\n\n"], ["so ", ""], 2),
    ("</think>", ["<", "/", "x", "</think>"], ["", "", "</x", ""], 0),
    ("</think>", ["a</think>b</think>"], ["a"], len("b</think>")),
    ("</think>", ["</thi", "</think>"], ["", "</thi"], 0),
    ("[/THINK]", ["\n[/THINK]"], ["\n"], 0),
    ("◁/think▷", ["x◁/thin", "k▷"], ["x", ""], 0),
]


@pytest.mark.parametrize(("tag", "fed", "released", "n_excess"), CASES)
def test_what_is_released_after_each_token(tag: str, fed: list[str], released: list[str], n_excess: int) -> None:
    scanner = TagScanner(tag)
    assert [scanner.feed(piece.encode()).decode() for piece in fed] == released
    assert scanner.fired is not None and scanner.fired.n_excess == n_excess
    assert scanner.fired.label == tag == scanner.held.decode()


def test_what_was_held_back_is_text_where_no_tag_comes() -> None:
    scanner = TagScanner("</think>")
    assert scanner.feed(b"so </thin") == b"so "
    assert scanner.held == b"</thin"
    assert scanner.fired is None
    assert scanner.flush() == b"</thin"
    assert scanner.held == b""


@given(st.text("<abab/>", max_size=30), st.lists(st.integers(1, 5), min_size=1), st.sampled_from(["<ab>", "aa", "abab", "<a<ab>"]))
def test_the_tag_is_found_where_it_first_stands_however_the_bytes_come(text: str, sizes: list[int], tag: str) -> None:
    scanner, data, released, fed = TagScanner(tag), text.encode(), b"", 0
    for size in sizes * (len(data) + 1):
        if fed >= len(data) or scanner.fired is not None:
            break
        released += scanner.feed(data[fed : fed + size])
        fed = min(fed + size, len(data))
    before, border, _ = text.partition(tag)
    assert (scanner.fired is not None) == bool(border)
    if border:
        assert released.decode() == before
        assert fed - scanner.fired.n_excess == len((before + tag).encode())
    else:
        assert released + scanner.flush() == data
