"""A recorded run, run again without its model: the loop gets the recorded completions, and must do the same again.

With the recorded observations it tests the loop: parser, guards, notices, approval. With real tools it tests the tools.
Invariant: no model is loaded, no clock is asked, and unless tools are given, none is run. Token counts aren't compared:
those of the replay are a script's.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

from local_react.decode.generate import Generation, SamplerLike
from local_react.decode.scripted import ScriptedModel
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.episodes import play
from local_react.errors import ModelError, SettingsError, ToolError, TraceError
from local_react.form import Form
from local_react.guards import Guards
from local_react.language.protocol import Protocol
from local_react.language.regular import EPSILON, Regular
from local_react.language.step import Call, Observation
from local_react.language.thinking import ThinkTags
from local_react.llama.sampling import Sampling
from local_react.native import with_format
from local_react.recorder import STREAMED
from local_react.setup import Setup
from local_react.steering import Steering
from local_react.tools.result import Result
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import Event, Trace, check_event, read_pieces

REPEATABLE = frozenset({"answered", "step_limit", "token_limit", "parse_failed", "stuck", "denied"})
"""The endings that follow from the completions alone; a replay can't run out of time, or be interrupted."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a replay first differs: the step (None for the whole run), what of it, and both values."""

    step: int | None
    what: str
    recorded: Any
    replayed: Any


def replay(trace: Trace, tools: Toolbox | None = None) -> Trace:
    """Run the loop again on a trace's completions, with its recorded observations, or with `tools` really run.

    A trace that was broken off gives a shorter one. Raises TraceError for one that doesn't say enough.
    """
    start = trace.events[0] if trace.events else {}
    for event in trace.events:
        check_event(event, "The trace can't be replayed")
    try:
        guards, protocol = _read_guards(start["settings"]), Protocol(**start["protocol"])
        toolbox = tools if tools is not None else RecordedToolbox(_read_tools(start), _read_observations(trace))
        question = start["question"]
        is_native = protocol.native is not None
        model = ScriptedModel([part for event in trace.generations for part in _read_parts(event, is_native)])
        setup = with_format(Setup(
            protocol=protocol, toolbox=toolbox, guards=guards, sampling=Sampling(), strict=start["settings"]["strict"],
            n_top_logprobs=None, approve=_Decisions(trace), steering=_read_steering(trace, protocol, toolbox),
            form=_read_form(start["settings"]),
        ), model)
    except (AttributeError, KeyError, TypeError, ValueError, SettingsError, ToolError) as error:
        raise TraceError(f"The trace can't be replayed: {type(error).__name__}: {error}.") from error
    events: list[Event] = []
    try:
        play(
            [setup], [question], model=model, exemplars=(), clock=lambda: 0.0,
            on_event=lambda index, event: events.append(event),
        )
    except ModelError:
        # The script is at its end, where the record breaks off.
        pass
    return Trace(event for event in events if event["event"] not in STREAMED)


def first_difference(recorded: Trace, replayed: Trace) -> Difference | None:
    """The first difference between a trace and its replay: an action, an observation, the number of steps, the ending or
    the answer. Of a run that was broken off, only the steps that there are count."""
    is_whole = recorded.ending in REPEATABLE
    for number, (one, other) in enumerate(zip(recorded.steps, replayed.steps), 1):
        if one.action != other.action:
            return Difference(number, "action", one.action, other.action)
        was_cut_short = not is_whole and number == len(recorded.steps) and one.observation is None
        if not was_cut_short and _whole(one.observation) != _whole(other.observation):
            return Difference(number, "observation", one.observation, other.observation)
    n_recorded, n_replayed = len(recorded.steps), len(replayed.steps)
    if n_replayed < n_recorded or is_whole and n_replayed > n_recorded:
        return Difference(None, "number of steps", n_recorded, n_replayed)
    if is_whole and recorded.ending != replayed.ending:
        return Difference(None, "ending", recorded.ending, replayed.ending)
    if is_whole and recorded.answer != replayed.answer:
        return Difference(None, "answer", recorded.answer, replayed.answer)
    return None


class RecordedToolbox(Toolbox):
    """Tools that return what a trace says they returned, one observation after another, and run nothing."""

    __slots__ = ("_recorded",)

    def __init__(self, tools: list[Tool], observations: list[Observation]) -> None:
        super().__init__(tools)
        self._recorded = deque(observations)

    def dispatch(self, call: Call) -> Future[Result]:
        """The next recorded observation; an empty one where the record has no more."""
        future: Future[Result] = Future()
        observation = self._recorded.popleft() if self._recorded else Observation("")
        text, is_error = _whole(observation)[1:]
        future.set_result(Result(text, is_error))
        return future


