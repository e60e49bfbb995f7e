"""What a model reads before it writes one call of the leaderboard: instructions, exemplars, functions, question.

Exemplars come first, each with its own function, and the row's functions stand right above its question: so the part that
all rows share is as long as it can be, and is computed once. All of it is plain text, without control tokens;
a chat template's turns may be put around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from local_react.bench.bfcl_exemplars import CallExemplar
from local_react.language.observation import indent
from local_react.language.prompt import Piece, Prompt, describe_tool, usage, write_action
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Call
from local_react.language.types import describe

Description = Literal["full", "usage", "name", "list"]
"""What is said about a function: its usage and all descriptions; its usage; that and its description; or its parameters in a
list with types and descriptions, and no usage, from which a small model copies type names as if they were values."""

INSTRUCTIONS = "Answer each question with one call of a tool. Leave out what the question doesn't say."


SHARED = "shared"
"""The part of a prompt that all rows of an arm have in common."""


def call_prompt(
    question: str, tools: Signatures, protocol: Protocol, exemplars: Sequence[CallExemplar] = (), *,
    instructions: str = INSTRUCTIONS, description: Description = "full",
) -> Prompt:
    """The prompt for a question; it ends with the label behind which the model writes, without a blank.

    Its parts are "shared" (where there are instructions or exemplars), "tools", "instructions" for the label of the question,
    "question" and "step", so that it can be put into the turns of a chat template.
    """
    blocks = [f"{instructions}\n"] if instructions else []
    blocks += [_worked(exemplar, protocol, description) for exemplar in exemplars]
    shared = "".join(f"{block}\n" for block in blocks)
    pieces = [
        Piece("tools", _described_all(tools, protocol, description)),
        Piece("instructions", protocol.label("question")),
        Piece("question", f" {indent(question.strip())}\n"),
        Piece("step", protocol.label(protocol.opening, 1)),
    ]
    return Prompt((Piece(SHARED, shared), *pieces) if shared else tuple(pieces))


def _described_all(tools: Signatures, protocol: Protocol, description: Description) -> str:
    return "".join(f"{_described(tool, protocol, description)}\n" for tool in tools.values())


def _worked(exemplar: CallExemplar, protocol: Protocol, description: Description) -> str:
    tools = {exemplar.name: exemplar.signature}
    text = f"{_described_all(tools, protocol, description)}{protocol.label('question')} {indent(exemplar.question)}\n"
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
