"""The prompt, in pieces: instructions, tools, few-shot exemplars, question.

It is built from the protocol and the signatures alone, so that what the model is told can't differ from what is read.
Each piece says what part of the prompt it is and whether it is trusted: only trusted pieces (those of a chat template)
may hold control tokens. The question is never trusted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from local_react.errors import PromptError
from local_react.language.arguments import Misfit, fit_arguments, write_answer, write_call
from local_react.language.observation import indent
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Answer, Call, Malformed, Observation, Step
from local_react.language.thinking import ThinkTags
from local_react.language.types import Choice, Null, OneOf, Text, describe

INSTRUCTIONS = (
    "Answer the question. Think about what to do, call one tool at a time, and read its result before you go on. "
    "Use only facts from the results."
)
INSTRUCTIONS_WITHOUT_TOOLS = "Answer the question. Think about it first, then give the answer."


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the prompt: "instructions", "tool NAME", "exemplar N", "question", "step", "template" or "thinking"."""

    part: str
    text: str
    is_trusted: bool = False


@dataclass(frozen=True, slots=True)
class Exemplar:
    """A worked example: a question and its steps. Each step but the last has an observation; the last is an Answer."""

    question: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Prompt:
    """The pieces in order. The last one ends with the label that opens the first step, without a blank behind it.

    With `thinking` it ends inside a think block with these tags instead, and the label comes behind that block.
    """

    pieces: tuple[Piece, ...]
    thinking: ThinkTags | None = None

    @property
    def text(self) -> str:
        """The whole prompt."""
        return "".join(piece.text for piece in self.pieces)

    @property
    def shared_pieces(self) -> tuple[Piece, ...]:
        """What comes before the question, the same for every question."""
        return tuple(takewhile(lambda piece: piece.part != "question", self.pieces))

    @property
    def shared_text(self) -> str:
        """The text of that."""
        return "".join(piece.text for piece in self.shared_pieces)

    @property
    def fingerprint(self) -> str:
        """A SHA-256 (hex) over everything but the question."""
        parts = [[piece.part, piece.text] for piece in self.pieces if piece.part != "question"]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def build_prompt(
    question: str, protocol: Protocol, tools: Signatures, exemplars: Sequence[Exemplar] = (), *,
    instructions: str | None = None,
) -> Prompt:
    """The prompt for a question.

    Raises PromptError for an empty question, and for an exemplar that calls a tool that isn't there, or with arguments
    that don't fit: rewording a tool can't silently rot the prompt.
    """
    if not question.strip():
        raise PromptError("The question is empty. Ask something.")
    if not protocol.has_tools:
        tools = {}
    default = INSTRUCTIONS if tools else INSTRUCTIONS_WITHOUT_TOOLS
    pieces = [Piece("instructions", f"{(default if instructions is None else instructions).strip()}\n\n")]
    pieces += [Piece(f"tool {name}", f"{describe_tool(tool, protocol)}\n") for name, tool in tools.items()]
    if protocol.finish is not None:
        pieces.append(Piece("instructions", f"{protocol.finish}[answer] ends the run with the answer.\n"))
    else:
        pieces.append(Piece("instructions", f"A line that begins with {protocol.label('answer')} ends the run.\n"))
    for number, exemplar in enumerate(exemplars, 1):
        check_exemplar(exemplar, protocol, tools)
        pieces.append(Piece(f"exemplar {number}", f"\n{write_exemplar(exemplar, protocol, tools)}"))
    pieces.append(Piece("instructions", f"\n{protocol.label('question')}"))
    pieces.append(Piece("question", f" {indent(question.strip())}\n"))
    pieces.append(Piece("step", protocol.label(protocol.opening, 1)))
    return Prompt(tuple(pieces))


def usage(signature: Signature, protocol: Protocol) -> str:
    """How the tool is called, e.g. `search[query]` or `list_charges[customer_id=text, since=date YYYY-MM-DD]`."""
    parameters = signature.parameters
    match signature.encoding(protocol.arguments):
        case "raw":
            inside = parameters[0].name
        case "positional":
            inside = ", ".join(parameter.name for parameter in parameters)
        case "keyword":
            inside = ", ".join(f"{parameter.name}={_describe_type(parameter)}" for parameter in parameters)
        case "json":
            inside = "{" + ", ".join(f'"{parameter.name}": {_describe_type(parameter)}' for parameter in parameters) + "}"
    return f"{signature.name}[{inside}]"


def describe_tool(signature: Signature, protocol: Protocol) -> str:
    """The lines that tell the model about one tool: how it is called, what it does, and its parameters."""
    lines = [indent(usage(signature, protocol))]
    if signature.description:
        lines[0] += f": {indent(signature.description)}"
    lines += filter(None, (_describe_parameter(parameter) for parameter in signature.parameters))
    return "\n".join(lines)