class _Decisions:
    """Decides about calls as it was decided then."""

    def __init__(self, trace: Trace) -> None:
        approvals = (event for event in trace.events if event["event"] == "approval")
        self._events = deque(event for event in approvals if event["decision"] != "refused")

    def __call__(self, call: Call, tool: Tool) -> bool | Call:
        event = self._events.popleft() if self._events else {"decision": "denied"}
        if event["decision"] == "edited":
            return Call(call.name, event["arguments"], call.thought)
        return event["decision"] == "approved"


def _whole(observation: Observation | None) -> tuple[str, str, bool]:
    """What was observed before it was cut to its budget, which is in tokens of the model."""
    if observation is None:
        return "nothing", "", False
    text = observation.text if observation.full is None else observation.full
    return observation.kind, text, observation.is_error


def _read_guards(settings: Mapping[str, Any]) -> Guards:
    """The recorded guards, without those that depend on a clock or on the model's tokens."""
    values = {field.name: settings[field.name] for field in fields(Guards) if field.name in settings}
    if settings.get("constrain"):
        # A script has labels and forced text among its tokens, which a constrained step doesn't count as sampled.
        values |= {"max_step_tokens": sys.maxsize, "max_thought_tokens": None, "max_tokens": None}
    # Tools with their time limits off are wrapped anew, which would lose a toolbox that replays.
    return Guards(**values | {"time_limit_s": None, "observation_tokens": None, "tool_time_limits": True})


def _read_parts(event: Event, is_native: bool) -> list[list[bytes]]:
    """What was generated in one go: the whole completion, or the thought and the action, with the program's label between."""
    pieces, n_thought = read_pieces(event["pieces"]), event.get("n_thought_pieces")
    if n_thought is None:
        return [pieces]
    # In a native format the opener of the call ends the thought: it is what the model is taken to have written.
    return [pieces[: n_thought + is_native], pieces[n_thought + 1 :]]


def _read_form(settings: Mapping[str, Any]) -> Form:
    """Plain text, since no model reads it; with a think block where there was one."""
    tags = settings.get("think")
    return Form() if tags is None else Form(tags=ThinkTags(**tags))


@dataclass(slots=True, kw_only=True)
class RecordedSteering(Steering):
    """Lets the recorded actions through: they were held to their languages when they were written.

    `answers` are the steps whose message was held to an answer.
    """

    answers: frozenset[int] = frozenset()

    def language(self, **options: Any) -> Regular:
        """A language that costs nothing and isn't looked at."""
        return EPSILON

    def must_answer(self, language: Regular, number: int) -> bool:
        """Whether the record has an answer there."""
        return number in self.answers

    def cost(self, language: Regular) -> int:
        """Nothing: what is recorded fitted its budget."""
        return 0

    def generation(
        self, language: Regular, transcript: Transcript, sampler: SamplerLike, *, max_tokens: int, **watching: Any
    ) -> Generation:
        """A free generation, which ends where the record does."""
        return Generation(transcript, sampler, StopScanner(), max_tokens=max_tokens, **watching)


def _read_steering(trace: Trace, protocol: Protocol, toolbox: Toolbox) -> RecordedSteering | None:
    settings = trace.events[0]["settings"]
    if not settings.get("constrain"):
        return None
    recorded: Any = SimpleNamespace(name=settings.get("engine"))
    return RecordedSteering(
        protocol=protocol, tools=toolbox, engine=recorded, vocabulary=recorded, reach=settings["constrain"],
        answers=frozenset(event["step"] for event in trace.completions if event.get("is_answer")),
    )


def _read_tools(start: Event) -> list[Tool]:
    return [
        Tool.from_schema(
            tool["name"], tool["description"], tool["parameters"], _run_nothing, needs_approval=tool["needs_approval"]
        )
        for tool in start["toolbox"]
    ]


def _run_nothing(**arguments: Any) -> None:
    """Stands for the code of a recorded tool."""


def _read_observations(trace: Trace) -> list[Observation]:
    observations = (step.observation for step in trace.steps if step.observation is not None)
    return [observation for observation in observations if observation.kind == "observation"]
