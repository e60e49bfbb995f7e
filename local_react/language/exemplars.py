"""Worked examples for any toolbox, made from its signatures: one smooth run, and one failure with recovery.

A small model learns the form of a step from examples far better than from rules, and examples with other tools teach it
to call tools that aren't there. So where the caller gives no exemplars of their own, these show the caller's tools with
made-up values. They teach the form only; hand-written ones for the task at hand are better.
"""

from __future__ import annotations

from typing import Any

from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.prompt import Exemplar
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Answer, Call, Observation, Step
from local_react.language.types import (
    Anything,
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
    Type,
)

_RESULTS = ("The result is 42.", "The result is green.")
_ERROR = "Error: TimeoutError: no answer within 30 s"


def default_exemplars(tools: Signatures) -> tuple[Exemplar, ...]:
    """Two exemplars on these tools, or none where no tool takes arguments that can be made up."""
    calls = [call for call in map(_sample_call, tools.values()) if call is not None]
    if not calls:
        return ()
    smooth, failing = calls[0], calls[-1]
    return (
        Exemplar(
            f"What does {smooth.name} say{_about(smooth)}?",
            (
                Step(Call(smooth.name, smooth.arguments, f"I need a fact that {smooth.name} can give."),
                     Observation(_RESULTS[0])),
                Step(Answer("42", "The result answers the question.")),
            ),
        ),
        Exemplar(
            f"Ask {failing.name}{_about(failing)} and tell me the result.",
            (
                Step(Call(failing.name, failing.arguments, f"I should use {failing.name}."),
                     Observation(_ERROR, is_error=True)),
                Step(Call(failing.name, failing.arguments, "The tool failed. I should try it again."),
                     Observation(_RESULTS[1])),
                Step(Answer("green", "Now I have the result.")),
            ),
        ),
    )


def _about(call: Call) -> str:
    values = [str(value) for value in call.arguments.values() if not isinstance(value, (list, dict))]
    return f" about {', '.join(values)}" if values else ""


def _sample_call(signature: Signature) -> Call | None:
    values = {
        parameter.name: _sample(parameter.type, parameter.name)
        for parameter in signature.parameters if parameter.required
    }
    fitted = fit_arguments(values, signature)
    return None if isinstance(fitted, Misfit) else Call(signature.name, fitted)


def _sample(type: Type, name: str) -> Any:
    """A plain value of the type; it may not fit a pattern, which the caller checks."""
    match type:
        case Text(min_length=low, max_length=high):
            text = f"some {name.replace('_', ' ')}"
            return text.ljust(low, "x")[: high if high is not None else None]
        case Integer(low, high) | Number(low, high):
            return low if low is not None else high if high is not None else 1
        case Boolean():
            return True
        case Null():
            return None
        case Date():
            return "2026-07-01"
        case DateTime():
            return "2026-07-01T12:00:00"
        case Choice(values):
            return values[0]
        case Array(items, low, _):
            return [_sample(items, name)] * max(low, 1)
        case Object(fields):
            return {field.name: _sample(field.type, field.name) for field in fields if field.required}
        case OneOf(options):
            return _sample(options[0], name)
        case Anything():
            return f"some {name}"
