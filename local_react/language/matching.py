"""Looking for a pattern in a text that somebody else wrote, in bounded time.

Python's `re` takes exponential time for patterns such as `(a+)+$`. What is regular is matched with derivatives, whose time
grows with the text only. What isn't (look-around, back-references, word borders) is left to `re`: on a bounded text, and
only where nothing inside a repetition without end may go more than one way. The other patterns are told by name, so that
they are refused before anything runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from local_react.language.derivative import Recogniser, accepts
from local_react.language.patterns import UnsupportedPattern, codes, find_expression, parser
from local_react.language.regular import Regular

MAX_WORD = 200
"""Characters of the longest match that `whole_words` finds: without a limit its time would grow with the text's square."""

MAX_IRREGULAR = 4000
"""Characters of a text that `re` looks at; what is longer, no irregular pattern is found in."""

_LARGE = 50
"""A repetition that may be made so often counts as one without end."""

_FLAGS = re.compile(r"\(\?[aimsx]+\)")
_END_ANCHOR = re.compile(r"(?<!\\)(?:\\\\)*\$\Z")  # a dollar behind an odd number of backslashes is a dollar sign


def is_found(pattern: str, text: str) -> bool:
    """Whether `pattern` occurs in `text`, as `re.search` finds it, but for `$`, which is the very end.

    An irregular pattern isn't found in a text longer than `MAX_IRREGULAR`.
    """
    expression = _expression(pattern, None)
    if expression is not None:
        return accepts(expression, text)
    return len(text) <= MAX_IRREGULAR and re.search(pattern, text) is not None


def whole_words(pattern: str, text: str) -> Iterator[str]:
    """The matches in `text` that begin and end at borders of words, the longest at each place, without overlap.

    "A100" isn't one inside of "BA1005". Anchors at the ends of the pattern mean nothing here.
    """
    expression = _expression(pattern, 0)
    if expression is None:
        for line in text.splitlines(keepends=True):
            yield from (match.group() for match in re.finditer(_bordered(pattern), line[:MAX_IRREGULAR]) if match.group())
        return
    start, begin = 0, Recogniser(expression)
    while start < len(text):
        end = start
        if (start == 0 or not text[start - 1].isalnum()) and begin.allows(text[start].encode("utf-8", "surrogatepass")[0]):
            end = _longest(begin, text, start)
        if end > start:
            yield text[start:end]
        start = max(end, start + 1)


def _longest(place: Recogniser, text: str, start: int) -> int:
    """Where the longest match from `start` on ends, at the border of a word; `start` where there is none."""
    end = start
    for position in range(start, min(start + MAX_WORD, len(text))):
        place = place.feed(text[position].encode("utf-8", "surrogatepass"))
        if place.is_dead:
            break
        if place.accepts and (position + 1 == len(text) or not text[position + 1].isalnum()):
            end = position + 1
    return end


def slow_part(pattern: str) -> str | None:
    """What of `pattern` may take endless time to match; None where nothing does. Raises `re.error` for what is no pattern."""
    try:
        find_expression(pattern, 0)
    except UnsupportedPattern as irregular:
        if _is_ambiguous(parser.parse(pattern), inside=False):
            return f"{irregular} together with choices inside a repetition"
    return None


def _is_ambiguous(part: Any, *, inside: bool) -> bool:
    """Whether a repetition without end has something inside that may go more than one way; `part` comes from Python's own
    parser."""
    kind = part[0] if isinstance(part, tuple) and len(part) == 2 else None
    if kind is codes.MAX_REPEAT or kind is codes.MIN_REPEAT:
        low, high, inner = part[1]
        is_endless = high is codes.MAXREPEAT or int(high) >= _LARGE
        return (inside and low != high) or _is_ambiguous(inner, inside=inside or is_endless)
    if kind is codes.BRANCH and inside:
        return True
    if isinstance(part, (tuple, list, parser.SubPattern)):
        return any(_is_ambiguous(below, inside=inside) for below in part)
    return False


@lru_cache(maxsize=256)
def _expression(pattern: str, max_text: int | None) -> Regular | None:
    """The pattern as an expression; None where it isn't regular."""
    try:
        return find_expression(pattern, max_text)
    except (UnsupportedPattern, RecursionError):
        return None


def _bordered(pattern: str) -> str:
    """The pattern without its anchors, between the borders of words."""
    flags = match.group() if (match := _FLAGS.match(pattern)) else ""  # re takes them at the beginning only
    bare = pattern.removeprefix(flags).removeprefix("^")
    if _END_ANCHOR.search(bare):
        bare = bare[:-1]
    return rf"{flags}(?<![^\W_])(?:{bare})(?![^\W_])"
