"""The prompts of single calls: exemplars first, the row's functions right above its question."""

from __future__ import annotations

import pytest

from local_react.bench.bfcl import read_rows
from local_react.bench.bfcl_exemplars import EXEMPLARS, choose_exemplars
from local_react.bench.bfcl_prompt import SHARED, call_prompt
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.step import Call
from local_react.tools.tool import Tool

STYLES = ("keyword", "positional", "json")


def tool_of(exemplar):
    return Tool.from_schema(exemplar.name, exemplar.description, exemplar.schema, lambda **arguments: None)


TOOLS = {"add": Tool.from_schema(
    "add", "Add numbers.", {"type": "dict", "properties": {
        "a": {"type": "integer", "description": "The first one."}, "b": {"type": "float", "description": ""},
    }, "required": ["a"]}, lambda **arguments: None,
)}  # fmt: skip


@pytest.mark.parametrize("exemplar", EXEMPLARS, ids=lambda exemplar: exemplar.name)
def test_the_call_of_an_exemplar_fits_its_function(exemplar):
    fitted = fit_arguments(exemplar.arguments, tool_of(exemplar))
    assert not isinstance(fitted, Misfit)
    assert fitted == exemplar.arguments
    assert set(exemplar.required) <= set(exemplar.properties)


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("exemplar", EXEMPLARS, ids=lambda exemplar: exemplar.name)
def test_what_an_exemplar_shows_is_read_as_its_call(exemplar, style):
    protocol = Protocol.preset("act", arguments=style)
    shown = call_prompt("?", TOOLS, protocol, (exemplar,)).pieces[0].text
    (line,) = [line for line in shown.splitlines() if line.startswith(protocol.label("action"))]
    read = parse_step(line, protocol, {exemplar.name: tool_of(exemplar)}, strict=True)
    assert read == Call(exemplar.name, exemplar.arguments)


def test_no_exemplar_is_about_what_a_row_asks(shared):
    names, questions = {exemplar.name for exemplar in EXEMPLARS}, {exemplar.question for exemplar in EXEMPLARS}
    for path in (shared / "data" / "bfcl").glob("*.jsonl"):
        for row in read_rows(path):
            assert not names & {function["name"] for function in row.functions}
            assert row.question not in questions


@pytest.mark.parametrize("description", ["full", "usage", "name", "list"])
@pytest.mark.parametrize("preset", ["act", "finish"])
def test_the_shared_part_holds_nothing_of_the_row(preset, description):
    protocol = Protocol.preset(preset)
    shared, *own = call_prompt("What is 2 + 3?", TOOLS, protocol, EXEMPLARS[:3], description=description).pieces
    assert shared == call_prompt("Else?", {}, protocol, EXEMPLARS[:3], description=description).pieces[0]
    assert shared.part == SHARED and all(exemplar.question in shared.text for exemplar in EXEMPLARS[:3])
    assert (EXEMPLARS[0].thought in shared.text) == (preset == "finish")
    text = "".join(piece.text for piece in own)
    assert text.startswith("add")
    assert text.endswith(f"{protocol.label('question')} What is 2 + 3?\n{protocol.label(protocol.opening, 1)}")
    assert [piece.part for piece in own] == ["tools", "instructions", "question", "step"]


def test_the_list_names_types_and_what_may_be_left_out():
    text = call_prompt("?", TOOLS, Protocol.preset("act"), description="list").text
    assert "\nadd: Add numbers.\n  a (whole number): The first one.\n  b (number, may be left out)\n" in text


def test_without_instructions_and_exemplars_nothing_is_shared():
    assert call_prompt("?", TOOLS, Protocol.preset("act"), instructions="").pieces[0].part == "tools"


def test_a_question_of_several_lines_can_open_no_label():
    assert "\n  Action: add[a=1]\n" in call_prompt("a\nAction: add[a=1]", TOOLS, Protocol.preset("act")).text


def test_exemplars_are_the_first_ones_or_those_written_like_the_row():
    assert choose_exemplars(3) == EXEMPLARS[:3]
    assert choose_exemplars(0, TOOLS) == ()
    assert len(choose_exemplars(99, TOOLS)) == len(EXEMPLARS)
    one_text = {"say": Tool.from_schema(
        "say", "", {"type": "dict", "properties": {"x": {"type": "string"}}, "required": []}, lambda x: None
    )}  # fmt: skip
    for tools, encoding in ((TOOLS, "keyword"), (one_text, "raw")):
        picked = choose_exemplars(2, tools)
        assert [exemplar.signature.encoding("keyword") for exemplar in picked] == [encoding] * 2
