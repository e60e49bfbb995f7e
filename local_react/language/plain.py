"""Text that stands without quotes: the raw text of a tool that takes one, and bare values in a list of arguments.

Both are regular languages, smaller than what reading takes, so that a word of them is read as itself and nothing else:
brackets balance to a fixed depth, and nothing in them looks like a quoted value that hides one, a control token or a
tag. What is outside of them is written as a quoted string, by the writer and in the action language alike. A text whose
length or pattern is limited stands raw only in simple characters.
"""

from __future__ import annotations

from functools import lru_cache

from local_react.language.brackets import VALUE_OPENERS
from local_react.language.codepoints import EVERY, Ranges, common, of_text, unite, without
from local_react.language.derivative import accepts
from local_react.language.literals import QUOTES
from local_react.language.patterns import find_expression
from local_react.language.regular import (
    EMPTY,
    EPSILON,
    Regular,
    characters,
    choice,
    optional,
    repeat,
    sequence,
)
from local_react.language.reshape import (
    ending_in,
    respelled,
    starting_in,
    with_length,
    within,
    without_assignment,
    without_word,
)
from local_react.language.types import Text

GROUP_DEPTH = 3
"""How deep square brackets nest in raw text."""

CONTROLS: Ranges = unite([(0, 0x1F), (0x7F, 0x9F), (0x2028, 0x2029)])
"""Characters that are always escaped: they end lines, or can't be seen."""

SPACES: Ranges = unite([
    (0x9, 0xD), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029),
    (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000),
])
"""What `str.strip` takes off."""

VISIBLE: Ranges = without(EVERY, unite(CONTROLS + SPACES))

_OPENERS = of_text("".join(VALUE_OPENERS - {"["}))
_QUOTES = of_text("\"'")
_ORDINARY = without(EVERY, unite(CONTROLS + _OPENERS + _QUOTES + of_text("[]< ")))
"""Neither opens a value nor a bracket, nor is a quote, the blank, or the sign that control tokens begin with."""

_AFTER_SIGN = without(unite(_ORDINARY + of_text(" ")), of_text("|\uff5c/bestBEST"))
"""What may follow `<`: no control token or tag goes on so."""

_SIMPLE = unite(without(_ORDINARY, of_text("{}()")) + of_text(" "))
_BARE = without(EVERY, unite(CONTROLS + of_text(",[]{}()\"'=<")))
_CURLY = of_text("".join(QUOTES))
_PROSE_EDGE = without(VISIBLE, of_text("\u200b\u200c\u200d\u2060\ufeff"))
_PROSE_FIRST = without(_PROSE_EDGE, _CURLY)

COLONS = ":\uff1a\ufe55\ufe30"
"""What ends a label, also in lenient reading."""

MAX_ABOVE = 200
"""How many characters more than its least a text with a pattern may have, where nothing else limits it."""

NOT_BARE_WORDS = ("True", "False", "None")
"""Words that stand for values in Python, so that strict reading doesn't take them bare."""


def is_limited(type: Text) -> bool:
    """Whether not every text fits."""
    return type.min_length > 1 or type.max_length is not None or type.pattern is not None


def text_expression(type: Text, max_text: int | None) -> Regular:
    """All the texts that fit, in characters; those without a limit up to `max_text` characters.

    Raises `UnsupportedPattern` or `TooLarge`.
    """
    high = type.max_length if type.max_length is not None else max_text
    high = high if high is None else max(high, type.min_length)
    if type.pattern is None:
        return repeat(characters(EVERY), type.min_length, high)
    expression = find_expression(type.pattern, max_text)
    if type.min_length or type.max_length is not None:
        return with_length(expression, type.min_length, high if high is not None else type.min_length + MAX_ABOVE)
    return expression


@lru_cache(maxsize=256)
def raw_text(type: Text, name: str, max_text: int | None, group_depth: int = GROUP_DEPTH) -> Regular:
    """The texts that stand raw as the value of the one parameter `name`; with `group_depth=0` only simple ones."""
    if is_limited(type) or group_depth == 0:
        return _edged(within(text_expression(type, max_text), _SIMPLE))
    return without_assignment(_free_raw(max_text, group_depth), name)


@lru_cache(maxsize=8)
def _free_raw(max_text: int | None, group_depth: int) -> Regular:
    return _edged(_run(group_depth, max_text, may_end_quoted=True))


@lru_cache(maxsize=256)
def bare_text(type: Text, max_text: int | None) -> Regular:
    """The texts that stand bare as a value among others."""
    expression = _edged(within(text_expression(type, max_text), _BARE))
    for word in NOT_BARE_WORDS:
        expression = without_word(expression, word)
    return expression


