"""The conversation of a native episode, through the model's chat template: its prompt, and the frames between its turns.

The template is rendered before the first step only. What it writes round a result or a notice is cut out of sample
conversations once, as frames, and each turn is then the frame and the text: the transcript is appended to and never rendered
again. A template that rewrites earlier turns makes no difference to that; the model goes on seeing them as they were first
written. Refuses a template that knows no tools, or spells calls in another format than the one that was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from local_react.errors import PromptError, SettingsError, TemplateError
from local_react.language.native.formats import FORMATS, NativeFormat
from local_react.language.native.read import call_end
from local_react.language.native.write import write_native_call
from local_react.language.prompt import Exemplar, Piece, Prompt, check_exemplar
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Answer, Call
from local_react.language.template import ChatTemplate, Message
from local_react.language.types import Text

SAMPLE = "sample_tool_9417"
"""The tool of the sample conversation; where a template writes its name behind the call, the real name stands later."""

_VALUE, _RESULT, _ANSWER, _NOTICE = 'the "value" 9417', 'the "result" 9417', "the answer 9417", "the notice 9417"
_SIGNATURE = Signature(SAMPLE, "A sample.", (Parameter("argument", Text()),))

Schemas = Sequence[Mapping[str, Any]]
"""Tools as templates take them: {"type": "function", "function": {"name": …, "description": …, "parameters": …}}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A chat template and how it is to be used: without `has_system` the user's message begins with the instructions."""

    template: ChatTemplate
    has_system: bool = True
    variables: Mapping[str, Any] = field(default_factory=dict)
    today: datetime | None = None

    def render(self, messages: Sequence[Message], tools: Schemas | None = None, **options: Any) -> tuple[Piece, ...]:
        """The pieces of a conversation, with the turn of the assistant opened at its end."""
        return self.template.render(messages, tools=tools or None, today=self.today, **self.variables, **options)

    def open(self, instructions: str | None, question: str) -> list[Message]:
        """The messages that a conversation begins with."""
        if not instructions:
            return [Message("user", question)]
        if not self.has_system:
            return [Message("user", f"{instructions}\n\n{question}")]
        return [Message("system", instructions), Message("user", question)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Frames:
    """What the program writes between turns: from the end of a call to its result, from there to the next message of the
    assistant; from the end of a message without a call to a notice, and from there on.

    With `quotes_results` a result stands in a JSON string. `rewrites` tells that a later rendering of the template is no
    continuation of an earlier one.
    """

    before_result: tuple[Piece, ...]
    after_result: tuple[Piece, ...]
    before_notice: tuple[Piece, ...]
    after_notice: tuple[Piece, ...]
    quotes_results: bool = False
    rewrites: bool = False

    def result_of(self, tool: str) -> tuple[Piece, ...]:
        """The frame before the result of a tool."""
        return tuple(replace(piece, text=piece.text.replace(SAMPLE, tool)) for piece in self.before_result)

    def spell(self, text: str) -> str:
        """A result as it stands between its frames."""
        return json.dumps(text, ensure_ascii=False)[1:-1] if self.quotes_results else text


def build_native_prompt(
    question: str, protocol: Protocol, tools: Signatures, schemas: Schemas, chat: Chat,
    exemplars: Sequence[Exemplar] = (), *, instructions: str | None = None,
) -> Prompt:
    """The prompt for a question: the template's own words for the tools, the exemplars as earlier turns, the question.

    Raises PromptError for an empty question and for an exemplar that doesn't fit the tools, TemplateError for what the
    template can't hold.
    """
    if not question.strip():
        raise PromptError("The question is empty. Ask something.")
    own = question.strip()
    messages: list[Message] = []
    for exemplar in exemplars:
        check_exemplar(exemplar, protocol, tools)
        messages += _as_messages(exemplar)
    first, *rest = [*messages, Message("user", own)]
    opened = chat.open(instructions, first.content)
    pieces = chat.render([*opened, *rest], schemas)
    if not pieces[-1].is_trusted:
        raise TemplateError("The chat template opens no turn for the assistant. Give another one.")
    last_user = max(index for index, piece in enumerate(pieces) if piece.part == "user")
    named = [replace(piece, part=_part(piece, index == last_user)) for index, piece in enumerate(pieces)]
    return Prompt((*named, Piece("step", "")))


def _part(piece: Piece, is_question: bool) -> str:
    if piece.is_trusted or piece.part == "tools":
        return piece.part
    return "question" if is_question else "instructions" if piece.part == "system" else "exemplars"


def _as_messages(exemplar: Exemplar) -> list[Message]:
    messages = [Message("user", exemplar.question)]
    for number, step in enumerate(exemplar.steps, 1):
        match step.action:
            case Call(name=name, arguments=arguments, thought=thought):
                messages += _call_messages(name, arguments, step.observation.text if step.observation else "", thought, number)
            case Answer(text=text):
                messages.append(Message("assistant", text))
    return messages


def _call_messages(
    name: str, arguments: Mapping[str, Any], result: str, thought: str | None = None, number: int = 1
) -> list[Message]:
    # Mistral's templates want ids of nine letters and digits.
    id = f"call{number:05}"
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": dict(arguments)}}
    return [
        Message("assistant", thought or "", tool_calls=(call,)), Message("tool", result, name=name, tool_call_id=id),
    ]


def cut_frames(chat: Chat, format: NativeFormat, schemas: Schemas) -> Frames:
    """The frames of a template, cut out of sample conversations. They have no instructions: some templates write those only
    where the last message is the user's.

    Raises SettingsError for a template without tools or with calls in another format, TemplateError where it can't hold the
    conversations.
    """
    if "tools" not in chat.template.variables:
        raise SettingsError(
            "The chat template knows no tools, so the model can't be told about them. Give a template that does with "
            f"--template FILE, or another protocol. The native formats are {', '.join(FORMATS)}."
        )
    start = [Message("user", "Why?")]
    before_result, after_result, spelled = _cut_result(chat, format, schemas, start)
    # Without tools: some templates would describe them again before the last message of the user.
    noticed = chat.render([*start, Message("assistant", _ANSWER), Message("user", _NOTICE)])
    answer = _find(noticed, "assistant", 0)
    notice = _find(noticed, "user", answer)
    return Frames(
        before_result=before_result, after_result=after_result,
        before_notice=noticed[answer + 1 : notice], after_notice=noticed[notice + 1 :],
        quotes_results=spelled == json.dumps(_RESULT)[1:-1], rewrites=_rewrites(chat, schemas, start),
    )


def _cut_result(
    chat: Chat, format: NativeFormat, schemas: Schemas, start: Sequence[Message]
) -> tuple[tuple[Piece, ...], tuple[Piece, ...], str]:
    """What stands between a call and its result, what behind that, and how the result itself was written."""
    messages = _call_messages(SAMPLE, {"argument": _VALUE}, _RESULT)
    try:
        pieces = chat.render([*start, *messages], schemas)
    except TemplateError:
        pieces = ()
    if pieces and any(SAMPLE in piece.text for piece in pieces[: _find(pieces, "tool", 0)]):
        result = _find(pieces, "tool", 0)
        before = "".join(piece.text for piece in pieces[:result])
        opening = max((match.end() for match in format.opening.finditer(before)), default=None)
        end = None if opening is None else call_end(before[opening:], format)
        if opening is None or end is None or SAMPLE not in before[opening : opening + end]:
            raise SettingsError(
                f"The chat template writes calls in another way than the format {format.name}. Name another one with "
                f"--native-format ({', '.join(FORMATS)})."
            )
        return _behind(pieces[:result], opening + end), pieces[result + 1 :], pieces[result].text
    # The template knows of calls only what the model writes itself.
    written = write_native_call(SAMPLE, {"argument": _VALUE}, _SIGNATURE, format)
    pieces = chat.render([*start, Message("assistant", written), *messages[1:]], schemas)
    call, result = _find(pieces, "assistant", 0), _find(pieces, "tool", 0)
    return pieces[call + 1 : result], pieces[result + 1 :], pieces[result].text


def _find(pieces: Sequence[Piece], part: str, start: int) -> int:
    return next(index for index in range(start, len(pieces)) if pieces[index].part == part)


def _behind(pieces: Sequence[Piece], start: int) -> tuple[Piece, ...]:
    """The pieces from a position in their text on."""
    rest = []
    for piece in pieces:
        if len(piece.text) > start:
            rest.append(replace(piece, text=piece.text[start:]))
        start = max(start - len(piece.text), 0)
    return tuple(rest)


def _rewrites(chat: Chat, schemas: Schemas, start: Sequence[Message]) -> bool:
    """Whether the template writes earlier turns in another way once the conversation has gone on."""
    asked = chat.render(start, schemas)
    turns = [*start, *_call_messages(SAMPLE, {"argument": "value"}, _RESULT)]
    further = [*turns, Message("assistant", _ANSWER), Message("user", _NOTICE)]
    try:
        called, gone_on = chat.render(turns, schemas), chat.render(further, schemas)
    except TemplateError:
        return True
    texts = ["".join(piece.text for piece in pieces) for pieces in (asked, called, gone_on)]
    closed = "".join(piece.text for piece in called[: _find(called, "tool", 0) + 1])
    return not (texts[1].startswith(texts[0].rstrip()) and texts[2].startswith(closed))
