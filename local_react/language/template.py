"""A model's chat template: messages → the pieces of the text that the model was trained to read.

Invariant: contents stay contents. The template is rendered with unguessable marks in place of all that messages and tools
say, the text is split at the marks, and only what lies between them is trusted with control tokens. A second rendering
with the contents themselves must give the same text, so what a template trims or rewrites comes out as it should; what it
drops, repeats, or lets change the text around it is a TemplateError. Refuses to know any model family by name.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from local_react.errors import TemplateError
from local_react.language.prompt import Piece
from local_react.language.sandbox import Sandbox

Role = Literal["system", "user", "assistant", "tool"]

TEMPLATE = "template"
"""The part that the template's own text is."""

_HARMLESS = re.compile(r"[\w .,:;!?'()/+-]*")
"""Names, types and the like inside a schema: no such text is a control token, and templates compare some of them."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    `tool_calls` are as in OpenAI's interface ({"type": "function", "function": {"name": …, "arguments": {…}}}), `name` is
    that of the tool whose result a tool message holds, `reasoning` is what an assistant thought before its content.
    """

    role: Role
    content: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] | None = None
    name: str | None = None
    tool_call_id: str | None = None
    reasoning: str | None = None


class ChatTemplate:
    """A compiled template. `bos` and `eos` are the texts of those tokens.

    Raises TemplateError for a source that is too long or broken. `variables` are the names that it asks for, such as
    "tools" or "enable_thinking", and `n_renderings` counts calls of `render`.
    """

    def __init__(self, source: str, *, bos: str = "", eos: str = "") -> None:
        self.source = source
        self.bos = bos
        self.eos = eos
        self.n_renderings = 0
        self._sandbox = Sandbox(source)
        self.variables = self._sandbox.variables

    def render(
        self, messages: Sequence[Message], *, tools: Sequence[Mapping[str, Any]] | None = None,
        add_generation_prompt: bool = True, today: datetime | None = None, **variables: Any,
    ) -> tuple[Piece, ...]:
        """The pieces of the conversation. Those of the template are trusted, and their part is "template"; contents are not,
        and have the part of their role, or "reasoning", "calls" (of tools) and "tools".

        `tools` are JSON Schemas ({"type": "function", "function": {…}}), `today` is what the template may print as the
        date; `variables` are further ones that it may ask for. Raises TemplateError for what the template can't hold.
        """
        self.n_renderings += 1
        given = variables | {
            "bos_token": self.bos, "eos_token": self.eos, "add_generation_prompt": add_generation_prompt, "documents": None,
        }
        if today is not None:
            given["strftime_now"] = today.strftime
        contents = _Contents(messages, tools)
        written = self._sandbox.render(given | contents.marked())
        pieces = contents.split(written)
        plain = self._sandbox.render(given | contents.marked(as_it_is=range(len(contents))))
        if _join(pieces) != plain:
            pieces = contents.split(written, self._rewritten(contents, written, given))
        if _join(pieces) != plain:
            raise TemplateError("The chat template changes its own text with what the messages say. Give another template.")
        return _merge(pieces)

    def _rewritten(self, contents: _Contents, written: str, given: Mapping[str, Any]) -> list[str]:
        """What the template makes of each content, seen by putting it alone between the marks of the others."""
        return [
            contents.find(written, self._sandbox.render(given | contents.marked(as_it_is=(index,))), index)
            for index in range(len(contents))
        ]


def behind(before: Sequence[Piece], after: Sequence[Piece]) -> tuple[Piece, ...]:
    """What `after`, a conversation that has gone on, has behind `before`, its beginning: what may be appended to it.

    Raises TemplateError where the template has rewritten earlier turns, so that `before` is no beginning of `after`.
    """
    rest = list(after)
    for piece in before:
        left = piece.text
        while left:
            now = rest.pop(0) if rest else Piece("", "")
            n = min(len(left), len(now.text))
            if not n or left[:n] != now.text[:n] or piece.is_trusted != now.is_trusted:
                raise TemplateError(
                    "The chat template rewrites earlier turns, and a transcript only grows. Give another template."
                )
            left = left[n:]
            if now.text[n:]:
                rest.insert(0, Piece(now.part, now.text[n:], now.is_trusted))
    return tuple(rest)


@dataclass(frozen=True, slots=True)
class _Content:
    """A text from outside, without its outer blanks, which stay where they are: a template may trim them."""

    part: str
    text: str
    must_occur_once: bool


