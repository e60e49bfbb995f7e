"""Arguments that don't fit, as values: what was wrong in one plain sentence for the model, and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from local_react.language.signature import Parameter, Signature
from local_react.language.types import describe

SHOWN = 200
"""How many characters of the model's own text a message repeats."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Arguments that don't fit a signature. `message` is one sentence for the model."""

    code: Literal["missing_argument", "too_many_arguments", "unknown_argument", "bad_argument"]
    message: str
    parameter: str | None = None
    expected: str | None = None
    value: str | None = None


def unknown(name: str, parameters: Sequence[Parameter]) -> Misfit:
    """An argument was given that the tool does not have."""
    known = ", ".join(parameter.name for parameter in parameters)
    message = f"There is no argument called {shown(str(name))}: the arguments are {known}."
    return Misfit("unknown_argument", message, shown(str(name)))


def too_many(n_given: int, n_taken: int, value: str) -> Misfit:
    """More arguments were given than the tool takes."""
    taken = "none is taken" if n_taken == 0 else f"{n_taken} at most {'is' if n_taken == 1 else 'are'} taken"
    message = f"{n_given} {'argument was' if n_given == 1 else 'arguments were'} given, and {taken}."
    return Misfit("too_many_arguments", message, value=shown(value))


def repeated(name: str) -> Misfit:
    """An argument was given more than once."""
    return Misfit("too_many_arguments", f"The argument {shown(name)} was given more than once.", shown(name))


def bad(parameter: Parameter, text: str) -> Misfit:
    """A value is not of its parameter's type, and cannot be converted without loss."""
    expected = describe(parameter.type)
    message = f"The argument {parameter.name} must be {expected}, and {shown(text) or 'nothing'} is not."
    return Misfit("bad_argument", message, parameter.name, expected, shown(text))


def nameless(signature: Signature, text: str, behind: str) -> Misfit:
    """A value without a name stands behind a named one."""
    parameter = signature.parameter(behind)
    expected = None if parameter is None else describe(parameter.type)
    message = f"The value {shown(text)} stands without a name behind {behind}."
    return Misfit("bad_argument", message, behind, expected, shown(text))


def missing(parameter: Parameter) -> Misfit:
    """A required argument was not given."""
    expected = describe(parameter.type)
    message = f"The argument {parameter.name} ({expected}) is missing."
    return Misfit("missing_argument", message, parameter.name, expected)


def shown(text: str) -> str:
    """The beginning of `text` on one line, as a message repeats it."""
    text = " ".join(text[: 4 * SHOWN].split())
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