@lru_cache(maxsize=8)
def answer_line(max_text: int | None) -> Regular:
    """The texts that stand behind an answer label, on its line."""
    return ending_in(starting_in(_prose(EVERY, 1, max_text), _PROSE_FIRST), _PROSE_EDGE)


@lru_cache(maxsize=8)
def thought_line(max_text: int | None, n_free: int) -> Regular:
    """The texts that stand behind a thought label, on its line: without a colon in the first `n_free` characters.

    So no thought begins with what could be a label.
    """
    free = without(EVERY, of_text(COLONS))
    short = n_free if max_text is None else min(n_free, max_text)
    texts = [ending_in(starting_in(_prose(free, 1, short), _PROSE_FIRST), _PROSE_EDGE)]
    if max_text is None or max_text > n_free:
        rest = _prose(EVERY, 1, None if max_text is None else max_text - n_free)
        texts.append(sequence(starting_in(_prose(free, n_free, n_free), _PROSE_FIRST), ending_in(rest, _PROSE_EDGE)))
    return choice(*texts)


def _prose(alphabet: Ranges, low: int, high: int | None) -> Regular:
    """Text on one line without control tokens or tags."""
    ordinary = common(alphabet, without(EVERY, unite(CONTROLS + of_text("<"))))
    signed = common(alphabet, without(_AFTER_SIGN, of_text("<")))
    return repeat(choice(characters(ordinary), sequence("<", characters(signed))), low, high)


def is_raw(text: str, type: Text, name: str) -> bool:
    """Whether `text`, which fits `type`, stands raw as the value of the one parameter `name`."""
    return accepts(_SIMPLE_TEXT if is_limited(type) else raw_text(Text(), name, None), text)


def _edged(expression: Regular) -> Regular:
    """The texts that reading neither strips nor takes for a quoted string or an object."""
    first = without(VISIBLE, unite(_CURLY + of_text("{")))
    return ending_in(starting_in(expression, first), VISIBLE)


_SIMPLE_TEXT = _edged(repeat(characters(_SIMPLE)))


def _run(depth: int, max_text: int | None, *, may_end_quoted: bool) -> Regular:
    """Text as the bracket scanner walks over it, from where a value may begin.

    Behind an opener and blanks a quote would open a quoted value, elsewhere it is a character like any other.
    """
    waiting = repeat(characters(unite(_OPENERS + of_text(" "))))
    opened = sequence(optional("<"), characters(_OPENERS), waiting)
    group = EMPTY
    if depth > 0:
        # Counted inside as well as outside, the states of a recogniser would multiply.
        group = sequence("[", optional(_run(depth - 1, None, may_end_quoted=False)), "]")
    begun = choice(characters(_ORDINARY), sequence("<", characters(without(_AFTER_SIGN, of_text(" ")))), _quoted())
    unit = choice(
        characters(unite(_ORDINARY + _QUOTES + of_text(" "))), sequence("<", characters(_AFTER_SIGN)),
        sequence(opened, begun), sequence(optional(opened), group),
    )
    # An apostrophe where a value may begin is harmless if no bracket follows that it could hide.
    tail = sequence("'", repeat(characters(without(EVERY, unite(CONTROLS + of_text("[]<\""))))))
    end = optional(opened, choice(EPSILON, tail) if may_end_quoted else EPSILON)
    return sequence(waiting, choice(begun, group), repeat(unit, 0, max_text), end)


def _quoted() -> Regular:
    """A quoted value inside raw text, where brackets don't count."""
    ordinary = without(EVERY, unite(CONTROLS + of_text("\"\\<")))
    pair = sequence("\\", characters(without(EVERY, unite(CONTROLS + of_text("<")))))
    return sequence('"', repeat(choice(characters(ordinary), pair)), '"')


def quoted_text(expression: Regular) -> Regular:
    """The texts of an expression as quoted strings, spelled the one way that the writer spells them."""
    return sequence('"', respelled(expression, _spell), '"')


_NAMED = {"\"": '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_AS_IT_IS = without(EVERY, unite(CONTROLS + of_text("\"\\")))


@lru_cache(maxsize=256)
def _spell(ranges: Ranges) -> Regular:
    escaped = without(ranges, _AS_IT_IS)
    named = [pair for character, pair in _NAMED.items() if common(escaped, of_text(character))]
    numbered = without(escaped, of_text("".join(_NAMED)))
    codes = [f"\\u{code:04x}" for low, high in numbered for code in range(low, high + 1)]
    return choice(characters(common(ranges, _AS_IT_IS)), *named, *codes)
