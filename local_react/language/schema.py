"""From JSON Schema to the types that arguments are read against.

Knows JSON Schema as pydantic writes it, and the dialect of function-calling data sets (`dict`, `float`, `tuple`,
`any`, a missing type, an enum that is spelled as strings or stands beside `array`). A reference that contains itself
is expanded three times, and is any value below that. Keys that an object doesn't name are refused unless it says
`additionalProperties`; an object that names no key at all takes any.

What only narrows a type further is left to the tool's own check: `uniqueItems`, `multipleOf`, formats other than
dates, the limit itself in an exclusive limit of a decimal number, the order in `prefixItems`. What would change the
meaning if it were left out is refused with a ToolError that names tool and parameter.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from local_react.language.keywords import (
    GROUNDED_KEY,
    REFERENCE_DEPTH,
    Place,
    check_range,
    flatten,
    merge,
    take_grounding,
    take_limit,
    take_list,
    take_pattern,
    take_schemas,
    take_size,
)
from local_react.language.signature import Parameter
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

MAX_TYPES = 2000
"""How many types one tool may be made of: recursive references multiply, and each becomes a piece of the grammar."""

KINDS = {
    "string": "string", "integer": "integer", "number": "number", "boolean": "boolean", "null": "null",
    "array": "array", "object": "object", "dict": "object", "float": "number", "tuple": "array", "any": "any",
}
"""Type names and what they stand for; the last four belong to the dialect."""

REFUSED = (
    "not", "if", "then", "else", "contains", "dependentSchemas", "dependentRequired", "dependencies",
    "contentEncoding", "$dynamicRef", "$recursiveRef",
)
"""Keywords that no type can express."""

LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")

HINTS_OF_KIND = {
    "object": ("properties", "additionalProperties", "patternProperties", "required"),
    "array": ("items", "prefixItems", "minItems", "maxItems"),
    "string": ("minLength", "maxLength", "pattern", "format"),
    "number": LIMITS,
}
"""By which keywords the kind is known where a schema has no type."""

NAME_BREAKERS = re.compile(r"""[\s\x00-\x1f,=:\[\](){}"']""")
"""What a parameter's name can't hold, because it ends the name in `name=value`."""


def read_type(
    schema: Mapping[str, Any] | bool, *, parameter: str = "", tool: str = "", root: Mapping[str, Any] | None = None
) -> Type:
    """The type that `schema` describes; references are looked up in `root` (default: in `schema` itself).

    Raises ToolError, naming `tool` and `parameter`, for what can't be expressed.
    """
    whole = root if root is not None else schema if isinstance(schema, Mapping) else {}
    return _read(schema, Place(tool, parameter, whole))


def read_parameters(schema: Mapping[str, Any], *, tool: str) -> tuple[Parameter, ...]:
    """The parameters that an object schema describes, in its order. Raises ToolError for what can't be expressed."""
    place = Place(tool, "", schema)
    if not isinstance(schema, Mapping):
        raise place.refusal("the parameters are no JSON Schema object", "Give one with type, properties, required.")
    flat, place = flatten(schema, place)
    if _kinds(flat, place) not in (("object",), ("any",)) or "anyOf" in flat or "oneOf" in flat:
        raise place.refusal("the parameters are not one object", 'Give {"type": "object", "properties": {...}}.')
    properties, required = _properties(flat, place)
    parameters = []
    for name, part in properties.items():
        if not name or NAME_BREAKERS.search(name):
            raise place.at(name).refusal("the name can't be written as name=value", "Take letters, digits, _ and -.")
        default = part.get("default") if isinstance(part, Mapping) else None
        type = _read(part, place.at(name))
        grounding = _ground(take_grounding(part, place.at(name)), type, place.at(name))
        parameters.append(Parameter(name, type, _description(part), name in required, default, grounding))
    return tuple(parameters)


