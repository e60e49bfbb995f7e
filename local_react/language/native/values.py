"""The values of a type as expressions in a native notation: exactly the words that the writer writes, within the bounds.

JSON is drawn by `language/values.py`. FunctionGemma's notation has no escapes: texts with control characters aren't drawn, nor
those with `<` whose length or pattern is limited, and an object with fields that the notation can't name is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from local_react.language.codepoints import EVERY, Ranges, common, matching, of_text, unite, without
from local_react.language.native.formats import ESCAPE, Notation
from local_react.language.native.notation import BARE_KEY, JOINTS, WORDS, write_key, write_native
from local_react.language.numerals import date, date_time, decimal_number, whole_number
from local_react.language.patterns import UnsupportedPattern
from local_react.language.plain import CONTROLS, is_limited, text_expression
from local_react.language.regular import (
    EMPTY,
    Regular,
    any_character,
    characters,
    choice,
    literal,
    not_empty,
    one_of_words,
    repeat,
    sequence,
)
from local_react.language.reshape import TooLarge, respelled, within, without_word
from local_react.language.signature import Parameter, Signature
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
from local_react.language.values import Place, json_value, some_of


def sorted_parameters(signature: Signature, notation: Notation) -> Sequence[Parameter]:
    """The parameters in the order in which a notation writes them: FunctionGemma's is that of the alphabet."""
    if notation != "escaped":
        return signature.parameters
    return sorted(signature.parameters, key=lambda parameter: parameter.name.lower())


def in_native_order(type: Type, notation: Notation) -> Type:
    """The type with the fields of its objects in the order in which a notation writes them."""
    if notation != "escaped":
        return type
    match type:
        case Array(items):
            return replace(type, items=in_native_order(items, notation))
        case OneOf(options):
            return OneOf(tuple(in_native_order(option, notation) for option in options))
        case Object(fields, extra):
            inner = (replace(field, type=in_native_order(field.type, notation)) for field in fields)
            ordered = tuple(sorted(inner, key=lambda field: field.name.lower()))
            return Object(ordered, None if extra is None else in_native_order(extra, notation))
    return type


def native_value(type: Type, notation: Notation, place: Place) -> Regular:
    """The values of a type in a notation. Raises GrammarError where the type can't be drawn."""
    if notation == "json":
        return json_value(type, place)
    match type:
        case Text():
            return _text(type, notation, place)
        case Choice(values):
            return one_of_words(write_native(value, notation) for value in values if _can_be_written(value, notation))
        case Integer(low, high):
            return whole_number(low, high)
        case Number(low, high):
            return decimal_number(low, high)
        case Boolean():
            return choice(WORDS[notation][True], WORDS[notation][False])
        case Null():
            return literal(WORDS[notation][None])
        case Date():
            return quoted(date(), notation)
        case DateTime():
            return quoted(date_time(), notation)
        case Array(items, low, high):
            return _list(native_value(items, notation, place), low, high, notation)
        case Object():
            return _object(type, notation, place)
        case OneOf(options):
            return choice(*(native_value(option, notation, place) for option in options))
    return _anything(notation, place.bounds.depth, place.bounds.max_text)


def quoted(expression: Regular, notation: Notation) -> Regular:
    """Texts without any character that would have to be escaped, with what stands round a text."""
    mark = ESCAPE if notation == "escaped" else "'"
    return sequence(mark, expression, mark)


def _text(type: Text, notation: Notation, place: Place) -> Regular:
    try:
        if notation == "python":
            return quoted(respelled(text_expression(type, place.bounds.max_text), _spell), notation)
        if not is_limited(type):
            free = _unescaped(place.bounds.max_text)
            return quoted(not_empty(free) if type.min_length else free, notation)
        signless = within(text_expression(type, place.bounds.max_text), without(_UNESCAPED, of_text("<")))
        return quoted(signless, notation)
    except (UnsupportedPattern, TooLarge) as error:
        remedy = "Write the pattern without it, or check that part in the tool."
        raise place.refusal(f"the pattern {type.pattern!r} can't be drawn ({error})", remedy) from error


_NAMED = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_AS_IT_IS = without(EVERY, unite(CONTROLS + of_text("'\\")))


