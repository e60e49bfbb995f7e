"""What stands between the opener and the closer of a native call, taken apart: a name, arguments by name, nothing fitted yet.

Nothing here raises. What can't be read is a `Fault`; what can be read only by overlooking something is a `Body` that names it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local_react.language.brackets import closing_bracket
from local_react.language.given import split_items
from local_react.language.literals import Literal, parse_literal
from local_react.language.misfit import Misfit, repeated, shown
from local_react.language.native.formats import NativeFormat
from local_react.language.native.notation import Unclosed, Unreadable, read_escaped
from local_react.language.protocol import CALL_KEYS
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Malformed

_PYTHON_CALL = re.compile(r"\s*([^\W\d][\w.-]*)\s*\(")
_PYTHON_NAME = re.compile(r"\s*([^\W\d][\w.-]*)\s*=(?!=)")
_ESCAPED_CALL = re.compile(r"\s*call\s*:\s*([^\s{}:,<]+)\s*(?=\{)")
_FENCED = re.compile(r"\s*```\w*\s*(.*?)\s*```\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Body:
    """A call as it stands: its name, its arguments, where it ends, and what had to be overlooked.

    `positional` are values without a name. `misfit` is a fault of the arguments that is known already, and `n_further` counts
    the calls behind the first one in a list.
    """

    name: str
    arguments: Mapping[str, Any]
    end: int
    repairs: tuple[str, ...] = ()
    positional: tuple[Any, ...] = ()
    misfit: Misfit | None = None
    n_further: int = 0

    def arguments_of(self, signature: Signature) -> dict[str, Any]:
        """The arguments by name, with the positional ones by their places; one too many keeps a name of its own."""
        names = [parameter.name for parameter in signature.parameters]
        placed = {
            names[place] if place < len(names) else f"argument {place + 1}": value
            for place, value in enumerate(self.positional)
        }
        return placed | dict(self.arguments)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why no call can be read here."""

    malformed: Malformed


UNCLOSED = Fault(Malformed("unclosed_bracket", "The arguments never end: the closing bracket is missing."))


def read_body(text: str, start: int, format: NativeFormat) -> Body | Fault:
    """The call whose opener is at `start`."""
    if format.opens == "anywhere":
        start += len(format.opener)
    while start < len(text) and text[start].isspace():
        start += 1
    if start == len(text):
        return Fault(Malformed("unclosed_bracket", "The call ends before it has begun."))
    match format.notation:
        case "escaped":
            read = _read_escaped(text, start)
        case "python" if text[start] == "[" and re.match(r"\[\s*\{|\{", text[start:]) is None:
            read = _read_python(text, start)
        case _:
            read = _read_json(text, start, format)
    if isinstance(read, Fault):
        return read
    return _behind_closer(text, read, format)


def read_bare(text: str, format: NativeFormat, tools: Signatures) -> Body | None:
    """The call that the whole text spells as a JSON object without any markup; None where it spells none."""
    fenced = _FENCED.fullmatch(text)
    inner = (fenced[1] if fenced is not None else text).strip()
    if inner[:1] not in ("{", "["):
        return None
    read = _read_json(inner, 0, format)
    if isinstance(read, Fault) or read.end != len(inner) or read.name not in tools or "no_arguments" in read.repairs:
        return None
    return replace(read, repairs=(*read.repairs, "bare_call"))


def _behind_closer(text: str, body: Body, format: NativeFormat) -> Body:
    if not format.closer:
        return body
    blanks = len(text) - body.end - len(text[body.end :].lstrip())
    if text.startswith(format.closer, body.end + blanks):
        return replace(body, end=body.end + blanks + len(format.closer))
    return replace(body, repairs=(*body.repairs, "missing_closer"))


def _no_call(text: str, start: int) -> Fault:
    line = text[start:].strip().partition("\n")[0]
    return Fault(Malformed("malformed_action", f"This is not a call of a tool: {shown(line)}", value=shown(line)))


