"""Checking a grammar's text before llama.cpp sees it: what would kill, hang or fool it is a GrammarError.

llama.cpp (llama-cpp-python 0.3.36) dies of a grammar that it can't read, runs for ever on `{5,3}` and on rules that
begin with each other in too many ways, overflows its stack where they do so in a long chain, and overlooks left recursion
behind a rule that is empty only by way of another. The check takes time linear in the text, and refuses all of that with
line and rule. It doesn't judge how long a run of the grammar takes: an ambiguous one may be slow.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from local_react.errors import GrammarError
from local_react.llama.gbnf_reader import Part, Rule, read_rules, refusal

ROOT = "root"

MAX_BRANCHES = 50_000
"""In how many ways a rule may begin, counting the rules it begins with: llama.cpp follows each of them each time."""

MAX_ALL_BRANCHES = 5_000_000
"""The most for all rules together: it looks for left recursion from each of them."""

MAX_EMPTY_BRANCHES = 30
"""The most for a repetition of what may be empty: within a token llama.cpp follows every way to spread its characters
over the repetitions (20 seconds for one mask with `([a-z]?){0,60}`)."""

MAX_CHAIN = 1000
"""How many rules may begin with each other in a chain: llama.cpp follows it by recursion."""


FILE_LIMIT = 1 << 24
"""Bytes of a grammar file: more than any use, and an end to what has none, such as /dev/zero."""


def read_gbnf(path: str | Path) -> str:
    """The text of a grammar file, checked; always read as UTF-8. Raises GrammarError."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise GrammarError(f"The grammar {path} can't be read: {reason}.") from error
    if len(data) > FILE_LIMIT:
        raise GrammarError(f"The grammar {path} has more than {FILE_LIMIT:,} bytes. Give a shorter one.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GrammarError(f"The grammar {path}, line {line}: it is no UTF-8. Save it as UTF-8.", line=line) from error
    check_gbnf(text)
    return text


def check_gbnf(text: str) -> None:
    """Raise GrammarError, with rule and line where they can be known, for a text that must not reach llama.cpp."""
    if "\0" in text:
        raise refusal(text, text.index("\0"), "It has a zero byte, where llama.cpp stops reading")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise refusal(text, error.start, "It has half a surrogate pair, which is no character") from error
    rules = read_rules(text)
    if not rules:
        raise GrammarError("The grammar is empty, which llama.cpp takes for no constraint at all.")
    fault = _undefined(rules) or _endless(rules) or _Beginnings(rules).fault()
    if fault is not None:
        rule, what = fault
        raise refusal(text, rule.place, what, rule.name)


Fault = tuple[Rule, str]


def _undefined(rules: list[Rule]) -> Fault | None:
    for rule in rules:
        if not rule.is_defined:
            return rule, "It is used here, and defined nowhere"
    if all(rule.name != ROOT for rule in rules):
        return rules[0], f"No rule is called {ROOT}, where llama.cpp begins"
    return None


def _endless(rules: list[Rule]) -> Fault | None:
    can_end = _settled(rules, of_terminals=True)
    for rule, is_ending in zip(rules, can_end):
        if not is_ending:
            return rule, "It never ends: every alternative leads back to it. Give it one that doesn't"
    return None


def _settled(rules: list[Rule], *, of_terminals: bool) -> list[bool]:
    """For each rule whether it has an alternative whose parts can all be left out or hold; a terminal's own answer is
    `of_terminals`. With True it tells which rules have a word, with False which have the empty one."""
    holds = [False] * len(rules)
    waiting: list[list[tuple[int, list[int]]]] = [[] for _ in rules]
    found = []
    for index, rule in enumerate(rules):
        for parts in rule.alternatives:
            if not of_terminals and any(low and isinstance(target, str) for target, low, _ in parts):
                continue
            needed = [target for target, low, _ in parts if low and isinstance(target, int)]
            n_left = [len(needed)]
            for target in needed:
                waiting[target].append((index, n_left))
            if not needed:
                found.append(index)
    while found:
        index = found.pop()
        if holds[index]:
            continue
        holds[index] = True
        for other, n_left in waiting[index]:
            n_left[0] -= 1
            if not n_left[0]:
                found.append(other)
    return holds


class _Beginnings:
    """What each rule begins with, followed without recursion."""

    def __init__(self, rules: list[Rule]) -> None:
        self.rules = rules
        self.may_be_empty = _settled(rules, of_terminals=False)
        self.n_branches = [0] * len(rules)
        self.chain = [0] * len(rules)

    def fault(self) -> Fault | None:
        """The first rule that can't be followed: left recursion, or too much to follow."""
        is_done, on_path = [False] * len(self.rules), [False] * len(self.rules)
        for start in range(len(self.rules)):
            if is_done[start]:
                continue
            path = [(start, self.targets(start))]
            on_path[start] = True
            while path:
                index, targets = path[-1]
                target = next((target for target in targets if not is_done[target]), None)
                if target is None:
                    path.pop()
                    on_path[index], is_done[index] = False, True
                    if (what := self.measure(index)) is not None:
                        return self.rules[index], what
                elif on_path[target]:
                    return self.rules[target], self.recursion([index for index, _ in path], target)
                else:
                    on_path[target] = True
                    path.append((target, self.targets(target)))
        for index, rule in enumerate(self.rules):
            if (what := self.repetition(index)) is not None:
                return rule, what
        if sum(self.n_branches) > MAX_ALL_BRANCHES:
            return self.rules[0], f"The rules begin in more than {MAX_ALL_BRANCHES:,} ways in all. Make them simpler"
        return None

    def first_parts(self, index: int) -> Iterator[Part]:
        """The parts that a rule can begin with."""
        for parts in self.rules[index].alternatives:
            for part in parts:
                yield part
                target, low, _ = part
                if low and (isinstance(target, str) or not self.may_be_empty[target]):
                    break

    def targets(self, index: int) -> Iterator[int]:
        return (target for target, _, _ in self.first_parts(index) if isinstance(target, int))

    def recursion(self, path: list[int], target: int) -> str:
        names = [self.rules[index].name for index in path[path.index(target) :]] + [self.rules[target].name]
        shown = [name for place, name in enumerate(names) if place == 0 or name != names[place - 1]]
        ways = " → ".join(shown if len(shown) > 1 else shown * 2)
        return f"It begins with itself ({ways}), which llama.cpp can't follow. Repeat with *, or put a text before it"

    def repetition(self, index: int) -> str | None:
        """What is wrong with what a rule repeats, wherever in it."""
        for parts in self.rules[index].alternatives:
            for target, _, high in parts:
                if high == 1 or isinstance(target, str) or not self.may_be_empty[target]:
                    continue
                if high is None or high * self.n_branches[target] > MAX_EMPTY_BRANCHES:
                    how = "without end" if high is None else "too often"
                    return f"It repeats {how} what may be empty. Take the emptiness out of what is repeated"
        return None

    def measure(self, index: int) -> str | None:
        """Count how a rule begins, once what it begins with is counted; what is wrong with it, if anything is."""
        n_branches, chain = 1 + len(self.rules[index].alternatives), 0
        for target, low, high in self.first_parts(index):
            if isinstance(target, str):
                n_branches += 1
                continue
            # What may be empty begins a repetition as often as it is repeated.
            n_times = (high or 1) if self.may_be_empty[target] else 1
            n_branches += n_times * (1 + self.n_branches[target])
            chain = max(chain, self.chain[target] + (0 if low == high == 1 else n_times))
        self.n_branches[index], self.chain[index] = n_branches, chain + 1
        if n_branches > MAX_BRANCHES:
            return f"It can begin in more than {MAX_BRANCHES:,} ways. Bring together alternatives that begin alike"
        if chain >= MAX_CHAIN:
            return f"It begins a chain of over {MAX_CHAIN:,} rules, each beginning with the next. Join some of them"
        return None
