"""The episode: prompt, generate, parse, dispatch, observe, until it ends.

An `Episode` is a coroutine. It yields a `Generation` when it needs tokens and a `Future` when it waits for a tool, and is
resumed when that is done; whoever drives it (`schedule.py`) decodes for many at once. Data goes one way round the ring: the
parser sees only the step that has just been written, and nothing is read back out of the transcript.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import asdict, replace
from typing import Any

from local_react.author import Author
from local_react.decode.completion import Completion
from local_react.decode.generate import Decoder
from local_react.errors import ContextOverflow
from local_react.form import Encoded, encode_text
from local_react.grounding import Sightings
from local_react.guards import CallHistory
from local_react.language import notices
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.native.read import read_answer, split_thinking
from local_react.language.observation import cut
from local_react.language.parse import parse_step
from local_react.language.prompt import Prompt
from local_react.language.step import Action, Answer, Call, Malformed, Observation
from local_react.messages import MessageAuthor, MessagePen
from local_react.pen import Pen
from local_react.recorder import Recorder
from local_react.setup import MIN_STEP_TOKENS, Ended, Setup, Waiting
from local_react.tools.tool import Tool
from local_react.trace import Ending, write_action

MAX_EDITS = 3
"""An approval may edit a call so often in ways that don't fit; then it counts as denied."""


