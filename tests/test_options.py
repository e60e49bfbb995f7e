"""What run and run_many take: a value of the wrong kind is one SettingsError that names its option."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from local_react import Exemplar, Guards, Model, ScriptedModel, SettingsError, ToolError, run, run_many
from local_react.options import KINDS, check_kind
from local_react.tools.toolbox import Toolbox

FINISH = " Done.\nAction: finish[it]"

WRONG: list[tuple[str, Any]] = [
    ("model", None), ("model", 5), ("model", "smollm2"), ("model", Path("model.gguf")), ("model", Model),
    ("protocol", 3), ("protocol", None), ("exemplars", "x"), ("exemplars", [3]), ("exemplars", 5),
    ("instructions", 3), ("instructions", ["x"]), ("strict", "no"), ("strict", 1), ("guards", None), ("guards", {}),
    ("sampling", "hot"), ("sampling", 3), ("logprobs", "x"), ("logprobs", -1), ("logprobs", True), ("constrain", 3),
    ("constrain", None), ("engine", 3), ("engine", ["gbnf"]), ("ground", "x"), ("explain", None), ("approve", 3),
    ("approve", "yes"), ("on_event", 3), ("trace", 5), ("trace", ["x"]), ("clock", 3), ("clock", None), ("grammar", 5),
    ("template", 5), ("think", True),
]
OF_SETTINGS: list[tuple[str, Any]] = [
    ("max_steps", "x"), ("max_steps", True), ("max_step_tokens", None), ("temperature", "hot"), ("temperature", None),
    ("seed", "x"), ("seed", 1.5),
]


@pytest.mark.parametrize(("name", "value"), WRONG + OF_SETTINGS)
def test_a_value_of_the_wrong_kind_is_refused_by_name(name: str, value: Any) -> None:
    """Regression: most of these were a bare TypeError or AttributeError from somewhere inside."""
    with pytest.raises(SettingsError, match=name) as caught:
        run("What?", **{"model": ScriptedModel([FINISH]), name: value})
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_parallel", 0), ("n_parallel", "x"), ("n_parallel", True), ("n_parallel", 1.5), ("trace", "run.jsonl"),
        ("on_event", "x"), ("seeds", 3), ("seeds", ["x"]), ("toolboxes", 3), ("toolboxes", "x"), ("questions", "What?"),
        ("questions", 5), ("questions", None), ("questions", {"a": "b"}),
    ],
)
def test_so_are_those_of_many_questions(name: str, value: Any) -> None:
    options = {"questions": ["What?"], "model": ScriptedModel([FINISH]), name: value}
    with pytest.raises(SettingsError, match=name):
        run_many(options.pop("questions"), **options)


@pytest.mark.parametrize("tools", [5, None, "search", b"x", [5], ["search"], {"a": 1}, object()])
def test_tools_that_are_none_are_a_tool_error(tools: Any) -> None:
    with pytest.raises(ToolError):
        run("What?", model=ScriptedModel([FINISH]), tools=tools)


@pytest.mark.parametrize("question", [5, None, b"What?", ["What?"]])
def test_a_question_is_a_text(question: Any) -> None:
    with pytest.raises(SettingsError, match="A question is a text"):
        run(question, model=ScriptedModel([FINISH]))


def test_every_option_has_a_kind() -> None:
    """Those left out are judged by what they go into: the tools, the guards and the sampling."""
    elsewhere = {"tools", "max_steps", "max_step_tokens", "temperature", "seed"}
    assert set(inspect.signature(run_many).parameters) - elsewhere == set(KINDS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exemplars", ()), ("exemplars", None), ("exemplars", [Exemplar("q", ())]), ("guards", Guards()), ("sampling", {}),
        ("logprobs", 0), ("constrain", True), ("constrain", "step"), ("seeds", [1]), ("toolboxes", [Toolbox()]),
        ("questions", ("a",)), ("approve", print), ("n_parallel", 1), ("model", ScriptedModel([])),
    ],
)
def test_a_value_of_the_right_kind_passes(name: str, value: Any) -> None:
    check_kind(name, value, KINDS[name])


def test_a_long_value_is_shown_in_short() -> None:
    with pytest.raises(SettingsError) as caught:
        check_kind("guards", "x" * 10_000, KINDS["guards"])
    assert len(str(caught.value)) < 200
