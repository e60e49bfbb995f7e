"""A place in a language whose rules lead back to themselves, with a bound on what it takes to follow.

Some grammars can be read in so many ways that what may follow grows with each byte, without end. Here such a text begins
no word: a place that would need more than `MAX_NEW` expressions beyond those of the grammar counts as dead. So a bounded
place refuses what is too deep or too ambiguous, and never takes more than the language has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from local_react.language.derivative import Recogniser, derive
from local_react.language.emit import is_recursive
from local_react.language.regular import EMPTY, Choice, Reference, Regular, Repeat, Sequence

MAX_NEW = 1500
"""So many expressions may be made on the way to a place, beyond those of the grammar; a bracket that is open takes a few."""


@dataclass(frozen=True, slots=True)
class BoundedRecogniser(Recogniser):
    """A place that knows the expressions of its grammar."""

    known: frozenset[Regular] = frozenset()

    def feed(self, data: bytes) -> BoundedRecogniser:
        """The place behind `data`; a dead one where it would take too much."""
        rest = self.rest
        for byte in data:
            rest = derive(rest, byte)
            if rest is EMPTY or self._is_too_large(rest):
                return BoundedRecogniser(EMPTY, self.known)
        return BoundedRecogniser(rest, self.known)

    def _is_too_large(self, rest: Regular) -> bool:
        found = rest.memo.get("too large")
        if found is None:
            found = rest.memo["too large"] = any(n >= MAX_NEW for n, _ in enumerate(_parts(rest, self.known)))
        return found


def begin(language: Regular) -> Recogniser:
    """The place at the beginning of a language, bounded where its rules lead back to themselves."""
    place = language.memo.get("begin")
    if place is None:
        known = frozenset(_parts(language)) if is_recursive(language) else None
        place = language.memo["begin"] = Recogniser(language) if known is None else BoundedRecogniser(language, known)
    return place


def _parts(expression: Regular, known: Collection[Regular] = ()) -> Iterator[Regular]:
    """Each part once, but for those that are known."""
    seen, waiting = set(), [expression]
    while waiting:
        node = waiting.pop()
        if node in seen or node in known:
            continue
        seen.add(node)
        yield node
        match node:
            case Sequence(head, tail):
                waiting += (head, tail)
            case Choice(options):
                waiting += options
            case Repeat(item, _, _):
                waiting.append(item)
            case Reference():
                waiting.append(node.body)
