"""What is spelled like markup of a conversation, and what isn't."""

from __future__ import annotations

import pytest

from local_react.language.markup import find_markup
from local_react.language.native.formats import FORMATS


@pytest.mark.parametrize("name", [
    "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>", "<escape>", "[TOOL_CALLS]",
    "[/TOOL_RESULTS]", "[THINK]", "<|im_end|>", "<end_function_response>", "<｜tool▁calls▁begin｜>", "◁/think▷", "<seed:think>",
])
def test_markup_is_found_where_it_stands(name: str) -> None:
    assert list(find_markup(f"a {name}b")) == [(2, name)]


@pytest.mark.parametrize("text", ["", "<table>", "</td>", "<T>", "x[0]", "[A]", "search[日]", "a < b > c", "<tool call>", "[x_y]"])
def test_plain_text_is_none(text: str) -> None:
    assert list(find_markup(text)) == []


def test_names_that_overlap_are_all_found() -> None:
    assert [place for place, _ in find_markup("[TOOL_CALLS][TOOL_CALLS]<<tool_call>")] == [0, 12, 25]


def test_the_markup_of_every_format_is_known() -> None:
    for format in FORMATS.values():
        for name in (*format.markup, *format.results):
            assert [found for _, found in find_markup(name)] == [name]


def test_a_text_full_of_brackets_takes_no_time() -> None:
    assert list(find_markup("<" * 300_000 + "[" * 300_000)) == []
