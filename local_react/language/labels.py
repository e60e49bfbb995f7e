"""Where the labels of a text stand, and the shape of what follows each: lines and positions, not yet meanings.

A label stands at the start of a line, outside arguments. Every label that lenient reading knows is found, with the
names of the repairs that it takes; whether those are allowed is decided elsewhere. One pass, in linear time: an
argument that closes is jumped over, and after the first one that doesn't no other is looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from local_react.language.brackets import closing_bracket
from local_react.language.protocol import (
    ACTION_INPUT,
    ANSWER_ALIASES,
    CONTROL_TOKEN,
    PRESETS,
    THINK_TAGS,
    TOOL_CALL_TAGS,
    Protocol,
)

BLANKS = " \t\u00a0\u200b\u200c\u200d\u2060\ufeff\u3000"
"""What may stand round a label in lenient reading, the invisible characters included."""

SOFT = frozenset({"label_mark", "label_case", "label_indent"})
"""Repairs of labels that lists and headings in an answer look like; such a label doesn't end an answer."""

_NAME = r"[^\s\[\](){}【】［］（）<>=,;:*`\"']"
_CALL = re.compile(
    rf"[\s{BLANKS}]*(?P<fence>```\w*\s*)?(?:{re.escape(TOOL_CALL_TAGS[0])}\s*)?(?P<mark>[*`\"]{{0,3}})"
    rf"(?P<name>{_NAME}{{0,200}})(?P<shut>[*`\"]{{0,3}})(?P<blank>[ \t]{{0,8}})(?P<open>[\[({{【［（])"
)
_THOUGHT = str(PRESETS["finish"].thought)
_FENCE = re.compile(r" {0,3}(?:```|~~~)")
_CONTROL = re.compile(CONTROL_TOKEN)


@dataclass(frozen=True, slots=True)
class Shape:
    """What looks like a call behind a label; `close` is None where its bracket doesn't close."""

    start: int
    name: str
    open: int
    close: int | None
    repairs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Label:
    """One label: its kind, where its line starts, where its text begins, which decoration before it is still open."""

    kind: str
    start: int
    end: int
    repairs: tuple[str, ...] = ()
    opened: str = ""
    is_fenced: bool = False
    shape: Shape | None = None


@dataclass(slots=True)
class Layout:
    """The labels of a text up to `end`, where it was cut; `cut_by` is the kind of label that cut it, if one did."""

    end: int
    labels: list[Label] = field(default_factory=list)
    cut_by: str | None = None
    thinking: list[tuple[int, int]] = field(default_factory=list)
    is_thinking: bool = False


def find_labels(text: str, protocol: Protocol, names: tuple[str, ...]) -> Layout:
    """Walk over the lines of `text`. `names` are the tools', for those with odd characters in them."""
    walk = _Walk(text, protocol, names)
    walk.run()
    return walk.layout


def match_label(text: str, position: int, protocol: Protocol) -> Label | None:
    """The label at `position`, which counts as the start of a line."""
    pattern, table = _label_pattern(tuple(protocol.words.items()), tuple(protocol.aliases.items()))
    match = pattern.match(text, position)
    if match is None:
        return None
    if _folded(match["word"]) not in table:
        # Some letters match another without regard to case, and have no lower case in common.
        return None
    kind, word, alias = table[_folded(match["word"])]
    shut = (match["shut"] or "") + (match["between"] or "") + (match["after"] or "")
    opened = match["opened"] or ""
    repairs = (
        ("label_indent", match["indent"]),
        ("label_mark", match["mark"]),
        ("bold_label", opened and "`" not in opened),
        ("backtick_label", "`" in opened),
        (alias, alias),
        ("label_case", match["word"] != word),
        ("step_number", match["number"] and not (protocol.numbered and re.fullmatch(" [0-9]+", match["number"]))),
        ("label_blank", match["blank"]),
        ("fullwidth_colon", match["colon"] != ":"),
    )
    names = tuple(name for name, is_taken in repairs if is_taken)
    return Label(kind, position, match.end(), names, "" if shut else opened)


