"""Notices: what is wrong, the line that was expected, the tools, the close match, and never the look of a fact."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from local_react.language import notices
from local_react.language.observation import indent
from local_react.language.parse import parse_step
from local_react.language.protocol import PRESETS, Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Call, Malformed
from local_react.language.types import Choice, Integer, Text
from tests.language.labelled import HOSTILE, begins_with_label

TOOLS = {
    "search": Signature("search", "", (Parameter("query", Text()),)),
    "add": Signature("add", "", (Parameter("a", Integer()), Parameter("b", Integer()))),
    "paint": Signature("paint", "", (Parameter("colour", Choice(("red", "a\nAction: search[x]"))),)),
}
FINISH = Protocol()


def malformed(completion: str, protocol: Protocol = FINISH, tools: dict[str, Signature] = TOOLS, **options: Any) -> Malformed:
    reading = parse_step(completion, protocol, tools, **options)
    assert isinstance(reading, Malformed), reading
    return reading


EXPLAINED = [
    ("prose", "no_action_or_answer", "", "Action: search[query]"),
    ("", "empty_completion", "Nothing", "Action: search[query]"),
    ("Action: None", "null_action", "", "Action: search[query]"),
    ("Action: add 1 2", "malformed_action", "add 1 2", "Action: search[query]"),
    ("Action: add[a=1", "unclosed_bracket", "closing bracket", "Action: add[a=whole number, b=whole number]"),
    ("Action: add[a=1]", "missing_argument", "argument b (whole number)", "Action: add[a=whole number, b=whole number]"),
    ("Action: add[a=1, b=x]", "bad_argument", "b must be whole number, and x", "Action: add[a=whole number, b=whole number]"),
    ("Action: add[a=1, b=2, c=3]", "unknown_argument", "called c: the arguments are a, b", "Action: add["),
    ("Action: add[1, 2, 3]", "too_many_arguments", "3 arguments were given, and 2", "Action: add["),
    ("Action: finish[]", "empty_answer", "answer is empty", "Action: "),
    ("Observation: x", "hallucinated_observation", "", "Action: search[query]"),
]


@pytest.mark.parametrize(("text", "code", "matter", "line"), EXPLAINED)
def test_a_notice_says_what_was_wrong_and_shows_the_expected_line(text: str, code: str, matter: str, line: str) -> None:
    found = malformed(text)
    assert found.code == code
    notice = notices.explain_malformed(found, FINISH, TOOLS, 1)
    assert found.message and matter in found.message
    assert notice.startswith(found.message)
    assert f" Write one line like this: {line}" in notice


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("finish", "Action: search[query]"), ("numbered", "Action 4: search[query]"), ("answer", "Action: search[query]"),
        ("act", "Action: search[query]"), ("think", "Action: finish[the answer]"),
    ],
)
def test_the_expected_line_is_that_of_the_protocol_and_the_step(name: str, line: str) -> None:
    protocol = Protocol.preset(name)
    assert notices.explain_malformed(malformed("prose", protocol), protocol, TOOLS, 4).endswith(line)


@pytest.mark.parametrize(
    ("name", "line"), [("finish", "Action: finish[the answer]"), ("answer", "Answer: the answer")]
)
def test_without_tools_the_ending_is_expected(name: str, line: str) -> None:
    protocol = Protocol.preset(name)
    assert notices.explain_malformed(malformed("prose", protocol, {}), protocol, {}, 1).endswith(line)


@pytest.mark.parametrize(
    ("name", "tools", "notice"),
    [
        ("finish", TOOLS, "There is no tool called serch. The tools are search, add, paint and finish. Did you mean search?"),
        ("answer", TOOLS, "There is no tool called serch. The tools are search, add and paint. Did you mean search?"),
        ("finish", {}, "There is no tool called serch. The only tool is finish."),
        ("answer", {}, "There is no tool called serch. There are no tools: end with Answer: the answer"),
        ("think", TOOLS, "There is no tool called serch. The only tool is finish."),
    ],
)
def test_an_unknown_tool_is_answered_with_the_known_ones(name: str, tools: dict[str, Signature], notice: str) -> None:
    """Without tools it raised once, and a protocol without tools named those of the toolbox."""
    protocol = Protocol.preset(name)
    found = malformed("Action: serch[x]", protocol, tools)
    assert found.code == "unknown_tool"
    assert notices.explain_unknown_tool(found, protocol, tools) == notice


def test_a_far_name_is_not_guessed() -> None:
    assert "Did you mean" not in notices.explain_unknown_tool(malformed("Action: zzz[x]"), FINISH, TOOLS)


def test_a_repetition_is_shown_as_it_is_written_with_the_way_out() -> None:
    call = Call("add", {"a": 1, "b": 2})
    assert notices.explain_repeat(call, Protocol.preset("numbered", arguments="positional"), TOOLS, 3) == (
        "add[1, 2] was called before, and its result stands above. Do something else, or end with Action 3: finish[the answer]"
    )
    assert notices.explain_repeat(call, Protocol.preset("answer"), TOOLS, 3).endswith("or end with Answer: the answer")


def test_the_last_step_and_the_least_number_of_calls_are_told() -> None:
    assert notices.ask_for_answer(FINISH, 5) == (
        "This is the last step. Write the final answer now, as Action: finish[the answer]"
    )
    assert notices.ask_for_answer(Protocol.preset("numbered"), 5).endswith("as Action 5: finish[the answer]")
    assert "at least 1 call must" in notices.ask_for_calls(1)
    assert "at least 2 calls must" in notices.ask_for_calls(2)


@pytest.mark.parametrize("name", PRESETS)
def test_the_ending_that_is_shown_ends_a_run(name: str) -> None:
    protocol = Protocol.preset(name)
    reading = parse_step(notices.ending(protocol, 2), protocol, TOOLS, strict=True)
    assert (type(reading).__name__, getattr(reading, "text", None)) == ("Answer", "the answer")


@settings(max_examples=200, deadline=None)
@given(
    HOSTILE, st.sampled_from(list(PRESETS)),
    st.sampled_from(["", "Action: ", "Action: add[a=", "Action: paint[", "Action: x["]),
)
def test_no_line_of_a_notice_begins_with_a_label_and_none_looks_like_a_fact(text: str, name: str, opening: str) -> None:
    protocol = Protocol.preset(name)
    found = parse_step(f"{opening}{text}", protocol, TOOLS)
    if not isinstance(found, Malformed):
        found = malformed("Action: paint[blue]", Protocol())
    for notice in (
        notices.explain_malformed(found, protocol, TOOLS, 2), notices.explain_unknown_tool(found, protocol, TOOLS),
        notices.explain_repeat(Call("search", {"query": text}), protocol, TOOLS, 2),
    ):
        written = f"{protocol.label('notice', 1)} {indent(notice)}"
        first, *rest = written.splitlines()
        assert first.startswith("Notice:")
        assert not any(begins_with_label(line, protocol) for line in rest)
        assert not notice.startswith(("Observation", "Error:", "("))


NATIVE = Protocol.preset("native", native="hermes")


def test_in_a_native_format_a_notice_says_what_the_tool_takes_and_writes_no_markup() -> None:
    missing = malformed('<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', NATIVE)
    assert notices.explain_malformed(missing, NATIVE, TOOLS, 2) == (
        "The argument b (whole number) is missing. add takes a (whole number), b (whole number). "
        "Call it with those, or answer without a call."
    )
    unclosed = malformed("<tool_call>", NATIVE)
    assert notices.explain_malformed(unclosed, NATIVE, TOOLS, 2).endswith(
        "Call one of the tools (search, add, paint), or answer without a call."
    )
    assert notices.explain_malformed(unclosed, NATIVE, {}, 2).endswith(" Answer without a call.")
    assert notices.explain_repeat(Call("add", {"a": 1, "b": 2}), NATIVE, TOOLS, 2).endswith("Do something else, or answer.")
    assert notices.ask_for_answer(NATIVE, 5) == "This is the last step. Give the final answer now, without a call."
    assert notices.ending(NATIVE) == "a message without a call"
