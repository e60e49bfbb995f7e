"""The episodes of a run: prompts, records and the scheduler, for questions with everything set up.

Invariant: every prompt is made and measured before anything is decoded, and each episode is recorded from its first event
on. Refuses to choose anything but the exemplars that were left out: all else is settled in `runs.py`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from local_react.decode.generate import Decoder
from local_react.errors import ContextOverflow, SettingsError
from local_react.form import AnyModel, Encoded, Form, encode, read_date
from local_react.guards import Guards
from local_react.language.exemplars import default_exemplars
from local_react.language.native.conversation import Frames
from local_react.language.prompt import Exemplar, Prompt, build_prompt
from local_react.language.protocol import Protocol
from local_react.loop import Episode
from local_react.native import spell_calls, write_prompts
from local_react.recorder import Recorder
from local_react.schedule import Scheduler
from local_react.setup import MIN_STEP_TOKENS, Setup
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import VERSION as TRACE_VERSION, Trace, TraceFile
from local_react.version import VERSION


def play(
    setups: Sequence[Setup], questions: Sequence[str], *, model: AnyModel, exemplars: Sequence[Exemplar] | None = None,
    instructions: str | None = None, n_parallel: int = 1, on_event: Callable[[int, Any], None] | None = None,
    trace: Callable[[int], str | Path] | None = None, clock: Callable[[], float] = time.time,
) -> list[Trace]:
    """Answer questions, each with its setup, up to `n_parallel` at once; `run_many` says what the options mean.

    The setups differ in seeds and in the state of their tools, and in nothing else.
    """
    if not questions:
        return []
    common = setups[0]
    _check_names(common.protocol, common.toolbox)
    prompts, frames = make_prompts(
        common.protocol, common.form, common.toolbox, questions, exemplars, instructions=instructions,
        today=None if common.form.template is None else read_date(clock),
    )
    encoded = [_encode(prompt, common.guards, model) for prompt in prompts]
    recorders: list[Recorder] = []

    def episodes() -> Iterable[Episode]:
        for index, (setup, question, prompt, tokens) in enumerate(zip(setups, questions, prompts, encoded)):
            listener = None if on_event is None else partial(on_event, index)
            file = None if trace is None else TraceFile(trace(index))
            recorder = Recorder(clock=clock, file=file, on_event=listener)
            recorder.start(**_describe(setup, question, prompt, model, frames))
            recorders.append(recorder)
            if index == 0:
                _say_doubts(setup, recorder)
            yield Episode(replace(setup, frames=frames), question, prompt, tokens, recorder)

    with model.context(min(n_parallel, len(prompts))) as context:
        decoder = Decoder(context, model.vocabulary, spell_calls(model.vocabulary, common.protocol))
        Scheduler(decoder, common.guards.time_limit_s, clock).drive(episodes())
    return [recorder.trace for recorder in recorders]


def make_prompts(
    protocol: Protocol, form: Form, toolbox: Toolbox, questions: Sequence[str], exemplars: Sequence[Exemplar] | None, *,
    instructions: str | None, today: datetime | None,
) -> tuple[list[Prompt], Frames | None]:
    """The prompt of each question, and what a native run has between its turns. `exemplars=None` makes those of the tools.

    Raises PromptError for a question or an exemplar, and TemplateError for what the template can't hold.
    """
    if exemplars is None:
        exemplars = _choose_exemplars(protocol, toolbox)
    if protocol.native is not None:
        return write_prompts(protocol, form, toolbox, questions, exemplars, instructions=instructions, today=today)
    plain = (build_prompt(each, protocol, toolbox, exemplars, instructions=instructions) for each in questions)
    return [form.dress(prompt, today=today) for prompt in plain], None


def _say_doubts(setup: Setup, recorder: Recorder) -> None:
    """Tell once a run what looks wrong, and in which form its prompts are where that isn't the model's own."""
    for doubt in setup.steering.doubts() if setup.steering is not None else ():
        recorder.warn(doubt)
    if setup.form.note is not None:
        recorder.stream("note", text=setup.form.note)


def _choose_exemplars(protocol: Protocol, toolbox: Toolbox) -> Sequence[Exemplar]:
    """The exemplars of a run that is given none of its own."""
    # A made-up call of a tool that needs approval would teach the model to make one.
    if protocol.native is not None:
        return ()
    harmless = {name: tool for name, tool in toolbox.items() if not tool.needs_approval}
    return default_exemplars(harmless) if protocol.has_tools else ()


def _encode(prompt: Prompt, guards: Guards, model: AnyModel) -> Encoded:
    """The prompt in tokens. Raises ContextOverflow where the window has no room for a step behind it."""
    tokens = encode(prompt, model.vocabulary)
    n_ids, n_shared = len(tokens.ids), tokens.n_shared
    needed = n_ids + min(MIN_STEP_TOKENS, guards.max_step_tokens)
    if needed > model.window:
        what = f"The prompt has {n_ids:,} tokens ({n_shared:,} before the question), and with room for a step it"
        raise ContextOverflow(what, needed=needed, available=model.window, window=model.window)
    return tokens


def _check_names(protocol: Protocol, toolbox: Toolbox) -> None:
    taken = next((name for name in toolbox if protocol.finish and name.casefold() == protocol.finish.casefold()), None)
    if taken is not None:
        raise SettingsError(f"The tool {taken} is called like the word that ends a run. Rename it, or the protocol's finish.")


def _describe(setup: Setup, question: str, prompt: Prompt, model: AnyModel, frames: Frames | None) -> dict[str, Any]:
    return {
        "version": TRACE_VERSION, "local_react": VERSION, "question": question, "model": model.describe(),
        "settings": asdict(setup.guards) | asdict(setup.sampling) | {"sampling_from": dict(setup.sampling_from)}
        | {"strict": setup.strict} | setup.form.describe() | _describe_steering(setup)
        | ({} if frames is None else {"template_rewrites": frames.rewrites}),
        "protocol": asdict(setup.protocol), "tools": list(setup.toolbox),
        "toolbox": [_describe_tool(tool) for tool in setup.toolbox.values()],
        "toolbox_fingerprint": setup.toolbox.fingerprint, "prompt_fingerprint": prompt.fingerprint,
    }


def _describe_steering(setup: Setup) -> dict[str, Any]:
    steering = setup.steering
    if steering is None:
        return {"constrain": False}
    grounded = [
        f"{tool.name}.{parameter.name}"
        for tool in steering.tools.values() for parameter in tool.parameters if parameter.grounding is not None
    ]
    return {
        "constrain": steering.reach, "engine": steering.engine.name, "explain": steering.explains, "grounded": grounded,
    } | steering.source()


def _describe_tool(tool: Tool) -> dict[str, Any]:
    """What a replay needs to read the calls of a tool. As it comes back from JSON, so that traces compare equal."""
    return {
        "name": tool.name, "description": tool.description, "parameters": json.loads(json.dumps(tool.schema, default=str)),
        "needs_approval": tool.needs_approval,
    }
