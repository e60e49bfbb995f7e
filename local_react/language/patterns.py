"""Python regular expressions as expressions of the algebra: the texts in which `re.search` finds the pattern.

Look-around, back-references, word boundaries and what else looks beyond its own place are not regular, or only at a
price: those are refused by name, never approximated from above. Two things are drawn more narrowly than Python reads
them: `$` is the very end of the text, and letters of either case under `(?i)` are those that differ in case only.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Any

from local_react.language.codepoints import EVERY, Ranges, invert, matching, of_text, unite, without
from local_react.language.regular import EPSILON, Regular, any_character, characters, choice, repeat, sequence

if sys.version_info >= (3, 11):
    from re import _constants as codes, _parser as parser  # type: ignore[attr-defined]
else:
    import sre_constants as codes
    import sre_parse as parser


class UnsupportedPattern(Exception):
    """A part of a pattern that no regular language expresses; never leaves `language/`."""


_NAMES = {
    codes.GROUPREF: "a back-reference", codes.GROUPREF_EXISTS: "a conditional group", codes.ASSERT: "look-around",
    codes.ASSERT_NOT: "look-around",
}
_EDGES = {codes.AT_BEGINNING, codes.AT_BEGINNING_STRING, codes.AT_END, codes.AT_END_STRING}
_WORDS = {codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w"}
_OPPOSITES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT, codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}


def find_expression(pattern: str, max_text: int | None) -> Regular:
    """The texts in which `pattern` is found, with at most `max_text` characters round it on each side.

    Raises UnsupportedPattern, naming the part, or `re.error`.
    """
    parsed = parser.parse(pattern)
    flags = parsed.state.flags
    if flags & re.MULTILINE:
        raise UnsupportedPattern("the flag (?m)")
    return choice(*(_anchored(list(branch), flags, max_text) for branch in _branches(list(parsed))))


def _branches(items: list[Any]) -> list[list[Any]]:
    """The alternatives of a whole pattern, each with its own anchors."""
    if len(items) == 1 and items[0][0] is codes.BRANCH:
        return [found for branch in items[0][1][1] for found in _branches(list(branch))]
    if len(items) == 1 and items[0][0] is codes.SUBPATTERN and not items[0][1][1] and not items[0][1][2]:
        return _branches(list(items[0][1][3]))
    # `^(a|b)$` and `^a|b$` may both have their common beginning factored out by Python's parser.
    for place, (kind, value) in enumerate(items):
        if kind is codes.BRANCH and any(_has_edge(branch) for branch in value[1]):
            return [
                found for branch in value[1] for found in _branches([*items[:place], *branch, *items[place + 1 :]])
            ]
    return [items]


def _has_edge(items: Iterable[Any]) -> bool:
    return any(kind is codes.AT and value in _EDGES for kind, value in items)


def _anchored(items: list[Any], flags: int, max_text: int | None) -> Regular:
    around = repeat(any_character(), 0, max_text)
    before = after = around
    while items and items[0][0] is codes.AT and items[0][1] in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
        items, before = items[1:], EPSILON
    while items and items[-1][0] is codes.AT and items[-1][1] in (codes.AT_END, codes.AT_END_STRING):
        items, after = items[:-1], EPSILON
    return sequence(before, _sequence(items, flags), after)


def _sequence(items: Iterable[Any], flags: int) -> Regular:
    return sequence(*(_item(kind, value, flags) for kind, value in items))


def _item(kind: Any, value: Any, flags: int) -> Regular:
    if kind is codes.LITERAL:
        return characters(_cased(of_text(chr(value)), flags))
    if kind is codes.NOT_LITERAL:
        return characters(_negated(of_text(chr(value)), flags))
    if kind is codes.ANY:
        return any_character() if flags & re.DOTALL else characters(without(EVERY, of_text("\n")))
    if kind is codes.IN:
        return characters(_set(value, flags))
    if kind is codes.BRANCH:
        return choice(*(_sequence(branch, flags) for branch in value[1]))
    if kind is codes.SUBPATTERN:
        _, added, removed, inner = value
        return _sequence(inner, (flags | added) & ~removed)
    if kind in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        low, high, inner = value
        return repeat(_sequence(inner, flags), int(low), None if high == codes.MAXREPEAT else int(high))
    if kind is codes.AT:
        names = {codes.AT_BOUNDARY: r"\b", codes.AT_NON_BOUNDARY: r"\B"}
        raise UnsupportedPattern(names.get(value, "an anchor inside the pattern"))
    raise UnsupportedPattern(_NAMES.get(kind, str(kind).lower().replace("_", " ")))


def _set(items: Iterable[Any], flags: int) -> Ranges:
    found: list[tuple[int, int]] = []
    is_negated = False
    for kind, value in items:
        if kind is codes.NEGATE:
            is_negated = True
        elif kind is codes.LITERAL:
            found.append((value, value))
        elif kind is codes.RANGE:
            found.append(value)
        elif kind is codes.CATEGORY:
            found.extend(_category(value, flags))
        else:
            raise UnsupportedPattern(str(kind).lower())
    ranges = unite(found)
    return _negated(ranges, flags) if is_negated else _cased(ranges, flags)


def _category(value: Any, flags: int) -> Ranges:
    if value in _OPPOSITES:
        return invert(_category(_OPPOSITES[value], flags))
    return matching(f"(?a:{_WORDS[value]})" if flags & re.ASCII else _WORDS[value])


def _negated(ranges: Ranges, flags: int) -> Ranges:
    if flags & re.IGNORECASE:
        raise UnsupportedPattern("a negated set under (?i)")
    return invert(ranges)


def _cased(ranges: Ranges, flags: int) -> Ranges:
    if not flags & re.IGNORECASE:
        return ranges
    swapped = [
        chr(code).swapcase() for low, high in ranges for code in range(low, min(high, 0x24F) + 1)
    ]
    return unite(ranges + of_text("".join(text for text in swapped if len(text) == 1 and ord(text) <= 0x24F)))
