"""The types that an argument can have: a small closed set of frozen values.

Everything that describes a parameter, be it a type hint or a JSON Schema, is brought into these first (`schema.py`);
arguments are read against them, the prompt describes them, and the action language is built from them. All values
that they admit are JSON values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union as Either


@dataclass(frozen=True, slots=True)
class Text:
    """A string. Lengths count characters (code points); `pattern` is a regular expression searched in it."""

    min_length: int = 0
    max_length: int | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True)
class Integer:
    """A whole number, limits inclusive."""

    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """A finite decimal number, limits inclusive. Whole numbers are admitted and become floats."""

    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class Boolean:
    """true or false."""


@dataclass(frozen=True, slots=True)
class Null:
    """Only null."""


@dataclass(frozen=True, slots=True)
class Date:
    """An ISO 8601 calendar date as text, YYYY-MM-DD, that exists."""


@dataclass(frozen=True, slots=True)
class DateTime:
    """An ISO 8601 date and time as text, with or without an offset, that exists."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a list of JSON scalars (an enum, a Literal, a const)."""

    values: tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True, slots=True)
class Array:
    """A list; every item has the type `items`."""

    items: Type
    min_items: int = 0
    max_items: int | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """One named part of an object."""

    name: str
    type: Type
    required: bool = True
    description: str = ""


@dataclass(frozen=True, slots=True)
class Object:
    """An object with known fields; further keys have the type `extra`, None where they are refused."""

    fields: tuple[Field, ...] = ()
    extra: Type | None = None


@dataclass(frozen=True, slots=True)
class OneOf:
    """A value of any of these types, tried in order."""

    options: tuple[Type, ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value."""


Type = Either[Text, Integer, Number, Boolean, Null, Date, DateTime, Choice, Array, Object, OneOf, Anything]


def is_nested(type: Type) -> bool:
    """Whether a value of this type can be a list or an object, so that it is written as JSON."""
    match type:
        case Array() | Object() | Anything():
            return True
        case OneOf(options):
            return any(is_nested(option) for option in options)
        case _:
            return False


def describe(type: Type) -> str:
    """The type in a few plain words, for prompts and messages, e.g. "whole number from 1 to 10"."""
    match type:
        case Text(pattern=pattern):
            return "text" if pattern is None else f"text like {pattern}"
        case Integer(low, high):
            return "whole number" + _limits(low, high)
        case Number(low, high):
            return "number" + _limits(low, high)
        case Boolean():
            return "true or false"
        case Null():
            return "null"
        case Date():
            return "date YYYY-MM-DD"
        case DateTime():
            return "date and time YYYY-MM-DDTHH:MM:SS"
        case Choice(values):
            return " or ".join(_literal(value) for value in values)
        case Array(items):
            return f"list of ({describe(items)})"
        case Object(fields=()):
            return "object"
        case Object(fields):
            return "object with " + ", ".join(f"{field.name} ({describe(field.type)})" for field in fields)
        case OneOf(options):
            return " or ".join(describe(option) for option in options)
        case Anything():
            return "any value"


def _limits(low: float | None, high: float | None) -> str:
    match (low, high):
        case (None, None):
            return ""
        case (None, _):
            return f" up to {high}"
        case (_, None):
            return f" from {low}"
    return f" from {low} to {high}"


def _literal(value: Any) -> str:
    match value:
        case None:
            return "null"
        case True | False:
            return str(value).lower()
    return str(value)
