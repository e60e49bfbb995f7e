"""Reading with an expression: derivatives, the state between two bytes, the shortest word, random words.

The recogniser is the reference that every engine is tested against. It takes bytes in pieces of any size, and tells
"fine so far" from "refused" after each. All it computes is kept with the expressions, for it is asked at every token.
It never explores: a question costs as much as the expression is large, not as the language is.

With references the language is context-free, and the same derivatives follow it (Might, Darais and Spiewak, "Parsing with
derivatives", 2011): what the ways to read a text have in common stays shared, so many ways cost little. They are computed
without recursion, so no brackets are too deep.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from local_react.language.codepoints import Ranges, utf8
from local_react.language.regular import (
    EMPTY,
    EPSILON,
    Characters,
    Choice,
    Literal,
    Octets,
    Reference,
    Regular,
    Repeat,
    Sequence,
    choice,
    literal,
    octets,
    repeat,
    sequence,
)

USUAL_COUNT = 6
"""About how often a random word repeats what may be repeated without end."""

USUAL_DEPTH = 4
"""How deep a random word goes at most in references to references."""


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A place in a word: what may still follow is `rest`. Feeding bytes gives another one, and changes nothing."""

    rest: Regular

    def feed(self, data: bytes) -> Recogniser:
        """The place behind `data`."""
        rest = self.rest
        for byte in data:
            rest = derive(rest, byte)
            if rest is EMPTY:
                break
        return Recogniser(rest)

    @property
    def accepts(self) -> bool:
        """Whether a word may end here."""
        return self.rest.is_nullable

    @property
    def is_dead(self) -> bool:
        """Whether what was fed begins no word."""
        return self.rest is EMPTY

    @property
    def is_complete(self) -> bool:
        """Whether a word ends here and none goes on."""
        return self.rest is EPSILON

    def allows(self, byte: int) -> bool:
        """Whether some word goes on with `byte`."""
        return bool(first_bytes(self.rest) >> byte & 1)

    def forced(self) -> bytes:
        """The longest text that all continuations begin with; empty where a word may end here."""
        found = self.rest.memo.get("forced")
        if found is None:
            found = self.rest.memo["forced"] = _forced(self.rest)
        return found

    def shortest(self) -> bytes:
        """The continuation of the fewest bytes that ends a word. Raises ValueError where there is none."""
        return shortest_word(self.rest)


def accepts(expression: Regular, word: str | bytes) -> bool:
    """Whether `word` is in the language."""
    # Half a surrogate pair becomes bytes that no character has, so such a text is refused like any other.
    data = word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass")
    return Recogniser(expression).feed(data).accepts


def derive(expression: Regular, byte: int) -> Regular:
    """What may follow `byte` at the start of a word (Brzozowski's derivative)."""
    found = expression.memo.get(byte)
    return settle(expression, byte, _leading_at, _derive) if found is None else found


def settle(
    expression: Regular, key: Any, needs: Callable[[Regular, Any], Iterable[Regular]], find: Callable[[Regular, Any], Any]
) -> Any:
    """What `find` finds out about an expression, kept under `key` in it and in the parts that it needs; those come first."""
    waiting = [expression]
    while waiting:
        node = waiting[-1]
        missing = [] if key in node.memo else [part for part in needs(node, key) if key not in part.memo]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if key not in node.memo:
            node.memo[key] = find(node, key)
    return expression.memo[key]


def _leading_at(expression: Regular, byte: int) -> Iterable[Regular]:
    """The parts in which a word can begin with `byte`."""
    if isinstance(expression, Choice):
        return [option for option in expression.options if first_bytes(option) >> byte & 1]
    return leading(expression, None)


def leading(expression: Regular, _key: Any) -> Iterable[Regular]:
    """The parts with which a word can begin."""
    match expression:
        case Sequence(head, tail):
            return (head, tail) if head.is_nullable else (head,)
        case Choice(options):
            return options
        case Repeat(item, _, _):
            return (item,)
        case Reference():
            return (expression.body,)
    return ()


def _derive(expression: Regular, byte: int) -> Regular:
    match expression:
        case Literal(data):
            return literal(data[1:]) if data and data[0] == byte else EMPTY
        case Characters(ranges):
            return choice(*_tails(ranges, byte))
        case Octets(ranges):
            return EPSILON if any(low <= byte <= high for low, high in ranges) else EMPTY
        case Sequence(head, tail):
            first = sequence(derive(head, byte), tail)
            return choice(first, derive(tail, byte)) if head.is_nullable else first
        case Choice(options):
            return choice(*(derive(option, byte) for option in options if first_bytes(option) >> byte & 1))
        case Repeat(item, low, high):
            return sequence(derive(item, byte), repeat(item, max(low - 1, 0), None if high is None else high - 1))
        case Reference():
            return derive(expression.body, byte)
    return EMPTY


