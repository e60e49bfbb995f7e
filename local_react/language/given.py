"""What a model gave for each parameter: the text between the brackets taken apart, before any type is looked at.

Each value keeps all its possible readings, with the repair that each one takes, for `5` may be meant as a number or
as a text. Nothing is converted here, and nothing raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_react.language.brackets import VALUE_OPENERS, single_quoted_end
from local_react.language.literals import QUOTES, parse_literal, parse_quoted, quoted_end, unescape, write_literal
from local_react.language.misfit import Misfit, nameless, repeated, too_many, unknown
from local_react.language.signature import Parameter, Signature
from local_react.language.types import is_nested

NOT_BARE = re.compile(r"[,\[\]{}()\"'=\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Characters that a value without quotes must not have."""

_NAMED = re.compile(r"\s*([^\W\d][\w.-]*)\s*=(?!=)")
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Given:
    """What was given for one parameter: its possible readings, best first, and the text."""

    readings: tuple[tuple[Any, str | None], ...]
    text: str


def read_raw(text: str, parameter: Parameter) -> dict[str, Given] | Misfit:
    """The one text of a tool that takes one: as it stands, quoted, named, or in an object with exactly its key."""
    stripped = text.strip()
    if not stripped:
        return {}
    quoted = _quoted(stripped)
    if quoted is not None:
        return {parameter.name: Given((quoted,), stripped)}
    named = _NAMED.match(stripped)
    if named is not None and named[1] == parameter.name:
        return _read_named_raw(stripped, named.end(), parameter)
    if stripped[0] == "{":
        literal = parse_literal(stripped)
        if literal is not None and isinstance(literal.value, dict) and list(literal.value) == [parameter.name]:
            if literal.repeated is not None:
                return repeated(literal.repeated)
            note = None if literal.is_json else "python_literal"
            return {parameter.name: Given(((literal.value[parameter.name], note),), stripped)}
    return {parameter.name: Given(((stripped, None),), stripped)}


def _read_named_raw(text: str, start: int, parameter: Parameter) -> dict[str, Given] | Misfit:
    rest = text[start:].strip()
    if not rest:
        return {}
    quoted = _quoted(rest)
    if quoted is not None:
        return {parameter.name: Given((quoted,), rest)}
    if rest[0] in "\"'" and len(items := split_items(rest)) > 1 and _quoted(items[0]) is not None:
        named = _NAMED.match(items[1])
        return unknown(named[1], (parameter,)) if named else too_many(2, 1, items[1])
    return {parameter.name: Given(((rest, None),), rest)}


def read_list(text: str, signature: Signature) -> dict[str, Given] | Misfit:
    """Named and positional values, or one object."""
    stripped = text.strip()
    if not stripped:
        return {}
    if stripped[0] == "{":
        literal = parse_literal(stripped)
        if literal is not None and isinstance(literal.value, dict) and not _is_positional(literal.value, signature):
            if literal.repeated is not None:
                return repeated(literal.repeated)
            return given_values(literal.value, None if literal.is_json else "python_literal")
    given: dict[str, Given] = {}
    last_named: str | None = None
    items = split_items(stripped)
    if not signature.parameters:
        return too_many(len(items), 0, stripped)
    has_trailing_comma = len(items) > 1 and not items[-1].strip()
    for position, item in enumerate(items[:-1] if has_trailing_comma else items):
        named = _match_name(item, signature)
        if named is None and last_named is not None:
            return nameless(signature, item.strip(), last_named)
        if named is None and position >= len(signature.parameters):
            return too_many(len(items), len(signature.parameters), item.strip())
        name, start = named if named is not None else (signature.parameters[position].name, 0)
        last_named = name if named is not None else None
        if signature.parameter(name) is None:
            return unknown(name, signature.parameters)
        if name in given:
            return repeated(name)
        given[name] = read_token(item[start:].strip(), "trailing_comma" if has_trailing_comma else None)
    return given


def _match_name(item: str, signature: Signature) -> tuple[str, int] | None:
    """The name that an item begins with, and where its value begins."""
    named = _NAMED.match(item)
    if named is not None:
        return named[1], named.end()
    for parameter in signature.parameters:
        head, sign, _ = item.partition("=")
        if sign and head.strip() == parameter.name:
            return parameter.name, len(head) + 1
    return None


def _is_positional(value: Mapping[str, Any], signature: Signature) -> bool:
    """Whether an object that is the whole text is the first value, and not the list of all."""
    parameters = signature.parameters
    return (
        bool(value) and bool(parameters) and is_nested(parameters[0].type)
        and not any(parameter.name in value for parameter in parameters)
    )


def split_items(text: str) -> list[str]:
    """Split at the commas that stand in no bracket and in no quoted value."""
    items, start, depth, position, value_begins = [], 0, 0, 0, True
    apostrophes_until = 0
    closed = text + "]"
    while position < len(text):
        character = text[position]
        if value_begins and character == '"':
            end = quoted_end(text, position)
            position = len(text) if end is None else end
        elif value_begins and character == "'" and position >= apostrophes_until:
            end = single_quoted_end(closed, position)
            if end is None:
                line_end = text.find("\n", position)
                apostrophes_until = len(text) if line_end < 0 else line_end
            else:
                position = end
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth = max(0, depth - 1)
        elif character == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
        if character not in " \t\n":
            value_begins = character in VALUE_OPENERS
        position += 1
    return [*items, text[start:]]


def read_token(token: str, note: str | None = None) -> Given:
    """The readings of one value: quoted, a literal, or bare text."""
    if not token:
        return Given((), token)
    quoted = _quoted(token)
    if quoted is not None:
        return Given(((quoted[0], note or quoted[1]),), token)
    literal = parse_literal(token)
    if literal is not None and literal.repeated is None:
        is_scalar = not isinstance(literal.value, (list, dict))
        as_text = "literal_as_text" if is_scalar and literal.is_json else "bare_text"
        as_value = None if literal.is_json else "python_literal"
        return Given(((literal.value, note or as_value), (token, note or as_text)), token)
    return Given(((token, note or ("bare_text" if NOT_BARE.search(token) else None)),), token)


def _quoted(text: str) -> tuple[str, str | None] | None:
    """The string that `text` spells where it is quoted as a whole, and the repair that it takes."""
    if len(text) < 2 or text[0] not in QUOTES or text[-1] != QUOTES[text[0]]:
        return None
    if text[0] == '"':
        value = parse_quoted(text)
        return None if value is None else (value, None)
    inner = text[1:-1]
    if text[0] == "'":
        is_whole = parse_quoted(_APOSTROPHE.sub("’", text)) is not None
        return (unescape(inner), "single_quotes") if is_whole else None
    return None if text[0] in inner or text[-1] in inner else (inner, "curly_quotes")


def given_values(values: Mapping[str, Any], note: str | None = None) -> dict[str, Given]:
    return {key: Given(((value, note),), _text(value)) for key, value in values.items()}


def _text(value: Any) -> str:
    try:
        return write_literal(value)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
