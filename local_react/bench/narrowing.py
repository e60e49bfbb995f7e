"""Signatures narrowed to one question: what a question doesn't say can't be given.

A narrowed signature admits a part of what the tool's own admits, never more. It is for the constraint only: prompts show the
tool's own signature, and what was written is read against that. Where the question shows nothing for a parameter that must be
given, it stays as it is; one that may be left out is left out. There are six ways, each of which may be on or off:

    numbers    a number is one that the question names, in digits or in words
    choices    one of a list of words is one that stands in the question
    texts      a text is a span of the question (spans.py)
    optional   texts that may be left out are spans, too; true or false is given only where the question has a word of the
               parameter's name
    lists      a list of numbers is no longer than the question's numbers are many, a list of texts than its parts between
               commas and the like, and its texts are spans; a small model would else go on until its tokens are used up. One
               that may be left out is given only where the question has a word of its name
    once       a text or number isn't given twice: a parameter that says what another one says is left out, or says
               something else if it must be given. This is known when a call is written, which is then written again
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from types import MappingProxyType
from typing import Any, Literal, get_args

from local_react.bench.spans import JOINING, LETTERS, spans, words_of
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Call
from local_react.language.types import Anything, Array, Boolean, Choice, Field, Integer, Number, Object, OneOf, Text, Type

Way = Literal["numbers", "choices", "texts", "optional", "lists", "once"]
WAYS: tuple[Way, ...] = get_args(Way)
QUICK_WAYS: tuple[Way, ...] = ("numbers", "choices", "optional")
"""Those that cost little: with texts, a language holds every span of the question."""

WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
"""The numbers that are read from their words."""

FACTORS = {"%": 0.01, "percent": 0.01, "k": 1e3, "thousand": 1e3, "million": 1e6, "billion": 1e9}
"""What a word behind a number may mean; the bare number is a candidate too."""

LONG_WORD = 4
"""So many letters of a word of a parameter's name are looked for in the question; a shorter one must be a word there."""

Barred = Mapping[tuple[str, str], Collection[str]]
"""Values that can't be given, as `repeated` tells them, by the names of tool and parameter."""

NOTHING_BARRED: Barred = MappingProxyType({})

VERSION = 2
"""Changes where a way comes to mean something else, so that calls of before and after aren't taken for the same."""

MAX_DIGITS = 300
"""A longer number is no integer: a float doesn't hold it."""

