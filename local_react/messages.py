"""An episode in the model's own format: how it writes its messages, and how the program writes what stands between them.

The same moves as for labelled steps. Freely, a message ends behind its first call, at its end token or at its budget. Under a
constraint it is written freely up to the opener of a call, and what follows that is held to the language of calls; where the
model ends its message without a call that is the answer, and where it may not answer, the program writes the opener for it.
Frames of the chat template are trusted, results and notices never.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from local_react.author import Author, check_left
from local_react.decode.completion import Completion, join_step
from local_react.decode.generate import Decoder, Generation, Scanner
from local_react.decode.message import MessageScanner
from local_react.decode.transcript import Owner, Transcript
from local_react.grounding import Candidates
from local_react.language.native.conversation import Frames
from local_react.language.native.formats import NativeFormat, format_of
from local_react.language.prompt import Piece
from local_react.language.protocol import THINK_TAGS, LabelKind, Protocol
from local_react.language.step import Action, Call, Observation
from local_react.pen import Pen
from local_react.recorder import Recorder
from local_react.setup import Ended, Waiting

OPENER_ROOM = 16
"""Tokens of the window that are kept for the opener of a call behind a thought, and what closes a think block before it."""


class MessagePen(Pen):
    """Writes the frames between messages, and results and notices within them."""

    def __init__(
        self, transcript: Transcript, decoder: Decoder, protocol: Protocol, recorder: Recorder, frames: Frames
    ) -> None:
        super().__init__(transcript, decoder, protocol, recorder)
        self._frames = frames
        self._format = format_of(protocol)
        self._action: Action | None = None
        self._behind: tuple[Piece, ...] | None = None  # what closes the turn that the program has begun

    def take(self, action: Action) -> None:
        """The message that the model has just written was read as this."""
        self._action, self._behind = action, None

    def opening(self, number: int) -> str:
        """Nothing: a message begins with its turn."""
        return ""

    def write_label(self, kind: LabelKind, number: int) -> None:
        """Close what the program has written, and open the assistant's turn."""
        if self._behind is None:
            # Nothing was said to a message without a call, and no template has two messages of the assistant in a row.
            self.write_pieces([*self._frames.before_notice, *self._frames.after_notice])
        else:
            self.write_pieces(self._behind)
        self._action = self._behind = None

    def write_observation(self, observation: Observation, number: int) -> None:
        """Write what came back, as the result of the call; where there was no call, as a message of the user."""
        text = observation.text
        owner: Owner = "observation" if observation.kind == "observation" else "program"
        if owner == "program":
            text = f"{self._protocol.label('notice')} {text}"
        if self._behind is not None:
            # A second text goes with the first one: many templates refuse two messages in a row.
            text = f"\n{text}"
        elif isinstance(self._action, Call):
            self.write_pieces(self._frames.result_of(self._action.name))
            self._behind = self._frames.after_result
        else:
            self.write_pieces(self._frames.before_notice)
            self._behind = self._frames.after_notice
        self.write(self._frames.spell(text) if self._behind is self._frames.after_result else text, owner)

    def begin_call(self, thought: Completion) -> str:
        """Write the opener of a call, unless the model has; returns all that stands behind the thought, opener included."""
        opener, text = self._format.opener, thought.text
        if thought.label == opener:
            return opener
        opening, closing = THINK_TAGS
        is_open = text.lstrip().startswith(opening) and closing not in text
        before = f"\n{closing}\n\n" if is_open else "" if not text or text.endswith("\n") else "\n"
        self.write_pieces([Piece("step", before + opener, True)])
        return before + opener


class MessageAuthor(Author):
    """Has the model write its messages."""

    _pen: MessagePen

    @property
    def _format(self) -> NativeFormat:
        return format_of(self._setup.protocol)

    def _scanner(self, number: int) -> Scanner:
        guards = self._setup.guards
        return MessageScanner(self._format, ends_after_call=guards.one_action, stops_at_result=guards.stop_strings)

    def _write_constrained(
        self, number: int, n_calls: int, candidates: Candidates | None
    ) -> Generator[Waiting, Any, Completion]:
        """A free text, and behind the opener of a call the call in its language; or the answer."""
        steering, language = self._hold(number, n_calls, candidates)
        allow_answer = n_calls >= self._setup.guards.min_calls
        n_left, n_reserved = self._token_budget(), steering.cost(language)
        must_answer = steering.must_answer(language, number)
        thought = None
        if not must_answer and steering.reach != "step":
            thought = yield from self._say(number, n_left, n_reserved, allow_answer=allow_answer)
            if thought.is_answer:
                return thought
            n_left -= thought.n_sampled
        check_left(n_left, n_reserved)
        opener = None
        if thought is not None:
            opener = self._pen.begin_call(thought)
            self._recorder.stream("delta", step=number, text=opener)
        held = yield from self._generate(steering.generation(
            language, self._transcript, self._sampler, max_tokens=n_left, **self._watching(number)
        ))
        if thought is None or opener is None:
            return replace(held, is_answer=must_answer)
        return join_step(_without_opener(thought, self._format.opener), opener, held)

    def _say(
        self, number: int, n_left: int, n_reserved: int, *, allow_answer: bool
    ) -> Generator[Waiting, Any, Completion]:
        """What the model says before it calls a tool, or instead: then it is marked as the answer.

        A text that isn't at its end when its budget is counts as the answer, too. Only where no answer is allowed does the
        budget of a thought apply.
        """
        guards = self._setup.guards
        room = self._decoder.window - len(self._transcript) - n_reserved - OPENER_ROOM
        if room < 1:
            raise Ended("context_full", error=f"The window of {self._decoder.window:,} tokens has no room for a step.")
        limits = [room, max(n_left - n_reserved, 1), None if allow_answer else guards.max_thought_tokens]
        scanner = MessageScanner(self._format, stops_at_call=True, stops_at_result=guards.stop_strings)
        said = yield from self._generate(Generation(
            self._transcript, self._sampler, scanner, max_tokens=min(limit for limit in limits if limit is not None),
            **self._watching(number),
        ))
        self._pen.follow(said)
        visible = said.text.rpartition(THINK_TAGS[1])[2].strip()
        is_thinking = said.text.lstrip().startswith(THINK_TAGS[0]) and THINK_TAGS[1] not in said.text
        if allow_answer and said.reason != "stop" and visible and not is_thinking:
            return replace(said, is_answer=True, reason="constraint")
        return said


def _without_opener(thought: Completion, opener: str) -> Completion:
    """The thought without the opener that the model has written behind it."""
    if thought.label != opener:
        return thought
    kept, n_left = list(thought.pieces), len(opener.encode())
    while n_left and len(kept[-1]) <= n_left:
        n_left -= len(kept.pop())
    if n_left:
        kept[-1] = kept[-1][:-n_left]
    return replace(thought, pieces=tuple(kept))
