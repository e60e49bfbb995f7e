"""Guards: which settings make sense, and which calls count as repeated."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError, fields, replace
from typing import Any

import pytest

from local_react import Call, Guards, ScriptedModel, SettingsError, Tool, run
from local_react.guards import CallHistory

SWITCHES = [
    "stop_strings", "one_action", "parse_notices", "unknown_tool_notices", "repeated_calls", "final_answer", "approval",
    "tool_time_limits",
]
LIMITS = [
    "observation_tokens", "max_steps", "max_thought_tokens", "max_think_tokens", "max_tokens", "time_limit_s", "max_malformed",
    "max_repeats", "compile_limit_s",
]


def test_every_guard_is_a_switch_or_a_limit_that_can_be_lifted() -> None:
    assert {field.name for field in fields(Guards)} == {*SWITCHES, *LIMITS, "max_step_tokens", "min_calls"}
    off = Guards(**dict.fromkeys(SWITCHES, False), **dict.fromkeys(LIMITS), min_calls=0)
    assert not any(getattr(off, name) for name in (*SWITCHES, *LIMITS))
    assert all(getattr(Guards(), name) for name in SWITCHES), "on unless switched off"


def test_every_guard_is_described() -> None:
    assert all(field.name in (Guards.__doc__ or "") for field in fields(Guards))


ACCEPTED = [
    {"max_steps": 1}, {"max_step_tokens": 1}, {"max_tokens": 1}, {"max_malformed": 1}, {"max_repeats": 1}, {"min_calls": 0},
    {"observation_tokens": 16}, {"time_limit_s": 0}, {"time_limit_s": 0.25}, {"time_limit_s": 3}, {"time_limit_s": math.inf},
    {"max_tokens": 10**9},
]


@pytest.mark.parametrize("values", ACCEPTED)
def test_limits_down_to_the_lowest_are_accepted(values: dict[str, Any]) -> None:
    ((name, value),) = values.items()
    assert getattr(Guards(**values), name) == value


REFUSED = [
    *[{name: value} for name in SWITCHES for value in (None, 0, 1, "yes")],
    *[{name: value} for name in ("max_steps", "max_step_tokens", "max_thought_tokens", "max_tokens", "max_malformed", "max_repeats")
      for value in (0, -1, 1.5, 2.0, True, "3", math.nan)],
    {"max_step_tokens": None}, {"min_calls": -1}, {"min_calls": None}, {"min_calls": 0.0}, {"observation_tokens": 15},
    {"observation_tokens": 0}, {"time_limit_s": -0.1}, {"time_limit_s": math.nan}, {"time_limit_s": "60"},
    {"time_limit_s": True},
]


@pytest.mark.parametrize("values", REFUSED, ids=str)
def test_a_setting_that_makes_no_sense_is_refused_by_name(values: dict[str, Any]) -> None:
    ((name, value),) = values.items()
    with pytest.raises(SettingsError, match=f"{name}={value!r} makes no sense. It is"):
        Guards(**values)


def test_guards_are_frozen_and_take_no_unknown_setting() -> None:
    with pytest.raises(FrozenInstanceError):
        Guards().max_steps = 3  # type: ignore[misc]
    with pytest.raises(TypeError, match="max_step"):
        Guards(max_step=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Guards(False)  # type: ignore[misc]


def call(letter: str) -> Call:
    return Call("search", {"query": letter})


HISTORIES = [
    # the calls so far, "!" behind one that failed; the next call; whether that is a repetition
    ("", "a", False),
    ("a", "a", True),
    ("a", "b", False),
    ("a!", "a", False),
    ("a! a!", "a", False),
    ("a! a", "a", True),
    ("a a!", "a", False),
    ("a b", "a", False),
    ("a b", "b", True),
    ("a b a", "b", True),
    ("a b a", "a", True),
    ("a b a", "c", False),
    ("a b! a", "b", False),
    ("a! b a!", "b", True),
    ("a b a!", "a", False),
    ("b a b a", "b", True),
    ("c a b a", "b", True),
    ("a b c", "a", False),
    ("a b c a b", "c", False),
    ("a b b! a", "b", False),
]


@pytest.mark.parametrize(("made", "next_call", "is_repetition"), HISTORIES)
def test_a_repetition_is_the_call_just_made_or_the_fourth_of_abab(made: str, next_call: str, is_repetition: bool) -> None:
    history = CallHistory()
    for word in made.split():
        history.add(call(word[0]), is_error=word.endswith("!"))
    assert history.is_repetition(call(next_call)) is is_repetition
    assert history.n_calls == len(made.split())


SAME = Call("add", {"a": 1, "b": [1, {"x": None, "y": "é"}]}, "one thought")
OTHERS = [
    (Call("add", {"b": [1, {"y": "é", "x": None}], "a": 1}, "another thought", repairs=("bold_label",)), True),
    (Call("sum", {"a": 1, "b": [1, {"x": None, "y": "é"}]}), False),
    (Call("add", {"a": 1}), False),
    (Call("add", {"a": 1.0, "b": [1, {"x": None, "y": "é"}]}), False),
    (Call("add", {"a": True, "b": [1, {"x": None, "y": "é"}]}), False),
    (Call("add", {"a": "1", "b": [1, {"x": None, "y": "é"}]}), False),
    (Call("add", {"a": 1, "b": [{"x": None, "y": "é"}, 1]}), False),
]


@pytest.mark.parametrize(("other", "is_same"), OTHERS)
def test_calls_are_the_same_by_name_and_arguments(other: Call, is_same: bool) -> None:
    history = CallHistory()
    history.add(SAME, is_error=False)
    assert history.is_repetition(other) is is_same


def test_asking_changes_nothing() -> None:
    history = CallHistory()
    history.add(SAME, is_error=False)
    assert history.is_repetition(SAME) and history.is_repetition(SAME)
    assert (history.n_calls, history.n_repeats) == (1, 0)


def test_a_small_observation_budget_cuts_and_ends_nothing() -> None:
    """Budgets below the room for a step ended the run as if the window were full once."""
    script = [" t\nAction: fetch[x]\n", " t\nAction: finish[it]"]
    tool = Tool.from_schema("fetch", "Fetch.", FETCH, lambda page: "word " * 50)
    trace = run("q", model=ScriptedModel(script), tools=[tool], guards=Guards(observation_tokens=16))
    assert (trace.ending, trace.answer) == ("answered", "it")
    assert "tokens left out" in trace.steps[0].observation.text
    small = replace(tool, observation_tokens=1)
    assert run("q", model=ScriptedModel(script), tools=[small]).answer == "it"


def test_an_unknown_tool_is_no_error_where_there_is_none() -> None:
    script = [" t\nAction: fetch[x]\n", " t\nAnswer: it"]
    assert run("q", model=ScriptedModel(script), protocol="answer").answer == "it"


FETCH = {"type": "object", "properties": {"page": {"type": "string"}}, "required": ["page"]}
