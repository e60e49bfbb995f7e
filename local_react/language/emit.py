"""The texts of an expression for the engines: GBNF for llama.cpp, Lark for llguidance, a regex for outlines.

All three spell sets of characters in code points, for these engines read UTF-8. What an expression shares becomes a rule
of its own in GBNF and Lark, named by a number; a regex has no rules, so there it is spelled each time (but for what options
end in alike), and what leads back to itself can't be spelled at all. Derivatives in the middle of a character have no text.
No text has an empty alternative, a line that begins with `|`, or brackets nested deeper than `MAX_NESTING`: llama.cpp
misreads or dies of those.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from local_react.errors import GrammarError
from local_react.language.codepoints import Ranges
from local_react.language.dialects import GBNF, LARK, LARK_RULES, REGEX, Dialect
from local_react.language.regular import (
    EPSILON,
    Characters,
    Choice,
    Literal,
    Reference,
    Regular,
    Repeat,
    Sequence,
    choice,
    literal,
    repeat,
    sequence,
)

MAX_NESTING = 40
"""How deep brackets nest within one rule."""

MAX_REGEX = 1_000_000
"""The most characters of a regex: what is shared is written again each time, so values of any type grow beyond use."""


def to_gbnf(expression: Regular, root: str = "root") -> str:
    """The language as a llama.cpp grammar whose first rule is `root`. Raises ValueError for a rule name it can't read."""
    if re.fullmatch(r"[a-zA-Z][a-zA-Z0-9-]*", root) is None or re.fullmatch(r"r[0-9]+", root):
        raise ValueError(f"{root!r} can't be the name of a rule. Take letters, digits and -, and not r with a number.")
    return _Printer(GBNF).rules(expression, root, "{} ::= {}\n")


def to_lark(expression: Regular) -> str:
    """The language as a Lark grammar for llguidance: one terminal, so that its lexer does all the work.

    What leads back to itself is written as rules over single characters: a lexer takes the longest text that it can, and
    wouldn't leave to the next part what that one needs.
    """
    if is_recursive(expression):
        return _Printer(LARK_RULES).rules(expression, "start", "{}: {}\n")
    return "start: TEXT\n" + _Printer(LARK).rules(expression, "TEXT", "{}: {}\n")


def to_regex(expression: Regular) -> str:
    """The language as a regular expression in Rust's syntax, for a match of the whole text.

    Raises GrammarError where it would be longer than `MAX_REGEX` characters, and for a language that leads back to itself.
    """
    if is_recursive(expression):
        raise GrammarError("No regular expression spells rules that lead back to themselves. Take another engine.")
    size = _size(expression, {})
    if size > MAX_REGEX:
        raise GrammarError(
            f"As one regular expression this language takes about {size:,} characters, and {MAX_REGEX:,} are the most. "
            "Take another engine, or tools with simpler parameters."
        )
    return _Printer(REGEX).write(expression, 0, 0)


def _size(node: Regular, known: dict[Regular, int]) -> int:
    """About how many characters the regex has."""
    if node not in known:
        match node:
            case Literal(data):
                known[node] = len(data)
            case Characters(ranges):
                known[node] = 12 * len(ranges)
            case Sequence():
                tails: list[Sequence] = []
                rest: Regular = node
                while isinstance(rest, Sequence) and rest not in known:
                    tails.append(rest)
                    rest = rest.tail
                for part in reversed(tails):
                    known[part] = _size(part.head, known) + _size(part.tail, known)
            case Choice(options):
                known[node] = 6 + sum(_size(option, known) + 1 for option in _joined(options))
            case Repeat(item, _, _):
                known[node] = 6 + _size(item, known)
            case _:
                known[node] = 0
    return known[node]


