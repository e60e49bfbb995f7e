"""LlamaIndex's ReActOutputParser (package llama-index-core), made for an action line and a JSON object behind it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from benchmarks.peers.reading import REFUSED, Reading

NAME = "LlamaIndex"
PACKAGE = "llama-index-core"
ARGUMENT = "input"


def load() -> Callable[[str], Reading]:
    """The reader. Raises ModuleNotFoundError where the package isn't installed."""
    from llama_index.core.agent.react.output_parser import ReActOutputParser  # an environment of its own has it

    parser = ReActOutputParser()

    def read(text: str) -> Reading:
        try:
            found: Any = parser.parse(text)
        except ValueError:  # json's own error is one, too
            return REFUSED
        if found.is_done:
            return Reading("answer", None, getattr(found, "response", None))
        arguments = found.action_input
        return Reading("call", found.action, arguments.get(ARGUMENT, arguments))

    return read


def write(thought: str, name: str, argument: str) -> str:
    """A step as this reader wants it."""
    if name.lower() == "finish":
        return f"Thought: {thought}\nAnswer: {argument}"
    return f"Thought: {thought}\nAction: {name}\nAction Input: {json.dumps({ARGUMENT: argument}, ensure_ascii=False)}"
