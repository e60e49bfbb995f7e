"""Signatures narrowed to one question: what a question doesn't say can't be given.

Texts take runs of whole words of the question, numbers the numbers that stand in it. A narrowed signature admits a part of
what the tool's own admits, never more, and a type that would be left without a value stays as it is. It is for the
constraint only: prompts show the tool's own signature, and what was written is read against that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from local_react.grounding import Sightings
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.types import Array, Choice, Field, Integer, Number, Object, Text, Type

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
"""The numbers that are read from their words."""

FACTORS = {"%": 0.01, "percent": 0.01, "k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}
"""What a word behind a number may mean; the bare number is a candidate too."""

_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE]-?\d+)?", re.ASCII)
_FACTOR = re.compile(rf"\s?({'|'.join(map(re.escape, FACTORS))})(?![a-z])", re.IGNORECASE)
_WORD = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)


def numbers_in(text: str) -> tuple[float, ...]:
    """The numbers that a text names, in its order: in digits, in words up to twenty, with percent and thousands applied."""
    found: list[tuple[int, float]] = []
    for match in _NUMBER.finditer(text):
        value = float(match.group().replace(",", "").replace("−", "-"))
        found.append((match.start(), value))
        if factor := _FACTOR.match(text, match.end()):
            found.append((match.start(), round(value * FACTORS[factor[1].lower()], 12)))
    found += [(match.start(), float(WORDS.index(match[1].lower()))) for match in _WORD.finditer(text)]
    return tuple(dict.fromkeys(value for _, value in sorted(found, key=lambda pair: pair[0])))


def narrow_numbers(tools: Signatures, text: str) -> dict[str, Signature]:
    """The tools with every number, also in lists and objects, held to those that `text` names."""
    numbers = numbers_in(text)
    return {
        name: replace(tool, parameters=tuple(_narrow_parameter(each, numbers) for each in tool.parameters))
        for name, tool in tools.items()
    }


def _narrow_parameter(parameter: Parameter, numbers: Sequence[float]) -> Parameter:
    return replace(parameter, type=_narrow(parameter.type, numbers))


def _narrow(type: Type, numbers: Sequence[float]) -> Type:
    match type:
        case Integer():
            return _choice((int(value) for value in numbers if value.is_integer()), type)
        case Number():
            return _choice(numbers, type)
        case Array(items):
            return replace(type, items=_narrow(items, numbers))
        case Object(fields):
            return replace(type, fields=tuple(_narrow_field(field, numbers) for field in fields))
    return type


def _narrow_field(field: Field, numbers: Sequence[float]) -> Field:
    return replace(field, type=_narrow(field.type, numbers))


def _choice(values: Iterable[int | float], type: Type) -> Type:
    fitting = tuple(value for value in values if fit_exactly(value, type) is not UNFIT)
    return Choice(fitting) if fitting else type


def texts_in(tools: Signatures, text: str) -> Mapping[tuple[str, str], Sequence[str]] | None:
    """The runs of whole words of `text` as the only values of every text parameter, by the names of tool and parameter."""
    marked = {
        name: replace(tool, parameters=tuple(
            replace(each, grounding="") if isinstance(each.type, Text) and each.type.pattern is None else each
            for each in tool.parameters
        ))
        for name, tool in tools.items()
    }  # fmt: skip
    sightings = Sightings(marked)
    sightings.add("question", text)
    return sightings.candidates()
