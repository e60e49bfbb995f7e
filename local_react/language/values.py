"""The values of a type as expressions, spelled the one way that the writer spells them.

A value stands in JSON, or as a token in a list of arguments. Every word is read strictly to a value that fits, and every
value that fits can be written, within these bounds: texts without a limit have at most `Bounds.max_text` characters,
values of any type nest `Bounds.depth` deep. There is no free white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

from local_react.errors import GrammarError
from local_react.language.arguments import write_value
from local_react.language.codepoints import EVERY, without
from local_react.language.literals import write_literal, write_string
from local_react.language.numerals import date, date_time, decimal_number, whole_number
from local_react.language.patterns import UnsupportedPattern
from local_react.language.plain import GROUP_DEPTH, SPACES, bare_text, quoted_text, raw_text, text_expression
from local_react.language.regular import (
    EMPTY,
    Regular,
    any_character,
    characters,
    choice,
    literal,
    one_of_words,
    optional,
    repeat,
    sequence,
)
from local_react.language.reshape import TooLarge, without_word
from local_react.language.signature import Parameter
from local_react.language.types import (
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
    Type,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What keeps a language small. `max_text=None` sets no limit on texts that have none of their own.

    `group_depth` is how deep square brackets nest in raw text; with 0, only simple characters stand raw, which keeps a
    regex short. What doesn't stand raw can be written in quotes.
    """

    max_text: int | None = 400
    depth: int = 3
    group_depth: int = GROUP_DEPTH


@dataclass(frozen=True, slots=True)
class Place:
    """Which parameter of which tool a value is for; errors name it."""

    tool: str
    parameter: str
    bounds: Bounds

    def refusal(self, what: str, remedy: str) -> GrammarError:
        """The error for what can't be drawn."""
        return GrammarError(f"Tool {self.tool}, parameter {self.parameter}: {what}. {remedy}")


def raw_value(parameter: Parameter, place: Place) -> Regular:
    """The one text of a tool that takes one: raw where it can stand so, quoted too."""
    assert isinstance(parameter.type, Text)

    def build(type: Text, max_text: int | None) -> Regular:
        return raw_text(type, parameter.name, max_text, place.bounds.group_depth)

    raw = _of_text(build, parameter.type, place)
    return choice(raw, quoted_text(_of_text(text_expression, parameter.type, place)))


def answer_value(parameter: Parameter, bounds: Bounds) -> Regular:
    """What the call takes that ends a run: a text that isn't blank."""
    visible = characters(without(EVERY, SPACES))
    text = sequence(repeat(characters(SPACES), 0, bounds.max_text), visible, repeat(any_character(), 0, bounds.max_text))
    return choice(raw_text(Text(), parameter.name, bounds.max_text, bounds.group_depth), quoted_text(text))


def token_value(type: Type, place: Place) -> Regular:
    """The values of a type as they stand among other arguments."""
    match type:
        case Text():
            return choice(_of_text(bare_text, type, place), json_value(type, place))
        case Choice(values):
            return one_of_words(write_value(value, Parameter("", type)) for value in values)
        case Date():
            return date()
        case DateTime():
            return date_time()
        case OneOf(options):
            return choice(*(token_value(option, place) for option in options))
    return json_value(type, place)


def json_value(type: Type, place: Place) -> Regular:
    """The values of a type in JSON."""
    match type:
        case Text():
            return quoted_text(_of_text(text_expression, type, place))
        case Choice(values):
            return one_of_words(write_literal(value) for value in values)
        case Integer(low, high):
            return whole_number(low, high)
        case Number(low, high):
            return decimal_number(low, high)
        case Boolean():
            return choice("true", "false")
        case Null():
            return literal("null")
        case Date():
            return sequence('"', date(), '"')
        case DateTime():
            return sequence('"', date_time(), '"')
        case Array(items, low, high):
            return _list(json_value(items, place), low, high)
        case Object():
            return _object(type, place)
        case OneOf(options):
            return choice(*(json_value(option, place) for option in options))
    return _anything(place.bounds.depth, place.bounds.max_text)


def _of_text(build: Callable[[Text, int | None], Regular], type: Text, place: Place) -> Regular:
    """What `build` makes of a type of text; its refusals with the place."""
    try:
        return build(type, place.bounds.max_text)
    except UnsupportedPattern as error:
        remedy = "Write the pattern without it, or check that part in the tool."
        raise place.refusal(f"the pattern {type.pattern!r} has {error}, which no grammar expresses", remedy) from error
    except TooLarge as error:
        remedy = "Put the length into the pattern, or leave out one of the two."
        raise place.refusal(f"the pattern {type.pattern!r} and its limits of length don't go together", remedy) from error
    except (re.error, RecursionError) as error:
        raise place.refusal(f"the pattern {type.pattern!r} can't be read ({error})", "Correct it.") from error


def _list(item: Regular, low: int, high: int | None) -> Regular:
    if high == 0:
        return literal("[]")
    more = repeat(sequence(", ", item), max(low - 1, 0), None if high is None else high - 1)
    some = sequence("[", item, more, "]")
    return choice(some, "[]") if low == 0 else some


def _object(type: Object, place: Place) -> Regular:
    fields = []
    for field in type.fields:
        value = json_value(field.type, Place(place.tool, f"{place.parameter}.{field.name}", place.bounds))
        fields.append((sequence(f"{write_string(field.name)}: ", value), field.required))
    extra = EMPTY
    if type.extra is not None:
        key = repeat(any_character(), 0, place.bounds.max_text)
        for field in type.fields:
            key = without_word(key, field.name)
        extra = sequence(quoted_text(key), ": ", json_value(type.extra, place))
    return sequence("{", some_of(fields, extra), "}")


def some_of(
    parts: Iterable[tuple[Regular, bool]], extra: Regular = EMPTY, *, is_first: bool = True, joint: str = ", "
) -> Regular:
    """The parts in order, those that aren't required left out or not, then any number of `extra`, with `joint` between.

    Without `is_first`, something stands before them already.
    """
    behind = repeat(sequence(joint, extra))
    firsts = [optional(extra, behind)]
    for part, is_required in reversed(list(parts)):
        first = sequence(part, behind)
        firsts = [first] if is_required else [first, *firsts]
        more = sequence(joint, part)
        behind = sequence(more if is_required else optional(more), behind)
    return choice(*firsts) if is_first else behind


@lru_cache(maxsize=16)
def _anything(depth: int, max_text: int | None) -> Regular:
    text = quoted_text(repeat(any_character(), 0, max_text))
    value = choice(text, whole_number(None, None), decimal_number(None, None), "true", "false", "null")
    if depth > 0:
        inner = _anything(depth - 1, max_text)
        pairs = some_of((), sequence(text, ": ", inner))
        value = choice(value, _list(inner, 0, None), sequence("{", pairs, "}"))
    return value