_NUMBER = re.compile(r"(?<![\w.])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)
_FACTOR = re.compile(rf"\s?({'|'.join(map(re.escape, FACTORS))})(?![a-z])", re.IGNORECASE)
_WORD = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;&/\n]|\b(?:and|or|plus|with)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The tools with narrower types, and the only texts for some parameters, by the names of tool and parameter."""

    tools: Mapping[str, Signature]
    grounded: Mapping[tuple[str, str], Sequence[str]]


def numbers_in(text: str) -> tuple[int | float, ...]:
    """The numbers that a text names, in its order: in digits, in words up to twenty, with percent and thousands applied.

    Of digits in groups of three, "1,234", the groups are named as well.
    """
    found: list[tuple[int, int | float]] = []
    for match in _NUMBER.finditer(text):
        found += [(match.start(), value) for value in _read_number(match[0])]
        found += _multiplied(found[-1 - match[0].count(",")][1], match, text)
    for match in _WORD.finditer(text):
        value = WORDS.index(match[1].lower())
        found += [(match.start(), value), *_multiplied(value, match, text)]
    return tuple(dict.fromkeys(value for _, value in sorted(found, key=lambda pair: pair[0]) if isfinite(value)))


def _read_number(written: str) -> list[int | float]:
    """The number, and those between its commas if it has some; one too long for a float is infinite."""
    parts = [written.replace(",", ""), *(written.split(",") if "," in written else ())]
    return [
        int(part) if part.lstrip("-").isdigit() and len(part) <= MAX_DIGITS else float(part)
        for part in (part.replace("−", "-") for part in parts)
    ]


def _multiplied(value: int | float, match: re.Match[str], text: str) -> list[tuple[int, int | float]]:
    """The number times what the word behind it means, if it means something."""
    factor = _FACTOR.match(text, match.end())
    if factor is None:
        return []
    product = round(value * FACTORS[factor[1].lower()], 12)
    return [(match.start(), int(product) if product.is_integer() and isinstance(value, int) else product)]


def repeated(call: Call, tool: Signature) -> dict[str, str]:
    """The parameters whose text or number another one has, with that value; the one that keeps it is the first, of those
    that must be given if there are any."""
    taken: set[str] = set()
    found: dict[str, str] = {}
    for each in sorted(tool.parameters, key=lambda parameter: not parameter.required):
        if each.name not in call.arguments or not isinstance(each.type, (Text, Integer, Number)):
            continue
        told = _told(call.arguments[each.name])
        if told in taken and (isinstance(each.type, Text) or not each.required):
            found[each.name] = told
        taken.add(told)
    return found


def shaped(held: Narrowed, call: Call) -> Narrowed | None:
    """Only calls of the shape of `call`: the same tool and parameters, lists as long, objects with the same keys.

    So texts of such calls differ in values only, and can be compared by their probability. None where a type doesn't tell the
    shape, as that of any JSON value doesn't.
    """
    tool, parameters, grounded = held.tools[call.name], [], dict(held.grounded)
    for each in tool.parameters:
        if each.name in call.arguments:
            type = _shaped(each.type, call.arguments[each.name])
            if type is None:
                return None
            each = replace(each, type=type, required=True)
        else:
            grounded[call.name, each.name] = ()
        parameters.append(each)
    return Narrowed({call.name: replace(tool, parameters=tuple(parameters))}, grounded)


def _shaped(type: Type, value: Any) -> Type | None:
    """The type of the values that have the shape of `value`; None where there is no one such type."""
    match type:
        case Array(items):
            shapes = {_shaped(items, item) for item in value} or {items}
            only = shapes.pop()
            return None if shapes or only is None else replace(type, items=only, min_items=len(value), max_items=len(value))
        case Object(fields, extra):
            own = {field.name: field for field in fields}
            free = {key: Field(key, extra) for key in value if key not in own} if extra is not None else {}
            kept = []
            for key, field in {**own, **free}.items():
                if key in value:
                    shape = _shaped(field.type, value[key])
                    if shape is None:
                        return None
                    kept.append(replace(field, type=shape, required=True))
            return Object(tuple(kept))
        case OneOf(options):
            fitting = next((option for option in options if fit_exactly(value, option) is not UNFIT), None)
            return None if fitting is None else _shaped(fitting, value)
        case Anything():
            return None
    return type


def _told(value: object) -> str:
    """What a value says: numbers and texts alike in their plain spelling, and 3.0 like 3."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value).casefold()


def narrow(
    tools: Signatures, question: str, ways: Iterable[Way], barred: Barred = NOTHING_BARRED
) -> Narrowed:
    """The tools narrowed to a question in these ways. Of the values `barred` for a parameter none can be given, as far as
    it takes spans and there are others; one that may be left out can't be given at all."""
    ways = frozenset(ways)
    numbers = numbers_in(question)
    narrowed: dict[str, Signature] = {}
    grounded: dict[tuple[str, str], Sequence[str]] = {}
    for name, tool in tools.items():
        parameters = []
        for each in tool.parameters:
            runs = spans(question, (name, each.name)) if ways & {"texts", "optional", "lists"} else ()
            type = _narrow(each.type, question, numbers, ways)
            if "lists" in ways and isinstance(each.type, Array) and isinstance(type, Array):
                type = _shorten(type, each.type.items, question, runs)
            parameters.append(replace(each, type=type))
            texts = _texts(each, type, question, runs, ways)
            if (name, each.name) in barred:
                texts = _without(texts, barred[name, each.name]) if each.required else ()
            if texts is not None:
                grounded[name, each.name] = texts
        narrowed[name] = replace(tool, parameters=tuple(parameters))
    return Narrowed(narrowed, grounded)


