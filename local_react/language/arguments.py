"""The text between the brackets of a call, and the values it stands for: reading and writing, inverse to each other.

A reading names every repair that it took. Strict reading refuses what the action language would not draw; it overlooks
only the repairs in `OVERLOOKED`, which change nothing about the meaning. What doesn't fit is a `Misfit`, a value: no
text raises here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from local_react.language.brackets import closing_bracket
from local_react.language.fit import UNFIT, fit_exactly, fit_first
from local_react.language.given import NOT_BARE, Given, given_values, read_list, read_raw, read_token
from local_react.language.literals import QUOTES, parse_literal, write_literal, write_string
from local_react.language.misfit import Misfit, bad, missing, shown, too_many, unknown
from local_react.language.plain import is_raw
from local_react.language.protocol import CONTROL_TOKEN, THINK_TAGS, ArgumentStyle, Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Array, Null, Object, OneOf, Text, Type

OVERLOOKED = frozenset({
    "single_quotes", "quoted_number", "quoted_boolean", "literal_as_text", "int_as_float", "whole_float", "nested_json",
})
"""Repairs of values that strict reading takes too."""

FINISH = Signature("", parameters=(Parameter("answer", Text()),))
"""What the call that ends a run takes: one raw text."""

_CONTROL = re.compile(CONTROL_TOKEN)
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class ReadArguments:
    """JSON values by parameter name, in signature order, and the names of the repairs that reading took.

    Optional parameters that were left out are absent: the tool fills them in.
    """

    values: dict[str, Any]
    repairs: tuple[str, ...] = ()


def read_arguments(
    text: str, signature: Signature, style: ArgumentStyle = "keyword", *, strict: bool = False
) -> ReadArguments | Misfit:
    """Read what stands between the brackets of a call. Every encoding is read for every tool, whatever the style."""
    if signature.encoding(style) == "raw":
        given = read_raw(text, signature.parameters[0])
    else:
        given = read_list(text, signature)
    if isinstance(given, Misfit):
        return given
    read = _fit_all(given, signature)
    if isinstance(read, ReadArguments) and "\n" in text:
        read = replace(read, repairs=("line_break", *read.repairs))
    if strict and isinstance(read, ReadArguments):
        repaired = next((repair for repair in read.repairs if repair not in OVERLOOKED), None)
        if repaired is not None:
            message = f"The arguments are not written as they should be ({repaired})."
            return Misfit("bad_argument", message, value=shown(text))
    return read


def fit_arguments(values: Mapping[str, Any], signature: Signature) -> dict[str, Any] | Misfit:
    """Check JSON values against a signature, and convert what can be converted without loss."""
    fitted = read_values(values, signature)
    return fitted if isinstance(fitted, Misfit) else fitted.values


def read_values(values: Mapping[str, Any], signature: Signature) -> ReadArguments | Misfit:
    """Like `fit_arguments`, with the names of the conversions."""
    return _fit_all(given_values(values), signature)


def write_arguments(values: Mapping[str, Any], signature: Signature, style: ArgumentStyle = "keyword") -> str:
    """Write fitting values so that strict reading gives them back. Raises ValueError where JSON can't hold one."""
    present = [parameter for parameter in signature.parameters if parameter.name in values]
    match signature.encoding(style):
        case "raw":
            return _write_raw(values[present[0].name], signature) if present else ""
        case "json":
            ordered = {parameter.name: in_order(values[parameter.name], parameter.type) for parameter in present}
            return write_literal(ordered) if present else ""
        case encoding:
            written, is_named = [], encoding == "keyword"
            for parameter, expected in zip(present, signature.parameters):
                # Once an optional parameter is left out, the place no longer tells which one is meant.
                is_named = is_named or parameter is not expected
                value = write_value(values[parameter.name], parameter)
                written.append(f"{parameter.name}={value}" if is_named else value)
            return ", ".join(written)


def write_call(name: str, values: Mapping[str, Any], signature: Signature, style: ArgumentStyle = "keyword") -> str:
    """The call as it stands behind the action label: name[arguments]."""
    return f"{name}[{write_arguments(values, signature, style)}]"


def write_answer(text: str, protocol: Protocol | None = None) -> str:
    """The answer as strict reading wants it: what stands in the brackets of the finish call.

    For a protocol with an answer label it is what stands behind that label, which is the text itself.
    """
    return text if protocol is not None and protocol.finish is None else _write_raw(text, FINISH)


def _fit_all(given: Mapping[str, Given], signature: Signature) -> ReadArguments | Misfit:
    parameters = signature.parameters
    for name in given:
        if signature.parameter(name) is None:
            if not parameters:
                return too_many(len(given), 0, given[name].text)
            return unknown(name, parameters)
    values: dict[str, Any] = {}
    repairs: list[str] = []
    for parameter in parameters:
        if parameter.name not in given and parameter.required:
            return missing(parameter)
    for parameter in parameters:
        if parameter.name not in given:
            continue
        readings = given[parameter.name].readings
        value = fit_first(readings, parameter.type, repairs)
        if value is UNFIT and not parameter.required and any(fit_first((r,), Null(), []) is None for r in readings):
            repairs.append("null_left_out")
        elif value is UNFIT:
            return bad(parameter, given[parameter.name].text)
        else:
            values[parameter.name] = value
    return ReadArguments(values, tuple(dict.fromkeys(repairs)))


def _write_raw(value: str, signature: Signature) -> str:
    """`value` as it stands where it can stand so and be read back, else as a quoted string."""
    is_safe = _CONTROL_CHARACTER.search(value) is None and _CONTROL.search(value) is None
    is_safe = is_safe and not any(tag in value for tag in THINK_TAGS)
    is_safe = is_safe and bool(value) and closing_bracket(f"[{value}]", 0) == len(value) + 1
    parameter = signature.parameters[0]
    is_safe = is_safe and isinstance(parameter.type, Text) and is_raw(value, parameter.type, parameter.name)
    free = Parameter(parameter.name, Text())
    if is_safe and read_raw(value, free) == {parameter.name: Given(((value, None),), value)}:
        return value
    return write_string(value)


def in_order(value: Any, type: Type) -> Any:
    """The value with the fields of its objects in the order of their type, as the action language has them."""
    match type, value:
        case Array(items), list():
            return [in_order(item, items) for item in value]
        case Object(fields, extra), dict():
            types = {field.name: field.type for field in fields}
            keys = [*(name for name in types if name in value), *(key for key in value if key not in types)]
            return {key: in_order(value[key], types.get(key, extra)) for key in keys}  # type: ignore[arg-type]
        case OneOf(options), (list() | dict()):
            fitting = next((option for option in options if fit_exactly(value, option) is not UNFIT), None)
            return value if fitting is None else in_order(value, fitting)
    return value


def write_value(value: Any, parameter: Parameter) -> str:
    """A value among others: bare where it is a literal or a harmless text that is read back as it is, else quoted."""
    if not isinstance(value, str):
        return write_literal(value)
    is_safe = bool(value) and value == value.strip() and NOT_BARE.search(value) is None
    # No control token or tag without the sign that all of them begin with.
    is_safe = is_safe and parse_literal(value) is None and value[0] not in QUOTES and "<" not in value
    is_safe = is_safe and fit_first(read_token(value).readings, parameter.type, []) == value
    return value if is_safe else write_string(value)
