"""JSON values and the types of a signature: does a value fit, and if not, can it be converted without loss?

An exact fit always goes before a conversion, also in a union. A conversion loses nothing: 5 becomes 5.0 and "5"
becomes 5, but 3.7 never becomes a whole number, and what is typed as text stays text. NaN and infinity fit nowhere.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from local_react.language.literals import MAX_DEPTH, MAX_DIGITS, parse_literal, parse_number
from local_react.language.matching import is_found
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


@dataclass(frozen=True, slots=True)
class Unfit:
    """What a fit returns for a value that doesn't fit."""


UNFIT = Unfit()

EXACT_FLOATS = 2**53
"""Up to here every whole number is a float of its own."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATE_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(\.[0-9]{1,6})?(Z|[+-][0-9]{2}:[0-9]{2})?"
)


def fit(value: Any, type: Type, notes: list[str]) -> Any:
    """`value` as a value of `type`, or UNFIT. The names of conversions are added to `notes`."""
    exact = fit_exactly(value, type)
    return convert(value, type, notes) if exact is UNFIT else exact


def fit_first(candidates: Sequence[tuple[Any, str | None]], type: Type, notes: list[str]) -> Any:
    """The first of several readings of one text that fits exactly, else the first that can be converted, else UNFIT.

    Each reading carries the name of the repair that it takes; the chosen one's is added to `notes`.
    """
    for value, note in candidates:
        fitted = fit_exactly(value, type)
        if fitted is not UNFIT:
            notes.extend([note] if note else [])
            return fitted
    for value, note in candidates:
        made: list[str] = [note] if note else []
        fitted = convert(value, type, made)
        if fitted is not UNFIT:
            notes.extend(made)
            return fitted
    return UNFIT


def fit_exactly(value: Any, type: Type) -> Any:
    """`value` where it is one of `type` as it stands, else UNFIT."""
    match type, value:
        case Text(), str():
            fits = len(value) >= type.min_length and (type.max_length is None or len(value) <= type.max_length)
            fits = fits and (type.pattern is None or is_found(type.pattern, value))
        case Boolean(), bool():
            fits = True
        case Null(), None:
            fits = True
        case Integer(), int():
            fits = not isinstance(value, bool) and abs(value) < 10**MAX_DIGITS and _is_within(value, type)
        case Number(), float():
            fits = math.isfinite(value) and _is_within(value, type)
        case Date(), str():
            fits = _is_date(value)
        case DateTime(), str():
            fits = _is_date_time(value)
        case Choice(), None | bool() | int() | float() | str():
            fits = any(choice.__class__ is value.__class__ and choice == value for choice in type.values)
        case Array(), list():
            return _fit_list(value, type, None)
        case Object(), dict():
            return _fit_object(value, type, None)
        case OneOf(options), _:
            return next((found for option in options if (found := fit_exactly(value, option)) is not UNFIT), UNFIT)
        case Anything(), _:
            fits = _is_json(value)
        case _:
            fits = False
    return value if fits else UNFIT


def convert(value: Any, type: Type, notes: list[str]) -> Any:
    """`value` turned into one of `type` without loss, or UNFIT. The names of conversions are added to `notes`."""
    match type, value:
        case (Array() | Object()), str():
            literal = parse_literal(value)
            if literal is None or literal.repeated is not None or isinstance(literal.value, str):
                return UNFIT
            return _noted(fit(literal.value, type, notes), "nested_json", notes)
        case Array(), (list() | tuple()):
            return _fit_list(value, type, notes)
        case Object(), dict():
            return _fit_object(value, type, notes)
        case OneOf(options), _:
            for option in options:
                made: list[str] = []
                found = convert(value, option, made)
                if found is not UNFIT:
                    notes.extend(made)
                    return found
            return UNFIT
    found, note = _convert_scalar(value, type)
    return _noted(fit_exactly(found, type) if note else UNFIT, note, notes)


def scalar_text(value: Any) -> str:
    """A JSON scalar as it is written without quotes."""
    return value if isinstance(value, str) else json.dumps(value)


def _convert_scalar(value: Any, type: Type) -> tuple[Any, str]:
    """The candidate for a conversion and the conversion's name, which is empty where there is none."""
    match type, value:
        case _, bool():
            if isinstance(type, Choice) and scalar_text(value) in type.values:
                return scalar_text(value), "literal_as_text"
        case Text(), int() | float():
            if _is_json(value):
                return scalar_text(value), "literal_as_text"
        case Integer(), float():
            if math.isfinite(value) and value == int(value) and abs(value) <= EXACT_FLOATS:
                return int(value), "whole_float"
        case Number(), int():
            if abs(value) <= EXACT_FLOATS or (abs(value) < 10**300 and int(float(value)) == value):
                return float(value), "int_as_float"
        case (Integer() | Number()), str():
            number = parse_number(value.strip())
            if number is not None:
                is_exact = isinstance(number, float) == isinstance(type, Number)
                return number if is_exact else _convert_scalar(number, type)[0], "quoted_number"
        case Boolean(), str():
            if value.strip().lower() in ("true", "false"):
                return value.strip().lower() == "true", "quoted_boolean"
        case Null(), str():
            if value.strip().lower() in ("null", "none"):
                return None, "quoted_null"
        case Choice(values), _:
            return _convert_choice(value, values)
    return UNFIT, ""