class _Contents:
    """All texts from outside in a conversation, and the marks that stand for them."""

    def __init__(self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] | None) -> None:
        self._messages = messages
        self._tools = tools
        # Private-use signs and digits stay as they are when a template changes the case of a text or quotes it.
        self._nonce = "".join(secrets.choice("0123456789") for _ in range(20))
        self._mark = re.compile(f"\ue000{self._nonce}_(\\d+)\ue001")
        self._found: list[_Content] = []
        self._as_it_is: Sequence[int] = ()
        self.marked()

    def __len__(self) -> int:
        return len(self._found)

    def marked(self, as_it_is: Sequence[int] = ()) -> dict[str, Any]:
        """Messages and tools as a template expects them, with marks for contents; those numbered `as_it_is` have none."""
        self._found, self._as_it_is = [], as_it_is
        return {
            "messages": [self._mark_message(message) for message in self._messages],
            "tools": None if self._tools is None else [self._mark_within(tool, "tools") for tool in self._tools],
        }

    def _mark_message(self, message: Message) -> dict[str, Any]:
        fields: dict[str, Any] = {"role": message.role, "content": self._mark_text(message.content, message.role, True)}
        if message.reasoning is not None:
            fields["reasoning_content"] = self._mark_text(message.reasoning, "reasoning")
        if message.tool_calls is not None:
            fields["tool_calls"] = [self._mark_within(call, "calls") for call in message.tool_calls]
        for name in ("name", "tool_call_id"):
            if getattr(message, name) is not None:
                fields[name] = self._mark_within(getattr(message, name), "calls")
        return fields

    def _mark_within(self, value: Any, part: str, key: str = "") -> Any:
        """A JSON value with marks for what its author wrote; names and types stay, if no token could hide in them."""
        match value:
            case str():
                is_free = key in ("description", "arguments") or _HARMLESS.fullmatch(value) is None
                return self._mark_text(value, part) if is_free else value
            case Mapping():
                # What stands in the arguments of a call is free text throughout.
                inner = "arguments" if key == "arguments" else ""
                return {self._mark_within(name, part): self._mark_within(each, part, inner or name)
                        for name, each in value.items()}
            case list() | tuple():
                return [self._mark_within(each, part, key) for each in value]
        return value

    def _mark_text(self, text: str, part: str, must_occur_once: bool = False) -> str:
        bare = text.strip()
        if not bare:
            # A template may ask whether there is any.
            return text
        index = len(self._found)
        self._found.append(_Content(part, bare, must_occur_once))
        if index in self._as_it_is:
            return text
        start = text.index(bare)
        return f"{text[:start]}\ue000{self._nonce}_{index}\ue001{text[start + len(bare) :]}"

    def split(self, written: str, texts: Sequence[str] | None = None) -> list[Piece]:
        """The pieces of a text with marks; `texts` are what stands for each content instead of it.

        Raises TemplateError for a message that isn't there once, or whose mark was broken.
        """
        parts = self._mark.split(written)
        indices = [int(index) for index in parts[1::2]]
        for index, content in enumerate(self._found):
            n_times = indices.count(index)
            if content.must_occur_once and n_times != 1:
                what = "leaves out" if not n_times else f"writes {n_times} times"
                raise TemplateError(f"The chat template {what} the {content.part} message. Give another template.")
        if any(self._nonce in part or "\ue000" in part for part in parts[::2]):
            raise TemplateError("The chat template takes messages apart. Give another template.")
        pieces = [Piece(TEMPLATE, parts[0], True)]
        for index, behind_it in zip(indices, parts[2::2]):
            content = self._found[index]
            pieces += [Piece(content.part, content.text if texts is None else texts[index]), Piece(TEMPLATE, behind_it, True)]
        return pieces

    def find(self, written: str, rendered: str, index: int) -> str:
        """What stands in `rendered` where the mark of a content stands in `written`; the content where that is unclear."""
        around = written.split(f"\ue000{self._nonce}_{index}\ue001")
        n_marks = len(around) - 1
        size, rest = divmod(len(rendered) - sum(map(len, around)), n_marks) if n_marks else (0, 0)
        text = rendered[len(around[0]) : len(around[0]) + size] if size >= 0 else ""
        is_clear = n_marks and not rest and text.join(around) == rendered
        return text if is_clear else self._found[index].text


def _join(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def _merge(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces that hold something, neighbours of one part joined."""
    merged: list[Piece] = []
    for piece in pieces:
        if merged and merged[-1].is_trusted and piece.is_trusted:
            merged[-1] = Piece(merged[-1].part, merged[-1].text + piece.text, True)
        elif piece.text:
            merged.append(piece)
    return tuple(merged)