def _without(texts: Sequence[str] | None, barred: Collection[str]) -> Sequence[str] | None:
    """The texts but for those barred; all of them where no other is left."""
    return tuple(text for text in texts or () if _told(text) not in barred) or texts


def _texts(
    parameter: Parameter, type: Type, question: str, runs: Sequence[str], ways: frozenset[Way]
) -> Sequence[str] | None:
    """The only texts for a parameter; none of them where it is to be left out, None where it is free."""
    may_drop = not parameter.required
    match parameter.type:
        case Text(pattern=None) if "texts" in ways or (may_drop and "optional" in ways):
            fitting = _fitting(runs, parameter.type)
            return fitting if fitting or may_drop else None
        case Choice(values) if may_drop and "choices" in ways and not _named(values, question):
            return ()
        case Integer() | Number() if may_drop and "numbers" in ways and type == parameter.type:
            return ()
        case Boolean() if may_drop and "optional" in ways and not _is_hinted(parameter.name, question):
            return ()
        case Array() if may_drop and "lists" in ways and not _is_hinted(parameter.name, question):
            return ()
    return None


def _narrow(type: Type, question: str, numbers: Sequence[float], ways: frozenset[Way]) -> Type:
    match type:
        case Integer() if "numbers" in ways:
            return _choice((int(value) for value in numbers if value == int(value)), type)
        case Number() if "numbers" in ways:
            return _choice(map(float, numbers), type)
        case Choice(values) if "choices" in ways:
            return Choice(_named(values, question) or values)
        case Array(items):
            return replace(type, items=_narrow(items, question, numbers, ways))
        case Object(fields):
            return replace(type, fields=tuple(_narrow_field(field, question, numbers, ways) for field in fields))
    return type


def _shorten(type: Array, items: Type, question: str, runs: Sequence[str]) -> Array:
    """The list with no more items than the question has of them, where it has some; `items` are as the tool says."""
    match items:
        case Integer() | Number():
            n_items = sum(1 + written.count(",") for written in _NUMBER.findall(question)) + len(_WORD.findall(question))
        case Text(pattern=None) if fitting := _fitting(runs, items):
            n_items = len(_SEPARATOR.findall(question)) + 1
            type = replace(type, items=Choice(fitting))
        case _:
            return type
    if not n_items:
        return type
    longest = n_items if type.max_items is None else min(n_items, type.max_items)
    return replace(type, max_items=max(longest, type.min_items))


def _fitting(texts: Sequence[str], type: Type) -> tuple[str, ...]:
    return tuple(text for text in texts if fit_exactly(text, type) is not UNFIT)


def _narrow_field(field: Field, question: str, numbers: Sequence[float], ways: frozenset[Way]) -> Field:
    return replace(field, type=_narrow(field.type, question, numbers, ways))


def _choice(values: Iterable[int | float], type: Type) -> Type:
    fitting = tuple(value for value in values if fit_exactly(value, type) is not UNFIT)
    return Choice(fitting) if fitting else type


def _named(values: Sequence[str | int | float | bool | None], question: str) -> tuple[str | int | float | bool | None, ...]:
    """The values that stand in the question as whole words."""
    asked = _words(question)
    return tuple(value for value in values if (words := _words(str(value))).strip() and words in asked)


def _words(text: str) -> str:
    """The words of a text in small letters, with a blank around each."""
    return f" {' '.join(LETTERS.findall(text.casefold()))} "


def _is_hinted(name: str, question: str) -> bool:
    asked, words = _words(question), [word for word in words_of(name) if word not in JOINING]
    return any(word[:LONG_WORD] in asked if len(word) >= LONG_WORD else f" {word} " in asked for word in words)

