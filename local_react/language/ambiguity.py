"""In how many ways a text can go on: what an engine that follows each way by itself has to carry along."""

from __future__ import annotations

from typing import Any

from local_react.language.derivative import leading, settle
from local_react.language.regular import Characters, Choice, Literal, Octets, Reference, Regular, Repeat, Sequence


def n_ways(expression: Regular) -> int:
    """In how many ways a word can begin, counted alike beginnings and all. Ways that differ later only count apart."""
    return settle(expression, "ways", leading, _n_ways)


def _n_ways(expression: Regular, _key: Any) -> int:
    match expression:
        case Sequence(head, tail):
            return n_ways(head) + (n_ways(tail) if head.is_nullable else 0)
        case Choice(options):
            return sum(map(n_ways, options))
        case Repeat(item, _, _):
            return n_ways(item)
        case Reference():
            return n_ways(expression.body)
        case Literal() | Characters() | Octets():
            return 1
    return 0
