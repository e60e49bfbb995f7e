"""A reader of GBNF text: its rules as a graph, or the fault and where it is.

Reads what llama.cpp reads (llama-cpp-python 0.3.36), in time linear in the text and without recursion, so no text can
hurt it. It keeps how rules refer to each other, how often parts repeat, and the characters of a part as they are written.
Stricter than llama.cpp where that takes a slip for a meaning: a line break in a literal, `[]`, `[z-a]`, an
upper limit of 2000 or more (which becomes no limit), a rule that is defined twice.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NoReturn

from local_react.errors import GrammarError
from local_react.llama.gbnf_characters import ESCAPES, wrong_escape, wrong_set

MAX_DEPTH = 500
"""How deep parentheses may nest: llama.cpp reads them by recursion (60,000 crash it)."""

MAX_COUNT = 2000
"""llama.cpp refuses as many repetitions, nested ones multiplied, and takes larger upper limits for no limit."""

MAX_ELEMENTS = 2_000_000
"""How many elements the rules may have once llama.cpp has copied out what repeats; each takes 8 bytes, three times."""

Part = tuple["int | str", int, "int | None"]
"""A part of an alternative: the number of the rule it refers to, or else what it takes (characters or a token) as it is
written, and how often it comes, at least and at most."""


@dataclass(slots=True)
class Rule:
    """A rule, or a group in parentheses: then `name` is that of the rule it stands in. `place` is where it begins."""

    name: str
    place: int
    alternatives: list[list[Part]] = field(default_factory=list)
    is_defined: bool = False


_TOKEN = re.compile(
    r"""(?:
      (?P<break>\r\n?|\n)
    | (?P<comment>\#[^\r\n]*)
    | (?P<literal>"[^"\\\r\n]*(?:\\[^\r\n][^"\\\r\n]*)*")
    | (?P<set>\[[^\]\\\r\n]*(?:\\[^\r\n][^\]\\\r\n]*)*\])
    | (?P<rule>[a-zA-Z0-9-]+[ \t]*::=)
    | (?P<name>[a-zA-Z0-9-]+)
    | (?P<open>\()
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<count>[*+?]|\{[ \t]*[0-9]+[ \t]*(?:,[ \t]*[0-9]*[ \t]*)?\})
    | (?P<token>\.|!?<(?:\[[0-9]{1,9}\]|[^>\[\r\n][^>\r\n]*)>)
    | (?P<blank>[ \t])
    | (?P<other>.)
    )[ \t]*""",
    re.VERBOSE | re.DOTALL,
)
_LINE_END = re.compile(r"\r\n?|\n")
_COUNTS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def line_of(text: str, place: int) -> int:
    """The line, from 1, in which a place of a text is."""
    return 1 + sum(1 for _ in _LINE_END.finditer(text, 0, place))


def refusal(text: str, place: int, what: str, rule: str | None = None) -> GrammarError:
    """The error for a fault at a place of a text, in a rule where it is in one."""
    line = line_of(text, place)
    where = f"line {line}" if rule is None else f"line {line}, rule {rule}"
    return GrammarError(f"The grammar, {where}: {what}.", rule=rule, line=line, position=place)


def read_rules(text: str) -> list[Rule]:
    """All rules, groups among them, in llama.cpp's order. Raises GrammarError where the text has a fault."""
    return _Reader(text).read()


class _Reader:
    """Reads one text from its start to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0
        self.rules: list[Rule] = []
        self.ids: dict[str, int] = {}
        self.name: str | None = None
        self.outer: list[tuple[list[list[Part]], int, int]] = []
        """Of each open parenthesis: the alternatives around it, how many rules there were, and where it is."""
        self.alternatives: list[list[Part]] = []
        self.is_between = True
        """Whether no rule is being read."""
        self.may_break = True
        """Whether a line break changes nothing here."""
        self.n_copies = 0
        """How many rules the last part makes in llama.cpp; 0 where nothing can be repeated."""
        self.size = 0
        """How many elements the last part has."""
        self.n_made = 0
        """How many rules repetitions have made."""
        self.n_elements = 0
        self.known_sets: set[str] = set()

    def read(self) -> list[Rule]:
        readers = {
            "break": self.line_break, "comment": None, "blank": None, "literal": self.literal, "set": self.set_of,
            "rule": self.rule, "name": self.reference, "open": self.open, "close": self.close, "or": self.alternative,
            "count": self.count, "token": self.token, "other": self.other,
        }
        for found in _TOKEN.finditer(self.text):
            read = readers[found.lastgroup or ""]
            if read is not None:
                read(found[found.lastgroup or ""])
            self.place = found.end()
        if self.outer:
            self.fail("This parenthesis is never closed", self.outer[-1][2])
        return self.rules

    def fail(self, what: str, place: int | None = None) -> NoReturn:
        place = self.place if place is None else place
        raise refusal(self.text, place, what, None if self.is_between else self.name)

    def other(self, _: str) -> None:
        self.fail(_complaint(self.text, self.place, self.is_between))

    def line_break(self, _: str) -> None:
        if not (self.outer or self.may_break):
            self.is_between = self.may_break = True
            self.n_copies = 0

    def rule(self, written: str) -> None:
        name = written[:-3].rstrip(" \t")
        if not self.is_between:
            if self.outer:
                self.fail("This parenthesis is never closed", self.outer[-1][2])
            self.fail(f"The rule {name} begins where {self.name} goes on, as it does behind | and ::=")
        self.name, self.is_between = name, False
        rule = self.rules[self.id_of(name)]
        if rule.is_defined:
            first = line_of(self.text, rule.place)
            self.fail(f"It is defined in line {first} already, and llama.cpp would drop that silently")
        rule.is_defined, rule.place = True, self.place
        self.alternatives = rule.alternatives
        self.begin_alternative()

    def id_of(self, name: str) -> int:
        if name not in self.ids:
            self.ids[name] = len(self.rules)
            self.rules.append(Rule(name, self.place))
        return self.ids[name]

    def begin_alternative(self) -> None:
        self.alternatives.append([])
        self.may_break = True
        self.n_copies = 0

    def begin_part(self, target: int | str, size: int, n_copies: int = 1) -> None:
        if self.is_between:
            self.fail("A rule was expected here, as in `name ::= ...`")
        self.may_break = False
        self.n_copies, self.size = n_copies, size
        self.n_elements += size
        self.alternatives[-1].append((target, 1, 1))

    def literal(self, written: str) -> None:
        self.check_escapes(written)
        self.begin_part(written, len(written) - 2)
        if len(written) == 2:
            # Nothing to repeat: llama.cpp makes no element of it.
            self.alternatives[-1].pop()
            self.n_copies = 0

    def set_of(self, written: str) -> None:
        if written not in self.known_sets:
            self.check_escapes(written)
            if (what := wrong_set(written)) is not None:
                self.fail(what)
            self.known_sets.add(written)
        self.begin_part(written, len(written) - 2)

    def check_escapes(self, written: str) -> None:
        if (escape := wrong_escape(written)) is not None:
            what = f"`{escape[0]}` begins no escape that llama.cpp knows: {ESCAPES}"
            self.fail(what, self.place + escape.start())

    def reference(self, name: str) -> None:
        if self.is_between:
            self.other(name)
        self.begin_part(self.id_of(name), 1)

    def token(self, written: str) -> None:
        self.begin_part(written, 1)

    def open(self, _: str) -> None:
        self.begin_part(len(self.rules), 1)
        if len(self.outer) == MAX_DEPTH:
            self.fail(f"Parentheses nest more than {MAX_DEPTH} deep")
        self.outer.append((self.alternatives, len(self.rules) + self.n_made, self.place))
        group = Rule(self.name or "", self.place, is_defined=True)
        self.rules.append(group)
        self.alternatives = group.alternatives
        self.begin_alternative()

    def close(self, _: str) -> None:
        if not self.outer:
            self.fail("This parenthesis was never opened")
        self.alternatives, n_before, _place = self.outer.pop()
        self.n_copies, self.size, self.may_break = len(self.rules) + self.n_made - n_before, 1, False

    def alternative(self, _: str) -> None:
        if self.is_between:
            self.is_between = self.name is None  # the fault is one of the rule before
            self.fail("A line begins with `|`, but its rule ended before. Put the `|` at the end of the line before")
        self.begin_alternative()

    def count(self, written: str) -> None:
        shown = written if len(written) < 20 else f"{written[:20]}…"
        if not self.n_copies:
            self.fail(f"There is nothing that `{shown}` could repeat")
        low, high = _COUNTS.get(written) or _read_count(written)
        if high is not None and (high < low or high == 0):
            self.fail(f"`{shown}` repeats nothing: its upper limit is {high}")
        self.n_copies *= max(high or 0, low, 1)
        if self.n_copies >= MAX_COUNT:
            self.fail(
                f"`{shown}` makes {MAX_COUNT:,} copies or more, counting those of the repetitions inside, which is too "
                "many. Give what is repeated a rule of its own, or repeat it less often"
            )
        n_optional = 1 if high is None else high - low
        added = max(low - 1, 0) * self.size + n_optional * (self.size + 3)
        self.n_made += n_optional
        self.n_elements += added
        if self.n_elements > MAX_ELEMENTS:
            self.fail(f"With `{shown}` the grammar has more than {MAX_ELEMENTS:,} elements. Repeat shorter parts")
        self.size = max(low, 1) * self.size + 1
        self.repeat_last(low, high)

    def repeat_last(self, low: int, high: int | None) -> None:
        target, least, most = self.alternatives[-1][-1]
        if (least, most) != (1, 1):
            # A repetition is repeated: what it makes is a rule in llama.cpp too.
            self.rules.append(Rule(self.name or "", self.place, [[(target, least, most)]], is_defined=True))
            target = len(self.rules) - 1
        self.alternatives[-1][-1] = (target, low, high)


def _read_count(written: str) -> tuple[int, int | None]:
    low, comma, high = (number.strip() for number in written[1:-1].partition(","))
    return _read_number(low), (_read_number(high) if high else None) if comma else _read_number(low)


def _read_number(digits: str) -> int:
    # Five digits are beyond any limit, and int() refuses thousands of them.
    return int(digits.lstrip("0")[:5] or "0")


def _complaint(text: str, place: int, is_between: bool) -> str:
    """What is wrong with the text at a place where no token begins, or no rule."""
    while text[place - 1 : place].isalnum():
        place -= 1
    rest = text[place : place + 80]
    if rest.startswith("\ufeff"):
        return "It begins with a byte order mark. Save the file without it"
    word = re.match(r"[\w.-]*", rest)[0]  # type: ignore[index]
    if word and re.fullmatch(r"[a-zA-Z0-9-]+", word) is None:
        return f"`{word}` can't be the name of a rule: names have letters of English, digits and -, and no _"
    after = rest[len(word) :].lstrip(" \t")
    if is_between and word and after.startswith((":", "=")):
        found = after[: len(after) - len(after.lstrip(":="))]
        return f"`::=` was expected behind {word}, and `{found}` stands there"
    if is_between:
        return f"A rule was expected here, as in `name ::= ...`, and `{word or rest[:1]}` stands here"
    return _MISTAKES.get(rest[:1]) or f"`{rest[:1]}` can't stand here"


_MISTAKES = {
    '"': 'This literal has no end in its line. Close it with `"`, and write a line break in it as `\\n`',
    "[": "This set of characters has no end in its line. Close it with `]`",
    "{": "A count was expected, as in {3}, {3,} or {3,5}",
    "<": "A token was expected, as in <[5]> or <name>",
    "!": "A token was expected, as in !<[5]> or !<name>",
    ":": "`::=` was expected behind the name of a rule, at the start of a line",
}
"""What is wrong where one of these characters begins no token."""