def _ground(mark: bool | str, type: Type, place: Place) -> str | None:
    """The pattern by which a parameter is grounded."""
    if mark is False:
        return None
    texts = [option for option in (type.options if isinstance(type, OneOf) else (type,)) if isinstance(option, Text)]
    if not texts:
        raise place.refusal("only a text can be grounded", f"Leave {GROUNDED_KEY} out, or make it a string.")
    return mark if isinstance(mark, str) else texts[0].pattern or ""


def _read(schema: Any, place: Place) -> Type:
    if schema is True:
        return Anything()
    if not isinstance(schema, Mapping):
        raise place.no_schema(schema)
    if next(place.count) >= MAX_TYPES:
        raise place.refusal(f"it is made of more than {MAX_TYPES:,} types", "Take simpler parameters, or the type Any.")
    schema, place = flatten(schema, place)
    if place.references and place.references.count(place.references[-1]) > REFERENCE_DEPTH:
        return Anything()
    for keyword in REFUSED:
        if keyword in schema:
            raise place.refusal(f"the keyword {keyword} can't be kept by a model", "Check it in the tool instead.")
    if "const" in schema or "enum" in schema:
        return _read_choice(schema, place)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            rest = {key: value for key, value in schema.items() if key != keyword}
            options = take_list(schema, keyword, place)
            return _one_of([_read(merge(option, rest, place), place) for option in options])
    return _one_of([_read_kind(kind, schema, place) for kind in _kinds(schema, place)])


def _kinds(schema: Mapping[str, Any], place: Place) -> tuple[str, ...]:
    """The kinds of value that the schema's type names, or that its keywords suggest where it has none."""
    if "type" not in schema:
        suggested = (kind for kind, keywords in HINTS_OF_KIND.items() if any(keyword in schema for keyword in keywords))
        return (next(suggested, "any"),)
    names = [schema["type"]] if isinstance(schema["type"], str) else take_list(schema, "type", place)
    for name in names:
        if not isinstance(name, str) or name not in KINDS:
            raise place.refusal(f"there is no type {name!r}", f"The types are {', '.join(KINDS)}.")
    return tuple(KINDS[name] for name in names)


def _read_kind(kind: str, schema: Mapping[str, Any], place: Place) -> Type:
    match kind:
        case "string":
            return _read_text(schema, place)
        case "integer" | "number":
            return _read_number(schema, place, is_whole=kind == "integer")
        case "boolean":
            return Boolean()
        case "null":
            return Null()
        case "array":
            return _read_array(schema, place)
        case "object":
            return _read_object(schema, place)
        case _:
            return Anything()


def _read_number(schema: Mapping[str, Any], place: Place, *, is_whole: bool) -> Integer | Number:
    low, high, above, below = (take_limit(schema, keyword, place) for keyword in LIMITS)
    lows = [math.ceil(low) if is_whole else low] if low is not None else []
    highs = [math.floor(high) if is_whole else high] if high is not None else []
    if above is not None:
        lows.append(math.floor(above) + 1 if is_whole else above)
    if below is not None:
        highs.append(math.ceil(below) - 1 if is_whole else below)
    low, high = check_range(max(lows, default=None), min(highs, default=None), place)
    return Integer(low, high) if is_whole else Number(low, high)


def _read_text(schema: Mapping[str, Any], place: Place) -> Type:
    match schema.get("format"):
        case "date":
            return Date()
        case "date-time":
            return DateTime()
        case "binary" | "byte" | "base64" | "base64url" as name:
            raise place.refusal(f"a model can't write bytes (format {name})", "Take text, or the path of a file.")
    low, high = check_range(take_size(schema, "minLength", place), take_size(schema, "maxLength", place), place)
    return Text(low or 0, high, take_pattern(schema, place))


