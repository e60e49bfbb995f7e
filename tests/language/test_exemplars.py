"""Exemplars made from the signatures: a smooth run, a failure with recovery, and nothing that couldn't be called."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.exemplars import default_exemplars
from local_react.language.prompt import check_exemplar
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call
from local_react.language.types import (
    Anything,
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Field,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
    Type,
)
from tests.language.test_arguments import calls

SEARCH = Signature("search", "", (Parameter("query", Text()),))
ADD = Signature("add", "", (Parameter("a", Integer()), Parameter("b", Integer(), required=False)))
CODE = Signature("code", "", (Parameter("code", Text(pattern="^[A-Z]{3}[0-9]{4}$")),))


def box(*signatures: Signature) -> dict[str, Signature]:
    return {signature.name: signature for signature in signatures}


def test_one_run_is_smooth_and_one_fails_and_recovers() -> None:
    smooth, failing = default_exemplars(box(SEARCH, ADD))
    call, answer = smooth.steps
    assert call.action == Call("search", {"query": "some query"}, "I need a fact that search can give.")
    assert call.observation is not None and not call.observation.is_error
    assert isinstance(answer.action, Answer) and answer.action.text in call.observation.text
    failed, again, answer = failing.steps
    assert failed.observation is not None and failed.observation.is_error
    assert failed.observation.text.startswith("Error: ")
    assert isinstance(again.action, Call)
    assert (again.action.name, again.action.arguments) == ("add", {"a": 1})
    assert again.action == Call("add", failed.action.arguments, again.thought)  # type: ignore[union-attr]
    assert again.observation is not None and not again.observation.is_error
    assert isinstance(answer.action, Answer) and answer.action.text in again.observation.text


def test_every_step_has_a_thought_and_every_step_but_the_last_an_observation() -> None:
    for exemplar in default_exemplars(box(SEARCH)):
        assert all(step.thought for step in exemplar.steps)
        assert [step.observation is None for step in exemplar.steps] == [False] * (len(exemplar.steps) - 1) + [True]


def test_a_single_tool_serves_both_and_a_tool_that_cannot_be_made_up_neither() -> None:
    assert [exemplar.steps[0].action.name for exemplar in default_exemplars(box(ADD))] == ["add", "add"]
    assert [exemplar.steps[0].action.name for exemplar in default_exemplars(box(CODE, ADD, SEARCH, CODE))] == ["add", "search"]
    assert default_exemplars(box(CODE)) == ()
    assert default_exemplars({}) == ()


KINDS: list[Type] = [
    Text(min_length=30), Text(max_length=2), Text(max_length=0), Integer(5, 7), Integer(None, -3), Number(0.5),
    Number(None, -1.5), Boolean(), Null(), Date(), DateTime(), Choice(("b", "a")), Choice((None,)), Array(Integer(2)),
    Array(Text(), 3, 3), Object((Field("x", Integer()), Field("y", Text(), required=False))), Object((), Anything()),
    OneOf((Null(), Date())), Anything(),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_every_type_can_be_made_up(kind: Type) -> None:
    tool = Signature("tool", "", (Parameter("it", kind), Parameter("other", Integer())))
    exemplars = default_exemplars(box(tool))
    assert len(exemplars) == 2
    for exemplar in exemplars:
        check_exemplar(exemplar, Protocol(), box(tool))


@settings(max_examples=300, deadline=None)
@given(st.lists(calls(), max_size=4))
def test_they_call_only_what_fits(drawn: list) -> None:
    tools = {f"t{n}": Signature(f"t{n}", "", signature.parameters) for n, (signature, _) in enumerate(drawn)}
    exemplars = default_exemplars(tools)
    assert len(exemplars) == (2 if tools else 0)
    for exemplar in exemplars:
        assert exemplar.question.strip()
        for step in exemplar.steps[:-1]:
            fitted = fit_arguments(step.action.arguments, tools[step.action.name])
            assert not isinstance(fitted, Misfit)
            assert fitted == step.action.arguments
