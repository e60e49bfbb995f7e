"""The action language: what it takes and refuses, what it is refused for, and how fast it is built."""

from __future__ import annotations

import json
import time

import pytest

from local_react.errors import GrammarError
from local_react.language.arguments import write_call
from local_react.language.derivative import Recogniser, accepts
from local_react.language.emit import to_gbnf, to_lark, to_regex
from local_react.language.fit import UNFIT, fit
from local_react.language.grammar import action_language, line_language, step_language
from local_react.language.parse import parse_step
from local_react.language.protocol import PRESETS
from local_react.language.schema import read_parameters
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Call
from local_react.language.types import Anything, Choice, Date, Integer, OneOf, Text
from tests.toolboxes import signature

ID = signature("get", Parameter("id", Text()))
ADD = signature("add", Parameter("a", Integer(0, 9)), Parameter("b", Integer(), required=False))
PAIR = signature("pair", Parameter("id", Text()), Parameter("day", Date(), required=False))
FINISH, ANSWER = PRESETS["finish"], PRESETS["answer"]

WORDS = [
    (ID, " get[x]", True), (ID, " get[a [b] c]", True), (ID, ' get["a]b"]', True), (ID, " get[a]b]", False),
    (ID, " get[]", False), (ID, ' get[""]', True), (ID, "get[x]", False), (ID, " get[x] ", False), (ID, " get[a\nb]", False),
    (ID, " get[id=x]", False), (ID, " finish[x]", True), (ID, " finish[]", False), (ID, ' finish[" "]', False),
    (ID, " get[<|im_end|>]", False), (ID, ' get["<|im_end|>"]', True), (ID, " get[ x]", False),
    (ADD, " add[a=1]", True), (ADD, " add[a=1, b=-20]", True), (ADD, " add[a=1,b=2]", False), (ADD, " add[b=2]", False),
    (ADD, " add[a=10]", False), (ADD, " add[a=01]", False), (ADD, " add[b=2, a=1]", False), (ADD, " add[1]", False),
    (PAIR, " pair[id=x, day=2024-02-29]", True), (PAIR, " pair[id=x, day=2023-02-29]", False),
    (PAIR, ' pair[id="a, b"]', True), (PAIR, " pair[id=a, b]", False), (PAIR, " pair[id=True]", False),
]


@pytest.mark.parametrize(("tool", "word", "is_word"), WORDS)
def test_calls_are_taken_in_their_one_spelling(tool: Signature, word: str, is_word: bool) -> None:
    assert accepts(action_language(FINISH, {tool.name: tool}), word) == is_word


def test_the_line_begins_with_its_label_and_the_step_behind_it() -> None:
    tools = {"get": ID}
    assert Recogniser(line_language(FINISH, tools)).forced() == b"Action: "
    assert Recogniser(line_language(FINISH, tools, allow_answer=False)).forced() == b"Action: get["
    assert Recogniser(line_language(PRESETS["numbered"], tools, number=7, only_answer=True)).forced() == b"Action 7: finish["
    line = line_language(ANSWER, tools)
    assert accepts(line, "Action: get[x]") and accepts(line, "Answer: x]") and accepts(line, "Answer: x\n")
    assert Recogniser(line_language(ANSWER, tools, only_answer=True)).forced() == b"Answer: "
    assert not accepts(line_language(ANSWER, tools, allow_answer=False), "Answer: x")
    assert accepts(step_language(FINISH, tools), " I think.\nAction: get[x]")
    assert not accepts(step_language(FINISH, tools), " Action: get[y]\nAction: get[x]")
    assert accepts(step_language(PRESETS["act"], tools), " get[x]")


def test_grounded_parameters_take_only_what_was_seen() -> None:
    tools = {"get": ID, "pair": PAIR}
    language = action_language(FINISH, tools, grounded={("get", "id"): ["cus_1", "a]b"], ("pair", "id"): []})
    assert accepts(language, " get[cus_1]") and accepts(language, ' get["a]b"]')
    assert not accepts(language, " get[cus_2]") and not accepts(language, " pair[id=x]")
    optional = signature("opt", Parameter("id", Text(pattern="^c"), required=False), Parameter("n", Integer()))
    language = action_language(FINISH, {"opt": optional}, grounded={("opt", "id"): ["x"]})
    assert accepts(language, " opt[n=1]") and not accepts(language, " opt[id=x, n=1]")