def _convert_choice(value: Any, values: Sequence[Any]) -> tuple[Any, str]:
    if not isinstance(value, (str, int, float)) or not _is_json(value):
        return UNFIT, ""
    for choice in values:
        is_text = isinstance(choice, str) or isinstance(value, str)
        if is_text and scalar_text(choice) == scalar_text(value):
            return choice, "literal_as_text" if isinstance(choice, str) else "quoted_number"
        if not is_text and choice is not None and not isinstance(choice, bool) and choice == value:
            return choice, "int_as_float"
    return UNFIT, ""


def _fit_list(value: Sequence[Any], type: Array, notes: list[str] | None) -> Any:
    if len(value) < type.min_items or (type.max_items is not None and len(value) > type.max_items):
        return UNFIT
    items = [fit_exactly(item, type.items) if notes is None else fit(item, type.items, notes) for item in value]
    return UNFIT if any(item is UNFIT for item in items) else items


def _fit_object(value: dict[Any, Any], type: Object, notes: list[str] | None) -> Any:
    fields = {field.name: field for field in type.fields}
    if any(field.required and field.name not in value for field in type.fields):
        return UNFIT
    found: dict[str, Any] = {}
    for key, item in value.items():
        expected = fields[key].type if key in fields else type.extra
        if not isinstance(key, str) or expected is None:
            return UNFIT
        found[key] = fit_exactly(item, expected) if notes is None else fit(item, expected, notes)
        if found[key] is UNFIT:
            return UNFIT
    return found


def _noted(found: Any, note: str, notes: list[str]) -> Any:
    if found is not UNFIT:
        notes.append(note)
    return found


def _is_within(value: float, type: Integer | Number) -> bool:
    return (type.minimum is None or value >= type.minimum) and (type.maximum is None or value <= type.maximum)


def _is_date(text: str) -> bool:
    if _DATE.fullmatch(text) is None:
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    match = _DATE_TIME.fullmatch(text)
    if match is None:
        return False
    day, time, fraction, offset = match.groups()
    # Python 3.10 knows neither "Z" nor fractions of other than three or six digits.
    fraction = fraction.ljust(7, "0") if fraction else ""
    if fraction and time.count(":") < 2:
        return False
    try:
        datetime.fromisoformat(f"{day}T{time}{fraction}{'+00:00' if offset == 'Z' else offset or ''}")
    except ValueError:
        return False
    return True


def _is_json(value: Any, depth: int = 0) -> bool:
    match value:
        case None | bool() | str():
            return True
        case int():
            return abs(value) < 10**MAX_DIGITS
        case float():
            return math.isfinite(value)
        case list():
            return depth < MAX_DEPTH and all(_is_json(item, depth + 1) for item in value)
        case dict():
            return depth < MAX_DEPTH and all(
                isinstance(key, str) and _is_json(item, depth + 1) for key, item in value.items()
            )
    return False
