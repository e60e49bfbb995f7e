"""What a model reads before it writes one call of the leaderboard: instructions, exemplars, functions, question.

Exemplars come first, each with its own function, and the row's functions stand right above its question: so the part that
all rows share is as long as it can be, and is computed once. All of it is plain text, without control tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from local_react.bench.bfcl_exemplars import CallExemplar
from local_react.language.observation import indent
from local_react.language.prompt import describe_tool, usage, write_action
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Call
from local_react.language.types import describe

Description = Literal["full", "usage", "name", "list"]
"""What is said about a function: its usage and all descriptions; its usage; that and its description; or its parameters in a
list with types and descriptions, and no usage, from which a small model copies type names as if they were values."""

INSTRUCTIONS = "Answer each question with one call of a tool. Leave out what the question doesn't say."


@dataclass(frozen=True, slots=True)
class CallPrompt:
    """The prompt in two parts: what all rows of an arm share, and the row's own. They are tokenized apart."""

    shared: str
    own: str


def call_prompt(
    question: str, tools: Signatures, protocol: Protocol, exemplars: Sequence[CallExemplar] = (), *,
    instructions: str = INSTRUCTIONS, description: Description = "full",
) -> CallPrompt:
    """The prompt for a question; it ends with the label behind which the model writes, without a blank."""
    blocks = [f"{instructions}\n"] if instructions else []
    blocks += [_worked(exemplar, protocol, description) for exemplar in exemplars]
    own = _asked(question, tools, protocol, description)
    return CallPrompt("".join(f"{block}\n" for block in blocks), f"{own}{protocol.label(protocol.opening, 1)}")


def _asked(question: str, tools: Signatures, protocol: Protocol, description: Description) -> str:
    lines = [_described(tool, protocol, description) for tool in tools.values()]
    return "\n".join([*lines, f"{protocol.label('question')} {indent(question.strip())}\n"])


def _worked(exemplar: CallExemplar, protocol: Protocol, description: Description) -> str:
    tools = {exemplar.name: exemplar.signature}
    text = _asked(exemplar.question, tools, protocol, description)
    if protocol.thought is not None:
        text += f"{protocol.label('thought', 1)} {exemplar.thought}\n"
    return f"{text}{write_action(Call(exemplar.name, exemplar.arguments), protocol, tools, 1)}\n"


def _described(tool: Signature, protocol: Protocol, description: Description) -> str:
    match description:
        case "full":
            return describe_tool(tool, protocol)
        case "usage":
            return indent(usage(tool, protocol))
        case "list":
            return "\n".join([f"{tool.name}: {indent(tool.description)}", *map(_listed, tool.parameters)])
    return f"{indent(usage(tool, protocol))}: {indent(tool.description)}"


def _listed(parameter: Parameter) -> str:
    optional = "" if parameter.required else ", may be left out"
    return f"  {parameter.name} ({describe(parameter.type)}{optional}): {indent(parameter.description)}".rstrip(": ")