@lru_cache(maxsize=256)
def _spell(ranges: Ranges) -> Regular:
    """Characters as they stand in single quotes."""
    escaped = without(ranges, _AS_IT_IS)
    named = [pair for character, pair in _NAMED.items() if common(escaped, of_text(character))]
    numbered = without(escaped, of_text("".join(_NAMED)))
    codes = [f"\\u{code:04x}" for low, high in numbered for code in range(low, high + 1)]
    return choice(characters(common(ranges, _AS_IT_IS)), *named, *codes)


_UNESCAPED = unite(without(EVERY, CONTROLS) + of_text("\t\n\r"))
"""What stands in a text without escapes: no control characters but those that texts have."""


@lru_cache(maxsize=8)
def _unescaped(max_text: int | None) -> Regular:
    """The texts without the mark: behind each beginning of it, something else than its next sign.

    A beginning of the mark goes on with another beginning, with some other character, or ends the text. The first sign of
    the mark stands nowhere else in it, so no match of it can overlap another.
    """
    beginnings = [ESCAPE[:size] for size in range(1, len(ESCAPE))]
    begun = choice(*beginnings)
    broken = choice(
        *(
            sequence(beginning, characters(without(_UNESCAPED, of_text(ESCAPE[len(beginning)] + ESCAPE[0]))))
            for beginning in beginnings
        )
    )
    plain = characters(without(_UNESCAPED, of_text(ESCAPE[0])))
    unit = choice(plain, sequence(repeat(begun), broken))
    return sequence(repeat(unit, 0, max_text), repeat(begun, 0, max_text))


def _can_be_written(value: object, notation: Notation) -> bool:
    return not (notation == "escaped" and isinstance(value, str) and ESCAPE in value)


def _list(item: Regular, low: int, high: int | None, notation: Notation) -> Regular:
    if high == 0:
        return literal("[]")
    more = repeat(sequence(JOINTS[notation][0], item), max(low - 1, 0), None if high is None else high - 1)
    some = sequence("[", item, more, "]")
    return choice(some, "[]") if low == 0 else some


def _object(type: Object, notation: Notation, place: Place) -> Regular:
    item_joint, key_joint = JOINTS[notation]
    fields = []
    for field in type.fields:
        if notation == "escaped" and BARE_KEY.fullmatch(field.name) is None:
            raise place.refusal(f"the field {field.name!r} can't be named in this format", "Take letters, digits and _.")
        value = native_value(field.type, notation, Place(place.tool, f"{place.parameter}.{field.name}", place.bounds))
        fields.append((sequence(write_key(field.name, notation), key_joint, value), field.required))
    extra = EMPTY
    if type.extra is not None:
        key = _free_key(notation, place.bounds.max_text)
        for field in type.fields:
            key = without_word(key, field.name)
        extra = sequence(_spelled_key(key, notation), key_joint, native_value(type.extra, notation, place))
    return sequence("{", some_of(fields, extra, joint=item_joint), "}")


_KEY_FIRST = matching(r"[^\W\d]")
_KEY_REST = matching(r"[\w.-]")


def _free_key(notation: Notation, max_text: int | None) -> Regular:
    """The keys that an object takes beside its own, before they are spelled."""
    if notation == "escaped":
        return sequence(characters(_KEY_FIRST), repeat(characters(_KEY_REST), 0, max_text))
    return repeat(any_character(), 0, max_text)


def _spelled_key(key: Regular, notation: Notation) -> Regular:
    return key if notation == "escaped" else quoted(respelled(key, _spell), notation)


@lru_cache(maxsize=16)
def _anything(notation: Notation, depth: int, max_text: int | None) -> Regular:
    item_joint, key_joint = JOINTS[notation]
    if notation == "python":
        text = quoted(respelled(repeat(any_character(), 0, max_text), _spell), notation)
    else:
        text = quoted(_unescaped(max_text), notation)
    value = choice(text, whole_number(None, None), decimal_number(None, None), *WORDS[notation].values())
    if depth > 0:
        inner = _anything(notation, depth - 1, max_text)
        pair = sequence(_spelled_key(_free_key(notation, max_text), notation), key_joint, inner)
        value = choice(value, _list(inner, 0, None, notation), sequence("{", some_of((), pair, joint=item_joint), "}"))
    return value
