"""The step parser: must-read and must-refuse tables for both readings, outside data, and properties over any text."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import SettingsError
from local_react.language.arguments import write_answer, write_call
from local_react.language.parse import parse_step
from local_react.language.protocol import PRESETS, Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call, Malformed
from local_react.language.types import Anything, Array, Boolean, Integer, Null, Number, Object, OneOf, Text

SHARED = Path(__file__).resolve().parents[3] / "shared"
ANSWER, FINISH, NUMBERED = Protocol.preset("answer"), Protocol(), Protocol.preset("numbered")


def tool(name: str, **types: object) -> Signature:
    return Signature(name, "", tuple(Parameter(key, type) for key, type in types.items()))


TOOLS = {
    signature.name: signature
    for signature in (
        tool("search", query=Text()), tool("calc", expression=Text()), tool("run", code=Text()), tool("now"),
        tool("add", a=Integer(), b=Integer()), tool("web_search", query=Text()),
        tool("book", guests=Array(Text()), outdoor=Boolean()),
    )
}
X = {"query": "x"}

READ_BY_BOTH = [
    ("Action: search[x]", "search", X),
    ("Action:search[x]", "search", X),
    ("\n  Action: search[x]\n", "search", X),
    ("Action: search[x]\nI will wait for it.", "search", X),
    ("Action: search[x]\n\nAction Input: y", "search", X),
    ("Action: search['x']", "search", X),
    ('Action: search["</s>"]', "search", {"query": "</s>"}),
    ("Action: search[x]</s>\nAnswer: 3", "search", X),
    ("Action: now[]", "now", {}),
    ('Action: add["1", b=2]', "add", {"a": 1, "b": 2}),
    ('Action: book[{"guests": ["Ann]"], "outdoor": true}]', "book", {"guests": ["Ann]"], "outdoor": True}),
    ("Thought: I could send {\"action\": \"calc\", \"action_input\": \"1\"}\nAction: search[x]", "search", X),
    ("Thought: like\n```\nAction: calc[1]\n```\nso\nAction: search[x]", "search", X),
    ("hm\n<think>\nAction: calc[1]\n</think>\nAction: search[x]", "search", X),
    ("hm\nAction: calc[1]\n</think>\nAction: search[x]", "search", X),
    ("<think>a</think><think>Action: calc[1]</think>Action: search[x]", "search", X),
    ("Thought: <think>\nAction: calc[1]</think>\nAction: search[x]", "search", X),
    ("Thought: x>3[\nAction: search[x]", "search", X),
    ("Question: q\nThought: t\nAction: search[x]", "search", X),
    ("Action: search['tis [the] season]", "search", {"query": "'tis [the] season"}),
]

READ_BY_LENIENT = [
    ('Action: search("x")', "search", X, "parentheses"),
    ('Action: search({"query": "x"})', "search", X, "parentheses"),
    ('Action: search ({"query": "x"})', "search", X, "parentheses"),
    ("Action: now()", "now", {}, "parentheses"),
    ('Action: search {"query": "x"}', "search", X, "braces"),
    ("Action: search{x}", "search", X, "braces"),
    ("Action: search［x］", "search", X, "fullwidth_brackets"),
    ("Action: search [x]", "search", X, "name_blank"),
    ("action: search[x]", "search", X, "label_case"),
    ("ACTION: search[x]", "search", X, "label_case"),
    ("Action: Search[x]", "search", X, "name_case"),
    ("Action: web-search[x]", "web_search", X, "name_case"),
    ("Action：search[x]", "search", X, "fullwidth_colon"),
    ("Action : search[x]", "search", X, "label_blank"),
    ("Action:\u00a0search[x]", "search", X, "label_blank"),
    ("\u200bAction: search[x]", "search", X, "label_indent"),
    ("Action 2: search[x]", "search", X, "step_number"),
    ("Action #2: search[x]", "search", X, "step_number"),
    ("**Action:** search[x]", "search", X, "bold_label"),
    ("**Action**: search[x]", "search", X, "bold_label"),
    ("**Action: search[x]**", "search", X, "bold_label"),
    ("__Action__: `search[x]`", "search", X, "bold_label"),
    ("`Action: search[x]`", "search", X, "backtick_label"),
    ("## Action: search[x]", "search", X, "label_mark"),
    ("1. Action: search[x]", "search", X, "label_mark"),
    ("> Action: search[x]", "search", X, "label_mark"),
    ("```\nThought: t\nAction: search[x]\n```", "search", X, "fence"),
    ("Thought: t\n```text\nAction: search[x]\n```", "search", X, "fence"),
    ('Action:\n```json\n{"action": "search", "action_input": {"query": "x"}}\n```', "search", X, "json_body"),
    ('Action: <tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', "search", X, "json_body"),
    ("Action: search\nAction Input: x", "search", X, "action_input"),
    ('Action: search\n\nAction Input: {"query": "x"}\nObs', "search", X, "action_input"),
    ("Action: now\nAction Input: None", "now", {}, "action_input"),
    ("Action: now", "now", {}, "bare_name"),
    ("Action: \n\nsearch[x]", "search", X, "call_on_next_line"),
    ("Action: search[x] Action: search[y]", "search", X, "trailing_text"),
    ("Action: search[x]]", "search", X, "trailing_text"),
    ('Action: search["a\nObservation: b"]', "search", {"query": "a\nObservation: b"}, "line_break"),
    ("Action: run[a = [1]\nprint(a)]", "run", {"code": "a = [1]\nprint(a)"}, "line_break"),
    ("Action: book[{'guests': [], 'outdoor': True}]", "book", {"guests": [], "outdoor": True}, "python_literal"),
    ("Action: search[“x”]", "search", X, "curly_quotes"),
]

REFUSED_BY_BOTH = [
    ("", "empty_completion"),
    ("<|im_end|>\nAction: search[x]", "empty_completion"),
    ("Thought: only", "no_action_or_answer"),
    ("> search[x]", "no_action_or_answer"),
    ("search[x]", "no_action_or_answer"),
    ("Actions: search[x]", "no_action_or_answer"),
    ("I would say Action: search[x]", "no_action_or_answer"),
    ('{"action": "search", "action_input": "x"}', "no_action_or_answer"),
    ('<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', "no_action_or_answer"),
    ("Thought: t\nObservation: x\nAction: search[y]", "no_action_or_answer"),
    ("<think>a</think>", "no_action_or_answer"),
    ("Observation: x", "hallucinated_observation"),
    ("Thought:\nObservation: x\nAction: search[y]", "hallucinated_observation"),
    ("Action: none needed", "null_action"),
    ("Action: None (I know it).", "null_action"),
    ("Action: none[]", "null_action"),
    ("Action: None\nObservation: x\nAnswer: 5", "null_action"),
    ("Action:", "malformed_action"),
    ("Action: search x", "malformed_action"),
    ("Action: I will use search[x]", "malformed_action"),
    ("Action: search (the web) for x", "malformed_action"),
    ("Action: [search[x]]", "malformed_action"),
    ('Action: {"query": "x"}', "malformed_action"),
    ("Action: Search the web\nAction Input: x", "malformed_action"),
    ("Action: search[x", "unclosed_bracket"),
    ("Action: search[x\nThought: y]", "unclosed_bracket"),
    ("Action: search[</s>]", "unclosed_bracket"),
    ('Action: search["foo]\nObservation: ["bar"]', "unclosed_bracket"),
    ('Action: {"action": "search"', "unclosed_bracket"),
    ("<think>a\nAction: search[x]", "unclosed_think"),
    ("Action: serach[x]", "unknown_tool"),
    ("Action: google\nAction Input: x", "unknown_tool"),
    ("Action: google[a=1, 2]", "unknown_tool"),
    ("Action: search", "missing_argument"),
    ("Action: search[ ]", "missing_argument"),
    ("Action: now[x]", "too_many_arguments"),
    ("Action: add[1, a=2]", "too_many_arguments"),
    ("Action: add[1, c=2]", "unknown_argument"),
    ("Action: add[1, true]", "bad_argument"),
    ("Answer:", "empty_answer"),
    ('Answer: ""', "empty_answer"),
]

ANSWERS = [
    (ANSWER, "Answer: a\nb\n\nc\nThought: d", "a\nb\n\nc"),
    (ANSWER, "Action: None\nAnswer: 5", "5"),
    (ANSWER, 'Answer: "Paris"', "Paris"),
    (ANSWER, 'Answer: "a" and "b"', '"a" and "b"'),
    (ANSWER, "Answer: a\nO", "a\nO"),
    (ANSWER, "Answer: a\nAction", "a\nAction"),
    (ANSWER, "Answer: a\nObserv", "a"),
    (ANSWER, "Answer: a\nNotic", "a"),
    (ANSWER, "Answer: do\n- Action: press it\n```\nAction: x[y]\nObservation: z\n```", None),
    (ANSWER, "Answer: a tag is </think>", "a tag is </think>"),
    (FINISH, "Action: finish[x]", "x"),
    (FINISH, "Action: FINISH [a [b]\nc]", "a [b]\nc"),
    (FINISH, "Action: finish[say:\n```\nAnswer: x\n```\n]", "say:\n```\nAnswer: x\n```"),
    (FINISH, "Action: None\nAction: finish[x]", "x"),
    (NUMBERED, "Thought 1: t\nAction 1: finish['x']", "x"),
]


@pytest.mark.parametrize(("text", "name", "arguments"), READ_BY_BOTH)
def test_a_documented_step_is_read_by_both_readings(text: str, name: str, arguments: dict) -> None:
    for strict in (False, True):
        call = parse_step(text, ANSWER, TOOLS, strict=strict)
        assert isinstance(call, Call), call
        assert (call.name, call.arguments) == (name, arguments)


@pytest.mark.parametrize(("text", "name", "arguments", "repair"), READ_BY_LENIENT)
def test_a_repaired_step_names_its_repair_and_is_refused_by_strict_reading(
    text: str, name: str, arguments: dict, repair: str
) -> None:
    call = parse_step(text, ANSWER, TOOLS)
    assert isinstance(call, Call), call
    assert (call.name, call.arguments) == (name, arguments)
    assert repair in call.repairs
    assert isinstance(parse_step(text, ANSWER, TOOLS, strict=True), Malformed)


@pytest.mark.parametrize(("text", "code"), REFUSED_BY_BOTH)
def test_what_is_no_step_is_refused_with_its_code(text: str, code: str) -> None:
    for strict in (False, True):
        reading = parse_step(text, ANSWER, TOOLS, strict=strict)
        assert isinstance(reading, Malformed), reading
        assert reading.code == code
        assert reading.message.endswith(".") or reading.value is not None


@pytest.mark.parametrize(("protocol", "text", "expected"), ANSWERS)
def test_an_answer_is_read_by_both_readings(protocol: Protocol, text: str, expected: str | None) -> None:
    expected = text.removeprefix("Answer: ") if expected is None else expected
    for strict in (False, True):
        reading = parse_step(text, protocol, TOOLS, strict=strict)
        assert isinstance(reading, Answer), reading
        assert reading.text == expected


@pytest.mark.parametrize(
    ("protocol", "text", "repair"),
    [(FINISH, "Answer: x", "answer_label"), (FINISH, "Final Answer: x", "answer_label"),
     (ANSWER, "Action: finish[x]", "finish_call"),
     (ANSWER, 'Action: {"action": "Final Answer", "action_input": "x"}', "json_body")],
)
def test_the_other_ending_is_a_repair(protocol: Protocol, text: str, repair: str) -> None:
    assert parse_step(text, protocol, TOOLS) == Answer("x")
    assert repair in parse_step(text, protocol, TOOLS).repairs
    assert isinstance(parse_step(text, protocol, TOOLS, strict=True), Malformed)


@pytest.mark.parametrize(
    ("text", "primed", "expected"),
    [
        (" search[x]", "Action:", Call("search", X)),
        (" hm\nAction: search[x]", "Thought:", Call("search", X, "hm")),
        ("Thought: hm\nAction: search[x]", "Thought:", Call("search", X, "hm")),
        ("\nAction: search[x]", "Thought:", Call("search", X)),
        ("\nThought: hm\nAction: search[x]", "Action:", Call("search", X, "hm")),
        ("<think>r</think> hm\nAction: search[x]", "Thought:", Call("search", X, "hm")),
        (" x", "Answer:", Answer("x")),
    ],
)
def test_the_label_that_the_prompt_ended_with_counts(text: str, primed: str, expected: object) -> None:
    for strict in (False, True):
        assert parse_step(text, ANSWER, TOOLS, primed=primed, strict=strict) == expected


def test_a_primed_text_that_is_no_label_is_the_callers_mistake() -> None:
    with pytest.raises(SettingsError):
        parse_step("x", ANSWER, TOOLS, primed="Hello")


@pytest.mark.parametrize(
    ("text", "code"),
    [("Action: search", "unclosed_bracket"), ("Action: now", "unclosed_bracket"),
     ("Action: search\nAction Input: a", "unclosed_bracket"),
     ("Action: finish[a", "unclosed_bracket"), ("Act", "no_action_or_answer"), ("<think>a", "unclosed_think")],
)
def test_a_cut_call_is_never_run(text: str, code: str) -> None:
    reading = parse_step(text, FINISH, TOOLS, truncated=True)
    assert isinstance(reading, Malformed)
    assert reading.code == code


def test_notes_tell_what_was_dropped() -> None:
    call = parse_step("Action: search[x]\nAction: search[y]\nAnswer: 5\nObservation: z\nAction: now[]", ANSWER, TOOLS)
    assert (call.extra_steps, call.answer_after_action, call.forged_observation) == (1, True, True)
    assert parse_step("<think>why</think>Action: search[x]", ANSWER, TOOLS).thinking == "why"


def test_an_unknown_tool_carries_the_close_name() -> None:
    assert parse_step("Action: serach[x]", ANSWER, TOOLS).suggestion == "search"


def test_a_misfit_carries_its_evidence() -> None:
    reading = parse_step("Action: add[1, 3.7]", ANSWER, TOOLS)
    assert isinstance(reading, Malformed)
    assert (reading.tool, reading.parameter, reading.expected, reading.value) == ("add", "b", "whole number", "3.7")


def test_every_tool_is_unknown_to_a_protocol_without_tools() -> None:
    reading = parse_step("Action: search[x]", Protocol.preset("think"), TOOLS)
    assert isinstance(reading, Malformed)
    assert reading.code == "unknown_tool"


def test_configured_aliases_are_labels_in_lenient_reading_only() -> None:
    protocol = Protocol.preset("answer", aliases={"思考": "thought", "行动": "action"})
    text = "思考：需要\n行动：search[x]"
    assert parse_step(text, protocol, TOOLS) == Call("search", X, "需要")
    assert isinstance(parse_step(text, protocol, TOOLS, strict=True), Malformed)


CASE_TYPES = {
    "str": Text(), "int": Integer(), "float": Number(), "bool": Boolean(), "list": Array(Anything()),
    "dict": Object(extra=Anything()), "Optional[int]": OneOf((Integer(), Null())),
}


def case_tool(name: str, entries: list[str]) -> Signature:
    parameters = []
    for entry in entries:
        head, is_optional, _ = entry.partition("=")
        parameter, _, kind = head.partition(":")
        parameters.append(Parameter(parameter, CASE_TYPES[kind or "str"], required=not is_optional))
    return Signature(name, "", tuple(parameters))


def rows(path: Path) -> list[dict]:
    if not path.exists():
        pytest.skip(f"{path.name} is not beside this checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def agrees(reading: object, expect: dict) -> bool:
    match reading:
        case Call(name, arguments, thought):
            return expect["kind"] == "action" and (name, arguments, thought) == (
                expect["name"], expect["args"], expect["thought"]
            )
        case Answer(text, thought):
            return expect["kind"] == "answer" and (text, thought) == (expect["answer"], expect["thought"])
        case Malformed(code=code):
            return expect["kind"] == "error" and code == expect["code"]
    return False


def test_every_reported_case_is_read_as_expected() -> None:
    wrong = []
    for row in rows(SHARED / "cases" / "parser_cases.jsonl"):
        protocol = {"A": ANSWER, "B": NUMBERED}[row["format"]]
        tools = {name: case_tool(name, entries) for name, entries in row["tools"].items()}
        options = {"primed": row.get("primed"), "think_open": row.get("think_open", False)}
        options["truncated"] = row.get("finish_reason") == "length"
        lenient = parse_step(row["completion"], protocol, tools, **options)
        strict = parse_step(row["completion"], protocol, tools, strict=True, **options)
        is_right = isinstance(strict, Malformed) if row["strict"] == "error" else agrees(strict, row["expect"])
        if not (agrees(lenient, row["expect"]) and is_right):
            wrong.append((row["id"], lenient, strict))
    assert wrong == []


def test_real_steps_are_read_as_published() -> None:
    wrong, n_malformed = [], 0
    names = {"webshop": ("search", "click", "think", "exit"), "fever": ("Search", "Lookup"),
             "hotpotqa": ("Search", "Lookup")}
    for row in rows(SHARED / "data" / "react_steps.jsonl"):
        task, expect = row["task"], row["expect"]
        protocol = Protocol.preset("act" if task == "webshop" else "numbered", finish="Finish")
        tools = {name: tool(name, text=Text()) for name in names[task]}
        lenient, strict = (parse_step(row["raw"], protocol, tools, strict=strict) for strict in (False, True))
        if "error" in expect:
            n_malformed += 1
            is_right = isinstance(strict, Malformed)
        else:
            # One argument stands in quotes, which are not part of the value.
            value = expect["arg"].strip('"') if expect["arg"][0] == expect["arg"][-1] == '"' else expect["arg"]
            reading = Answer(value) if expect["name"] == "Finish" else Call(expect["name"], {"text": value})
            is_right = is_like(lenient, reading) and (isinstance(strict, Malformed) or is_like(strict, reading))
        if not is_right:
            wrong.append((row["id"], lenient, strict))
    assert wrong == []
    assert n_malformed == 17


def is_like(reading: object, expected: Call | Answer) -> bool:
    match reading, expected:
        case Call(name, arguments), Call():
            return (name, arguments) == (expected.name, expected.arguments)
        case Answer(text), Answer():
            return text == expected.text
    return False


FRAGMENTS = [
    "Thought", "Action", "Observation", "Answer", "Final Answer", "Notice", "Question", "Action Input", ":", "：", " ",
    "\n",
    "\n", "[", "]", "(", ")", "{", "}", "【", "】", '"', "'", "\\", "“", "”", "`", "```", "**", "#", "- ", "1", "2.",
    ",", "=",
    "search", "calc", "now", "add", "finish", "Finish", "none", "N/A", "query", "a", "1e999", "NaN", "True", "null",
    "<think>",
    "</think>", "<tool_call>", "<|im_end|>", "</s>", "\u200b", "\u00a0", "\ud800", "🙂", "\x00", "\r", "\r\n", "\u2028",
    "Observ",
    "\\u12", '{"action": "search", "action_input": "x"}', "Action: search[x]", "Thought: t\n", "Action: add[1, 2]\n",
    "ſ", "İ",
    "\u212a", "9" * 50,
]


def check_total(text: str, protocol: Protocol, **options: object) -> None:
    lenient = parse_step(text, protocol, TOOLS, **options)
    strict = parse_step(text, protocol, TOOLS, strict=True, **options)
    assert isinstance(lenient, Call | Answer | Malformed)
    assert isinstance(strict, Malformed) or strict == lenient


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=4)), max_size=30).map("".join),
    st.sampled_from(list(PRESETS)), st.booleans(), st.booleans(),
)
def test_any_text_is_read_and_strict_reading_never_disagrees(text: str, preset: str, think: bool, cut: bool) -> None:
    check_total(text, Protocol.preset(preset), think_open=think, truncated=cut)


@pytest.mark.fuzz
def test_a_hundred_thousand_random_texts_are_read() -> None:
    rng = random.Random(20240917)
    protocols = [Protocol.preset(preset) for preset in PRESETS]
    for _ in range(100_000):
        text = "".join(rng.choices(FRAGMENTS, k=rng.randrange(25)))
        primed = rng.choice([None, "Action 2:", "Answer:"])
        options = {"think_open": rng.random() < 0.1, "truncated": rng.random() < 0.2}
        check_total(text, rng.choice(protocols), primed=primed, **options)


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
    | st.lists(st.sampled_from(FRAGMENTS), max_size=6).map("".join)
)
def test_a_written_call_and_a_written_answer_are_read_back(value: str) -> None:
    value = value.replace("\ud800", "")
    line = f"Action: {write_call('search', {'query': value}, TOOLS['search'])}"
    assert parse_step(line, FINISH, TOOLS, strict=True) == Call("search", {"query": value})
    if value.strip():
        assert parse_step(f"Action: finish[{write_answer(value)}]", FINISH, TOOLS, strict=True) == Answer(value)


HOSTILE = [
    "Action: " + "[" * 200_000, "Action: search[" + "('" * 100_000, "Action: add[" + ', "' * 66_000,
    "Action: add[" + ", '" * 66_000,
    "Action: a[b]\n" * 15_000, "action: a[b]\n" * 15_000, "Action: search[\n" * 12_000, 'Action: f["\n' * 16_000,
    "Action: f['\n" * 16_000, "Thought: a\n" * 18_000, "<think>" * 28_000, "</think>" * 25_000, "<|a|>" * 40_000,
    "x\n" + "<think></think>\nThought:\n" * 8_000, "Action: {" + '"a":{' * 40_000,
    "Action: add[" + "[" * 99_000 + "]" * 99_000 + "]",
    "Action:" + "\n " * 100_000, "Action: search[" + "\\" * 200_000 + "]", "Answer: " + "```\nAction: x\n" * 13_000,
    "Action: search\nAction Input: " + "```\n" * 50_000, "Action: add[a=" + "9" * 200_000 + ", b=1]",
    " \n" * 100_000 + "x",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:24]))
def test_hostile_texts_of_200_kb_take_no_more_than_linear_time(text: str) -> None:
    started = time.process_time()
    assert isinstance(parse_step(text, FINISH, TOOLS), Call | Answer | Malformed)
    # Half a second at most on a slow core; anything quadratic takes minutes.
    assert time.process_time() - started < 5


@pytest.mark.parametrize("is_strict", [False, True])
def test_on_the_line_of_a_primed_thought_another_label_is_a_mention(is_strict: bool) -> None:
    """Regression: " Action: search[x]" behind the program's "Thought:" was run, though no line begins with its label."""
    tools = {"search": Signature("search", "", (Parameter("query", Text()),))}
    inline, below = (
        parse_step(text, Protocol(), tools, primed="Thought:", strict=is_strict)
        for text in (" Action: search[x]", "\nAction: search[x]")
    )
    assert isinstance(inline, Malformed) and inline.code == "no_action_or_answer"
    assert below == Call("search", {"query": "x"})
