"""The keywords of one JSON Schema, each checked as it is taken; what is wrong with one is a ToolError that says where.

Types are no matter here (`schema.py` makes those), and values are never read against a schema.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local_react.errors import ToolError
from local_react.language.matching import slow_part

REFERENCE_DEPTH = 3
"""How often a reference is expanded inside itself."""

ANNOTATIONS = frozenset({
    "$comment", "$defs", "$id", "$schema", "default", "definitions", "deprecated", "description", "discriminator",
    "examples", "readOnly", "title", "writeOnly",
})
"""Keywords that say nothing about which values are admitted."""


GROUNDED_KEY = "x-grounded"
"""Marks a text that a constraint lets take only what the episode has shown: true, or a pattern for that alone."""

@dataclass(frozen=True, slots=True)
class Place:
    """Where the reader stands: the tool, the path in it, the references it came through, the types read so far."""

    tool: str
    path: str
    root: Mapping[str, Any]
    references: tuple[str, ...] = ()
    count: Iterator[int] = field(default_factory=itertools.count)

    def at(self, name: str) -> Place:
        """The place of the property `name`."""
        return replace(self, path=f"{self.path}.{name}" if self.path else name)

    def items(self) -> Place:
        """The place of a list's items."""
        return replace(self, path=f"{self.path}[]")

    def refusal(self, reason: str, remedy: str) -> ToolError:
        """The exception that says what is wrong here and what to do."""
        where = ", ".join(f"{what} {name!r}" for what, name in (("tool", self.tool), ("parameter", self.path)) if name)
        return ToolError(f"{where[:1].upper()}{where[1:] or 'Schema'}: {reason}. {remedy}")

    def no_schema(self, value: object) -> ToolError:
        """The refusal of what stands where a schema should."""
        return self.refusal(f"{value!r} is no schema that admits a value", "Give one such as {'type': 'string'}.")


def flatten(schema: Mapping[str, Any], place: Place) -> tuple[Mapping[str, Any], Place]:
    """`schema` with its reference or its single `allOf` folded in, and the place behind the reference."""
    while "$ref" in schema or "allOf" in schema:
        keyword = "$ref" if "$ref" in schema else "allOf"
        rest = {key: value for key, value in schema.items() if key != keyword}
        if keyword == "$ref":
            inner = _target(schema["$ref"], place)
            place = replace(place, references=(*place.references, schema["$ref"]))
            if place.references.count(schema["$ref"]) > REFERENCE_DEPTH:
                return {}, place
        else:
            parts = take_list(schema, keyword, place)
            if len(parts) > 1:
                raise place.refusal("allOf joins several schemas", "Write them as one object with all its properties.")
            inner = parts[0]
        schema = merge(inner, rest, place)
    return schema, place


def _target(reference: Any, place: Place) -> Any:
    """What a local reference such as "#/$defs/Order" points to."""
    if not isinstance(reference, str) or not re.match(r"#(/|$)", reference):
        raise place.refusal(f"the reference {reference!r} leads out of the schema", "Put its target under $defs.")
    target: Any = place.root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(target, Mapping) or key not in target:
            raise place.refusal(f"the reference {reference!r} points to nothing", "Put its target under $defs.")
        target = target[key]
    return target


def merge(schema: Any, rest: Mapping[str, Any], place: Place) -> Mapping[str, Any]:
    """One schema that asks for what both ask; refused where they say different things with one keyword."""
    if schema is True:
        return rest
    if not isinstance(schema, Mapping):
        raise place.no_schema(schema)
    merged = dict(schema)
    for key, value in rest.items():
        if key == "required" and isinstance(value, list) and isinstance(merged.get(key), list):
            merged[key] = [*merged[key], *value]
        elif key in ANNOTATIONS or key not in merged:
            merged[key] = value
        elif merged[key] != value:
            raise place.refusal(f"the keyword {key} is given twice, with different values", "Write the schema as one.")
    return merged


def take_list(schema: Mapping[str, Any], keyword: str, place: Place) -> list[Any]:
    """The list behind a keyword, which must hold something."""
    value = schema[keyword]
    if not isinstance(value, (list, tuple)) or not value:
        raise place.refusal(f"{keyword} is {value!r}, which is no list with something in it", "Give a list.")
    return list(value)


def take_schemas(schema: Mapping[str, Any], keyword: str, place: Place) -> Mapping[str, Any]:
    """The schemas by name behind a keyword, none where it is absent."""
    value = schema.get(keyword, {})
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise place.refusal(f"{keyword} is {value!r}, which is no object", "Give a schema for each name.")
    return value


MAX_LEAST = 100_000
"""The most characters or items that a value can be asked to have at least. The shortest call would else outgrow the memory."""


def take_size(schema: Mapping[str, Any], keyword: str, place: Place) -> int | None:
    """The length or number of items behind a keyword, None where it is absent."""
    value = schema.get(keyword)
    if value is not None and (type(value) is not int or value < 0):
        raise place.refusal(f"{keyword} is {value!r}", "Give a whole number from 0.")
    if keyword.startswith("min") and (value or 0) > MAX_LEAST:
        raise place.refusal(f"{keyword} is {value:,}", f"Ask for no more than {MAX_LEAST:,}: a model must write them all.")
    return value


def take_limit(schema: Mapping[str, Any], keyword: str, place: Place) -> int | float | None:
    """The limit of a number behind a keyword, None where it is absent."""
    value = schema.get(keyword)
    if keyword.startswith("exclusive") and isinstance(value, bool):
        # Draft 4 has a flag beside the limit.
        value = schema.get(keyword.removeprefix("exclusive").lower()) if value else None
    if value is not None and (type(value) not in (int, float) or not math.isfinite(value)):
        raise place.refusal(f"{keyword} is {value!r}", "Give a finite number.")
    return value


def check_range(low: Any, high: Any, place: Place) -> tuple[Any, Any]:
    """Both limits, refused where nothing lies between them."""
    if low is not None and high is not None and low > high:
        raise place.refusal(f"no value is at least {low} and at most {high}", "Correct the limits.")
    return low, high


def take_grounding(schema: Any, place: Place) -> bool | str:
    """What `x-grounded` says: nothing (false), the text's own pattern (true), or a pattern for this alone."""
    mark = schema.get(GROUNDED_KEY, False) if isinstance(schema, Mapping) else False
    if not isinstance(mark, (bool, str)):
        raise place.refusal(f"{GROUNDED_KEY} is {mark!r}", "Take true, false, or a regular expression.")
    if isinstance(mark, str):
        _check_pattern(mark, place)
    return mark


def take_pattern(schema: Mapping[str, Any], place: Place) -> str | None:
    """What `pattern` says."""
    pattern = schema.get("pattern")
    if pattern is not None:
        _check_pattern(pattern, place)
    return pattern


def _check_pattern(pattern: Any, place: Place) -> None:
    try:
        re.compile(pattern)
        part = slow_part(pattern)
    except (re.error, TypeError) as error:
        raise place.refusal(f"the pattern {pattern!r} is no regular expression ({error})", "Correct it.") from error
    if part:
        raise place.refusal(f"the pattern {pattern!r} may take endless time: it has {part}", "Write it without one.")