class _Printer:
    """Writes one expression; gathers the rules that are still to be written."""

    __slots__ = ("dialect", "names", "waiting", "shared")

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.names: dict[Regular, str] = {}
        self.waiting: list[Regular] = []
        self.shared: set[Regular] = set()

    def rules(self, expression: Regular, root: str, form: str) -> str:
        self.shared = _shared(expression)
        lines = [form.format(root, self.write(expression, 0, 0))]
        done = 0
        while done < len(self.waiting):
            node = self.waiting[done]
            done += 1
            body = node.body if isinstance(node, Reference) else node
            lines.append(form.format(self.names[node], self.write(body, 0, 0)))
        return "".join(lines)

    def part(self, node: Regular, binding: int, depth: int) -> str:
        """A part of a rule: spelled in place, or by the name of a rule of its own."""
        is_compound = isinstance(node, (Sequence, Choice, Repeat))
        if self.dialect.rule_name is None or not is_compound:
            return self.write(node, binding, depth)
        # A repeated group is copied by llama.cpp, a rule is not.
        if node not in self.shared and depth < MAX_NESTING and binding < 2:
            return self.write(node, binding, depth)
        return self.named(node)

    def named(self, node: Regular) -> str:
        """The name of the rule for a node."""
        assert self.dialect.rule_name is not None
        if node not in self.names:
            self.names[node] = self.dialect.rule_name(len(self.names) + 1)
            self.waiting.append(node)
        return self.names[node]

    def write(self, node: Regular, binding: int, depth: int) -> str:
        """The text of a node, in brackets where what stands round it binds closer (1 a sequence, 2 a repetition)."""
        match node:
            case Literal(data):
                text = self.dialect.literal(data.decode())
                return self.grouped(text) if binding == 2 and len(data.decode()) != 1 else text
            case Characters(ranges):
                return self.set_of(ranges)
            case Sequence():
                text = self.dialect.joint.join(self.parts(node, depth))
                return self.grouped(text) if binding == 2 else text
            case Choice(options):
                return self.options(options, binding, depth)
            case Repeat(item, low, high):
                return self.repeated(item, low, high, binding, depth)
            case Reference():
                return self.named(node)
        raise ValueError("The empty language and half-read characters can't be written. Write the whole language.")

    def parts(self, node: Regular, depth: int) -> list[str]:
        found = []
        while isinstance(node, Sequence):
            found.append(self.part(node.head, 1, depth + 1))
            node = node.tail
            if node in self.shared:
                break
        return [*found, self.part(node, 1, depth + 1)]

    def options(self, options: Iterable[Regular], binding: int, depth: int) -> str:
        options = list(options) if self.dialect.rule_name is not None else _joined(options)
        written = [self.part(option, 0, depth + 1) for option in options if option is not EPSILON]
        text = (" | " if self.dialect.joint else "|").join(written)
        if len(written) < len(options):
            text = self.grouped(text) + "?"
            return self.grouped(text) if binding == 2 else text
        return self.grouped(text) if binding else text

    def repeated(self, item: Regular, low: int, high: int | None, binding: int, depth: int) -> str:
        limit = self.dialect.max_count
        if limit is not None and max(low, high or 0) > limit:
            return self.part(_in_chunks(item, low, high, limit), binding, depth)
        match low, high:
            case 0, None:
                count = "*"
            case 1, None:
                count = "+"
            case 0, 1:
                count = "?"
            case _:
                count = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
        text = self.part(item, 2, depth + 1) + count
        return self.grouped(text) if binding == 2 else text

    def set_of(self, ranges: Ranges) -> str:
        return self.dialect.set_of("".join(self.dialect.range(low, high) for low, high in ranges))

    def grouped(self, text: str) -> str:
        opening, closing = self.dialect.group
        return f"{opening}{text}{closing}"


def _joined(options: Iterable[Regular]) -> list[Regular]:
    """The same choice, with what options end in alike written once: without rules, an automaton has states for each copy."""
    groups: dict[Regular, list[tuple[Regular, Regular]]] = {}
    for option in options:
        head, tail = _split(option)
        groups.setdefault(tail, []).append((head, option))
    found: list[Regular] = []
    for tail, group in groups.items():
        if tail is EPSILON or len(group) == 1:
            found += (option for _, option in group)
        else:
            found.append(sequence(choice(*(head for head, _ in group)), tail))
    return found


def _split(option: Regular) -> tuple[Regular, Regular]:
    match option:
        case Sequence(head, tail):
            return head, tail
        case Literal(data) if data:
            text = data.decode()
            return literal(text[0]), literal(text[1:])
    return option, EPSILON


def _in_chunks(item: Regular, low: int, high: int | None, limit: int) -> Regular:
    """The same repetition, made of counts up to the limit."""
    chunk = repeat(item, limit, limit)
    if low > limit:
        return sequence(chunk, repeat(item, low - limit, None if high is None else high - limit))
    if high is None:
        return repeat(item, low, None)
    return choice(repeat(item, low, limit), sequence(chunk, repeat(item, 1, high - limit)))


def is_recursive(expression: Regular) -> bool:
    """Whether a part of it leads back to itself, so that it isn't regular."""
    return any(isinstance(node, Reference) for node in _counts(expression))


def _shared(expression: Regular) -> set[Regular]:
    """The compound parts that are met more than once."""
    counts = _counts(expression)
    return {node for node, count in counts.items() if count > 1 and isinstance(node, (Sequence, Choice, Repeat))}


def _counts(expression: Regular) -> Counter[Regular]:
    """Each part, and how often it is met."""
    counts: Counter[Regular] = Counter()
    stack = [expression]
    while stack:
        node = stack.pop()
        counts[node] += 1
        if counts[node] > 1:
            continue
        match node:
            case Sequence(head, tail):
                stack += (head, tail)
            case Choice(options):
                stack += options
            case Repeat(item, _, _):
                stack.append(item)
            case Reference():
                stack.append(node.body)
    return counts
