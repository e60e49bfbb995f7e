"""New languages from old ones, exactly: the words over an alphabet, without some words, of some lengths, respelled.

These work on characters, so they take expressions of literals, characters, sequences, choices and repetitions, and no
derivatives by bytes. Lengths count characters. What would grow too large is refused with `TooLarge`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from local_react.language.codepoints import EVERY, Ranges, common, has, of_text, without
from local_react.language.regular import (
    EMPTY,
    EPSILON,
    Characters,
    Choice,
    Literal,
    Regular,
    Repeat,
    Sequence,
    characters,
    choice,
    literal,
    repeat,
    sequence,
)

MAX_PIECES = 2_000
"""How many pieces `with_length` may make of one expression."""


class TooLarge(Exception):
    """The wanted language has no expression of reasonable size; never leaves `language/`."""


def within(expression: Regular, alphabet: Ranges) -> Regular:
    """The words that are made of these characters only."""
    match expression:
        case Literal(data):
            return expression if all(has(alphabet, ord(character)) for character in data.decode()) else EMPTY
        case Characters(ranges):
            return characters(common(ranges, alphabet))
        case Sequence(head, tail):
            return sequence(within(head, alphabet), within(tail, alphabet))
        case Choice(options):
            return choice(*(within(option, alphabet) for option in options))
        case Repeat(item, low, high):
            return repeat(within(item, alphabet), low, high)
    return EMPTY


def starting_in(expression: Regular, first: Ranges) -> Regular:
    """The words whose first character is one of these; the empty word is none of them."""
    match expression:
        case Literal(data):
            return expression if data and has(first, ord(data.decode()[0])) else EMPTY
        case Characters(ranges):
            return characters(common(ranges, first))
        case Sequence(head, tail):
            started = sequence(starting_in(head, first), tail)
            return choice(started, starting_in(tail, first)) if head.is_nullable else started
        case Choice(options):
            return choice(*(starting_in(option, first) for option in options))
        case Repeat(item, low, high):
            return sequence(starting_in(item, first), _less(item, low, high))
    return EMPTY


def ending_in(expression: Regular, last: Ranges) -> Regular:
    """The words whose last character is one of these; the empty word is none of them."""
    match expression:
        case Literal(data):
            return expression if data and has(last, ord(data.decode()[-1])) else EMPTY
        case Characters(ranges):
            return characters(common(ranges, last))
        case Sequence(head, tail):
            ended = sequence(head, ending_in(tail, last))
            return choice(ended, ending_in(head, last)) if tail.is_nullable else ended
        case Choice(options):
            return choice(*(ending_in(option, last) for option in options))
        case Repeat(item, low, high):
            return sequence(_less(item, low, high), ending_in(item, last))
    return EMPTY


def _less(item: Regular, low: int, high: int | None) -> Regular:
    return repeat(item, max(low - 1, 0), None if high is None else high - 1)


def behind(expression: Regular, character: str) -> Regular:
    """What may follow `character` at the start of a word: the derivative by a whole character."""
    match expression:
        case Literal(data):
            text = data.decode()
            return literal(text[1:]) if text.startswith(character) else EMPTY
        case Characters(ranges):
            return EPSILON if has(ranges, ord(character)) else EMPTY
        case Sequence(head, tail):
            first = sequence(behind(head, character), tail)
            return choice(first, behind(tail, character)) if head.is_nullable else first
        case Choice(options):
            return choice(*(behind(option, character) for option in options))
        case Repeat(item, low, high):
            return sequence(behind(item, character), _less(item, low, high))
    return EMPTY


def without_word(expression: Regular, word: str) -> Regular:
    """All the words but this one."""
    if not word:
        return starting_in(expression, EVERY)
    rest = sequence(word[0], without_word(behind(expression, word[0]), word[1:]))
    return choice(_unless(expression, word[0]), rest)


def without_assignment(expression: Regular, name: str) -> Regular:
    """The words that don't begin with `name`, any one blank, and a character `=`; none with further blanks there."""
    if name:
        rest = sequence(name[0], without_assignment(behind(expression, name[0]), name[1:]))
        return choice(_unless(expression, name[0]), rest)
    blank = sequence(" ", _unless(behind(expression, " "), " =\t"))
    return choice(_unless_in(expression, SPACE_OR_EQUALS), blank)


def _unless(expression: Regular, characters: str) -> Regular:
    return _unless_in(expression, of_text(characters))


