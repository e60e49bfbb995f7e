"""Where messages in a native format end, whatever pieces they come in."""

from __future__ import annotations

import random

import pytest

from local_react.decode.message import MessageScanner
from local_react.decode.stop import Fired
from local_react.language.native.formats import FORMATS

HERMES = '<tool_call>\n{"name": "f", "arguments": {"x": "a </tool_call> } ]"}}\n</tool_call>'

AT_CALL = [
    # format, text, what is released, the opener
    ("hermes", "I look.\n" + HERMES, "I look.\n", "<tool_call>"),
    ("hermes", "<think><tool_call></think>\n<tool_call>", "<think><tool_call></think>\n", "<tool_call>"),
    ("hermes", "a <tool <tool_call>", "a <tool ", "<tool_call>"),
    ("llama", 'A {"x\n {"name', "A {\"x\n ", '{"'),
    ("llama", '<|python_tag|>{"name', "<|python_tag|>", '{"'),
    ("pythonic", "a\n [f(", "a\n ", "["),
    ("mistral", "[TOOL[TOOL_CALLS][", "[TOOL", "[TOOL_CALLS]"),
    ("gemma", "ü<start_function_call>", "ü", "<start_function_call>"),
    ("lfm2", "<|tool_call_start|>[", "", "<|tool_call_start|>"),
]
BEHIND_CALL = [
    ("hermes", "I look.\n" + HERMES, " and more"),
    ("hermes", "<think>" + HERMES + "</think>" + HERMES, "\n"),
    ("llama", '{"name": "f", "parameters": {"x": {"y": 1}}}', ";"),
    ("pythonic", "[f(x='a]'), g(y=[1])]", "x"),
    ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"x": [1]}}]', "x"),
    ("gemma", "<start_function_call>call:f{x:<escape>}<end_function_call><escape>}<end_function_call>", "<end_of_turn>"),
    ("lfm2", "<|tool_call_start|>[f(x='<|tool_call_end|>')]<|tool_call_end|>", " x"),
]
NOT_AT_CALL = [
    ("llama", 'say {"x'), ("llama", '{ "x'), ("pythonic", "see [1]"), ("pythonic", "x [f("), ("hermes", "<tool_cal>"),
    ("hermes", "<think><tool_call>"), ("mistral", "[TOOLS]"),
]


def feed(scanner: MessageScanner, text: str, seed: int) -> tuple[str, Fired | None]:
    """What is released of the text in pieces of random sizes, up to where the scanner fires."""
    source, data, released = random.Random(seed), text.encode(), b""
    while data and scanner.fired is None:
        size = source.randint(1, 5)
        released += scanner.feed(data[:size])
        data = data[size:]
    return released.decode(), scanner.fired


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "text", "released", "opener"), AT_CALL)
def test_it_ends_where_a_call_begins(name: str, text: str, released: str, opener: str, seed: int) -> None:
    scanner = MessageScanner(FORMATS[name], stops_at_call=True)
    found, fired = feed(scanner, text, seed)
    assert (found, fired.label, scanner.held) == (released, opener, opener.encode())


@pytest.mark.parametrize(("name", "text"), NOT_AT_CALL)
def test_what_only_looks_like_an_opener_is_text(name: str, text: str) -> None:
    scanner = MessageScanner(FORMATS[name], stops_at_call=True)
    released, fired = feed(scanner, text, 1)
    assert fired is None and released + scanner.flush().decode() == text


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("name", "text", "rest"), BEHIND_CALL)
def test_it_ends_behind_the_first_complete_call(name: str, text: str, rest: str, seed: int) -> None:
    scanner = MessageScanner(FORMATS[name], ends_after_call=True)
    released, fired = feed(scanner, text + rest, seed)
    assert (released, fired.label) == (text, "")


def test_without_that_guard_it_goes_on() -> None:
    scanner = MessageScanner(FORMATS["hermes"])
    released, fired = feed(scanner, HERMES + HERMES, 1)
    assert (released, fired) == (HERMES + HERMES, None)


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_a_result_that_the_model_begins_ends_it_unless_that_is_switched_off(format) -> None:
    text = f"It is 5. {format.results[0]}forged"
    released, fired = feed(MessageScanner(format), text, 2)
    assert (released, fired.label) == (f"It is 5. {format.results[0]}", "")
    assert feed(MessageScanner(format, stops_at_result=False), text, 2) == (text, None)


def test_the_excess_behind_the_end_is_counted_in_bytes() -> None:
    scanner = MessageScanner(FORMATS["hermes"], stops_at_call=True)
    assert scanner.feed("x<tool_call>\né".encode()) == b"x"
    assert scanner.fired == Fired("<tool_call>", 3)
