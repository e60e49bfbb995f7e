"""LangChain's ReActSingleInputOutputParser (package langchain-classic), made for an action line and an input line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.reading import REFUSED, Reading

NAME = "LangChain, single input"
PACKAGE = "langchain-classic"


def load() -> Callable[[str], Reading]:
    """The reader. Raises ModuleNotFoundError where the package isn't installed."""
    from langchain_classic.agents.output_parsers import ReActSingleInputOutputParser  # an environment of its own has it
    from langchain_core.agents import AgentAction
    from langchain_core.exceptions import OutputParserException

    parser = ReActSingleInputOutputParser()

    def read(text: str) -> Reading:
        try:
            found: Any = parser.parse(text)
        except OutputParserException:
            return REFUSED
        if isinstance(found, AgentAction):
            return Reading("call", found.tool, found.tool_input)
        return Reading("answer", None, str(found.return_values["output"]))

    return read


def write(thought: str, name: str, argument: str) -> str:
    """A step as this reader wants it."""
    if name.lower() == "finish":
        return f"Thought: {thought}\nFinal Answer: {argument}"
    return f"Thought: {thought}\nAction: {name}\nAction Input: {argument}"
