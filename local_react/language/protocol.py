"""The wire format of an episode: labels, numbering, how a run ends, how arguments are written.

Each reserved word of the step language is spelled in this file and nowhere else. Prompt, parser, grammar and stop
strings all come from one `Protocol` value (design, invariant 6).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from local_react.errors import SettingsError

ArgumentStyle = Literal["keyword", "positional", "json"]
LabelKind = Literal["question", "thought", "action", "observation", "notice", "answer"]

RESERVED_NAMES = frozenset({"finish", "answer", "none"})
"""Names that no tool may have, in any case: they end a run, or say that no tool is wanted."""

NULL_ACTIONS = frozenset(
    {
        "none", "n/a", "na", "null", "nothing", "nil", "-", "not applicable", "not needed", "no action", "no tool",
        "none needed", "none required", "no action needed", "no action required", "no action is needed",
        "no action is required", "no further action", "no further action needed", "no further action required",
        "no further action is needed", "no tool needed", "no tool required", "no tool is needed", "no tools needed",
    }
)
"""What models write behind the action label to say that they call nothing (compared lower-case, bare)."""

NUMBERED: frozenset[LabelKind] = frozenset({"thought", "action", "observation"})
"""The labels that carry the number of their step, in a numbered protocol."""

THINK_TAGS = ("<think>", "</think>")
"""The tags around a reasoning model's think block."""

ACTION_INPUT = "Action Input"
"""The second line of the two-line layout that many models were trained on; lenient reading joins the two."""

CALL_KEYS = (
    ("action", "action_input"), ("name", "arguments"), ("name", "parameters"),
    ("tool", "tool_input"), ("tool", "args"), ("tool", "input"),
)
"""The key pairs of a call written as a JSON object: the name's and the arguments'."""

TOOL_CALL_TAGS = ("<tool_call>", "</tool_call>")
"""The tags that some models put around such an object."""

AUTO = "auto"
"""Stands for the native format that the model's chat template shows."""

CONTROL_TOKEN = r"<\|[A-Za-z0-9_]{1,40}\|>|</s>|<(?:start|end)_of_turn>|<(?:bos|eos)>|<\uff5c[^<>\n]{1,40}\uff5c>"
"""A regular expression for the chat control tokens that models spell out as text; they end a turn."""

ANSWER_ALIASES = ("Answer", "Final Answer")
"""Answer labels that lenient reading knows under every preset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A label that ends a generation, at the start of a line and outside quoted arguments.

    With `numbered`, a blank and a number may stand before its colon.
    """

    label: str
    numbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """One wire format. Take a preset with `Protocol.preset(name)`, change it with `dataclasses.replace`.

    `thought=None` leaves the Thought line out; `answer=None` means that a run ends with `finish[...]`, `finish=None`
    that it ends with the answer label. `aliases` maps further label words (in another language, say) to the kind they
    stand for; lenient reading accepts them. `notices_as_observation` writes notices under the observation label, the
    older behaviour, for comparisons. With `native` there are no labels: steps are messages in the model's own tool-call
    format of that name ("auto" for the one that its chat template shows), and only the label of notices is used.
    """

    name: str = "finish"
    question: str = "Question"
    thought: str | None = "Thought"
    action: str = "Action"
    observation: str = "Observation"
    notice: str = "Notice"
    answer: str | None = None
    finish: str | None = "finish"
    numbered: bool = False
    has_tools: bool = True
    arguments: ArgumentStyle = "keyword"
    aliases: Mapping[str, LabelKind] = field(default_factory=dict)
    notices_as_observation: bool = False
    native: str | None = None

    def __post_init__(self) -> None:
        if (self.answer is None) == (self.finish is None):
            raise SettingsError("A protocol ends a run either with `finish` or with `answer`: give exactly one of them.")
        if self.arguments not in ("keyword", "positional", "json"):
            raise SettingsError(f"arguments={self.arguments!r} is no argument style. Use keyword, positional or json.")
        words = list(self.words.values())
        if len({word.lower() for word in words}) < len(words) or not all(word.strip() == word and word for word in words):
            raise SettingsError("The labels of a protocol must be different words without outer blanks.")
        if any(":" in word or len(word.splitlines()) > 1 for word in words):
            raise SettingsError("The labels of a protocol stand on one line, without the colon: the program writes it.")
        if self.finish is not None and re.fullmatch(r"[\w.-]+", self.finish) is None:
            raise SettingsError(f"finish={self.finish!r} can't be called. Take letters, digits, _, - and .")
        kinds = get_args(LabelKind)
        if wrong := [kind for kind in self.aliases.values() if kind not in kinds]:
            raise SettingsError(f"An alias can't stand for {wrong[0]!r}. The kinds of labels are {', '.join(kinds)}.")

    @classmethod
    def preset(cls, name: str, **changes: object) -> Protocol:
        """The preset called `name`, with `changes` to its fields. Raises SettingsError for an unknown name."""
        known = {**PRESETS, NATIVE.name: NATIVE}
        if name not in known:
            raise SettingsError(f"There is no protocol called {name!r}. The presets are {', '.join(known)}.")
        return replace(known[name], **changes)  # type: ignore[arg-type]

    @property
    def words(self) -> dict[LabelKind, str]:
        """The label words of this protocol by kind, without number and colon."""
        words: dict[LabelKind, str | None] = {
            "question": self.question, "thought": self.thought, "action": self.action,
            "observation": self.observation, "notice": self.notice, "answer": self.answer,
        }
        return {kind: word for kind, word in words.items() if word is not None}

    def label(self, kind: LabelKind, number: int = 1) -> str:
        """The label as the program writes it, e.g. "Thought:" or "Thought 2:"; no blank behind the colon.

        Only the labels of a step carry its number. A notice is written as an observation where the protocol says so.
        """
        if kind == "notice" and self.notices_as_observation:
            kind = "observation"
        word = self.words[kind]
        return f"{word} {number}:" if self.numbered and kind in NUMBERED else f"{word}:"

    @property
    def opening(self) -> LabelKind:
        """The label that the program writes to open a step: the thought, or the action where there is none."""
        return "action" if self.thought is None else "thought"

    def stops(self) -> tuple[Stop, ...]:
        """The labels that only the program may write: a generation ends where the model begins one."""
        return tuple(self.stop(kind) for kind in ("observation", "notice", "question"))

    def stop(self, kind: LabelKind) -> Stop:
        """The label of that kind as something to look for in a stream."""
        return Stop(label=self.words[kind], numbered=self.numbered and kind in NUMBERED)


PRESETS: dict[str, Protocol] = {
    "finish": Protocol(),
    "numbered": Protocol(name="numbered", numbered=True),
    "answer": Protocol(name="answer", answer="Answer", finish=None),
    "act": Protocol(name="act", thought=None),
    "think": Protocol(name="think", has_tools=False),
}
"""Every preset of the step language by name."""

NATIVE = Protocol(name="native", thought=None, answer="Answer", finish=None, arguments="json", native=AUTO)
"""The preset of the models' own formats; a message without a call ends the run."""


def presets() -> Iterator[str]:
    """The names of the presets, the default first."""
    return iter((*PRESETS, NATIVE.name))
