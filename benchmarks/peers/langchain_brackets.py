"""LangChain's ReActOutputParser (package langchain-classic), made for the brackets of the ReAct paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.peers.introduction_line import write
from benchmarks.peers.reading import REFUSED, Reading

NAME = "LangChain, brackets"
PACKAGE = "langchain-classic"

__all__ = ["NAME", "PACKAGE", "load", "write"]


def load() -> Callable[[str], Reading]:
    """The reader. Raises ModuleNotFoundError where the package isn't installed."""
    from langchain_classic.agents.react.output_parser import ReActOutputParser  # an environment of its own has it
    from langchain_core.agents import AgentAction
    from langchain_core.exceptions import OutputParserException

    parser = ReActOutputParser()

    def read(text: str) -> Reading:
        try:
            found: Any = parser.parse(text)
        except OutputParserException:
            return REFUSED
        if isinstance(found, AgentAction):
            return Reading("call", found.tool, found.tool_input)
        return Reading("answer", None, str(found.return_values["output"]))

    return read