def _read_json(text: str, start: int, format: NativeFormat) -> Body | Fault:
    """An object, or a list of objects of which the first counts."""
    if text[start] not in "{[":
        return _no_call(text, start)
    close = closing_bracket(text, start)
    if close is None:
        return UNCLOSED
    whole, repairs, n_further = text[start : close + 1], [], 0
    if format.notation != "json":
        repairs.append("json_call")
    if text[start] == "[":
        items = split_items(whole[1:-1])
        whole, n_further = items[0].strip(), len(items) - 1
        repairs += [] if format.is_list else ["call_list"]
    elif format.is_list:
        repairs.append("single_call")
    literal = parse_literal(whole)
    if literal is None or not isinstance(literal.value, dict) or literal.repeated is not None:
        return _no_call(text, start)
    return _of_object(whole, literal, format, _Found(close + 1, repairs, n_further)) or _no_call(text, start)


@dataclass(slots=True)
class _Found:
    end: int
    repairs: list[str] = field(default_factory=list)
    n_further: int = 0


def _of_object(whole: str, literal: Literal, format: NativeFormat, found: _Found) -> Body | None:
    """The call that an object spells; None where it names no tool."""
    value, repairs = literal.value, found.repairs
    repairs += [] if literal.is_json else ["python_literal"]
    if isinstance(value.get("function"), dict):
        value = value["function"]
        repairs.append("extra_key")
    own = ("name", format.arguments_key or "arguments")
    pairs = [own, *CALL_KEYS, ("function", "parameters"), ("function", "arguments")]
    keys = next((pair for pair in pairs if pair[0] in value and pair[1] in value), None)
    keys = keys or next((pair for pair in pairs if pair[0] in value), None)
    if keys is None or not isinstance(value[keys[0]], str):
        return None
    repairs += [] if keys == own else ["call_key"]
    repairs += ["extra_key"] if len(value) > 2 else []
    arguments, misfit = value.get(keys[1]), None
    if arguments is None:
        arguments = {}
        repairs.append("no_arguments")
    elif isinstance(arguments, str):
        inner = parse_literal(arguments)
        arguments = inner.value if inner is not None else None
        misfit = repeated(inner.repeated) if inner is not None and inner.repeated is not None else None
        repairs.append("string_arguments")
    elif (twice := _repeated(whole, keys[1])) is not None:
        misfit = repeated(twice)
    if not isinstance(arguments, dict):
        return None
    return Body(value[keys[0]].strip(), arguments, found.end, tuple(dict.fromkeys(repairs)), (), misfit, found.n_further)


def _repeated(whole: str, key: str) -> str | None:
    """The argument that is given twice, if one is; of keys further in, the last value counts."""
    for item in split_items(whole[1:-1]):
        name, _, value = item.partition(":")
        if name.strip().strip("\"'") == key:
            literal = parse_literal(value)
            return None if literal is None else literal.repeated
    return None


def _read_python(text: str, start: int) -> Body | Fault:
    """A list of Python calls, of which the first counts."""
    close = closing_bracket(text, start)
    if close is None:
        return UNCLOSED
    items = split_items(text[start + 1 : close])
    first = items[0].strip()
    called = _PYTHON_CALL.match(first)
    if called is None:
        return _no_call(text, start)
    bracket = closing_bracket(first, called.end() - 1)
    if bracket is None:
        return UNCLOSED
    if first[bracket + 1 :].strip():
        return _no_call(text, start)
    arguments: dict[str, Any] = {}
    positional: list[Any] = []
    repairs, misfit = [], None
    inside = first[called.end() : bracket]
    for item in split_items(inside) if inside.strip() else []:
        named = _PYTHON_NAME.match(item)
        written = item[named.end() if named is not None else 0 :].strip()
        literal = parse_literal(written)
        if literal is None:
            repairs.append("bare_text")
        value = written if literal is None else literal.value
        if named is None:
            positional.append(value)
            repairs.append("positional")
        elif named[1] in arguments:
            misfit = misfit or repeated(named[1])
        else:
            arguments[named[1]] = value
    repairs = list(dict.fromkeys(repairs))
    return Body(called[1], arguments, close + 1, tuple(repairs), tuple(positional), misfit, len(items) - 1)


def _read_escaped(text: str, start: int) -> Body | Fault:
    called = _ESCAPED_CALL.match(text, start)
    if called is None:
        return UNCLOSED if re.fullmatch(r"call\s*:\s*[^\s{}:,<]*\s*", text[start:]) else _no_call(text, start)
    try:
        read = read_escaped(text, called.end())
    except Unclosed:
        return UNCLOSED
    except Unreadable:
        return _no_call(text, start)
    misfit = None if read.repeated is None else repeated(read.repeated)
    return Body(called[1], read.value, read.end, (), (), misfit)
