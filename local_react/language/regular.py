"""A small regular algebra over bytes: the one form in which a language is held, whatever it is used for.

An expression is a literal, a set of characters, a sequence, a choice or a repetition, frozen and shared: two that are
built alike are one object, so `==` costs nothing and what was found out about an expression is kept with it. Only the
functions here make expressions, and none but `EMPTY` stands for no word at all. Counts stay symbols: `repeat(x, 0, 400)`
is no larger than `repeat(x, 0, 4)`, nor is anything derived from it. A `Reference` leads back to an expression that it is
part of, as brackets in brackets do; `rules.py` alone makes those. Nothing here knows what the words mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

from local_react.language.codepoints import EVERY, Ranges, of_text, unite


@dataclass(frozen=True, eq=False, repr=False)
class Regular:
    """An expression. `memo` keeps what was computed from it (derivatives by byte, the shortest word)."""

    __slots__ = ("is_nullable", "memo", "__weakref__")
    is_nullable: bool
    memo: dict[Any, Any]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {id(self):x}>"


@dataclass(frozen=True, eq=False, repr=False)
class Empty(Regular):
    """The language without a word."""

    __slots__ = ()
    __match_args__ = ()


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Regular):
    """One word; the empty one is `EPSILON`."""

    __slots__ = ("data",)
    __match_args__ = ("data",)
    data: bytes


@dataclass(frozen=True, eq=False, repr=False)
class Characters(Regular):
    """One character of a set, written in UTF-8."""

    __slots__ = ("ranges",)
    __match_args__ = ("ranges",)
    ranges: Ranges


@dataclass(frozen=True, eq=False, repr=False)
class Octets(Regular):
    """One byte of a set; only derivatives hold it, where a character is half read."""

    __slots__ = ("ranges",)
    __match_args__ = ("ranges",)
    ranges: Ranges


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(Regular):
    """A word of `head`, then one of `tail`; `head` is no sequence."""

    __slots__ = ("head", "tail")
    __match_args__ = ("head", "tail")
    head: Regular
    tail: Regular


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Regular):
    """A word of any of the options, which are at least two, and no choices."""

    __slots__ = ("options",)
    __match_args__ = ("options",)
    options: tuple[Regular, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Repeat(Regular):
    """From `low` to `high` words of `item`, or any number from `low` on with `high=None`."""

    __slots__ = ("item", "low", "high")
    __match_args__ = ("item", "low", "high")
    item: Regular
    low: int
    high: int | None


@dataclass(frozen=True, eq=False, repr=False)
class Reference(Regular):
    """A word of `body`, an expression that holds this reference itself, behind at least one byte. Of no other reference
    the same: two are equal if they are one. Its shortest word is known from the start."""

    __slots__ = ()
    __match_args__ = ()

    @property
    def body(self) -> Regular:
        """What it stands for."""
        return self.memo["body"]


_SHARED: WeakValueDictionary[tuple[Any, ...], Regular] = WeakValueDictionary()
_LOCK = Lock()


def _share(kind: type[Regular], is_nullable: bool, *parts: Any) -> Any:
    key = (kind, *parts)
    found = _SHARED.get(key)
    if found is None:
        with _LOCK:
            found = _SHARED.get(key)
            if found is None:
                found = _SHARED[key] = kind(is_nullable, {}, *parts)
    return found


EMPTY: Regular = _share(Empty, False)
EPSILON: Regular = _share(Literal, True, b"")


def literal(text: str | bytes) -> Regular:
    """The one word `text`, a str in UTF-8."""
    data = text if isinstance(text, bytes) else text.encode()
    return _share(Literal, not data, data)


def characters(members: str | Iterable[tuple[int, int]]) -> Regular:
    """One character: of a text, or of ranges of code points (last one included)."""
    ranges = of_text(members) if isinstance(members, str) else unite(members)
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return literal(chr(ranges[0][0]))
    return _share(Characters, False, ranges) if ranges else EMPTY


def octets(low: int, high: int) -> Regular:
    """One byte from `low` to `high`."""
    return _share(Octets, False, ((low, high),))


def any_character() -> Regular:
    """One character, whichever."""
    return characters(EVERY)


def sequence(*parts: Regular | str) -> Regular:
    """The parts one after the other; a str is a literal."""
    joined = EPSILON
    for part in reversed(parts):
        joined = _join(literal(part) if isinstance(part, str) else part, joined)
    return joined


def _join(head: Regular, tail: Regular) -> Regular:
    if head is EMPTY or tail is EMPTY:
        return EMPTY
    if head is EPSILON:
        return tail
    if tail is EPSILON:
        return head
    if isinstance(head, Sequence):
        parts = []
        while isinstance(head, Sequence):
            parts.append(head.head)
            head = head.tail
        return sequence(*parts, head, tail)
    if isinstance(head, Literal):
        if isinstance(tail, Literal):
            return literal(head.data + tail.data)
        if isinstance(tail, Sequence) and isinstance(tail.head, Literal):
            return _join(literal(head.data + tail.head.data), tail.tail)
    return _share(Sequence, head.is_nullable and tail.is_nullable, head, tail)


def choice(*options: Regular | str) -> Regular:
    """Any of the options; a str is a literal. Without any it is EMPTY."""
    flat: dict[Regular, None] = {}
    sets: list[tuple[int, int]] = []
    place: Regular | None = None
    for option in options:
        option = literal(option) if isinstance(option, str) else option
        for part in option.options if isinstance(option, Choice) else (option,):
            if isinstance(part, Characters):
                sets.extend(part.ranges)
                place = place or part
            if part is not EMPTY:
                flat[part] = None
    if place is not None:
        merged = characters(sets)
        flat = dict.fromkeys(merged if isinstance(part, Characters) else part for part in flat)
    return _choose(_merge_counts(flat) if len(flat) > 1 else list(flat))


def _choose(options: list[Regular]) -> Regular:
    if EPSILON in options and any(option.is_nullable for option in options if option is not EPSILON):
        options.remove(EPSILON)
    if len(options) < 2:
        return options[0] if options else EMPTY
    return _share(Choice, any(option.is_nullable for option in options), tuple(options))


def _merge_counts(options: Iterable[Regular]) -> list[Regular]:
    """Join repetitions that differ in their counts only: without it, derivatives of ambiguous texts would pile up."""
    merged: dict[Any, Regular] = {}
    for option in options:
        head, tail = (option.head, option.tail) if isinstance(option, Sequence) else (option, EPSILON)
        if not isinstance(head, Repeat):
            merged[option] = option
            continue
        key = (head.item, tail)
        other = merged.get(key)
        if other is not None:
            counted = other.head if isinstance(other, Sequence) and tail is not EPSILON else other
            assert isinstance(counted, Repeat)
            if _touch(head, counted) and _touch(counted, head):
                high = None if head.high is None or counted.high is None else max(head.high, counted.high)
                merged[key] = _join(repeat(head.item, min(head.low, counted.low), high), tail)
                continue
            key = (key, head.low, head.high)
        merged[key] = option
    return list(dict.fromkeys(merged.values()))


def _touch(one: Repeat, other: Repeat) -> bool:
    return one.high is None or other.low <= one.high + 1


def optional(*parts: Regular | str) -> Regular:
    """The parts one after the other, or nothing."""
    return choice(sequence(*parts), EPSILON)


def repeat(item: Regular | str, low: int = 0, high: int | None = None) -> Regular:
    """From `low` to `high` times `item`; without `high` there is no limit. Raises ValueError for impossible counts."""
    item = literal(item) if isinstance(item, str) else item
    if low < 0 or (high is not None and high < low):
        raise ValueError(f"No text is repeated at least {low} and at most {high} times.")
    if high == 0 or item is EPSILON:
        return EPSILON
    if item is EMPTY:
        return EMPTY if low else EPSILON
    if low == 1 and high == 1:
        return item
    if item.is_nullable:
        # A repetition of what may be empty is left-recursive for some engines.
        return repeat(not_empty(item), 0, high)
    return _share(Repeat, low == 0, item, low, high)


def not_empty(expression: Regular) -> Regular:
    """The words but the empty one."""
    match expression:
        case Sequence(head, tail) if expression.is_nullable:
            return choice(sequence(not_empty(head), tail), not_empty(tail))
        case Choice(options):
            return choice(*(not_empty(option) for option in options))
        case Repeat(item, 0, high):
            return repeat(item, 1, high)
    return EMPTY if expression is EPSILON else expression


def one_of_words(words: Iterable[str]) -> Regular:
    """Any of the words, joined at their common beginnings, so that 10,000 of them are as quick as a few."""
    found = sorted(set(words))
    if not found:
        return EMPTY
    tree: dict[str, Any] = {}
    for word in found:
        node = tree
        for character in word:
            node = node.setdefault(character, {})
        node[""] = {}
    return _from_tree(tree)


def _from_tree(tree: Mapping[str, Any]) -> Regular:
    """The tree's expression, built from the leaves up without recursion: words may be long."""
    built: dict[int, Regular] = {}
    stack: list[tuple[Mapping[str, Any], list[tuple[str, Mapping[str, Any]]] | None]] = [(tree, None)]
    while stack:
        node, branches = stack.pop()
        if branches is None:
            branches = [_unbranched(key, below) for key, below in node.items()]
            stack.append((node, branches))
            stack.extend((below, None) for _, below in branches)
        elif not branches:
            built[id(node)] = EPSILON
        else:
            parts = [sequence(key, built[id(below)]) for key, below in branches]
            built[id(node)] = choice(*parts)
    return built[id(tree)]


def _unbranched(key: str, below: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The text from `key` on as far as nothing branches off, and what comes behind it: one literal, not one a character."""
    keys = [key]
    while len(below) == 1:
        ((more, below),) = below.items()
        keys.append(more)
    return "".join(keys), below
