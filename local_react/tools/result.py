"""What a tool gave back, as text for the model.

Invariant: `render_result` and `describe_error` take any object at all, never raise, and return text that can be
encoded as UTF-8. They come to the same text in every process: no addresses, sets in order. Nothing is cut here;
the loop cuts to its token budget.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, ValuesView
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePath
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

NO_OUTPUT = "(no output)"
"""What the model reads where a tool returned None or an empty text."""

ITEM_LIMIT = 1000
"""How many items of an iterator are listed: it may have no end."""

DEPTH_LIMIT = 100
"""How deep lists and objects are followed; JSON writers give up a little below Python's recursion limit."""

_TEXTS = (str, bytes, bytearray, memoryview, PurePath, float)
"""What is written without quotes where it stands alone; a float comes to text only if it is not finite."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one call: the text for the model; for the trace, whether and where it failed, and its time."""

    text: str
    is_error: bool = False
    traceback: str | None = None
    seconds: float = 0.0


def render_result(value: object) -> str:
    """What the model reads of a return value: text as it stands, `(no output)` for nothing, JSON for the rest."""
    if value is None:
        return NO_OUTPUT
    plain = _plain(value, 0, frozenset())
    if isinstance(plain, str) and (isinstance(value, _TEXTS) or _json_form(value) is None):
        return plain or NO_OUTPUT
    return _encodable(json.dumps(plain, ensure_ascii=False))


def describe_error(error: BaseException) -> str:
    """An exception as its type and message, e.g. "KeyError: 'INV-9'"; pydantic's complaints in one line."""
    kind = type(error).__name__
    try:
        text = describe_validation(error) if isinstance(error, ValidationError) else str(error)
    except Exception:
        text = ""
    return _encodable(f"{kind}: {text}" if text else kind)


def describe_validation(error: ValidationError, *, name: str = "") -> str:
    """pydantic's first three complaints in one line, e.g. "guests[0].age: Input should be a valid integer (given 'x')".

    `name` is the parameter that was validated.
    """
    details = error.errors(include_url=False, include_context=False)
    lines = [_complaint(detail, name) for detail in details[:3]]
    if len(details) > 3:
        lines.append(f"and {len(details) - 3:,} more")
    return "; ".join(lines)


def drain(value: object) -> object:
    """`value`, or the list of what it yields (up to a limit) if it is an iterator. Raises what the iterator raises."""
    return _listed(value) if isinstance(value, Iterator) else value


def _complaint(detail: Mapping[str, Any], name: str) -> str:
    place = name
    for part in detail["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    message = re.sub(r"^(Value error|Assertion failed), ", "", detail["msg"])
    given = repr(detail.get("input"))
    shown = f" (given {given})" if len(given) <= 80 else ""
    return " ".join(f"{place}{': ' if place else ''}{message}{shown}".split())


def _listed(values: Iterable[Any]) -> list[Any]:
    items = list(itertools.islice(values, ITEM_LIMIT + 1))
    if len(items) > ITEM_LIMIT:
        items[ITEM_LIMIT:] = [f"(only the first {ITEM_LIMIT:,} are listed)"]
    return items


def _json_form(value: object) -> Any:
    """pydantic's JSON form of a value, None where it has none."""
    try:
        return to_jsonable_python(value, fallback=lambda _: None)
    except Exception:
        return None


def _plain(value: Any, depth: int, outer: frozenset[int]) -> Any:
    """`value` as JSON types alone. `outer` holds the ids of the containers around it."""
    try:
        if depth > DEPTH_LIMIT:
            return "(too deep)"
        if id(value) in outer:
            return "(circular)"
        return _plain_value(value, depth + 1, outer | {id(value)})
    except Exception:
        return f"({type(value).__name__} that can't be shown)"


def _plain_value(value: Any, depth: int, outer: frozenset[int]) -> Any:
    match value:
        case None | bool():
            return value
        case Enum():
            return _plain(value.value, depth, outer)
        case str():
            return _encodable(str.__str__(value))
        case int():
            # Python refuses to write more than 4,300 decimal digits.
            return int(value) if value.bit_length() < 14_000 else hex(value)
        case float():
            return float(value) if math.isfinite(value) else json.dumps(float(value))
        case bytes() | bytearray() | memoryview():
            return _plain_bytes(bytes(value))
        case PurePath():
            return _encodable(str(value))
        case BaseModel():
            return _plain(_fields_of_model(value), depth, outer)
        case Mapping():
            return {_key(key): _plain(part, depth, outer) for key, part in value.items()}
        case Set():
            return sorted((_plain(part, depth, outer) for part in value), key=json.dumps)
        case Iterator():
            return [_plain(part, depth, outer) for part in _listed(value)]
        case Sequence() | ValuesView():
            return [_plain(part, depth, outer) for part in value]
        case BaseException():
            return describe_error(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: _plain(getattr(value, part.name), depth, outer) for part in dataclasses.fields(value)}
    if not isinstance(value, type) and callable(getattr(value, "tolist", None)):  # arrays and scalars of numpy
        return _plain(value.tolist(), depth, outer)
    plain = _json_form(value)
    return _plain(plain, depth, outer) if plain is not None else _encodable(_ADDRESS.sub("", str(value)))


def _plain_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return f"({len(value):,} bytes)"


def _fields_of_model(model: BaseModel) -> Any:
    try:
        return model.model_dump(mode="json", fallback=lambda part: _plain(part, 1, frozenset()))
    except Exception:
        # Bytes that are no UTF-8, a circle, a field serializer that fails: the fields one by one instead.
        return dict(model)


def _key(key: Any) -> str:
    plain = _plain(key, 1, frozenset())
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _encodable(text: str) -> str:
    """`text` with halves of surrogate pairs joined, and single ones replaced."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