def _unless_in(expression: Regular, ranges: Ranges) -> Regular:
    """The words that don't begin with one of these characters, the empty one included."""
    started = starting_in(expression, without(EVERY, ranges))
    return choice(started, EPSILON) if expression.is_nullable else started


SPACE_OR_EQUALS = of_text("= \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000")


def respelled(expression: Regular, spell: Callable[[Ranges], Regular]) -> Regular:
    """Each character replaced by its spelling; `spell` gives the spellings of a set of characters."""
    match expression:
        case Literal(data):
            return sequence(*(spell(of_text(character)) for character in data.decode()))
        case Characters(ranges):
            return spell(ranges)
        case Sequence(head, tail):
            return sequence(respelled(head, spell), respelled(tail, spell))
        case Choice(options):
            return choice(*(respelled(option, spell) for option in options))
        case Repeat(item, low, high):
            return repeat(respelled(item, spell), low, high)
    return EMPTY


def lengths(expression: Regular) -> tuple[int, int | None]:
    """The least and the largest number of characters of a word; None where there is no largest."""
    match expression:
        case Literal(data):
            return len(data.decode()), len(data.decode())
        case Characters():
            return 1, 1
        case Sequence(head, tail):
            (low, high), (lower, higher) = lengths(head), lengths(tail)
            return low + lower, None if high is None or higher is None else high + higher
        case Choice(options):
            found = [lengths(option) for option in options]
            highs = [high for _, high in found]
            return min(low for low, _ in found), None if None in highs else max(high or 0 for high in highs)
        case Repeat(item, low, high):
            least, most = lengths(item)
            return least * low, None if most is None or high is None else most * high
    return 0, 0


def with_length(expression: Regular, low: int, high: int) -> Regular:
    """The words of `low` to `high` characters. Raises TooLarge where that takes too many pieces.

    Where several parts vary in length and all ways to share the room would be too many, each is held to an equal share
    of it: then some of the words are missing.
    """
    try:
        return _Cut().cut(expression, low, high)
    except TooLarge:
        shares = (share for share in range(high, 0, -1) if (lengths(_capped(expression, share))[1] or 0) <= high)
        return _Cut().cut(_capped(expression, next(shares, 0)), low, high)


def _capped(expression: Regular, share: int) -> Regular:
    """Each repetition held to `share` more than it must have."""
    match expression:
        case Sequence(head, tail):
            return sequence(_capped(head, share), _capped(tail, share))
        case Choice(options):
            return choice(*(_capped(option, share) for option in options))
        case Repeat(item, low, high):
            most = low + share if high is None else min(high, low + share)
            return repeat(_capped(item, share), low, most)
    return expression


@dataclass(slots=True)
class _Cut:
    n_pieces: int = 0
    done: dict[tuple[Regular, int, int], Regular] = field(default_factory=dict)

    def cut(self, expression: Regular, low: int, high: int) -> Regular:
        least, most = lengths(expression)
        if high < least or (most is not None and most < low):
            return EMPTY
        if low <= least and most is not None and most <= high:
            return expression
        key = (expression, low, high)
        if key not in self.done:
            self.n_pieces += 1
            if self.n_pieces > MAX_PIECES:
                raise TooLarge
            self.done[key] = self.parts(expression, max(low, 0), high)
        return self.done[key]

    def parts(self, expression: Regular, low: int, high: int) -> Regular:
        match expression:
            case Sequence(head, tail):
                return self.joined(head, tail, low, high)
            case Choice(options):
                return choice(*(self.cut(option, low, high) for option in options))
            case Repeat(item, least, most):
                size, largest = lengths(item)
                if size == largest and size:
                    # Ceiling and floor: a count of items for a count of characters.
                    fewest = max(least, -(-low // size))
                    counts = high // size if most is None else min(most, high // size)
                    return repeat(item, fewest, counts) if fewest <= counts else EMPTY
                joined = self.joined(starting_in(item, EVERY), _less(item, least, most), low, high)
                return choice(joined, EPSILON) if least == 0 and low == 0 else joined
        return EMPTY

    def joined(self, head: Regular, tail: Regular, low: int, high: int) -> Regular:
        (least, most), (lower, higher) = lengths(head), lengths(tail)
        if least == most:
            return sequence(head, self.cut(tail, low - least, high - least))
        if lower == higher:
            return sequence(self.cut(head, low - lower, high - lower), tail)
        largest = high - lower if most is None else min(most, high - lower)
        sizes = range(least, largest + 1)
        return choice(*(sequence(self.cut(head, n, n), self.cut(tail, low - n, high - n)) for n in sizes))
