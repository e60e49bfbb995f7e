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
    members = _CHARACTER.findall(written[1:-1].removeprefix("^"))
    if not members:
        return "This set of characters is empty. To have `]` in a set, write `\\]`"
    place = 0
    while place + 2 < len(members):
        low, dash, high = members[place : place + 3]
        if dash != "-":
            place += 1
            continue
        if _code(low) > _code(high):
            return f"The range `{low}-{high}` runs backwards, so it has no character"
        place += 3
    return None


def _code(character: str) -> int:
    if len(character) < 3:
        return _CONTROLS.get(character, ord(character[-1]))
    return int(character[2:], 16)
