"""Values in the notations that native calls use beside JSON: Python literals, and FunctionGemma's escaped texts.

Writing and reading are inverse to each other, as for JSON. FunctionGemma's notation has no escapes, so a text that holds
its mark, or a key with signs of the notation in it, can't be written; the writer raises ValueError for those.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_react.language.literals import MAX_DEPTH, parse_number, write_literal, write_string
from local_react.language.native.formats import ESCAPE, Notation

WORDS: dict[Notation, dict[Any, str]] = {
    "json": {True: "true", False: "false", None: "null"},
    "python": {True: "True", False: "False", None: "None"},
    "escaped": {True: "true", False: "false", None: "null"},
}
"""How each notation writes the values that have names."""

JOINTS: dict[Notation, tuple[str, str]] = {"json": (", ", ": "), "python": (", ", ": "), "escaped": (",", ":")}
"""What stands between two items, and between a key and its value."""

BARE_KEY = re.compile(r"[^\W\d][\w.-]*")
"""The keys that FunctionGemma's notation can hold: they stand without quotes."""

_READ_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_SCALAR = re.compile(r"[^\s,{}\[\]<]+")
_KEY = re.compile(r"\s*([^\s,:{}\[\]<]+)\s*:\s*")


def write_text(text: str, notation: Notation) -> str:
    """A text with what stands round it. Raises ValueError for one that the notation can't hold."""
    match notation:
        case "json":
            return write_string(text)
        case "python":
            # The same escapes as in JSON; only the quote differs.
            return "'" + write_string(text)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    if ESCAPE in text:
        raise ValueError(f"A text with {ESCAPE} in it can't be written in this format.")
    return f"{ESCAPE}{text}{ESCAPE}"


def write_key(key: str, notation: Notation) -> str:
    """A key of an object. Raises ValueError for one that the notation can't hold."""
    if notation != "escaped":
        return write_text(key, notation)
    if BARE_KEY.fullmatch(key) is None:
        raise ValueError(f"The key {key!r} can't be written in this format.")
    return key


def write_native(value: Any, notation: Notation) -> str:
    """A JSON value in a notation. Raises ValueError for what it can't hold."""
    item_joint, key_joint = JOINTS[notation]
    match value:
        case str():
            return write_text(value, notation)
        case True | False | None:
            return WORDS[notation][value]
        case list() | tuple():
            return "[" + item_joint.join(write_native(item, notation) for item in value) + "]"
        case dict():
            fields = (f"{write_key(k, notation)}{key_joint}{write_native(v, notation)}" for k, v in value.items())
            return "{" + item_joint.join(fields) + "}"
    return write_literal(value)


@dataclass(frozen=True, slots=True)
class Escaped:
    """An object that was read in FunctionGemma's notation, and where it ends (behind its brace)."""

    value: Mapping[str, Any]
    end: int
    repeated: str | None = None


class Unclosed(Exception):
    """The text ends within a value; never leaves `native/`."""


class Unreadable(Exception):
    """No value stands here; never leaves `native/`."""


def read_escaped(text: str, start: int) -> Escaped:
    """The object whose brace is at `start`. Raises Unclosed or Unreadable."""
    reader = _EscapedReader(text)
    value = reader.object(start, 0)
    return Escaped(value, reader.position, reader.repeated)


class _EscapedReader:
    """Descends through one text; `position` is where the value read last has ended."""

    __slots__ = ("text", "position", "repeated")

    def __init__(self, text: str) -> None:
        self.text, self.position, self.repeated = text, 0, None

    def skip(self, position: int) -> int:
        """Over blanks; something must follow."""
        while position < len(self.text) and self.text[position].isspace():
            position += 1
        if position >= len(self.text):
            raise Unclosed
        return position

    def value(self, position: int, depth: int) -> Any:
        position = self.skip(position)
        if depth > MAX_DEPTH:
            raise Unreadable
        match self.text[position]:
            case "<":
                return self.escaped(position)
            case "{":
                return self.object(position, depth)
            case "[":
                return self.list(position, depth)
            case '"' | "'":
                raise Unreadable
        word = _SCALAR.match(self.text, position)
        if word is None:
            raise Unreadable
        self.position = word.end()
        if word[0] in _READ_WORDS:
            return _READ_WORDS[word[0]]
        number = parse_number(word[0])
        if number is None:
            raise Unreadable if self.position < len(self.text) else Unclosed
        return number

    def escaped(self, position: int) -> str:
        if not self.text.startswith(ESCAPE, position):
            raise Unclosed if ESCAPE.startswith(self.text[position:]) else Unreadable
        start = position + len(ESCAPE)
        end = self.text.find(ESCAPE, start)
        if end < 0:
            raise Unclosed
        self.position = end + len(ESCAPE)
        return self.text[start:end]

    def list(self, position: int, depth: int) -> list[Any]:
        items: list[Any] = []
        position = self.skip(position + 1)
        while self.text[position] != "]":
            items.append(self.value(position, depth + 1))
            position = self.behind("]")
        self.position = position + 1
        return items

    def object(self, position: int, depth: int) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        position = self.skip(position + 1)
        while self.text[position] != "}":
            key = _KEY.match(self.text, position)
            if key is None:
                raise Unreadable if re.search(r"[,:{}\[\]<]", self.text[position:]) else Unclosed
            if key[1] in fields and depth == 0:
                self.repeated = self.repeated or key[1]
            fields[key[1]] = self.value(key.end(), depth + 1)
            position = self.behind("}")
        self.position = position + 1
        return fields

    def behind(self, closing: str) -> int:
        """Where the next item begins, or the closing bracket stands."""
        position = self.skip(self.position)
        if self.text[position] == ",":
            return self.skip(position + 1)
        if self.text[position] != closing:
            raise Unreadable
        return position