def _program_labels(protocol: Protocol) -> re.Pattern[str]:
    """What ends an argument that is not quoted: a label spelled exactly, at the start of a line, or a control token."""
    words = "|".join(re.escape(word) for word in {*protocol.words.values(), *ANSWER_ALIASES})
    return re.compile(rf"^(?:{words})(?: [0-9]+)?:|{CONTROL_TOKEN}|^(?P<fence> {{0,3}}(?:```|~~~))", re.MULTILINE)


def _folded(word: str) -> str:
    return word.replace("\u00a0", " ").lower()


@lru_cache(maxsize=64)
def _label_pattern(
    words: tuple[tuple[str, str], ...], aliases: tuple[tuple[str, str], ...]
) -> tuple[re.Pattern[str], dict[str, tuple[str, str, str]]]:
    """The pattern of a label, and for each word in lower case its kind, its exact spelling and the repair it takes."""
    table = {_folded(word): (kind, word, "") for kind, word in words}
    for word, kind in aliases:
        table.setdefault(_folded(word), (kind, word, "label_alias"))
    for word in ANSWER_ALIASES:
        table.setdefault(_folded(word), ("answer", word, "answer_label"))
    table.setdefault(_folded(ACTION_INPUT), ("input", ACTION_INPUT, "action_input"))
    table.setdefault(_folded(_THOUGHT), ("thought", _THOUGHT, "thought_label"))
    spelled = "|".join(re.escape(word).replace(r"\ ", "[ \u00a0]") for word in sorted(table, key=len, reverse=True))
    pattern = re.compile(
        rf"(?P<indent>[{BLANKS}]{{0,3}})(?P<mark>(?:>[ ]?|#{{1,6}}[ ]*|[-+*•][ ]+|[0-9]{{1,3}}[.)][ ]+){{0,2}})"
        rf"(?P<opened>[*_`]{{1,3}})?(?P<word>{spelled})(?P<shut>(?(opened)[*_`]{{0,3}}))"
        rf"(?P<number>[{BLANKS}]{{0,2}}\#?[ ]?[0-9]{{1,6}})?(?P<between>(?(opened)[*_`]{{0,3}}))"
        rf"(?P<blank>[{BLANKS}]{{0,3}})(?P<colon>[:：﹕︰])(?P<after>(?(opened)[*_`]{{0,3}}))",
        re.IGNORECASE,
    )
    return pattern, table


