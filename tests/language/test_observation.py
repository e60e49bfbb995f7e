"""Observations: indented so that no line begins with a label, and cut to their budget between whole characters."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, strategies as st

from local_react.language.observation import INDENT, cut, indent
from tests.language.labelled import BREAKS, HOSTILE

MARKER = re.compile(r"… \[([\d,]+) tokens left out\] …")


@pytest.mark.parametrize("line_break", BREAKS)
def test_whatever_a_reader_may_take_for_a_line_break_is_one(line_break: str) -> None:
    lines = indent(f"a{line_break}Action: b[c]").split("\n")
    assert lines[0] == "a"
    assert lines[-1] == f"{INDENT}Action: b[c]"
    assert len(indent(f"a{line_break}b").splitlines()) == len(lines)


@pytest.mark.parametrize(
    ("text", "indented"), [("", ""), ("a", "a"), ("a\n", "a"), ("\na", "\n  a"), ("a\n\n b", "a\n  \n   b")]
)
def test_only_further_lines_are_indented(text: str, indented: str) -> None:
    assert indent(text) == indented


@given(HOSTILE)
def test_indenting_loses_nothing_but_the_kind_of_the_line_breaks(text: str) -> None:
    first, *rest = indent(text).split("\n")
    assert all(line.startswith(INDENT) for line in rest)
    assert [first, *(line[len(INDENT) :] for line in rest)] == (text.splitlines() or [""])


def words(n: int) -> list[bytes]:
    return [f"w{index} ".encode() for index in range(n)]


def left_out(text: str) -> int:
    match = MARKER.search(text)
    assert match is not None, text
    return int(match[1].replace(",", ""))


@pytest.mark.parametrize("n", [0, 1, 15, 16, 100])
@pytest.mark.parametrize("more", [0, 1, 1000])
def test_what_fits_its_budget_is_left_alone(n: int, more: int) -> None:
    assert cut(words(n), n + more) == b"".join(words(n)).decode()


@pytest.mark.parametrize(("n", "budget"), [(101, 100), (100, 16), (100, 1), (100, 0), (5000, 400), (15, 14), (15, 1)])
def test_a_cut_keeps_head_and_tail_and_counts_the_rest(n: int, budget: int) -> None:
    text = cut(words(n), budget)
    head, tail = text.split("… [")[0].split(), text.split("] …")[1].split()
    assert head == [f"w{index}" for index in range(len(head))]
    assert tail == [f"w{index}" for index in range(n - len(tail), n)]
    assert 0 <= len(head) - len(tail) <= 1
    assert left_out(text) == n - len(head) - len(tail)
    assert len(head) + len(tail) == max(budget - 12, 2)


def test_thousands_are_grouped() -> None:
    assert "… [1,234 tokens left out] …" in cut(words(1234 + 88), 100)


@pytest.mark.parametrize("budget", [0, 1, 5, 13])
@pytest.mark.parametrize("n", [2, 9, 14])
def test_a_cut_never_makes_a_short_text_longer(n: int, budget: int) -> None:
    """Two words under a budget of one came out with "0 tokens left out" between them once."""
    assert cut(words(n), budget) == b"".join(words(n)).decode()


def split(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces = []
    while data:
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(data[:size])
        data = data[size:]
    return pieces


TEXTS = st.text(st.sampled_from("aü日🙂\u0301\n"), min_size=20, max_size=120)


@given(TEXTS, st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 90))
def test_a_cut_never_splits_a_character_and_tells_the_exact_number(text: str, sizes: list[int], budget: int) -> None:
    pieces = split(text.encode(), sizes)
    assume(len(pieces) > max(budget, 14))
    cut_text = cut(pieces, budget)
    head, tail = MARKER.split(cut_text)[0], MARKER.split(cut_text)[2]
    assert text.startswith(head) and text.endswith(tail)
    assert "\ufffd" not in cut_text
    starts = [len(b"".join(pieces[:index])) for index in range(len(pieces) + 1)]
    n_head, n_tail = starts.index(len(head.encode())), len(pieces) - starts.index(len(text.encode()) - len(tail.encode()))
    assert left_out(cut_text) == len(pieces) - n_head - n_tail
    assert n_head + n_tail <= max(budget - 12, 2)


def test_characters_of_one_byte_a_token_are_kept_whole() -> None:
    pieces = [bytes([byte]) for byte in ("🙂" * 40).encode()]
    assert cut(pieces, 22) == "🙂… [152 tokens left out] …🙂"
    assert cut(pieces, 16) == "… [160 tokens left out] …"


@given(st.lists(st.binary(max_size=4), max_size=40), st.integers(-1, 50))
def test_any_bytes_are_cut_without_an_error(pieces: list[bytes], budget: int) -> None:
    assert isinstance(cut(pieces, budget), str)
