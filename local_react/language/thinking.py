"""Reasoning models: the tags around a think block, by family and by what a chat template says of itself.

A think block stands at the start of the assistant's turn, is written freely, and nothing in it is read as a step. Refuses
to guess: a model of which neither its template nor its name says that it thinks first is one that doesn't.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from local_react.language.protocol import THINK_TAGS

Choice = Literal["auto", "on", "off"]
"""Whether a model thinks first: as its template has it, or yes, or no."""

CHOICES: tuple[Choice, ...] = ("auto", "on", "off")

SWITCHES = ("enable_thinking", "thinking")
"""The variables by which templates switch thinking on and off."""


@dataclass(frozen=True, slots=True)
class ThinkTags:
    """How a think block is written: `opening` and `lead` before it, `closing` and `gap` behind it."""

    opening: str = THINK_TAGS[0]
    closing: str = THINK_TAGS[1]
    lead: str = "\n"
    gap: str = "\n\n"

    @property
    def empty(self) -> str:
        """A block that says that nothing was thought."""
        return f"{self.opening}{self.lead}{self.lead}{self.closing}{self.gap}"


@dataclass(frozen=True, slots=True)
class Family:
    """Reasoning models that write alike. `names` is what their names have in common; `always` tells that they think
    unless told otherwise even where their template leaves it to them to open the block."""

    tags: ThinkTags
    names: str
    always: bool = True


FAMILIES = (
    Family(ThinkTags("[THINK]", "[/THINK]", "", ""), r"magistral|ministral.*reasoning"),
    Family(ThinkTags("<|channel|>analysis<|message|>", "<|end|>", "", "<|start|>assistant<|channel|>final<|message|>"),
           r"gpt-?oss"),
    Family(ThinkTags("<thought>", "</thought>"), r"exaone-?deep"),
    Family(ThinkTags("<seed:think>", "</seed:think>", "", ""), r"seed-?oss"),
    Family(ThinkTags("◁think▷", "◁/think▷", "", ""), r"kimi-vl.*thinking"),
    Family(ThinkTags("<|START_THINKING|>", "<|END_THINKING|>", "", "<|START_RESPONSE|>"), r"command-?a-?reasoning"),
    Family(ThinkTags(), r"qwq|deepseek-?r1|r1-?distill|(?<!non-)thinking|(?<!non-)reasoning|openthinker|marco-?o1"),
    Family(ThinkTags(), r"", always=False),
)
"""The first one whose opening tag stands in the template, or whose names fit; the last is what most models use."""


def find_family(source: str | None, name: str) -> Family:
    """The family of a model, by the source of its chat template and its name."""
    bare = re.sub(r"[\s_]+", "-", name.lower())
    by_name = next(family for family in FAMILIES if re.search(family.names, bare))
    if source is None or by_name.always and by_name.tags.closing in source:
        return by_name
    return next((family for family in FAMILIES[:-2] if family.tags.opening in source), by_name)


def is_open(text: str, tags: ThinkTags) -> bool | None:
    """Whether the end of a text leaves a think block open: True, or False where the last one is closed, or None."""
    opened, closed = text.rfind(tags.opening), text.rfind(tags.closing)
    if opened >= 0:
        return opened > closed
    # The closing tag alone, as DeepSeek V3.1 is told not to think; elsewhere in a text it may end a turn (gpt-oss).
    return False if text.rstrip().endswith(tags.closing) else None
