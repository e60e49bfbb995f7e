"""One message of a model, read in its native format as a `Call`, an `Answer` or a `Malformed`. Total: no text raises here.

The first call counts, and what stands before it is the thought; a message without a call is the answer. Nothing in a think
block is a call, nor is anything behind an invented result. As for the step language there is one reading, the lenient one,
which names each repair that it takes; strict reading refuses where it took any but those of `arguments.OVERLOOKED`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from local_react.language.arguments import OVERLOOKED, Misfit, read_values
from local_react.language.call import find_tool, unknown_tool
from local_react.language.native.body import Body, Fault, read_bare, read_body
from local_react.language.native.formats import NativeFormat
from local_react.language.protocol import CONTROL_TOKEN, THINK_TAGS
from local_react.language.signature import Signatures
from local_react.language.step import Action, Answer, Call, Malformed

_CONTROL = re.compile(CONTROL_TOKEN)


def read_message(
    text: str, format: NativeFormat, tools: Signatures, *, strict: bool = False, think_open: bool = False,
    truncated: bool = False,
) -> Action:
    """Read one message against the tools.

    `think_open` tells that the prompt opened a think block, `truncated` that the text was cut by a token limit: a message
    that was cut and has no call is not taken for an answer.
    """
    if not text.strip():
        return Malformed("empty_completion", "Nothing was written.")
    start = _behind_thinking(text, format, think_open)
    if start is None:
        return Malformed("unclosed_think", "The think block never ends, and nothing follows it.", thinking=text.strip())
    reading = _Message(text[start:], format, tools, truncated).read()
    thinking = re.sub("|".join(map(re.escape, THINK_TAGS)), "", text[:start]).strip()
    reading = replace(reading, thinking=thinking or None)
    return _refuse_repairs(reading) if strict and not isinstance(reading, Malformed) else reading


def read_answer(text: str) -> Answer:
    """A message that can only be an answer, whatever it looks like."""
    answer, thinking = split_thinking(text.replace("\r\n", "\n"))
    return Answer(answer, thinking=thinking or None)


def split_thinking(text: str) -> tuple[str, str]:
    """What stands behind the think block that a text may begin with, and what stands in it."""
    opening, closing = THINK_TAGS
    head, found, rest = text.rpartition(closing)
    if not found and text.lstrip().startswith(opening):
        head, rest = text, ""
    return rest.strip(), head.replace(opening, "").replace(closing, "").strip()


def call_end(text: str, format: NativeFormat) -> int | None:
    """Where the first call in the text ends, behind its closer; None while there is none, or it isn't complete."""
    found = format.opening.search(text)
    if found is None:
        return None
    body = read_body(text, found.end(), format)
    if isinstance(body, Fault) or body.repairs[-1:] == ("missing_closer",):
        return None
    return body.end


def _behind_thinking(text: str, format: NativeFormat, think_open: bool) -> int | None:
    """Where the think blocks at the start end; None where one never does."""
    opening, closing = THINK_TAGS
    start = 0
    call = format.opening.search(text)
    before_call = len(text) if call is None else call.end()
    # Some servers swallow the opening tag.
    is_stray = 0 <= text.find(closing, 0, before_call) and not 0 <= text.find(opening) < text.find(closing)
    if think_open or is_stray:
        end = text.find(closing)
        if end < 0:
            return None
        start = end + len(closing)
    while text[start:].lstrip().startswith(opening):
        end = text.find(closing, start)
        if end < 0:
            return None
        start = end + len(closing)
    return start


def _refuse_repairs(reading: Call | Answer) -> Action:
    refused = [repair for repair in reading.repairs if repair not in OVERLOOKED]
    if not refused:
        return reading
    message = f"The call is not written exactly as it should be ({', '.join(refused).replace('_', ' ')})."
    return Malformed(
        "unknown_tool" if refused[0] == "name_case" else "malformed_action", message, reading.thought,
        repairs=reading.repairs, extra_steps=reading.extra_steps, answer_after_action=reading.answer_after_action,
        forged_observation=reading.forged_observation, thinking=reading.thinking,
    )


@dataclass(frozen=True, slots=True)
class _Message:
    """One message without its think block."""

    text: str
    format: NativeFormat
    tools: Signatures
    is_truncated: bool

    def read(self) -> Action:
        opening, limit = self.format.opening.search(self.text), self.limit(0)
        if opening is not None and opening.end() < limit:
            body = read_body(self.text, opening.end(), self.format)
            return self.noted(self.call(body), self.text[: opening.start()], body)
        bare = read_bare(self.text[:limit], self.format, self.tools)
        if bare is not None:
            return self.noted(self.call(bare), "", replace(bare, end=limit))
        return self.answer(self.text[:limit].strip(), is_forged=self.format.forging.match(self.text, limit) is not None)

    def limit(self, start: int) -> int:
        """Where the text from `start` on is cut: at an invented result, or at a control token that is no markup of calls."""
        forged = self.format.forging.search(self.text, start)
        controls = (
            match.start() for match in _CONTROL.finditer(self.text, start) if match[0] not in self.format.markup
        )
        return min(next(controls, len(self.text)), len(self.text) if forged is None else forged.start())

    def answer(self, text: str, *, is_forged: bool) -> Action:
        if is_forged:
            message = "The message holds a result, and those come from the tools."
            return Malformed("hallucinated_observation", message, text or None, forged_observation=True)
        if not text:
            return Malformed("empty_completion", "Nothing was written.")
        if self.is_truncated:
            return Malformed("no_action_or_answer", "The message was cut off before its end, and has no call.", text)
        return Answer(text.replace("\r\n", "\n"))

    def call(self, body: Body | Fault) -> Action:
        if isinstance(body, Fault):
            return body.malformed
        name, repair = find_tool(body.name, self.tools)
        if name is None:
            return unknown_tool(body.name, list(self.tools))
        read = body.misfit or read_values(body.arguments_of(self.tools[name]), self.tools[name])
        if isinstance(read, Misfit):
            return Malformed(
                read.code, read.message, tool=name, parameter=read.parameter, expected=read.expected, value=read.value
            )
        repairs = (*body.repairs, *filter(None, [repair]), *read.repairs)
        return Call(name, read.values, repairs=tuple(dict.fromkeys(repairs)))

    def noted(self, action: Action, thought: str, body: Body | Fault) -> Action:
        """The reading with its thought and with what was dropped behind it."""
        n_further = 0
        rest, limit = "", len(self.text)
        if isinstance(body, Body):
            limit = self.limit(body.end)
            rest = self.text[body.end : limit]
            n_further = body.n_further + sum(1 for _ in self.format.opening.finditer(rest))
        return replace(
            action, thought=thought.strip() or None, extra_steps=n_further,
            answer_after_action=isinstance(action, Call) and not n_further and bool(rest.strip()),
            forged_observation=self.format.forging.match(self.text, limit) is not None,
        )