class Episode:
    """One run of the loop on one question."""

    def __init__(
        self, setup: Setup, question: str, prompt: Prompt, tokens: Encoded, recorder: Recorder
    ) -> None:
        self._setup = setup
        self._guards = setup.guards
        self._protocol = setup.protocol
        self._prompt = prompt
        self._tokens = tokens
        self._recorder = recorder
        self._history = CallHistory()
        self._sightings = Sightings(setup.toolbox if setup.steering is None else setup.steering.tools)
        self._sightings.add("question", question)
        self._n_malformed = 0

    def run(self, decoder: Decoder) -> Generator[Waiting, Any, None]:
        """The episode as a coroutine; it has ended when the generator has. The trace is in the recorder."""
        self._decoder = decoder
        self._open()
        try:
            number = 1
            if self._prompt.thinking is not None:
                yield from self._author.think_first(self._prompt.thinking)
            self._begin_first_step()
            while True:
                action = yield from self._think_and_act(number)
                observation = yield from self._react(action, number)
                self._observe(observation, number)
                number += 1
                self._begin_step(number)
        except Ended as end:
            self._recorder.end(end.ending, answer=end.answer, error=end.error)
        except ContextOverflow as overflow:
            self._recorder.end("context_full", error=str(overflow))
        finally:
            decoder.close(self._transcript)

    def abort(self, ending: Ending, error: str) -> None:
        """The run was broken off from outside: record that."""
        self._recorder.end(ending, error=error)

    def _open(self) -> None:
        decoder = self._decoder
        self._transcript = decoder.open(self._tokens.ids, self._tokens.n_shared)
        if self._setup.frames is None:
            self._pen = Pen(self._transcript, decoder, self._protocol, self._recorder)
            self._author = Author(self._setup, self._transcript, decoder, self._pen, self._recorder)
        else:
            self._pen = MessagePen(self._transcript, decoder, self._protocol, self._recorder, self._setup.frames)
            self._author = MessageAuthor(self._setup, self._transcript, decoder, self._pen, self._recorder)
        self._recorder.record(
            "prompt", parts=self._tokens.parts, n_shared=self._tokens.n_shared, n_evaluated=self._transcript.n_evaluated
        )
        self._recorder.record("tokens", owner="program", text=self._prompt.text, ids=list(self._tokens.ids))

    def _think_and_act(self, number: int) -> Generator[Waiting, Any, Action]:
        """Let the model write its step, and read it."""
        completion = yield from self._author.write(
            number, n_calls=self._history.n_calls, after_malformed=self._n_malformed > 0,
            candidates=self._sightings.candidates(but=self._history.last_success if self._guards.repeated_calls else None),
        )
        action = self._read(completion, number)
        self._pen.take(action)
        self._recorder.record("action", step=number, **write_action(action), **self._seen_in(action))
        if completion.reason == "window" and isinstance(action, Malformed):
            raise Ended("context_full", error=f"The window of {self._decoder.window:,} tokens is full.")
        return action

    def _read(self, completion: Completion, number: int) -> Action:
        """The reading of a step. Behind a free thought only the action is read: nothing in the thought can be run."""
        protocol, toolbox = self._protocol, self._setup.toolbox
        is_cut = completion.reason in ("length", "window")
        if completion.is_answer:
            return read_answer(completion.text)
        if completion.n_thought_pieces is None:
            primed = protocol.label(protocol.opening, number)
            return parse_step(
                completion.text, protocol, toolbox, strict=self._setup.strict, primed=primed, truncated=is_cut
            )
        thought = b"".join(completion.pieces[: completion.n_thought_pieces]).decode("utf-8", "replace").strip()
        action = b"".join(completion.pieces[completion.n_thought_pieces :]).decode("utf-8", "replace")
        read = parse_step(action.lstrip("\n"), protocol, toolbox, strict=self._setup.strict, truncated=is_cut)
        if protocol.native is not None:
            thought, thinking = split_thinking(thought)
            return replace(read, thought=thought or None, thinking=thinking or None)
        return replace(read, thought=thought or None)

    def _seen_in(self, action: Action) -> dict[str, Any]:
        """Where each grounded argument of a call was seen first."""
        if not isinstance(action, Call):
            return {}
        sources = {name: self._sightings.source(action.name, name, value) for name, value in action.arguments.items()}
        seen = {name: source for name, source in sources.items() if source is not None}
        return {"seen_in": seen} if seen else {}

    def _react(self, action: Action, number: int) -> Generator[Waiting, Any, Observation | None]:
        """Do what the step says; None where there is nothing to tell the model."""
        if isinstance(action, Malformed):
            return self._answer_malformed(action, number)
        self._n_malformed = 0
        if isinstance(action, Answer):
            # At the last step the model is asked for its answer, so it is taken.
            is_last = self._guards.final_answer and number == self._guards.max_steps
            if is_last or self._history.n_calls >= self._guards.min_calls:
                raise Ended("answered", answer=action.text)
            return Observation(notices.ask_for_calls(self._guards.min_calls), kind="notice")
        if self._guards.repeated_calls and self._history.is_repetition(action):
            self._history.n_repeats += 1
            if self._guards.max_repeats is not None and self._history.n_repeats >= self._guards.max_repeats:
                raise Ended("stuck", error=f"The call of {action.name} was repeated {self._history.n_repeats} times.")
            return Observation(notices.explain_repeat(action, self._protocol, self._setup.toolbox, number + 1), kind="notice")
        call = self._approved(action, number)
        started = self._recorder.elapsed()
        result = yield self._setup.toolbox.dispatch(call)
        self._history.add(action, is_error=result.is_error)
        text = self._cut(result.text, call.name)
        observation = Observation(text, is_error=result.is_error, full=None if text == result.text else result.text)
        self._record_observation(number, observation, traceback=result.traceback, started=started)
        return observation

    def _answer_malformed(self, malformed: Malformed, number: int) -> Observation | None:
        self._n_malformed += 1
        guards, protocol, toolbox = self._guards, self._protocol, self._setup.toolbox
        if guards.max_malformed is not None and self._n_malformed >= guards.max_malformed:
            error = f"{self._n_malformed} malformed steps running; the last one: {malformed.message}"
            raise Ended("parse_failed", error=error)
        if malformed.code == "unknown_tool":
            is_told, text = guards.unknown_tool_notices, notices.explain_unknown_tool(malformed, protocol, toolbox)
        else:
            is_told, text = guards.parse_notices, notices.explain_malformed(malformed, protocol, toolbox, number + 1)
        return Observation(text, kind="notice") if is_told else None

    def _approved(self, call: Call, number: int) -> Call:
        """The call to run, once whoever must approve it has. Raises Ended where they deny it.

        An edit that doesn't fit the tool is refused, on record, and they are asked again.
        """
        tool = self._setup.toolbox[call.name]
        if not (tool.needs_approval and self._guards.approval):
            return call
        why = ""
        for _ in range(MAX_EDITS):
            decision = self._setup.approve(call, tool) if self._setup.approve is not None else False
            if decision is True:
                self._recorder.record("approval", step=number, decision="approved")
                return call
            if not isinstance(decision, Call):
                self._recorder.record("approval", step=number, decision="denied")
                who = "The user denied" if self._setup.approve is not None else "Nobody is there to approve"
                raise Ended("denied", error=f"{who} the call of {call.name}.")
            arguments, why = _fit_edit(decision, tool)
            if not why:
                self._recorder.record("approval", step=number, decision="edited", arguments=arguments)
                return replace(call, arguments=arguments)
            self._recorder.record("approval", step=number, decision="refused", error=why)
        raise Ended("denied", error=f"No edit of the call of {call.name} fits that tool. The last one: {why}")

    def _cut(self, text: str, tool: str) -> str:
        """The text within the observation budget of its tool and the room that the window leaves for it and a next step."""
        vocabulary = self._decoder.vocabulary
        pieces = [vocabulary.piece(id) for id in encode_text(text, vocabulary)]
        room = self._decoder.window - len(self._transcript) - 2 * MIN_STEP_TOKENS
        budgets = [room, self._setup.toolbox[tool].observation_tokens, self._guards.observation_tokens]
        if self._setup.toolbox[tool].observation_tokens is not None:
            budgets.pop()
        budget = min(budget for budget in budgets if budget is not None)
        if room < min(len(pieces), MIN_STEP_TOKENS):
            error = f"The window of {self._decoder.window:,} tokens has no room for the observation."
            raise Ended("context_full", error=error)
        return text if len(pieces) <= budget else cut(pieces, budget)

    def _observe(self, observation: Observation | None, number: int) -> None:
        if observation is None:
            return
        if observation.kind == "notice":
            self._record_observation(number, observation)
        else:
            self._sightings.add(f"observation {number}", observation.text)
        self._pen.write_observation(observation, number)

    def _begin_step(self, number: int) -> None:
        if self._guards.max_steps is not None and number > self._guards.max_steps:
            raise Ended("step_limit", error=f"No answer by step {self._guards.max_steps}.")
        self._ask_for_answer(number)
        self._pen.write_label(self._protocol.opening, number)

    def _begin_first_step(self) -> None:
        """The prompt ends with the first step's label, so where that step is the last one, the request stands behind it."""
        if self._ask_for_answer(1):
            self._pen.write_label(self._protocol.opening, 1)

    def _ask_for_answer(self, number: int) -> bool:
        """Tell the model to answer, if step `number` is the last; whether it was."""
        if not (self._guards.final_answer and number == self._guards.max_steps):
            return False
        text = notices.ask_for_answer(self._protocol, number)
        self._recorder.record("notice", step=number, text=text)
        self._pen.write_observation(Observation(text, kind="notice"), number)
        return True

    def _record_observation(
        self, number: int, observation: Observation, *, traceback: str | None = None, started: float | None = None
    ) -> None:
        values = {name: value for name, value in asdict(observation).items() if value not in (None, False)}
        if traceback is not None:
            values["traceback"] = traceback
        if started is not None:
            values["seconds"] = round(self._recorder.elapsed() - started, 6)
        self._recorder.record("observation", step=number, **values)


def _fit_edit(edited: Call, tool: Tool) -> tuple[dict[str, Any], str]:
    """The arguments of an edited call, and why they don't fit `tool`, empty where they do."""
    if edited.name != tool.name:
        return {}, f"It calls another tool, {edited.name!r}."
    if not isinstance(edited.arguments, Mapping):
        return {}, f"Its arguments are no dict: {edited.arguments!r:.100}"
    fitted = fit_arguments(edited.arguments, tool)
    return ({}, fitted.message) if isinstance(fitted, Misfit) else (fitted, "")
