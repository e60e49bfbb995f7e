"""The chat form of a prompt: the same words as the plain form, in the turns of a model's chat template.

What comes before the question is the system message, the question is the user's, and all steps are one assistant turn
that grows: the turn is never closed, so the transcript is only appended to. Invariant: the template's text alone is
trusted. Refuses to change the words: a prompt in chat form has the parts of the plain one, and the template's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from local_react.errors import TemplateError
from local_react.language.prompt import Piece, Prompt
from local_react.language.template import ChatTemplate, Message
from local_react.language.thinking import ThinkTags, is_open

CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""The template of the most common turns, for models whose own one can't be used."""

CHATML_TOKENS = ("<|im_start|>", "<|im_end|>")

BETWEEN = Piece("instructions", "\n\n")
"""Between instructions and question, where a template takes both in one message."""


def to_chat(
    prompt: Prompt, template: ChatTemplate, *, has_system: bool = True, today: datetime | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Prompt:
    """A plain prompt in chat form; without `has_system` the user's message begins with what the system's would say.

    Raises TemplateError where the template can't hold these messages.
    """
    at = next(index for index, piece in enumerate(prompt.pieces) if piece.part == "question")
    system, label, question = _trim(prompt.pieces[: at - 1]), *_trim(prompt.pieces[at - 1 : at + 1])
    if has_system:
        # The turn says that this is the question: with its label as well, SmolLM2 answered fewer of the demo's questions.
        parts = {"system": system, "user": _trim([question])}
    else:
        parts = {"user": (*system, BETWEEN, label, question)}
    messages = [Message(role, _join(pieces)) for role, pieces in parts.items()]  # type: ignore[arg-type]
    pieces: list[Piece] = []
    for piece in template.render(messages, today=today, **variables or {}):
        own = parts.get(piece.part, ())
        pieces += own if _join(own) == piece.text else [piece if piece.is_trusted else replace(piece, part="question")]
    if not pieces[-1].is_trusted:
        raise TemplateError("The chat template opens no turn for the assistant. Give another one.")
    return replace(prompt, pieces=(*pieces, *prompt.pieces[at + 1 :]))


def with_thinking(prompt: Prompt, tags: ThinkTags, *, is_empty: bool = False) -> Prompt:
    """The prompt with a think block before its first step: open, for the model to write, or empty.

    A block that the template has opened is gone on with, and one that it has closed is left alone.
    """
    *before, step = prompt.pieces
    has_block = is_open(before[-1].text, tags) if before[-1].is_trusted else None
    if is_empty:
        text = {True: f"{tags.lead}{tags.closing}{tags.gap}", False: "", None: tags.empty}[has_block]
        added = [Piece("thinking", text, True)] if text else []
        return replace(prompt, pieces=(*before, *added, step))
    added = [] if has_block else [Piece("thinking", f"{tags.opening}{tags.lead}", True)]
    return replace(prompt, pieces=(*before, *added), thinking=tags)


def close_thinking(pieces: Sequence[Piece], tags: ThinkTags) -> tuple[Piece, ...]:
    """The template's pieces before a later turn, with the think block closed where they leave one open."""
    is_left_open = bool(pieces) and pieces[-1].is_trusted and is_open(pieces[-1].text, tags) is True
    return (*pieces, Piece("thinking", f"{tags.closing}{tags.gap}", True)) if is_left_open else tuple(pieces)


def _trim(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """The pieces without outer blanks, which a template may take away."""
    *head, last = pieces
    pieces = [*head, replace(last, text=last.text.rstrip())]
    first, *tail = pieces
    return (replace(first, text=first.text.lstrip()), *tail)


def _join(pieces: Sequence[Piece]) -> str:
    return "".join(piece.text for piece in pieces)