def _describe_parameter(parameter: Parameter) -> str:
    notes = [indent(parameter.description).rstrip(".")] if parameter.description else []
    if isinstance(parameter.type, Choice) or (isinstance(parameter.type, Text) and parameter.type.pattern is not None):
        notes.append(indent(describe(parameter.type)))
    if not parameter.required:
        notes.append("may be left out")
    return f"  {parameter.name}: {', '.join(notes)}" if notes else ""


def _describe_type(parameter: Parameter) -> str:
    """The parameter's type; that an optional one may be null as well needs no saying, since it may be left out."""
    match parameter.type:
        case OneOf(options) if not parameter.required:
            return " or ".join(describe(option) for option in options if not isinstance(option, Null))
    return describe(parameter.type)


def check_exemplar(exemplar: Exemplar, protocol: Protocol, tools: Signatures) -> None:
    """Raise PromptError where the exemplar couldn't be a run with these tools."""
    where = f"The exemplar {exemplar.question!r}"
    if not exemplar.steps:
        raise PromptError(f"{where} has no steps. Give it at least the step that answers.")
    for number, step in enumerate(exemplar.steps, 1):
        is_last = number == len(exemplar.steps)
        match step.action:
            case Answer(text=text):
                if not is_last:
                    raise PromptError(f"{where} answers in step {number}, before its last step.")
                if not text.strip():
                    raise PromptError(f"{where} has an empty answer. Say what the answer is.")
                if step.observation is not None:
                    raise PromptError(f"{where} has an observation behind its answer. The answer ends the run: leave it out.")
            case Malformed():
                raise PromptError(f"{where} has a malformed action in step {number}. Show only steps to be imitated.")
            case Call(name=name, arguments=arguments):
                if is_last:
                    raise PromptError(f"{where} ends with a call. Its last step must be an Answer.")
                if name not in tools:
                    raise PromptError(
                        f"{where} calls {name} in step {number}, and there is no such tool. "
                        f"The tools are {', '.join(tools) or 'none'}: change the exemplar, or add the tool."
                    )
                fitted = fit_arguments(arguments, tools[name])
                if isinstance(fitted, Misfit):
                    raise PromptError(f"{where}, step {number}, doesn't fit {name}: {fitted.message} Change the exemplar.")
                if step.observation is None:
                    raise PromptError(f"{where} has no observation in step {number}. Say what the tool returned.")


def write_exemplar(exemplar: Exemplar, protocol: Protocol, tools: Signatures) -> str:
    """The exemplar as text, exactly as a run of the loop would stand in the transcript."""
    lines = [f"{protocol.label('question')} {indent(exemplar.question)}"]
    for number, step in enumerate(exemplar.steps, 1):
        if protocol.thought is not None and step.thought:
            lines.append(f"{protocol.label('thought', number)} {indent(step.thought)}")
        lines.append(write_action(step.action, protocol, tools, number))
        if step.observation is not None:
            lines.append(write_observation(step.observation, protocol, number))
    return "\n".join(lines) + "\n"


def write_action(action: Call | Answer, protocol: Protocol, tools: Signatures, number: int) -> str:
    """The line of a call or an answer, as strict reading wants it."""
    match action:
        case Call(name=name, arguments=arguments):
            fitted = fit_arguments(arguments, tools[name])
            if isinstance(fitted, Misfit):
                raise PromptError(f"The call of {name} can't be written: {fitted.message}")
            written = write_call(name, fitted, tools[name], protocol.arguments)
            return f"{protocol.label('action', number)} {written}"
        case Answer(text=text) if protocol.finish is None:
            return f"{protocol.label('answer')} {indent(text)}"
        case Answer(text=text):
            return f"{protocol.label('action', number)} {protocol.finish}[{write_answer(text)}]"
    raise PromptError("A malformed action can't be written as a line.")


def write_observation(observation: Observation, protocol: Protocol, number: int) -> str:
    """The observation with its label, further lines indented."""
    return f"{protocol.label(observation.kind, number)} {indent(observation.text)}"


def count_parts(prompt: Prompt, token_sizes: Sequence[int]) -> dict[str, int]:
    """How many tokens each part of the prompt costs, by part, in order of their first piece.

    `token_sizes` are the byte lengths of the prompt's tokens, without BOS; a token belongs to the part in which it begins.
    """
    borders, counts, end = [], {}, 0
    for piece in prompt.pieces:
        end += len(piece.text.encode("utf-8", "replace"))
        borders.append(end)
        counts.setdefault(piece.part, 0)
    position = index = 0
    for size in token_sizes:
        while position >= borders[index] and index + 1 < len(borders):
            index += 1
        counts[prompt.pieces[index].part] += 1
        position += size
    return counts
