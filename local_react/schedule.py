"""Running episodes: one, or many at once on one context.

The scheduler is a loop of three moves: resume the episodes whose tool has answered, decode one batch for all that need
tokens, resume those whose completion is there. Tools run in threads of their own meanwhile.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, Union

from local_react.decode.generate import Decoder
from local_react.decode.scripted import ScriptedModel
from local_react.errors import ContextOverflow, SettingsError
from local_react.guards import Guards
from local_react.language.exemplars import default_exemplars
from local_react.language.prompt import Exemplar, Prompt, build_prompt
from local_react.language.protocol import Protocol
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling
from local_react.loop import MIN_STEP_TOKENS, Approve, Ended, Episode, Setup, Waiting
from local_react.recorder import OnEvent, Recorder
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import VERSION as TRACE_VERSION, Trace, TraceFile
from local_react.version import VERSION

AnyModel = Union[Model, ScriptedModel]
"""What a run can run on."""

Settings = TypeVar("Settings", Guards, Sampling)


class NotGiven(Enum):
    """Tells an option that was left out from one that is None."""

    NOT_GIVEN = "not given"


NOT_GIVEN = NotGiven.NOT_GIVEN


def run(
    question: str, *, model: AnyModel, tools: Iterable[Any] = (), protocol: Protocol | str = "finish",
    exemplars: Sequence[Exemplar] | None = None, instructions: str | None = None, strict: bool = False,
    max_steps: int | None | NotGiven = NOT_GIVEN, max_step_tokens: int | NotGiven = NOT_GIVEN, guards: Guards = Guards(),
    temperature: float | NotGiven = NOT_GIVEN, seed: int | NotGiven = NOT_GIVEN, sampling: Sampling = Sampling(),
    logprobs: int | None = None, approve: Approve | None = None, on_event: OnEvent | None = None,
    trace: str | Path | None = None, clock: Callable[[], float] = time.time,
) -> Trace:
    """Answer a question: let the model think, call tools and read their results until the run ends.

    `tools` are Python functions, `Tool`s or a `Toolbox`. `exemplars=None` makes two from the tools; `()` gives none.
    `max_steps` and `max_step_tokens` (10 and 256) are short for those of `guards`, `temperature` and `seed` (0 and 0) for
    those of `sampling`: give the whole object for the rest of the settings. `logprobs` keeps the log-probability of each
    sampled token and those of so many likeliest ones. `trace` is a file to write the trace to as the run goes.

    What the model or a tool does wrong is in the trace, never raised. Raises PromptError, ToolError, SettingsError and
    ContextOverflow for what the caller got wrong, before anything runs; KeyboardInterrupt passes through, recorded.
    """
    traces = run_many(
        [question], n_parallel=1, model=model, tools=tools, protocol=protocol, exemplars=exemplars, instructions=instructions,
        strict=strict, max_steps=max_steps, max_step_tokens=max_step_tokens, guards=guards, temperature=temperature,
        seed=seed, sampling=sampling, logprobs=logprobs, approve=approve,
        on_event=None if on_event is None else lambda index, event: on_event(event),
        trace=None if trace is None else lambda index: trace, clock=clock,
    )
    return traces[0]


def run_many(
    questions: Sequence[str], *, model: AnyModel, tools: Iterable[Any] = (), n_parallel: int = 8,
    protocol: Protocol | str = "finish", exemplars: Sequence[Exemplar] | None = None, instructions: str | None = None,
    strict: bool = False, max_steps: int | None | NotGiven = NOT_GIVEN, max_step_tokens: int | NotGiven = NOT_GIVEN,
    guards: Guards = Guards(), temperature: float | NotGiven = NOT_GIVEN, seed: int | NotGiven = NOT_GIVEN,
    sampling: Sampling = Sampling(), logprobs: int | None = None,
    approve: Approve | None = None, on_event: Callable[[int, Any], None] | None = None,
    trace: Callable[[int], str | Path] | None = None, clock: Callable[[], float] = time.time,
) -> list[Trace]:
    """Answer several questions, up to `n_parallel` at once in the same batches; the traces come in the questions' order.

    Everything is as in `run`, except that episode i has the seed `seed + i`, `on_event` is given the index of the
    question too, and `trace` maps that index to a file.
    """
    if n_parallel < 1:
        raise SettingsError(f"n_parallel={n_parallel} must be at least 1.")
    guards = _with(guards, max_steps=max_steps, max_step_tokens=max_step_tokens)
    setup = Setup(
        protocol=Protocol.preset(protocol) if isinstance(protocol, str) else protocol,
        toolbox=_toolbox(tools, guards), guards=guards, sampling=_with(sampling, temperature=temperature, seed=seed),
        strict=strict, n_top_logprobs=logprobs, approve=approve,
    )
    _check_names(setup.protocol, setup.toolbox)
    if exemplars is None:
        # A made-up call of a tool that needs approval would teach the model to make one.
        harmless = {name: tool for name, tool in setup.toolbox.items() if not tool.needs_approval}
        exemplars = default_exemplars(harmless) if setup.protocol.has_tools else ()
    prompts = [
        build_prompt(question, setup.protocol, setup.toolbox, exemplars, instructions=instructions) for question in questions
    ]
    encoded = [_encode(prompt, setup.guards, model) for prompt in prompts]
    recorders: list[Recorder] = []

    def episodes() -> Iterable[Episode]:
        for index, (question, prompt, (ids, n_shared)) in enumerate(zip(questions, prompts, encoded)):
            own = replace(setup, sampling=replace(setup.sampling, seed=(setup.sampling.seed + index) % 2**32))
            listener = None if on_event is None else partial(on_event, index)
            file = None if trace is None else TraceFile(trace(index))
            recorder = Recorder(clock=clock, file=file, on_event=listener)
            recorder.start(**_describe(own, question, prompt, model))
            recorders.append(recorder)
            yield Episode(own, prompt, ids, n_shared, recorder)

    if prompts:
        with model.context(min(n_parallel, len(prompts))) as context:
            Scheduler(Decoder(context, model.vocabulary), setup.guards.time_limit_s, clock).drive(episodes())
    return [recorder.trace for recorder in recorders]


def _with(settings: Settings, **changes: Any) -> Settings:
    return replace(settings, **{name: value for name, value in changes.items() if value is not NOT_GIVEN})


def _toolbox(tools: Iterable[Any], guards: Guards) -> Toolbox:
    toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    if not guards.tool_time_limits:
        toolbox = Toolbox(replace(tool, timeout_s=None) for tool in toolbox.values())
    return toolbox


def _check_names(protocol: Protocol, toolbox: Toolbox) -> None:
    taken = next((name for name in toolbox if protocol.finish and name.casefold() == protocol.finish.casefold()), None)
    if taken is not None:
        raise SettingsError(f"The tool {taken} is called like the word that ends a run. Rename it, or the protocol's finish.")


def _encode(prompt: Prompt, guards: Guards, model: AnyModel) -> tuple[list[int], int]:
    """The prompt's token ids, and how many of them every prompt of this run begins with."""
    vocabulary = model.vocabulary
    start = [vocabulary.bos] if vocabulary.wants_bos and vocabulary.bos is not None else []
    ids = start + vocabulary.tokenize(prompt.text)
    shared = start + vocabulary.tokenize(prompt.shared_text)
    n_shared = next((n for n, (one, other) in enumerate(zip(ids, shared)) if one != other), min(len(ids), len(shared)))
    needed = len(ids) + min(MIN_STEP_TOKENS, guards.max_step_tokens)
    if needed > model.window:
        what = f"The prompt has {len(ids):,} tokens ({n_shared:,} before the question), and with room for a step it"
        raise ContextOverflow(what, needed=needed, available=model.window, window=model.window)
    return ids, n_shared


