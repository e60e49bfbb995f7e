"""Sets of characters, as sorted ranges of Unicode code points, and the byte sequences that UTF-8 writes them in.

A set never holds surrogates: they are no characters, and UTF-8 can't write them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache

Ranges = tuple[tuple[int, int], ...]
"""Pairs of first and last member, sorted, disjoint, not touching each other."""

SURROGATES = (0xD800, 0xDFFF)
EVERY: Ranges = ((0, 0xD7FF), (0xE000, 0x10FFFF))
"""All characters."""

_LENGTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF))
_LEADS = (0, 0xC0, 0xE0, 0xF0)


def unite(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The members of all the ranges, which may come in any order and overlap. Surrogates are dropped."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    if not any(low <= SURROGATES[1] and high >= SURROGATES[0] for low, high in joined):
        return tuple(joined)
    parts = ((low, min(high, 0xD7FF)) for low, high in joined), ((max(low, 0xE000), high) for low, high in joined)
    return tuple((low, high) for part in parts for low, high in part if low <= high)


@lru_cache(maxsize=2048)
def invert(ranges: Ranges) -> Ranges:
    """All characters but these."""
    gaps, start = [], 0
    for low, high in ranges:
        gaps.append((start, low - 1))
        start = high + 1
    return unite((low, high) for low, high in [*gaps, (start, 0x10FFFF)] if low <= high)


@lru_cache(maxsize=2048)
def common(one: Ranges, other: Ranges) -> Ranges:
    """The characters in both sets."""
    return invert(unite(invert(one) + invert(other))) if one and other else ()


@lru_cache(maxsize=2048)
def without(one: Ranges, other: Ranges) -> Ranges:
    """The characters in the first set and not in the second."""
    return common(one, invert(other))


def of_text(characters: str) -> Ranges:
    """The set of the characters of a text."""
    return unite((ord(character), ord(character)) for character in set(characters))


def has(ranges: Ranges, code: int) -> bool:
    """Whether the set holds the character with this code point."""
    return any(low <= code <= high for low, high in ranges)


@lru_cache(maxsize=32)
def matching(pattern: str) -> Ranges:
    """The set of the single characters that a regular expression matches, as Python understands it."""
    everything = "".join(map(chr, range(SURROGATES[0]))) + "".join(map(chr, range(0xE000, sys.maxunicode + 1)))
    gap = SURROGATES[1] - SURROGATES[0] + 1

    def code(place: int) -> int:
        return place if place < SURROGATES[0] else place + gap

    return unite((code(match.start()), code(match.end() - 1)) for match in re.finditer(f"(?:{pattern})+", everything, re.S))


def utf8(ranges: Ranges) -> Iterator[tuple[tuple[int, int], ...]]:
    """The same set as sequences of byte ranges: each holds the writings of some of the characters, together of all."""
    for low, high in ranges:
        for n_tail, (first, last) in enumerate(_LENGTHS):
            if low <= last and high >= first:
                yield from _split(max(low, first), min(high, last), n_tail)


def _split(low: int, high: int, n_tail: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Split where the bytes behind the first don't run through all their values."""
    for n in range(1, n_tail + 1):
        mask = (1 << 6 * n) - 1
        if low | mask < high | mask:
            if low & mask:
                yield from _split(low, low | mask, n_tail)
                yield from _split((low | mask) + 1, high, n_tail)
                return
            if high & mask != mask:
                yield from _split(low, (high & ~mask) - 1, n_tail)
                yield from _split(high & ~mask, high, n_tail)
                return
    yield tuple(zip(_bytes(low, n_tail), _bytes(high, n_tail)))


def _bytes(code: int, n_tail: int) -> list[int]:
    if n_tail == 0:
        return [code]
    tail = [0x80 | (code >> 6 * shift) & 0x3F for shift in range(n_tail - 1, -1, -1)]
    return [_LEADS[n_tail] | code >> 6 * n_tail, *tail]