def test_a_language_that_admits_nothing_is_refused() -> None:
    for call in (
        lambda: action_language(FINISH, {}, allow_answer=False),
        lambda: action_language(FINISH, {"get": ID}, allow_answer=False, callable_tools=()),
        lambda: action_language(ANSWER, {"get": ID}, only_answer=True),
        lambda: line_language(FINISH, {"get": ID}, allow_answer=False, grounded={("get", "id"): []}),
    ):
        with pytest.raises(GrammarError, match="admits nothing"):
            call()


@pytest.mark.parametrize(("pattern", "part"), [(r"(a)\1", "back-reference"), (r"(?=a)", "look-around"), (r"\bx", r"\\b")])
def test_a_pattern_that_is_not_regular_is_refused_with_tool_parameter_and_part(pattern: str, part: str) -> None:
    with pytest.raises(GrammarError, match=f"Tool t, parameter p: .*{part}"):
        action_language(FINISH, {"t": signature("t", Parameter("p", Text(pattern=pattern)))})


def test_an_impossible_type_is_refused_by_name() -> None:
    with pytest.raises(GrammarError, match="parameter p: no value"):
        action_language(FINISH, {"t": signature("t", Parameter("p", Text(5, 6, "^ab$")), Parameter("q", Integer()))})


def test_a_regex_that_would_explode_is_refused() -> None:
    with pytest.raises(GrammarError, match="characters"):
        to_regex(action_language(FINISH, {"t": signature("t", Parameter("p", Anything()))}))


def test_the_texts_keep_to_what_the_engines_read() -> None:
    tools = {"t": signature("t", Parameter("p", Choice(tuple(f"it]em\n{n}" for n in range(10_000)))))}
    tools["u"] = signature("ü_n", Parameter("p", OneOf((Integer(), Text()))))
    language = action_language(FINISH, tools)
    text = to_gbnf(language)
    assert text.startswith("root ::= ") and "_ ::=" not in text
    names = [line.split(" ::= ")[0] for line in text.splitlines()]
    assert len(names) == len(set(names)) and all(name.isalnum() for name in names)
    assert not any(line.lstrip().startswith("|") or "| |" in line or "()" in line for line in text.splitlines())
    assert to_lark(language).startswith("start: TEXT\nTEXT: ")
    for name in ("a_b", "", "r1", "1a"):
        with pytest.raises(ValueError, match="name of a rule"):
            to_gbnf(language, name)


def test_a_tag_in_an_argument_opens_no_second_call() -> None:
    for word in (' get["</think>Action: get[z]"]', ' get["x </think>Action: y"]'):
        assert accepts(action_language(PRESETS["act"], {"get": ID}), word)
        value = word[6:-2]
        for strict in (True, False):
            assert parse_step(word, PRESETS["act"], {"get": ID}, strict=strict, primed="Action:") == Call("get", {"id": value})


def test_a_tool_may_be_called_like_a_null_action() -> None:
    tools = {"Null": signature("Null")}
    assert parse_step("Action: Null[]", FINISH, tools, strict=True) == Call("Null", {})


def _first(value: object) -> object:
    """The first acceptable value, for objects that of each key."""
    if isinstance(value, dict):
        return {key: next(v for v in values if v != "") for key, values in value.items() if any(v != "" for v in values)}
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return [_first(item) for item in value]
    return value


@pytest.mark.parametrize(("every", "n_least"), [(4, 470), pytest.param(1, 1890, marks=pytest.mark.slow)])
def test_all_schemas_of_bfcl_compile_and_ground_truths_that_fit_are_words(shared, every: int, n_least: int) -> None:
    n_accepted, known = 0, {}
    for path in sorted((shared / "data" / "bfcl").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines()[::every]:
            row = json.loads(line)
            tools = {f["name"]: Signature(f["name"], "", read_parameters(f["parameters"], tool=f["name"]))
                     for f in row["functions"]}
            known.update(tools)
            language = action_language(FINISH, tools)
            for name, accepted in (row["ground_truth"] or [{}])[0].items():
                values = {}
                for parameter in tools[name].parameters:
                    fitting = (fit(_first(v), parameter.type, []) for v in accepted.get(parameter.name, ()) if v != "")
                    found = next((value for value in fitting if value is not UNFIT), UNFIT)
                    if found is not UNFIT:
                        values[parameter.name] = found
                if all(parameter.name in values for parameter in tools[name].parameters if parameter.required):
                    word = write_call(name, values, tools[name], FINISH.arguments)
                    assert accepts(language, f" {word}"), (row["id"], word)
                    n_accepted += 1
    assert n_accepted >= n_least, n_accepted
    fifty = dict(sorted(known.items())[:50])
    start = time.process_time()
    language = action_language(FINISH, fifty)
    texts = (to_gbnf(language), to_lark(language))
    assert all(texts) and time.process_time() - start < 0.5
