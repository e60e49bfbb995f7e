"""Rules that lead to each other, and so back to themselves, as one expression.

A rule that leads back to itself becomes a `Reference`; all others are put in where they are used, so rules without a
circle give an expression that is as regular as any. A rule must not begin with itself, nor repeat without end what may be
empty: `llama/gbnf_check.py` refuses both. What has no word of at most `MAX_WORD` bytes is left out, for no step has room
for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Union

from local_react.language.derivative import shortest_word
from local_react.language.regular import EMPTY, Reference, Regular, choice, repeat, sequence

MAX_WORD = 10_000
"""How long the shortest word of a rule may be, in bytes."""

Part = tuple[Union[int, Regular], int, Union[int, None]]
"""A part of an alternative: an expression or the number of a rule, and how often it comes, at least and at most."""

Rule = Sequence[Sequence[Part]]
"""The alternatives of a rule, each a sequence of parts."""


def tie(rules: Sequence[Rule], root: int = 0) -> Regular:
    """The expression of the rule with the number `root`; EMPTY where it has no word."""
    return _Knot(rules).tie(root)


class _Knot:
    """Ties the rules into each other, those first that lead nowhere else."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self.rules = rules
        self.lengths: list[int | None] = [None] * len(rules)
        """The length of each rule's shortest word, in bytes."""
        self.choices: dict[int, Sequence[Part]] = {}
        """The alternative of each rule that has it, in the order in which they were found."""
        self.built: dict[int, Regular] = {}

    def tie(self, root: int) -> Regular:
        self.measure()
        if self.lengths[root] is None:
            return EMPTY
        order, returns = self.walk(root)
        words = self.words(returns)
        for rule in returns:
            # Made here and nowhere else: it is the one expression whose parts come later than itself.
            self.built[rule] = Reference(self.lengths[rule] == 0, {"shortest": words[rule]})
        for rule in order:
            body = choice(*(self.alternative(parts) for parts in self.rules[rule]))
            if rule in returns:
                self.built[rule].memo["body"] = body
            else:
                self.built[rule] = body
        return self.built[root]

    def measure(self) -> None:
        """Find the length of each rule's shortest word (Knuth, "A generalization of Dijkstra's algorithm", 1977)."""
        users: list[list[tuple[list[int], int, int, Sequence[Part]]]] = [[] for _ in self.rules]
        found: list[tuple[int, int, int, Sequence[Part]]] = []
        for rule, alternatives in enumerate(self.rules):
            for parts in alternatives:
                if any(target is EMPTY and low for target, low, _ in parts):
                    continue
                fixed = [(target, low) for target, low, _ in parts if low and not isinstance(target, int)]
                needed = [(target, low) for target, low, _ in parts if low and isinstance(target, int)]
                length = sum(low * len(shortest_word(target)) for target, low in fixed)
                state = [length, len(needed)]
                for target, low in needed:
                    users[target].append((state, low, rule, parts))
                if not needed:
                    heappush(found, (length, len(found), rule, parts))
        n_found = len(found)
        while found:
            length, _, rule, parts = heappop(found)
            if self.lengths[rule] is not None or length > MAX_WORD:
                continue
            self.lengths[rule], self.choices[rule] = length, parts
            for state, low, user, user_parts in users[rule]:
                state[0] += low * length
                state[1] -= 1
                if not state[1]:
                    n_found += 1
                    heappush(found, (state[0], n_found, user, user_parts))

    def walk(self, root: int) -> tuple[list[int], set[int]]:
        """The rules that are used, each behind those it leads to, and those of them that a circle leads back to."""
        order, returns, opened, done = [], set(), {root}, set()
        path = [(root, self.targets(self.rules[root]))]
        while path:
            rule, targets = path[-1]
            target = next((target for target in targets if target not in done), None)
            if target is None:
                path.pop()
                opened.remove(rule)
                done.add(rule)
                order.append(rule)
            elif target in opened:
                returns.add(target)
            else:
                opened.add(target)
                path.append((target, self.targets(self.rules[target])))
        return order, returns

    def targets(self, alternatives: Sequence[Sequence[Part]]) -> Iterator[int]:
        """The rules that these alternatives refer to, without those that have no word."""
        for parts in alternatives:
            for target, _, _ in parts:
                if isinstance(target, int) and self.lengths[target] is not None:
                    yield target

    def words(self, wanted: set[int]) -> dict[int, bytes]:
        """The shortest word of each of these rules."""
        needed = set(wanted)
        for rule in reversed(self.choices):
            if rule in needed:
                needed.update(target for target, low, _ in self.choices[rule] if low and isinstance(target, int))
        words: dict[int, bytes] = {}
        for rule, parts in self.choices.items():
            if rule in needed:
                words[rule] = b"".join(
                    (words[target] if isinstance(target, int) else shortest_word(target)) * low
                    for target, low, _ in parts if low
                )
        return words

    def alternative(self, parts: Sequence[Part]) -> Regular:
        return sequence(*(self.part(*part) for part in parts))

    def part(self, target: int | Regular, low: int, high: int | None) -> Regular:
        item = self.built.get(target, EMPTY) if isinstance(target, int) else target
        if item.is_nullable:
            if high is None:
                raise ValueError(f"Rule {target} may be empty, and is repeated without end.")
            # Written out: without its empty word it would have to be known whole, and a reference isn't yet.
            return sequence(*[item] * high)
        return repeat(item, low, high)
