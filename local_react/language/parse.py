"""The text of one step, read as a `Call`, an `Answer` or a `Malformed`. Total: no text raises here.

Only a label at the start of a line makes text executable; a call that is only mentioned, that stands in a think block,
or that follows an invented observation is never one. There is one reading, the lenient one, which names each repair
that it takes; strict reading refuses where it took any but those in `OVERLOOKED`, so the two never disagree.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace

from local_react.errors import SettingsError
from local_react.language import arguments
from local_react.language.call import Scope, is_null, read_action, with_repairs
from local_react.language.labels import BLANKS, Label, Layout, find_labels, match_label
from local_react.language.literals import parse_quoted
from local_react.language.native.formats import format_of
from local_react.language.native.read import read_message
from local_react.language.protocol import THINK_TAGS, Protocol
from local_react.language.signature import Signatures
from local_react.language.step import Action, Answer, Call, Code, Malformed

OVERLOOKED = arguments.OVERLOOKED | {"finish_case", "finish_blank", "thought_label"}
"""Repairs that strict reading takes too."""

_FENCE_BEFORE = re.compile(r"(?:```|~~~)\w*(?:\n|\Z)")
_FENCE_BEHIND = re.compile(r"(?:^|\n)(?:```|~~~)\w*\Z")
_CUT_TOKEN = re.compile(r"<\|[A-Za-z0-9_]+\|?\Z")
_TAIL_LENGTH = 3


def parse_step(
    completion: str,
    protocol: Protocol,
    toolbox: Signatures,
    *,
    strict: bool = False,
    primed: str | None = None,
    think_open: bool = False,
    truncated: bool = False,
) -> Action:
    """Read one completion against the tools.

    `primed` is the label that the prompt ended with ("Thought:"), `think_open` tells that the prompt opened a think
    block, `truncated` that the text was cut by a token limit. Under a native protocol the text is one message, and `primed`
    can only be the opener of a call. Raises SettingsError where `primed` is no label.
    """
    if protocol.native is not None:
        format = format_of(protocol)
        message = f"{primed}{completion}" if primed == format.opener else completion
        return read_message(message, format, toolbox, strict=strict, think_open=think_open, truncated=truncated)
    text = completion.replace("\r\n", "\n")
    if not text.strip():
        return Malformed("empty_completion", "Nothing was written.")
    start = _thinking_end(text, protocol, think_open, primed)
    if start is None:
        return Malformed("unclosed_think", "The think block never ends, and no step follows it.", thinking=text.strip())
    thinking = text[:start]
    text, was_primed = _prime(text[start:], primed, protocol)
    tools = toolbox if protocol.has_tools else {}
    layout = find_labels(text, protocol, tuple(tools))
    reading = _Step(text, layout, Scope(tools, protocol, truncated), was_primed, thinking).read()
    if strict and not isinstance(reading, Malformed):
        return _refuse_repairs(reading)
    return reading


def _refuse_repairs(reading: Call | Answer) -> Action:
    refused = [repair for repair in reading.repairs if repair not in OVERLOOKED]
    if not refused:
        return reading
    code: Code = "unknown_tool" if refused[0] in ("finish_call", "name_case") else "malformed_action"
    if refused[0] == "answer_label":
        code = "no_action_or_answer"
    message = f"The step is not written exactly as it should be ({', '.join(refused).replace('_', ' ')})."
    return Malformed(
        code, message, reading.thought, repairs=reading.repairs, extra_steps=reading.extra_steps,
        answer_after_action=reading.answer_after_action, forged_observation=reading.forged_observation,
        thinking=reading.thinking,
    )


def _thinking_end(text: str, protocol: Protocol, think_open: bool, primed: str | None) -> int | None:
    """Where the step begins behind the think blocks that open the text; None where the last one doesn't end."""
    opening, closing = THINK_TAGS
    start = 0
    if think_open:
        end = text.find(closing)
        if end < 0:
            return None
        start = end + len(closing)
    elif (end := _stray_end(text, protocol, primed)) is not None:
        start = end
    while text.startswith(opening, begin := _first_visible(text, start)):
        end = text.find(closing, begin)
        if end < 0:
            return None
        start = end + len(closing)
    return start


