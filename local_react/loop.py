"""The episode: prompt, generate, parse, dispatch, observe, until it ends.

An `Episode` is a coroutine. It yields a `Generation` when it needs tokens and a `Future` when it waits for a tool, and is
resumed when that is done; whoever drives it (`schedule.py`) decodes for many at once. Data goes one way round the ring: the
parser sees only what the model has just written, and nothing is read back out of the transcript.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Union

from local_react.decode.completion import Completion, join_completions
from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.errors import ContextOverflow, SettingsError
from local_react.guards import CallHistory, Guards
from local_react.language import notices
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.observation import cut
from local_react.language.parse import parse_step
from local_react.language.prompt import Prompt, count_parts
from local_react.language.protocol import Protocol
from local_react.language.step import Action, Answer, Call, Malformed, Observation
from local_react.llama.sampling import Sampling
from local_react.pen import Pen
from local_react.recorder import Recorder
from local_react.steering import Steering
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import Ending, spell_pieces, write_action

Approve = Callable[[Call, Tool], "bool | Call"]
"""Asked before a tool that needs approval: True runs the call, False denies it, a Call runs that one instead."""

Waiting = Union[Generation, "Future[Any]"]
"""What an episode yields: it goes on when this is done."""

MIN_STEP_TOKENS = 32
"""A prompt or an observation must leave at least this much room in the window for the step that follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that several episodes of one run have in common."""

    protocol: Protocol
    toolbox: Toolbox
    guards: Guards
    sampling: Sampling
    strict: bool
    n_top_logprobs: int | None
    approve: Approve | None
    steering: Steering | None


class Ended(Exception):
    """Ends the episode from wherever it is. Never leaves the loop."""

    def __init__(self, ending: Ending, *, answer: str | None = None, error: str | None = None) -> None:
        super().__init__(ending)
        self.ending, self.answer, self.error = ending, answer, error


class Episode:
    """One run of the loop on one question."""

    def __init__(self, setup: Setup, prompt: Prompt, prompt_ids: Sequence[int], n_shared: int, recorder: Recorder) -> None:
        self._setup = setup
        self._guards = setup.guards
        self._protocol = setup.protocol
        self._prompt = prompt
        self._prompt_ids = prompt_ids
        self._n_shared = n_shared
        self._recorder = recorder
        self._history = CallHistory()
        self._n_malformed = 0
        self._n_sampled = 0

    def run(self, decoder: Decoder) -> Generator[Waiting, Any, None]:
        """The episode as a coroutine; it has ended when the generator has. The trace is in the recorder."""
        self._decoder = decoder
        self._open()
        try:
            number = 1
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
        self._transcript = decoder.open(self._prompt_ids, self._n_shared)
        self._sampler = decoder.sampler(self._setup.sampling)
        self._pen = Pen(self._transcript, decoder, self._protocol, self._recorder)
        sizes = [len(decoder.vocabulary.piece(id)) for id in self._prompt_ids if id != decoder.vocabulary.bos]
        self._recorder.record(
            "prompt", parts=count_parts(self._prompt, sizes), n_shared=self._n_shared, n_evaluated=self._transcript.n_evaluated
        )
        self._recorder.record("tokens", owner="program", text=self._prompt.text, ids=list(self._prompt_ids))

    def _think_and_act(self, number: int) -> Generator[Waiting, Any, Action]:
        """Let the model write its step, and read it."""
        started = self._recorder.elapsed()
        write = self._write_constrained if self._is_constrained else self._write_freely
        completion = yield from write(number)
        self._pen.follow(completion)
        self._n_sampled += completion.n_sampled
        self._record_completion(number, completion, started)
        action = parse_step(
            completion.text, self._protocol, self._setup.toolbox, strict=self._setup.strict,
            primed=self._protocol.label(self._protocol.opening, number), truncated=completion.reason in ("length", "window"),
        )
        self._recorder.record("action", step=number, **write_action(action))
        if completion.reason == "window" and isinstance(action, Malformed):
            raise Ended("context_full", error=f"The window of {self._decoder.window:,} tokens is full.")
        return action

    @property
    def _is_constrained(self) -> bool:
        steering = self._setup.steering
        return steering is not None and (steering.reach != "repair" or self._n_malformed > 0)

    def _write_freely(self, number: int) -> Generator[Waiting, Any, Completion]:
        line = self._protocol.label(self._protocol.opening, number)
        return (yield from self._generate(Generation(
            self._transcript, self._sampler, self._scanner(line), max_tokens=self._token_budget(), **self._watching(number)
        )))

    def _write_constrained(self, number: int) -> Generator[Waiting, Any, Completion]:
        """A free thought with a budget and a line of its own, then the action in its language."""
        steering, protocol, guards = self._setup.steering, self._protocol, self._guards
        language = steering.language(
            number=number, allow_answer=self._history.n_calls >= guards.min_calls,
            only_answer=guards.final_answer and number == guards.max_steps,
        )
        n_left, n_reserved = self._token_budget(), steering.cost(language)
        parts: list[Completion] = []
        if protocol.thought is not None and steering.reach != "step":
            label = protocol.label("thought", number).encode()
            thought = yield from self._generate(Generation(
                self._transcript, self._sampler, StopScanner(ends_with_line=True, line=label),
                max_tokens=max(min(guards.max_thought_tokens or n_left, n_left - n_reserved), 1), **self._watching(number),
            ))
            self._pen.follow(thought)
            n_left -= thought.n_sampled
            label = self._pen.begin_action(None if steering.chooses_label else number)
            self._recorder.stream("delta", step=number, text=label)
            parts += [thought, label]
        if n_left < n_reserved:
            raise Ended("token_limit")
        action = yield from self._generate(steering.generation(
            language, self._transcript, self._sampler, max_tokens=n_left, **self._watching(number)
        ))
        return join_completions([*parts, action])

    def _generate(self, generation: Generation) -> Generator[Waiting, Any, Completion]:
        n_before = len(self._transcript)
        self._decoder.start(generation)
        completion: Completion = yield generation
        text = "".join(spell_pieces(completion.pieces))
        self._recorder.record("tokens", owner="model", text=text, ids=self._transcript.ids[n_before:])
        return completion

    def _watching(self, number: int) -> dict[str, Any]:
        """What a generation tells while it runs."""
        stream = partial(self._recorder.stream, "delta", step=number)
        return {"n_top_logprobs": self._setup.n_top_logprobs, "on_text": lambda text: stream(text=text)}

    def _scanner(self, line: str) -> StopScanner:
        protocol, guards = self._protocol, self._guards
        return StopScanner(
            protocol.stops() if guards.stop_strings else (), action=protocol.stop("action"),
            ends_after_call=guards.one_action, line=line.encode(),
        )

    def _token_budget(self) -> int:
        guards = self._guards
        if guards.max_tokens is None:
            return guards.max_step_tokens
        left = guards.max_tokens - self._n_sampled
        if left <= 0:
            raise Ended("token_limit")
        return min(guards.max_step_tokens, left)

    def _record_completion(self, number: int, completion: Completion, started: float) -> None:
        values = asdict(completion) | {"pieces": spell_pieces(completion.pieces)}
        values = {name: value for name, value in values.items() if value or name not in ("logprobs", "choices", "n_masks")}
        self._recorder.record("completion", step=number, **values, seconds=round(self._recorder.elapsed() - started, 6))

    def _react(self, action: Action, number: int) -> Generator[Waiting, Any, Observation | None]:
        """Do what the step says; None where there is nothing to tell the model."""
        if isinstance(action, Malformed):
            return self._answer_malformed(action, number)
        self._n_malformed = 0
        if isinstance(action, Answer):
            if self._history.n_calls >= self._guards.min_calls:
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
        """The call to run, once whoever must approve it has. Raises Ended where they deny it."""
        tool = self._setup.toolbox[call.name]
        if not (tool.needs_approval and self._guards.approval):
            return call
        decision = self._setup.approve(call, tool) if self._setup.approve is not None else False
        if decision is True:
            self._recorder.record("approval", step=number, decision="approved")
            return call
        if not isinstance(decision, Call):
            self._recorder.record("approval", step=number, decision="denied")
            who = "The user denied" if self._setup.approve is not None else "Nobody is there to approve"
            raise Ended("denied", error=f"{who} the call of {call.name}.")
        arguments = fit_arguments(decision.arguments, tool)
        if decision.name != call.name or isinstance(arguments, Misfit):
            why = arguments.message if isinstance(arguments, Misfit) else "It calls another tool."
            raise SettingsError(f"The edited call doesn't fit {call.name}: {why}")
        self._recorder.record("approval", step=number, decision="edited", arguments=arguments)
        return replace(call, arguments=arguments)

    def _cut(self, text: str, tool: str) -> str:
        """The text within the observation budget of its tool and the room that the window leaves for it and a next step."""
        vocabulary = self._decoder.vocabulary
        pieces = [vocabulary.piece(id) for id in vocabulary.tokenize(text)]
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
        self._pen.write_observation(observation, number)

    def _begin_step(self, number: int) -> None:
        guards, protocol = self._guards, self._protocol
        if guards.max_steps is not None and number > guards.max_steps:
            raise Ended("step_limit", error=f"No answer in {guards.max_steps} steps.")
        if guards.final_answer and number == guards.max_steps:
            text = notices.ask_for_answer(protocol, number)
            self._recorder.record("notice", step=number, text=text)
            self._pen.write_observation(Observation(text, kind="notice"), number)
        self._pen.write_label(protocol.opening, number)

    def _record_observation(
        self, number: int, observation: Observation, *, traceback: str | None = None, started: float | None = None
    ) -> None:
        values = {name: value for name, value in asdict(observation).items() if value not in (None, False)}
        if traceback is not None:
            values["traceback"] = traceback
        if started is not None:
            values["seconds"] = round(self._recorder.elapsed() - started, 6)
        self._recorder.record("observation", step=number, **values)
