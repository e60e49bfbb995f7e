"""The regular expression of the introductions that search the whole text: any number, and the shortest pair of brackets."""

from __future__ import annotations

import re
from collections.abc import Callable

from benchmarks.peers.introduction_line import write
from benchmarks.peers.reading import REFUSED, Reading

NAME = "introduction, anywhere"
PACKAGE = None
_ACTION = re.compile(r"Action\s*\d*:\s*(\w+)\[(.*?)\]")
_ANSWER = re.compile(r"Answer:\s*(.+)")

__all__ = ["NAME", "PACKAGE", "load", "read", "write"]


def load() -> Callable[[str], Reading]:
    """The reader."""
    return read


def read(text: str) -> Reading:
    """The first action anywhere; else the answer."""
    if found := _ACTION.search(text):
        name, argument = found.groups()
        return Reading("answer", None, argument) if name.lower() == "finish" else Reading("call", name, argument)
    found = _ANSWER.search(text)
    return Reading("answer", None, found[1]) if found else REFUSED
