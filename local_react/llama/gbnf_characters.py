"""What literals and sets of a GBNF text are made of: escapes and ranges, as llama.cpp 0.3.36 reads them."""

from __future__ import annotations

import re

ESCAPES = r'\n \r \t \\ \" \[ \] \- \xHH \uHHHH \UHHHHHHHH'
"""Every escape that llama.cpp knows, for messages."""

_ESCAPE = r'\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[trn\\"\[\]-])'
_ESCAPED = re.compile(rf"{_ESCAPE}|(?P<bad>\\.)")
_CHARACTER = re.compile(rf"{_ESCAPE}|.")
_CONTROLS = {"\\t": 9, "\\n": 10, "\\r": 13}


def wrong_escape(written: str) -> re.Match[str] | None:
    """The first backslash and its character in a literal or a set that are no escape."""
    if "\\" not in written:
        return None
    return next((escape for escape in _ESCAPED.finditer(written) if escape["bad"]), None)


def wrong_set(written: str) -> str | None:
    """What is wrong with a set whose escapes are right: it is empty, or one of its ranges is."""
    members = _members(written)
    if not members:
        return "This set of characters is empty. To have `]` in a set, write `\\]`"
    backwards = next(((low, high) for low, high in members if _code(low) > _code(high)), None)
    if backwards is not None:
        return f"The range `{backwards[0]}-{backwards[1]}` runs backwards, so it has no character"
    return None


def codes_of_literal(written: str) -> list[int]:
    """The code points of a literal that is right, quotes included."""
    return [_code(character) for character in _CHARACTER.findall(written[1:-1])]


def codes_of_set(written: str) -> tuple[list[tuple[int, int]], bool]:
    """The ranges of code points of a set that is right, brackets included, and whether it is of all the others."""
    return [(_code(low), _code(high)) for low, high in _members(written)], written.startswith("[^")


def _members(written: str) -> list[tuple[str, str]]:
    """The ranges of a set as they are written; a single character is one from itself to itself."""
    characters = _CHARACTER.findall(written[1:-1].removeprefix("^"))
    members, place = [], 0
    while place < len(characters):
        if place + 2 < len(characters) and characters[place + 1] == "-":
            members.append((characters[place], characters[place + 2]))
            place += 3
        else:
            members.append((characters[place], characters[place]))
            place += 1
    return members


def _code(character: str) -> int:
    if len(character) < 3:
        return _CONTROLS.get(character, ord(character[-1]))
    return int(character[2:], 16)