class _Walk:
    """The state of one walk over a text."""

    __slots__ = ("text", "protocol", "names", "layout", "fence", "answer", "has_event", "may_jump", "marks", "controls")

    def __init__(self, text: str, protocol: Protocol, names: tuple[str, ...]) -> None:
        self.text, self.protocol = text, protocol
        self.names = tuple(name for name in names if re.fullmatch(f"{_NAME}+", name) is None)
        self.layout = Layout(len(text))
        self.fence = False
        self.answer: Label | None = None
        self.has_event = False
        self.may_jump = True
        # Searched once for all: a search from each label on would be quadratic.
        self.marks = [(match.start(), match["fence"]) for match in _program_labels(protocol).finditer(text)]
        self.controls = [match.start() for match in _CONTROL.finditer(text)]

    def next_control(self, position: int) -> int:
        """Where the next control token stands that doesn't come before `position`."""
        index = bisect_left(self.controls, position)
        return self.controls[index] if index < len(self.controls) else len(self.text)

    def run(self) -> None:
        position = 0
        while position < self.layout.end:
            position = self.line(position)

    def line(self, position: int) -> int:
        """Take one line, and return where the next one starts."""
        if not self.has_event and self.text.startswith(THINK_TAGS[0], self.first_visible(position)):
            return self.think(position)
        label = match_label(self.text, position, self.protocol)
        if label is None:
            if _FENCE.match(self.text, position):
                self.fence = not self.fence
            return self.next_line(position)
        if self.next_control(position) < label.end or self.is_content(label):
            return self.next_line(position)
        if label.kind in ("observation", "notice"):
            self.layout.end, self.layout.cut_by = position, label.kind
            return position
        return self.take(label)

    def take(self, label: Label) -> int:
        shape = self.shape(label) if label.kind in ("action", "input") else None
        label = Label(label.kind, label.start, label.end, label.repairs, label.opened, self.fence, shape)
        self.layout.labels.append(label)
        self.answer = label if label.kind == "answer" else None
        self.has_event = self.has_event or label.kind in ("action", "answer")
        if shape is not None and shape.close is not None:
            return self.next_line(shape.close)
        if label.kind == "thought" and self.text.startswith(THINK_TAGS[0], self.first_visible(label.end)):
            return label.end if not self.has_event else self.next_line(label.end)
        return self.next_line(label.end)

    def is_content(self, label: Label) -> bool:
        """Whether what looks like a label belongs to an answer."""
        if self.answer is None:
            return False
        soft = SOFT - set(self.answer.repairs)
        return (self.fence and not self.answer.is_fenced) or bool(soft & set(label.repairs)) or label.kind == "input"

    def think(self, position: int) -> int:
        end = self.text.find(THINK_TAGS[1], position)
        if end < 0:
            self.layout.end, self.layout.is_thinking = position, True
            self.layout.thinking.append((position, len(self.text)))
            return position
        end += len(THINK_TAGS[1])
        self.layout.thinking.append((position, end))
        return end

    def shape(self, label: Label) -> Shape | None:
        if not self.may_jump:
            return None
        match = _CALL.match(self.text, label.end)
        if match is None or (not match["name"] and match["open"] != "{"):
            return self.named_shape(label)
        if match.end() > self.next_control(label.end):
            return None
        if label.kind == "input" and match["name"]:
            return None
        gap = self.text[label.end : match.start("fence" if match["fence"] else "mark")]
        repairs = ["call_on_next_line"] if "\n" in gap else []
        repairs += ["label_blank"] if gap.strip(" \t\n") else []
        repairs += ["fence"] if match["fence"] else []
        repairs += ["call_mark"] if match["mark"] or match["shut"] else []
        repairs += ["name_blank"] if match["blank"] and match["name"] else []
        return self.closed(match.start("name"), match["name"], match.start("open"), repairs)

    def named_shape(self, label: Label) -> Shape | None:
        start = self.first_visible(label.end)
        name = max((name for name in self.names if self.text.startswith(f"{name}[", start)), key=len, default=None)
        if name is None or start + len(name) >= self.next_control(label.end) or label.kind == "input":
            return None
        return self.closed(start, name, start + len(name), [])

    def closed(self, start: int, name: str, opening: int, repairs: list[str]) -> Shape:
        finish = self.protocol.finish or PRESETS["finish"].finish
        close = closing_bracket(self.text, opening, self.breaks(opening, name.lower() == str(finish).lower()))
        self.may_jump = close is not None
        return Shape(start, name, opening, close, tuple(repairs))

    def breaks(self, opening: int, is_answer: bool) -> Iterator[int]:
        """What must not come before the bracket closes; in the fenced part of an answer, labels are content."""
        is_fenced = False
        for index in range(bisect_left(self.marks, (opening,)), len(self.marks)):
            position, fence = self.marks[index]
            if fence:
                is_fenced = not is_fenced
            elif not (is_answer and is_fenced) or self.text[position] == "<":
                yield position

    def first_visible(self, position: int) -> int:
        while position < len(self.text) and self.text[position] in BLANKS:
            position += 1
        return position

    def next_line(self, position: int) -> int:
        """The start of the next line; the text ends before a control token on the way there."""
        end = self.text.find("\n", position)
        end = len(self.text) if end < 0 else end + 1
        control = self.next_control(position)
        if control < end:
            self.layout.end = control
        return end
