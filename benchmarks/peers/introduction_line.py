"""The regular expression of the introductions that look for one action line: the label, a word, brackets, the line's end."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers.reading import REFUSED, Reading

NAME = "introduction, one line"
PACKAGE = None
_ACTION = re.compile(r"^Action:\s*(\w+)\[(.*)\]\s*$", re.MULTILINE)
_ANSWER = re.compile(r"^Answer:\s*(.+)$", re.MULTILINE)


def load() -> Callable[[str], Reading]:
    """The reader."""
    return read


def read(text: str) -> Reading:
    """The first action line; else the answer line."""
    if found := _ACTION.search(text):
        name, argument = found.groups()
        return Reading("answer", None, argument) if name.lower() == "finish" else Reading("call", name, argument)
    found = _ANSWER.search(text)
    return Reading("answer", None, found[1]) if found else REFUSED


def write(thought: str, name: str, argument: str) -> str:
    """A step as this reader wants it."""
    return f"Thought: {thought}\nAction: {name}[{argument}]"