def _stray_end(text: str, protocol: Protocol, primed: str | None) -> int | None:
    """Where a think block ends whose opening tag is not in the text (some servers swallow it)."""
    opening, closing = THINK_TAGS
    end = text.find(closing)
    if end < 0 or 0 <= text.find(opening) < end:
        return None
    behind = end + len(closing)
    if text[text.rfind("\n", 0, end) + 1 : end].strip() == "":
        return behind
    # In the middle of a line it may be a mention, or stand in an argument.
    if any(label.kind in ("action", "answer") for label in find_labels(text[:end], protocol, ()).labels):
        return None
    primed_labels = find_labels((primed or "").strip() + text[:end], protocol, ()).labels
    if any(label.shape is not None and label.shape.close is None for label in primed_labels):
        # A call whose label the prompt wrote is still open here: the tag is text in its argument.
        return None
    following = match_label(text, _first_visible(text, behind), protocol)
    return behind if following is not None or text[behind : behind + 1] in ("\n", "") else None


def _prime(text: str, primed: str | None, protocol: Protocol) -> tuple[str, bool]:
    """The text with the label that the prompt ended with, and whether that was put there."""
    stripped = text.lstrip()
    if primed is None:
        return stripped, False
    label = match_label(primed.strip(), 0, protocol)
    if label is None or label.end != len(primed.strip()):
        raise SettingsError(f"primed={primed!r} is no label of the protocol. Give the label that the prompt ends with.")
    own = match_label(stripped, 0, protocol)
    is_behind = "\n" in text[: len(text) - len(stripped)]
    # On the line of the primed label, another one is a mention; the same one again is that label, repeated.
    if own is None or not (is_behind or own.kind in (label.kind, "observation", "notice")):
        return primed.strip() + text, True
    return stripped, False


def _first_visible(text: str, start: int) -> int:
    while start < len(text) and text[start].isspace():
        start += 1
    return start


