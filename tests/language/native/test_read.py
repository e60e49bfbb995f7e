"""Messages read in each native format: calls, answers, mistakes, repairs; total on any text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import SettingsError
from local_react.language.native.formats import FORMATS, find_format, format_of
from local_react.language.native.read import read_answer, read_message, split_thinking
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call, Malformed
from local_react.language.types import Array, Boolean, Integer, Text

TOOLS = {
    "add": Signature("add", "", (Parameter("a", Integer()), Parameter("b", Integer(), required=False))),
    "web_search": Signature("web_search", "", (Parameter("query", Text()),)),
    "flags": Signature("flags", "", (Parameter("on", Boolean()), Parameter("names", Array(Text()), required=False))),
    "now": Signature("now"),
}


def hermes(body: str) -> str:
    return f"<tool_call>\n{body}\n</tool_call>"


def read(name: str, text: str, **options: Any) -> Call | Answer | Malformed:
    return read_message(text, FORMATS[name], TOOLS, **options)


CALLS = [
    # format, message, name, arguments, thought; read strictly
    ("hermes", hermes('{"name": "add", "arguments": {"a": 1, "b": 2}}'), "add", {"a": 1, "b": 2}, None),
    ("hermes", "I add.\n" + hermes('{"name":"add","arguments":{"a":1}}'), "add", {"a": 1}, "I add."),
    ("hermes", '<tool_call>{"name": "now", "arguments": {}}</tool_call>', "now", {}, None),
    ("hermes", "<think>\nHm <tool_call>\n</think>\n\n" + hermes('{"name": "now", "arguments": {}}'), "now", {}, None),
    ("hermes", hermes('{"name": "web_search", "arguments": {"query": "</tool_call> } \\" {"}}'), "web_search",
     {"query": '</tool_call> } " {'}, None),
    ("llama", '{"name": "add", "parameters": {"a": 1}}', "add", {"a": 1}, None),
    ("llama", '<|python_tag|>{"name": "add", "parameters": {"a": 1}}', "add", {"a": 1}, None),
    ("llama", 'So.\n{"name": "add", "parameters": {"a": 1}}', "add", {"a": 1}, "So."),
    ("pythonic", "[add(a=1, b=2)]", "add", {"a": 1, "b": 2}, None),
    ("pythonic", "[flags(on=True, names=['a', \"b\"])]", "flags", {"on": True, "names": ["a", "b"]}, None),
    ("pythonic", "[web_search(query='it\\'s [x] (y)')]", "web_search", {"query": "it's [x] (y)"}, None),
    ("pythonic", "[now()]", "now", {}, None),
    ("mistral", '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}]', "add", {"a": 1}, None),
    ("mistral", 'Ok.[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]', "add", {"a": 1}, "Ok."),
    ("gemma", "<start_function_call>call:add{a:1,b:2}<end_function_call>", "add", {"a": 1, "b": 2}, None),
    ("gemma", "<start_function_call>call:web_search{query:<escape>{a}, b:1<escape>}<end_function_call>", "web_search",
     {"query": "{a}, b:1"}, None),
    ("gemma", "<start_function_call>call:flags{names:[<escape>a<escape>,<escape>b<escape>],on:true}<end_function_call>",
     "flags", {"on": True, "names": ["a", "b"]}, None),
    ("lfm2", "<|tool_call_start|>[add(a=1)]<|tool_call_end|>", "add", {"a": 1}, None),
]


@pytest.mark.parametrize(("name", "message", "tool", "arguments", "thought"), CALLS)
def test_a_call_is_read_strictly_with_its_thought(name: str, message: str, tool: str, arguments: dict, thought: str | None) -> None:
    assert read(name, message, strict=True) == Call(tool, arguments, thought)


REPAIRED = [
    # format, message, the call's arguments, the repairs
    ("hermes", '<tool_call>{"name": "add", "arguments": {"a": 1}}', {"a": 1}, ["missing_closer"]),
    ("hermes", hermes('{"name": "add", "parameters": {"a": 1}}'), {"a": 1}, ["call_key"]),
    ("hermes", hermes('{"name": "Add", "arguments": {"a": 1}}'), {"a": 1}, ["name_case"]),
    ("hermes", hermes('{"name": "add", "arguments": "{\\"a\\": 1}"}'), {"a": 1}, ["string_arguments"]),
    ("hermes", hermes('[{"name": "add", "arguments": {"a": 1}}]'), {"a": 1}, ["call_list"]),
    ("hermes", hermes("{'name': 'add', 'arguments': {'a': 1}}"), {"a": 1}, ["python_literal"]),
    ("hermes", hermes('{"name": "add", "arguments": {"a": 1}, "id": "x"}'), {"a": 1}, ["extra_key"]),
    ("hermes", hermes('{"type": "function", "function": {"name": "add", "arguments": {"a": 1}}}'), {"a": 1}, ["extra_key"]),
    ("hermes", '{"name": "add", "arguments": {"a": 1}}', {"a": 1}, ["bare_call"]),
    ("hermes", '```json\n{"name": "add", "arguments": {"a": 1}}\n```', {"a": 1}, ["bare_call"]),
    ("llama", '{"type": "function", "name": "add", "parameters": {"a": "1"}}', {"a": 1}, ["extra_key", "quoted_number"]),
    ("mistral", '[TOOL_CALLS]{"name": "add", "arguments": {"a": 1}}', {"a": 1}, ["single_call"]),
    ("pythonic", "[add(1, 2)]", {"a": 1, "b": 2}, ["positional"]),
    ("lfm2", '<|tool_call_start|>[{"name": "add", "arguments": {"a": 1}}]<|tool_call_end|>', {"a": 1}, ["json_call"]),
    ("pythonic", '[{"name": "add", "arguments": {"a": 1}}]', {"a": 1}, ["json_call", "bare_call"]),
]


@pytest.mark.parametrize(("name", "message", "arguments", "repairs"), REPAIRED)
def test_a_slip_is_overlooked_by_name_and_refused_strictly(name: str, message: str, arguments: dict, repairs: list[str]) -> None:
    found = read(name, message)
    assert found == Call("add", arguments) and list(found.repairs) == repairs
    strict = read(name, message, strict=True)
    assert isinstance(strict, Malformed) and strict.code in ("malformed_action", "unknown_tool")


MALFORMED = [
    ("hermes", "", "empty_completion"),
    ("hermes", "<think></think>\n", "empty_completion"),
    ("hermes", "<think>never ends", "unclosed_think"),
    ("hermes", "<tool_call>", "unclosed_bracket"),
    ("hermes", '<tool_call>\n{"name": "add", "argum', "unclosed_bracket"),
    ("hermes", hermes("add(1)"), "malformed_action"),
    ("hermes", hermes("[]"), "malformed_action"),
    ("hermes", hermes('{"arguments": {}}'), "malformed_action"),
    ("hermes", hermes('{"name": "add", "arguments": [1]}'), "malformed_action"),
    ("hermes", hermes('{"name": 5, "arguments": {}}'), "malformed_action"),
    ("hermes", "I would write <tool_call> here.", "malformed_action"),
    ("hermes", hermes('{"name": "subtract", "arguments": {"a": 1}}'), "unknown_tool"),
    ("hermes", hermes('{"name": "add", "arguments": {}}'), "missing_argument"),
    ("hermes", hermes('{"name": "add"}'), "missing_argument"),
    ("hermes", hermes('{"name": "add", "arguments": {"a": 1, "c": 2}}'), "unknown_argument"),
    ("hermes", hermes('{"name": "add", "arguments": {"a": 1, "a": 2}}'), "too_many_arguments"),
    ("hermes", hermes('{"name": "now", "arguments": {"a": 1}}'), "too_many_arguments"),
    ("hermes", hermes('{"name": "add", "arguments": {"a": "one"}}'), "bad_argument"),
    ("hermes", hermes('{"name": "flags", "arguments": {"on": true, "names": [1, {}]}}'), "bad_argument"),
    ("hermes", "<tool_response>5</tool_response>", "hallucinated_observation"),
    ("hermes", "Let me see. <tool_response>5", "hallucinated_observation"),
    ("llama", '{"name": "add", "parameters": {"a": 1', "unclosed_bracket"),
    ("pythonic", "[add(a=1", "unclosed_bracket"),
    ("pythonic", "[add(a=1, b=2, c=3)]", "unknown_argument"),
    ("pythonic", "[add(1, 2, 3)]", "unknown_argument"),
    ("pythonic", "[add(a=1, a=2)]", "too_many_arguments"),
    ("pythonic", "[add(a=one)]", "bad_argument"),
    ("mistral", "[TOOL_CALLS][", "unclosed_bracket"),
    ("mistral", "[TOOL_CALLS]x", "malformed_action"),
    ("gemma", "<start_function_call>call:add{a:1", "unclosed_bracket"),
    ("gemma", "<start_function_call>call:add", "unclosed_bracket"),
    ("gemma", "<start_function_call>call:web_search{query:<escape>x", "unclosed_bracket"),
    ("gemma", "<start_function_call>add{a:1}<end_function_call>", "malformed_action"),
    ("gemma", '<start_function_call>call:add{a:"1"}<end_function_call>', "malformed_action"),
    ("gemma", "<start_function_call>call:add{a:1,a:2}<end_function_call>", "too_many_arguments"),
    ("gemma", "<start_function_call>call:add{}<end_function_call>", "missing_argument"),
]


@pytest.mark.parametrize(("name", "message", "code"), MALFORMED)
def test_each_mistake_has_its_code(name: str, message: str, code: str) -> None:
    for strict in (False, True):
        found = read(name, message, strict=strict)
        assert isinstance(found, Malformed) and found.code == code and found.message


ANSWERS = [
    ("hermes", "It is 5.", "It is 5."),
    ("hermes", "<think>\nHm.\n</think>\n\nIt is 5.", "It is 5."),
    ("hermes", "swallowed </think> It is 5.", "It is 5."),
    ("hermes", 'The object {"name": "add", "arguments": {"a": 1}} is a call.', 'The object {"name": "add", "arguments": {"a": 1}} is a call.'),
    ("hermes", "It is 5.<|im_end|>\n<|im_start|>user\n<tool_call>", "It is 5."),
    ("hermes", '{"name": "Ann", "arguments": {"a": 1}}', '{"name": "Ann", "arguments": {"a": 1}}'),
    ("llama", 'It says {"name": "add", "parameters": {"a": 1}}', 'It says {"name": "add", "parameters": {"a": 1}}'),
    ("llama", '{"city": "Nantes"}', '{"city": "Nantes"}'),
    ("pythonic", "[1] says so", "[1] says so"),
    ("pythonic", "f(x) = [add(a=1)]", "f(x) = [add(a=1)]"),
    ("gemma", "It is 5.<end_of_turn>", "It is 5."),
]


@pytest.mark.parametrize(("name", "message", "answer"), ANSWERS)
def test_a_message_without_a_call_is_the_answer(name: str, message: str, answer: str) -> None:
    assert read(name, message) == read(name, message, strict=True) == Answer(answer)


def test_a_message_that_was_cut_off_is_no_answer() -> None:
    assert read("hermes", "It is", truncated=True).code == "no_action_or_answer"
    assert read("hermes", hermes('{"name": "now", "arguments": {}}') + "x", truncated=True) == Call("now", {})


def test_the_first_call_wins_and_what_follows_is_counted() -> None:
    one, two = hermes('{"name": "add", "arguments": {"a": 1}}'), hermes('{"name": "now", "arguments": {}}')
    found = read("hermes", f"{one}\n{two}{two}")
    assert (found, found.extra_steps, found.answer_after_action) == (Call("add", {"a": 1}), 2, False)
    found = read("hermes", f"{one}\nIt is 5.<tool_response>6")
    assert (found.extra_steps, found.answer_after_action, found.forged_observation) == (0, True, True)
    found = read("mistral", '[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}, {"name": "now", "arguments": {}}]')
    assert (found, found.extra_steps) == (Call("add", {"a": 1}), 1)
    assert read("pythonic", "[add(a=1), now()]").extra_steps == 1
    assert not read("hermes", one).forged_observation


def test_nothing_behind_an_invented_result_or_in_a_think_block_is_called() -> None:
    call = hermes('{"name": "add", "arguments": {"a": 1}}')
    assert read("hermes", f"<tool_response>5</tool_response>{call}").code == "hallucinated_observation"
    assert read("hermes", f"It is 5.<|im_end|>{call}") == Answer("It is 5.")
    assert read("hermes", f"<think>{call}</think>It is 5.") == Answer("It is 5.")
    found = read("hermes", f"{call}</think>It is 5.", think_open=True)
    assert found == Answer("It is 5.") and found.thinking == call


def test_an_unknown_tool_carries_the_close_match() -> None:
    found = read("hermes", hermes('{"name": "web_serch", "arguments": {}}'))
    assert (found.value, found.suggestion) == ("web_serch", "web_search")


def test_a_message_that_must_be_an_answer_is_one_whatever_it_looks_like() -> None:
    call = hermes('{"name": "now", "arguments": {}}')
    assert read_answer(f"<think>x</think>\n{call}") == Answer(call)
    assert read_answer("5") == Answer("5")


@pytest.mark.parametrize(("text", "behind", "inside"), [
    ("5", "5", ""), ("<think>a</think> 5", "5", "a"), ("a</think>5", "5", "a"), ("<think>\na", "", "a"), ("", "", ""),
    ("a <think> b", "a <think> b", ""),
])
def test_a_thought_is_told_from_what_was_thought_before_it(text: str, behind: str, inside: str) -> None:
    assert split_thinking(text) == (behind, inside)


def test_the_one_parser_reads_native_messages() -> None:
    protocol = Protocol.preset("native", native="lfm2")
    assert parse_step("<|tool_call_start|>[now()]<|tool_call_end|>", protocol, TOOLS, strict=True) == Call("now", {})
    with pytest.raises(SettingsError, match="Name one"):
        parse_step("x", Protocol.preset("native"), TOOLS)
    with pytest.raises(SettingsError, match="no native format called 'xml'"):
        find_format("xml")
    with pytest.raises(SettingsError, match="Name one"):
        format_of(Protocol())


FRAGMENTS = [
    *(part for format in FORMATS.values() for part in (format.opener, format.closer, format.head, format.middle, format.tail)),
    *(result for format in FORMATS.values() for result in format.results), "<escape>", "<think>", "</think>", "<|im_end|>",
    "add", "web_search", "call:", "a", "1", '"', "'", "{", "}", "[", "]", "(", ")", ":", ",", "=", "\n", " ", "\\", "é", "\ud800",
    "```json\n", "\n```", "[TOOL_CALLS]", "true", "None", "-", "1e999",
]


@settings(max_examples=400, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=3)), max_size=25).map("".join),
    st.sampled_from(list(FORMATS)), st.booleans(), st.booleans(),
)
def test_any_text_is_read_and_strict_reading_never_disagrees(text: str, name: str, think: bool, cut: bool) -> None:
    lenient = read(name, text, think_open=think, truncated=cut)
    strict = read(name, text, think_open=think, truncated=cut, strict=True)
    assert isinstance(lenient, Call | Answer | Malformed)
    assert isinstance(strict, Malformed) or strict == lenient


@pytest.mark.parametrize("name", FORMATS)
def test_hostile_lengths_are_read_in_linear_time(name: str) -> None:
    format = FORMATS[name]
    for text in (format.opener * 3000, (format.opener + format.head) * 1500, "[" * 20000, "{" * 20000, "<" * 20000):
        assert isinstance(read(name, text), Call | Answer | Malformed)