def _tails(ranges: Ranges, byte: int) -> Iterable[Regular]:
    """What may follow the first byte of a character."""
    for (low, high), *tail in utf8(ranges):
        if low <= byte <= high:
            yield sequence(*(octets(first, last) for first, last in tail))


def first_bytes(expression: Regular) -> int:
    """The bytes that a word can begin with, as a set of bits."""
    found = expression.memo.get("first")
    if found is None:
        found = settle(expression, "first", leading, _first_bytes)
    return found


def _first_bytes(expression: Regular, _key: Any) -> int:
    match expression:
        case Literal(data):
            return 1 << data[0] if data else 0
        case Characters(ranges):
            return _bits(parts[0] for parts in utf8(ranges))
        case Octets(ranges):
            return _bits(ranges)
        case Sequence(head, tail):
            return first_bytes(head) | (first_bytes(tail) if head.is_nullable else 0)
        case Choice(options):
            bits = 0
            for option in options:
                bits |= first_bytes(option)
            return bits
        case Repeat(item, _, _):
            return first_bytes(item)
        case Reference():
            return first_bytes(expression.body)
    return 0


def _bits(ranges: Iterable[tuple[int, int]]) -> int:
    bits = 0
    for low, high in ranges:
        bits |= (1 << high + 1) - (1 << low)
    return bits


def _forced(rest: Regular) -> bytes:
    found = bytearray()
    while not rest.is_nullable:
        first = first_bytes(rest)
        if first == 0 or first & (first - 1):
            break
        found.append(first.bit_length() - 1)
        rest = derive(rest, found[-1])
    return bytes(found)


def shortest_word(expression: Regular) -> bytes:
    """The word of the fewest bytes; of several the same one each time. Raises ValueError for the empty language."""
    found = expression.memo.get("shortest")
    if found is None:
        found = settle(expression, "shortest", _parts_of_shortest, _shortest)
    return found


def _parts_of_shortest(expression: Regular, _key: Any) -> Iterable[Regular]:
    match expression:
        case Sequence(head, tail) if not expression.is_nullable:
            return (head, tail)
    return () if expression.is_nullable else leading(expression, None)


def _shortest(expression: Regular, _key: Any) -> bytes:
    if expression.is_nullable:
        return b""
    match expression:
        case Literal(data):
            return data
        case Characters(ranges):
            return _plainest(ranges).encode()
        case Octets(ranges):
            return bytes((ranges[0][0],))
        case Sequence(head, tail):
            return shortest_word(head) + shortest_word(tail)
        case Choice(options):
            return min((shortest_word(option) for option in options), key=len)
        case Repeat(item, low, _):
            return shortest_word(item) * low
    raise ValueError("The empty language has no words. Ask is_dead first.")


def _plainest(ranges: Ranges) -> str:
    """The first character of a set, but a visible one of ASCII rather than a blank or a control character."""
    return chr(next((max(low, 0x21) for low, high in ranges if low < 0x7F and high > 0x20), ranges[0][0]))


def random_word(expression: Regular, source: random.Random, depth: int = 0) -> bytes:
    """A word drawn by chance. Each option is as likely as the next; counts are small mostly, and at times a limit.

    The deeper it is in references to references (`depth`), the sooner their shortest words are taken.
    """
    match expression:
        case Literal(data):
            return data
        case Characters(ranges):
            return _random_character(ranges, source).encode()
        case Octets(ranges):
            low, high = source.choice(ranges)
            return bytes((source.randint(low, high),))
        case Sequence():
            parts = []
            while isinstance(expression, Sequence):
                parts.append(random_word(expression.head, source, depth))
                expression = expression.tail
            return b"".join(parts) + random_word(expression, source, depth)
        case Choice(options):
            return random_word(source.choice(options), source, depth)
        case Repeat(item, low, high):
            return b"".join(random_word(item, source, depth) for _ in range(_random_count(low, high, source)))
        case Reference() if source.random() * USUAL_DEPTH < depth:
            return shortest_word(expression)
        case Reference():
            return random_word(expression.body, source, depth + 1)
    raise ValueError("The empty language has no words. Ask is_dead first.")


def _random_character(ranges: Ranges, source: random.Random) -> str:
    """Mostly ASCII, as texts are; else any range with the same chance, so that rare ones come up."""
    ascii_ranges = [(low, min(high, 0x7F)) for low, high in ranges if low <= 0x7F]
    if ascii_ranges and source.random() < 0.8:
        codes = [code for low, high in ascii_ranges for code in range(low, high + 1)]
        return chr(source.choice(codes))
    return chr(source.randint(*source.choice(ranges)))


def _random_count(low: int, high: int | None, source: random.Random) -> int:
    if high is not None and source.random() < 0.05:
        return source.choice((low, min(high, low + 100 * USUAL_COUNT)))
    count = low + int(source.expovariate(1 / USUAL_COUNT))
    return count if high is None else min(count, high)