def _describe(setup: Setup, question: str, prompt: Prompt, model: AnyModel) -> dict[str, Any]:
    return {
        "version": TRACE_VERSION, "local_react": VERSION, "question": question, "model": model.describe(),
        "settings": asdict(setup.guards) | asdict(setup.sampling) | {"strict": setup.strict},
        "protocol": asdict(setup.protocol), "tools": list(setup.toolbox),
        "toolbox": [_describe_tool(tool) for tool in setup.toolbox.values()],
        "toolbox_fingerprint": setup.toolbox.fingerprint, "prompt_fingerprint": prompt.fingerprint,
    }


def _describe_tool(tool: Tool) -> dict[str, Any]:
    """What a replay needs to read the calls of a tool. As it comes back from JSON, so that traces compare equal."""
    return {
        "name": tool.name, "description": tool.description, "parameters": json.loads(json.dumps(tool.schema, default=str)),
        "needs_approval": tool.needs_approval,
    }


@dataclass(slots=True, eq=False)
class _Running:
    """An episode on its way, what it waits for, and when its time is up."""

    episode: Episode
    coroutine: Generator[Waiting, Any, None]
    deadline: float
    waits_for: Waiting | None = None


class Scheduler:
    """Drives episodes on one decoder. `time_limit_s` is that of each episode, in seconds of `clock`."""

    def __init__(self, decoder: Decoder, time_limit_s: float | None, clock: Callable[[], float]) -> None:
        self._decoder = decoder
        self._time_limit_s = math.inf if time_limit_s is None else time_limit_s
        self._clock = clock
        self._running: list[_Running] = []
        self._answered: SimpleQueue[Future[Any]] = SimpleQueue()

    def drive(self, episodes: Iterable[Episode]) -> None:
        """Run all episodes to their ends. Where that is interrupted, those still running end so in their traces."""
        queue = iter(episodes)
        try:
            while self._admit(queue):
                self._resume_answered()
                if self._decoder.has_active:
                    for generation in self._decoder.step():
                        self._resume(generation, generation.completion)
                self._end_overdue()
        except BaseException as error:
            ending = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            for running in self._running:
                running.episode.abort(ending, f"{type(error).__name__}: {error}")
                running.coroutine.close()
            raise

    def _admit(self, queue: Iterator[Episode]) -> bool:
        """Start as many episodes as there is room for; whether any is running now."""
        while self._decoder.has_room and (episode := next(queue, None)) is not None:
            running = _Running(episode, episode.run(self._decoder), self._clock() + self._time_limit_s)
            self._running.append(running)
            self._advance(running, running.coroutine.__next__)
        return bool(self._running)

    def _resume_answered(self) -> None:
        """Resume the episodes whose tool has answered. Waits for one where nothing is left to decode."""
        if not self._running:
            return
        try:
            if not self._decoder.has_active:
                self._resume_tool(self._answered.get(timeout=self._patience()))
            while True:
                self._resume_tool(self._answered.get_nowait())
        except Empty:
            pass

    def _patience(self) -> float:
        # A wait without an end can't be interrupted by Ctrl-C on every platform.
        nearest = min(running.deadline for running in self._running)
        return min(max(nearest - self._clock(), 0.0), 1.0)

    def _resume_tool(self, future: Future[Any]) -> None:
        self._resume(future, future.result())

    def _resume(self, done: Waiting, value: Any) -> None:
        running = next((running for running in self._running if running.waits_for is done), None)
        if running is not None:
            self._advance(running, partial(running.coroutine.send, value))

    def _end_overdue(self) -> None:
        for running in [running for running in self._running if self._clock() > running.deadline]:
            self._advance(running, partial(running.coroutine.throw, Ended("time_limit")))

    def _advance(self, running: _Running, move: Callable[[], Waiting]) -> None:
        try:
            running.waits_for = move()
        except StopIteration:
            self._running.remove(running)
            return
        if isinstance(running.waits_for, Future):
            running.waits_for.add_done_callback(self._answered.put)
