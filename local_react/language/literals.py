"""Values as a model writes them: JSON literals, and the Python ones that stand for the same.

A reader of its own, for the escapes of this language differ from JSON's (an unknown backslash pair keeps its
backslash), keys must not repeat, and nesting is bounded. It never evaluates anything. Infinite numbers, NaN, and whole
numbers of more than `MAX_DIGITS` digits are no literals.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

MAX_DEPTH = 64
"""How deep lists and objects may be nested."""

MAX_DIGITS = 4000
"""Python refuses to turn longer runs of digits into numbers."""

QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
"""Opening quotes and their partners; the curly ones are lenient reading's."""

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_BLANK = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[A-Za-z]+")
_JSON_WORDS = {"true": True, "false": False, "null": None}
_PYTHON_WORDS = {"True": True, "False": False, "None": None}
_ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\(.)", re.DOTALL
)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "/": "/"}
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]')
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that was read. `is_json` is false where Python's spelling was used; `repeated` is a key seen twice in
    an object that is the whole text; of such keys further in, the last value counts."""

    value: Any
    is_json: bool = True
    repeated: str | None = None


def parse_literal(text: str) -> Literal | None:
    """The value that the whole of `text` (outer blanks aside) spells, or None where it spells none."""
    reader = _Reader(text)
    try:
        value = reader.value(_BLANK.match(text).end(), 0)  # type: ignore[union-attr]
    except _NoLiteral:
        return None
    return Literal(value, reader.is_json, reader.repeated) if reader.blank(reader.position) == len(text) else None


def parse_number(text: str) -> int | float | None:
    """The finite number that `text` spells in JSON, or None."""
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > MAX_DIGITS:
        return None
    if match[1] is None and match[2] is None:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def quoted_end(text: str, start: int) -> int | None:
    """The index of the quote that closes the one at `start`, or None; a backslash protects the character behind it."""
    closing, position = QUOTES[text[start]], start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == closing:
            return position
        position += 1
    return None


def parse_quoted(text: str) -> str | None:
    """The string that `text` spells where it is one pair of quotes and what stands in them; None otherwise."""
    if len(text) < 2 or text[0] not in QUOTES or quoted_end(text, 0) != len(text) - 1:
        return None
    return unescape(text[1:-1])


def unescape(text: str) -> str:
    """`text` with the known backslash pairs resolved; every other pair stays as it stands."""
    return _ESCAPE.sub(_unescape_pair, text) if "\\" in text else text


def write_string(text: str) -> str:
    """`text` as a quoted string on one line."""
    return '"' + _TO_ESCAPE.sub(lambda match: _WRITTEN.get(match[0]) or f"\\u{ord(match[0]):04x}", text) + '"'


def write_literal(value: Any) -> str:
    """A JSON value on one line, in the escapes of this language. Raises ValueError for what JSON can't hold."""
    match value:
        case str():
            return write_string(value)
        case list() | tuple():
            return "[" + ", ".join(write_literal(item) for item in value) + "]"
        case dict():
            return "{" + ", ".join(f"{write_string(key)}: {write_literal(item)}" for key, item in value.items()) + "}"
    return json.dumps(value, allow_nan=False)


def _unescape_pair(match: re.Match[str]) -> str:
    high, low, single, other = match.groups()
    if high is not None:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    if single is not None:
        # Half a surrogate pair is no character: it could be neither printed nor written to a file.
        return match[0] if 0xD800 <= int(single, 16) <= 0xDFFF else chr(int(single, 16))
    return _ESCAPED.get(other, match[0])


class _NoLiteral(Exception):
    """The text spells no value here; never leaves this module."""


class _Reader:
    """Descends through one text; `position` is where the value read last has ended."""

    __slots__ = ("text", "position", "is_json", "repeated")

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.is_json, self.repeated = True, None

    def blank(self, position: int) -> int:
        return _BLANK.match(self.text, position).end()  # type: ignore[union-attr]

    def value(self, position: int, depth: int) -> Any:
        character = self.text[position : position + 1]
        if depth > MAX_DEPTH or not character:
            raise _NoLiteral
        if character in "\"'":
            return self.string(position)
        if character == "{":
            return self.object(position, depth)
        if character in "[(":
            return self.list(position, depth)
        return self.scalar(position)

    def scalar(self, position: int) -> Any:
        word = _WORD.match(self.text, position)
        if word is not None:
            self.position = word.end()
            if word[0] in _JSON_WORDS:
                return _JSON_WORDS[word[0]]
            if word[0] in _PYTHON_WORDS:
                self.is_json = False
                return _PYTHON_WORDS[word[0]]
            raise _NoLiteral
        match = _NUMBER.match(self.text, position)
        number = parse_number(match[0]) if match is not None else None
        if match is None or number is None:
            raise _NoLiteral
        self.position = match.end()
        return number

    def string(self, position: int) -> str:
        end = quoted_end(self.text, position)
        if end is None:
            raise _NoLiteral
        self.is_json = self.is_json and self.text[position] == '"'
        self.position = end + 1
        return unescape(self.text[position + 1 : end])

    def list(self, position: int, depth: int) -> Any:
        closing = "]" if self.text[position] == "[" else ")"
        self.is_json = self.is_json and closing == "]"
        items: list[Any] = []
        position = self.blank(position + 1)
        while self.text[position : position + 1] != closing:
            items.append(self.value(position, depth + 1))
            position = self.separator(closing)
        self.position = position + 1
        return items

    def object(self, position: int, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        position = self.blank(position + 1)
        while self.text[position : position + 1] != "}":
            if self.text[position : position + 1] not in ('"', "'"):
                raise _NoLiteral
            key = self.string(position)
            position = self.blank(self.position)
            if self.text[position : position + 1] != ":":
                raise _NoLiteral
            if key in fields and depth == 0:
                self.repeated = self.repeated or key
            fields[key] = self.value(self.blank(position + 1), depth + 1)
            position = self.separator("}")
        self.position = position + 1
        return fields

    def separator(self, closing: str) -> int:
        """Where the next item begins, or the closing bracket stands."""
        position = self.blank(self.position)
        if self.text[position : position + 1] == ",":
            position = self.blank(position + 1)
            if self.text[position : position + 1] == closing:
                self.is_json = False
            return position
        if self.text[position : position + 1] != closing:
            raise _NoLiteral
        return position
