"""The values of a step: frozen, compared by their meaning, and not by how they were spelled."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any, get_args

import pytest

from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.step import Answer, Call, Code, Malformed, Observation, Step

CALL = Call("search", {"query": "x"}, "t")


@pytest.mark.parametrize(
    ("value", "notes"),
    [
        (CALL, {"repairs": ("bold_label",), "extra_steps": 1, "answer_after_action": True}),
        (Answer("a", "t"), {"forged_observation": True, "thinking": "hm"}),
        (Malformed("unknown_tool", "m"), {"tool": "x", "parameter": "p", "expected": "e", "value": "v", "suggestion": "s"}),
    ],
)
def test_notes_take_no_part_in_the_comparison(value: Any, notes: dict[str, Any]) -> None:
    fields = {name: getattr(value, name) for name in type(value).__match_args__}
    noted = type(value)(**fields, **notes)
    assert noted == value
    assert {name: getattr(noted, name) for name in notes} == notes
    assert all(not getattr(value, name) for name in notes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CALL, Call("search", {"query": "x"}, "u")), (CALL, Call("search", {"query": "y"}, "t")),
        (CALL, Call("find", {"query": "x"}, "t")), (CALL, Answer("search", "t")), (Answer("a"), Answer("b")),
        (Malformed("unknown_tool", "m"), Malformed("null_action", "m")), (Observation("a"), Observation("a", kind="notice")),
        (Observation("a"), Observation("a", is_error=True)), (Observation("a"), Observation("a", full="ab")),
    ],
)
def test_different_meanings_are_different(one: Any, other: Any) -> None:
    assert one != other


def test_notes_are_given_by_name_only() -> None:
    with pytest.raises(TypeError):
        Call("search", {}, "t", ("bold_label",))  # type: ignore[misc]


@pytest.mark.parametrize("value", [CALL, Answer("a"), Malformed("null_action", "m"), Observation("a"), Step(CALL)])
def test_values_are_frozen_and_have_no_other_fields(value: Any) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(value, type(value).__match_args__[0], "changed")
    with pytest.raises((AttributeError, TypeError)):
        value.more = 1
    assert not hasattr(value, "__dict__")


def test_the_thought_of_a_step_is_that_of_its_action() -> None:
    assert Step(CALL).thought == "t"
    assert Step(Answer("a"), Observation("o")).thought is None


def test_actions_can_be_matched_by_position() -> None:
    match CALL:
        case Call(name, arguments, thought):
            assert (name, arguments, thought) == ("search", {"query": "x"}, "t")
        case _:
            pytest.fail("a call is a Call")


CODES = [
    ("", "empty_completion", {}), ("prose", "no_action_or_answer", {}), ("Action: None", "null_action", {}),
    ("Action: a b", "malformed_action", {}), ("Action: a[b", "unclosed_bracket", {}),
    ("hm", "unclosed_think", {"think_open": True}), ("Observation: x", "hallucinated_observation", {}),
    ("Action: a[b]", "unknown_tool", {}), ("Action: finish[]", "empty_answer", {}),
]


def test_every_code_but_those_of_arguments_can_be_read_without_tools() -> None:
    for text, code, options in CODES:
        assert parse_step(text, Protocol(), {}, **options).code == code  # type: ignore[union-attr]
    of_arguments = {"missing_argument", "too_many_arguments", "unknown_argument", "bad_argument"}
    assert {code for _, code, _ in CODES} | of_arguments == set(get_args(Code))