@dataclass(frozen=True, slots=True)
class _Step:
    """One text with its labels found; reads them in order."""

    text: str
    layout: Layout
    scope: Scope
    was_primed: bool
    thinking: str

    def read(self) -> Action:
        chosen = self.chosen()
        if chosen is None:
            return self.noted(self.refusal(), None, len(self.text), 0)
        index, label = chosen
        if label.kind == "answer":
            reading = self.read_answer(index, label)
        elif is_null(self.text[label.end : self.layout.end], self.scope):
            reading = Malformed("null_action", "The action line calls nothing, and there is no answer.")
        else:
            reading = self.read_call(index, label)
        return self.noted(reading, label, label.start, index)

    def chosen(self) -> tuple[int, Label] | None:
        """The label that counts, with its place: the first action or answer, but for two exceptions."""
        events = [(i, label) for i, label in enumerate(self.layout.labels) if label.kind in ("action", "answer")]
        if not events:
            return None
        first = events[0]
        if first[1].is_fenced:
            # What stands in a fence before an action outside of it was an example.
            plain = [e for e in events if not e[1].is_fenced and (e[1].kind == "action" or first[1].kind == "answer")]
            first = plain[0] if plain else first
        if first[1].kind == "action" and is_null(self.text[first[1].end : self.layout.end], self.scope):
            for index, label in events:
                is_finish = label.shape is not None and label.shape.name.lower() == self.scope.finish.lower()
                if index > first[0] and (label.kind == "answer" or is_finish):
                    return index, label
        return first

    def read_call(self, index: int, label: Label) -> Action:
        labels = self.layout.labels
        end = labels[index + 1].start if index + 1 < len(labels) else self.layout.end
        following = labels[index + 1] if index + 1 < len(labels) and labels[index + 1].kind == "input" else None
        body = self.text[label.end : end].strip()
        if following is None or "\n" in body:
            return read_action(self.text, label, None, 0, end, self.scope)
        input_end = labels[index + 2].start if index + 2 < len(labels) else self.layout.end
        words = self.scope.protocol.words
        tail = self.tail(following.end, input_end, list(words.values()), 1)
        return read_action(self.text, label, following, tail, end, self.scope)

    def read_answer(self, index: int, label: Label) -> Action:
        following = next(iter(self.layout.labels[index + 1 :]), None)
        end = following.start if following is not None else self.layout.end
        words = self.scope.protocol.words
        # Only what never opens a line of an answer may be taken for the beginning of a label.
        end = self.tail(label.end, end, [words["observation"], words["notice"], words["question"]], _TAIL_LENGTH)
        text = _without_mark(self.text[label.end : end].strip().strip(BLANKS), label)
        if label.is_fenced:
            text = _FENCE_BEHIND.sub("", text).strip()
        quoted = parse_quoted(text) if text[:1] == '"' else None
        text = text if quoted is None else quoted
        if not text.strip():
            return Malformed("empty_answer", "The answer is empty.")
        repairs = following.repairs if following is not None else ()
        return Answer(text, repairs=tuple(r for r in repairs if r not in ("answer_label", "action_input")))

    def tail(self, start: int, end: int, words: list[str], least: int) -> int:
        """Where a text ends without the beginning of a label that was cut off there."""
        if end < len(self.text):
            return end
        body = self.text[start:end].rstrip()
        token = _CUT_TOKEN.search(body)
        body = body if token is None else body[: token.start()].rstrip()
        head, line_break, line = body.rpartition("\n")
        is_cut = any(
            (len(line) >= least and word.startswith(line)) or re.fullmatch(rf"{re.escape(word)} ?[0-9]*", line)
            for word in words
        )
        return start + len(head) if line_break and line and is_cut else end if token is None else start + len(body)

    def refusal(self) -> Malformed:
        """What to say where nothing is labelled as an action or an answer."""
        if self.layout.is_thinking:
            return Malformed("unclosed_think", "The think block never ends, and no step follows it.")
        rest = self.remainder()
        if not rest and self.layout.cut_by is not None:
            return Malformed("hallucinated_observation", "The text is an observation, and those come from the tools.")
        has_labels = any(not (self.was_primed and label.start == 0) for label in self.layout.labels)
        if not rest and not has_labels and not self.thinking.strip():
            return Malformed("empty_completion", "Nothing was written.")
        return Malformed("no_action_or_answer", "The text has neither an action nor an answer.")

    def remainder(self) -> str:
        """What stands before the cut besides labels and think blocks."""
        pieces, position = [], 0
        for label in self.layout.labels:
            pieces.append(self.without_thinking(position, label.start))
            position = label.end
        return "".join([*pieces, self.without_thinking(position, self.layout.end)]).strip()

    def noted(self, reading: Action, label: Label | None, start: int, index: int) -> Action:
        """The reading with its thought and its notes."""
        before = self.layout.labels[: index if label is not None else None]
        behind = self.layout.labels[index + 1 :] if label is not None else []
        is_fenced = label is not None and label.is_fenced
        before = [other for other in before if is_fenced or label is None or not other.is_fenced]
        spelled = [*before, label] if label is not None else before
        written = [other for other in spelled if not (self.was_primed and other.start == 0)]
        repairs = [repair for other in written for repair in other.repairs]
        repairs += ["fence"] if is_fenced else []
        thinking = [self.thinking, *(self.text[a:b] for a, b in self.layout.thinking)]
        thinking_text = re.sub("|".join(map(re.escape, THINK_TAGS)), "", "".join(thinking)).strip()
        noted = with_repairs(reading, tuple(repairs))
        return replace(
            noted,
            thought=self.thought(before, min(start, self.layout.end), is_fenced),
            extra_steps=sum(other.kind == "action" for other in behind),
            answer_after_action=isinstance(reading, Call) and any(other.kind == "answer" for other in behind),
            forged_observation=self.layout.cut_by is not None,
            thinking=thinking_text or None,
        )

    def thought(self, before: list[Label], end: int, is_fenced: bool) -> str | None:
        """What stands under the thought labels before `end`, or before any label where there is none."""
        pieces = []
        starts = [*(label.start for label in before), end]
        for label, stop in zip(before, starts[1:]):
            if label.kind == "thought":
                piece = self.without_thinking(label.end, stop).strip()
                pieces.append(_without_mark(_without_fence(piece) if is_fenced else piece, label))
        if not any(label.kind == "thought" for label in before):
            piece = self.without_thinking(0, starts[0]).strip()
            pieces = [_without_fence(piece) if is_fenced else piece]
        return "\n".join(piece for piece in pieces if piece) or None

    def without_thinking(self, start: int, end: int) -> str:
        pieces, blocks = [], self.layout.thinking
        for index in range(bisect_left(blocks, (start,)), bisect_left(blocks, (end,))):
            begin, stop = blocks[index]
            pieces.append(self.text[start:begin])
            start = stop
        return "".join([*pieces, self.text[start:end]])


def _without_mark(text: str, label: Label) -> str:
    """`text` without the end of a decoration that was opened before the label."""
    return text[: -len(label.opened)].rstrip() if label.opened and text.endswith(label.opened) else text


def _without_fence(text: str) -> str:
    return _FENCE_BEHIND.sub("", _FENCE_BEFORE.sub("", text, count=1)).strip() if text else text