def _read_array(schema: Mapping[str, Any], place: Place) -> Array:
    items = schema.get("items", True)
    firsts = items if isinstance(items, list) else []
    if "prefixItems" in schema:
        firsts = take_list(schema, "prefixItems", place)
    types = [_read(part, place.items()) for part in firsts]
    is_open = not firsts or isinstance(items, Mapping)
    if is_open and items is not False:
        types.append(_read(items, place.items()))
    low, high = take_size(schema, "minItems", place), take_size(schema, "maxItems", place)
    if high is None and (not is_open or items is False):
        high = len(firsts)
    low, high = check_range(low, high, place)
    return Array(_one_of(types), low or 0, high)


def _read_object(schema: Mapping[str, Any], place: Place) -> Object:
    properties, required = _properties(schema, place)
    fields = tuple(
        Field(name, _read(part, place.at(name)), name in required, _description(part))
        for name, part in properties.items()
    )
    patterns = take_schemas(schema, "patternProperties", place)
    extra = schema.get("additionalProperties", not properties and not patterns)
    extras = [_read(part, place.at("*")) for part in (*patterns.values(), extra) if part is not False]
    return Object(fields, _one_of(extras) if extras else None)


def _properties(schema: Mapping[str, Any], place: Place) -> tuple[Mapping[str, Any], list[str]]:
    """The properties of an object schema and the names of those that must be given."""
    properties = take_schemas(schema, "properties", place)
    required = take_list(schema, "required", place) if schema.get("required") else []
    for name in required:
        if not isinstance(name, str) or name not in properties:
            raise place.refusal(f"{name!r} is required, and not among the properties", "Describe it there.")
    return properties, required


def _read_choice(schema: Mapping[str, Any], place: Place) -> Type:
    values = [schema["const"]] if "const" in schema else take_list(schema, "enum", place)
    for value in values:
        if not isinstance(value, (str, int, float, type(None))) or not _is_finite(value):
            remedy = "Take text, finite numbers, true, false and null."
            raise place.refusal(f"{value!r} can't be one of a list of choices", remedy)
    kinds = _kinds(schema, place) if "type" in schema else ("any",)
    if kinds == ("array",):
        # The dialect writes the choices of the items beside the array.
        rest = {key: value for key, value in schema.items() if key not in ("enum", "const")}
        return replace(_read_array(rest, place), items=_choice(values))
    fitting = [fit for value in values for kind in kinds for fit in _fitting(value, kind)]
    # Where nothing fits its own type, the list is the more exact of the two statements.
    return _choice(fitting or values)


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _choice(values: Iterable[Any]) -> Type:
    # 1, 1.0 and True are equal in Python and different in JSON.
    distinct = tuple({(type(value), value): value for value in values}.values())
    return Null() if distinct == (None,) else Choice(distinct)


def _fitting(value: Any, kind: str) -> Iterator[Any]:
    """`value` if it is of that kind; what a text spells if that is; nothing otherwise."""
    match kind, value:
        case ("any", _) | ("string", str()) | ("boolean", bool()) | ("null", None):
            yield value
        case ("integer" | "number", bool()):
            return
        case ("integer", int()) | ("number", int() | float()):
            yield value
        case ("integer", float()) if value.is_integer():
            yield int(value)
        case ("boolean", str()) if value.lower() in ("true", "false"):
            yield value.lower() == "true"
        case ("integer", str()) if re.fullmatch(r"-?[0-9]{1,18}", value):
            yield int(value)
        case ("number", str()) if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?", value):
            yield float(value)


def _one_of(options: Iterable[Type]) -> Type:
    """The union of the options: flat, without repetition; any value where one of them is."""
    flat = [inner for option in options for inner in (option.options if isinstance(option, OneOf) else (option,))]
    # By their text, for Choice((1,)) == Choice((True,)).
    distinct = tuple({repr(option): option for option in flat}.values())
    if not distinct or Anything() in distinct:
        return Anything()
    return distinct[0] if len(distinct) == 1 else OneOf(distinct)


def _description(schema: Any) -> str:
    text = schema.get("description") if isinstance(schema, Mapping) else None
    return text.strip() if isinstance(text, str) else ""
