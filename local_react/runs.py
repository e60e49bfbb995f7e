"""Runs: one question or many, from the caller's options to the traces."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from local_react.decode.engines import ENGINES, make_engine
from local_react.decode.generate import Decoder
from local_react.decode.scripted import ScriptedModel
from local_react.errors import ContextOverflow, SettingsError
from local_react.form import AUTO, AnyModel, Encoded, choose_form, encode, read_date
from local_react.grounding import with_grounding
from local_react.guards import Guards
from local_react.language.exemplars import default_exemplars
from local_react.language.prompt import Exemplar, Prompt, build_prompt
from local_react.language.protocol import Protocol
from local_react.language.template import ChatTemplate
from local_react.language.thinking import Choice
from local_react.llama.sampling import Sampling
from local_react.loop import Episode
from local_react.native import spell_calls, template_for, with_format, write_prompts
from local_react.options import FILE, KINDS, check_kind, check_options
from local_react.own_grammar import OwnSteering, use_grammar
from local_react.recommendation import choose_sampling
from local_react.recorder import OnEvent, Recorder
from local_react.schedule import Scheduler
from local_react.setup import MIN_STEP_TOKENS, Approve, Setup
from local_react.steering import REACHES, Reach, Steering
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import VERSION as TRACE_VERSION, Trace, TraceFile
from local_react.version import VERSION


class NotGiven(Enum):
    """Tells an option that was left out from one that is None."""

    NOT_GIVEN = "not given"


NOT_GIVEN = NotGiven.NOT_GIVEN


def run(
    question: str, *, model: AnyModel, tools: Iterable[Any] = (), protocol: Protocol | str = "finish",
    exemplars: Sequence[Exemplar] | None = None, instructions: str | None = None, strict: bool = False,
    template: str | Path | ChatTemplate = AUTO, think: Choice = "auto",
    max_steps: int | None | NotGiven = NOT_GIVEN, max_step_tokens: int | NotGiven = NOT_GIVEN, guards: Guards = Guards(),
    temperature: float | NotGiven = NOT_GIVEN, seed: int | NotGiven = NOT_GIVEN,
    sampling: Sampling | Mapping[str, Any] | None = None,
    logprobs: int | None = None, constrain: bool | Reach = False, engine: str = "llguidance",
    grammar: str | Path | None = None, ground: bool = False, explain: bool = False, approve: Approve | None = None,
    on_event: OnEvent | None = None,
    trace: str | Path | None = None, clock: Callable[[], float] = time.time,
) -> Trace:
    """Answer a question: let the model think, call tools and read their results until the run ends.

    `tools` are Python functions, `Tool`s or a `Toolbox`. `exemplars=None` makes two from the tools; `()` gives none.
    `max_steps` and `max_step_tokens` (10 and 256) are short for those of `guards`, `temperature` and `seed` for those of
    `sampling`. `sampling` is a `Sampling`, or a dict with some of its fields: what is left out is what the model's author
    recommends in the file, else greedy. `logprobs` keeps the log-probability of each sampled token and those of so many
    likeliest ones. `trace` is a file to write the trace to as the run goes.

    `template` is the form of the prompt: "auto" for the model's own chat template, "none" for plain text, or another
    template or its file. `think` says whether the model thinks before its first step: "on", "off", or "auto" for what its
    template has; that think block has a budget of `Guards.max_think_tokens`.

    `constrain` holds the model to the language of its steps: True or "action" for the action of each step, "step" for its
    thought too, "repair" for the step after a malformed one only. `engine` is "llguidance", "gbnf" or "outlines". A
    parameter marked with `Grounded` then takes only values that the episode has shown; with `ground` so does every text
    that has a pattern. `explain` keeps in the trace how each token of an action came about. `grammar` is a GBNF file that
    constrains the steps instead of the tools: a whole step, an action's line, or what follows the action's label, by what it
    can begin with. It holds at each step alike, so neither `min_calls` nor the last step nor `Grounded` changes it.

    What the model or a tool does wrong is in the trace, never raised. Raises PromptError, ToolError, SettingsError,
    GrammarError, TraceError and ContextOverflow for what the caller got wrong, before anything is decoded. What breaks a
    run off passes through, recorded: ConstraintError, DecodeError, what `approve` and `on_event` raise, KeyboardInterrupt.
    """
    check_kind("on_event", on_event, KINDS["on_event"])
    check_kind("trace", trace, FILE)
    traces = run_many(
        [question], n_parallel=1, model=model, tools=tools, protocol=protocol, exemplars=exemplars, instructions=instructions,
        strict=strict, template=template, think=think, max_steps=max_steps, max_step_tokens=max_step_tokens, guards=guards,
        temperature=temperature, seed=seed, sampling=sampling, logprobs=logprobs, constrain=constrain,
        engine=engine, grammar=grammar, ground=ground, explain=explain, approve=approve,
        on_event=None if on_event is None else lambda index, event: on_event(event),
        trace=None if trace is None else lambda index: trace, clock=clock,
    )
    return traces[0]


def run_many(
    questions: Sequence[str], *, model: AnyModel, tools: Iterable[Any] = (), n_parallel: int = 8,
    protocol: Protocol | str = "finish", exemplars: Sequence[Exemplar] | None = None, instructions: str | None = None,
    strict: bool = False, template: str | Path | ChatTemplate = AUTO, think: Choice = "auto",
    max_steps: int | None | NotGiven = NOT_GIVEN, max_step_tokens: int | NotGiven = NOT_GIVEN,
    guards: Guards = Guards(), temperature: float | NotGiven = NOT_GIVEN, seed: int | NotGiven = NOT_GIVEN,
    sampling: Sampling | Mapping[str, Any] | None = None, logprobs: int | None = None, constrain: bool | Reach = False,
    engine: str = "llguidance", grammar: str | Path | None = None, ground: bool = False, explain: bool = False,
    approve: Approve | None = None,
    on_event: Callable[[int, Any], None] | None = None, trace: Callable[[int], str | Path] | None = None,
    seeds: Sequence[int] | None = None, toolboxes: Sequence[Toolbox] | None = None, clock: Callable[[], float] = time.time,
) -> list[Trace]:
    """Answer several questions, up to `n_parallel` at once in the same batches; the traces come in the questions' order.

    Everything is as in `run`, except that episode i has the seed `seed + i`, `on_event` is given the index of the
    question too, and `trace` maps that index to a file. `seeds` gives each question a seed of its own, and `toolboxes` tools
    of its own, in a state of their own but described as `tools` are.
    """
    check_options(
        questions=questions, model=model, n_parallel=n_parallel, protocol=protocol, exemplars=exemplars,
        instructions=instructions, strict=strict, guards=guards, sampling=sampling, logprobs=logprobs, constrain=constrain,
        engine=engine, grammar=grammar, ground=ground, explain=explain, approve=approve, on_event=on_event, trace=trace,
        template=template, think=think, seeds=seeds, toolboxes=toolboxes, clock=clock,
    )
    if logprobs is not None and isinstance(model, ScriptedModel):
        raise SettingsError("A scripted model has no log-probabilities. Leave `logprobs` out, or load a real model.")
    if engine not in ENGINES:
        raise SettingsError(f"There is no engine called {engine!r}. The engines are {', '.join(ENGINES)}.")
    constrain = constrain or grammar is not None
    if grammar is not None and ground:
        raise SettingsError("A grammar of your own can't follow what the run has shown. Give `ground` or `grammar`, not both.")
    if not constrain and (ground or explain):
        raise SettingsError(f"{'ground' if ground else 'explain'} says something about the constraint. Give constrain, too.")
    guards = replace(guards, **_given(max_steps=max_steps, max_step_tokens=max_step_tokens))
    chosen, sources = choose_sampling(sampling, model, _given(temperature=temperature, seed=seed))
    protocol = Protocol.preset(protocol) if isinstance(protocol, str) else protocol
    setup = Setup(
        protocol=protocol,
        toolbox=_toolbox(tools, guards), guards=guards, sampling=chosen, sampling_from=sources,
        strict=strict, n_top_logprobs=logprobs, approve=approve, steering=None,
        form=choose_form(model, template_for(protocol, template), think=think, clock=clock),
    )
    if protocol.native is not None:
        if grammar is not None:
            raise SettingsError("A grammar of your own describes labelled steps. Leave it out, or take another protocol.")
        setup = with_format(setup, model)
    if constrain:
        reach: Reach = "action" if constrain is True else constrain
        setup = replace(setup, steering=_steer(
            setup, model, reach=reach, engine=engine, grammar=grammar, grounds=ground, explains=explain
        ))
    return play(
        setup, questions, model=model, exemplars=exemplars, instructions=instructions, n_parallel=n_parallel,
        on_event=on_event, trace=trace, clock=clock, own=_own(setup, questions, seeds, toolboxes),
    )


def _own(
    setup: Setup, questions: Sequence[str], seeds: Sequence[int] | None, toolboxes: Sequence[Toolbox] | None
) -> list[Setup]:
    """The setup of each question: its seed, and its tools where it has some of its own."""
    for name, given in (("seeds", seeds), ("toolboxes", toolboxes)):
        if given is not None and len(given) != len(questions):
            raise SettingsError(f"{len(questions)} questions were given with {len(given)} {name}. Give one for each question.")
    boxes = [setup.toolbox] * len(questions) if toolboxes is None else [_toolbox(box, setup.guards) for box in toolboxes]
    if any(box.fingerprint != setup.toolbox.fingerprint for box in boxes):
        raise SettingsError("Toolboxes of one run must be described alike: the same tools in the same order.")
    first = setup.sampling.seed
    return [
        replace(setup, toolbox=box, sampling=replace(setup.sampling, seed=seed))
        for box, seed in zip(boxes, seeds or [(first + index) % 2**32 for index in range(len(questions))])
    ]


def play(
    setup: Setup, questions: Sequence[str], *, model: AnyModel, exemplars: Sequence[Exemplar] | None = None,
    instructions: str | None = None, n_parallel: int = 1, on_event: Callable[[int, Any], None] | None = None,
    trace: Callable[[int], str | Path] | None = None, clock: Callable[[], float] = time.time,
    own: Sequence[Setup] | None = None,
) -> list[Trace]:
    """Answer questions with everything set up; `run_many` says what the options mean. `own` are the setups of the questions,
    where they differ in seeds and tools."""
    own = _own(setup, questions, None, None) if own is None else own
    _check_names(setup.protocol, setup.toolbox)
    if exemplars is None:
        exemplars = choose_exemplars(setup.protocol, setup.toolbox)
    if setup.protocol.native is not None:
        setup = with_format(setup, model)
    form = setup.form
    today = None if form.template is None else read_date(clock)
    if setup.protocol.native is not None:
        prompts, frames = write_prompts(
            setup.protocol, form, setup.toolbox, questions, exemplars, instructions=instructions, today=today
        )
        own = [replace(each, protocol=setup.protocol, form=form, frames=frames) for each in own]
    else:
        prompts = [
            form.dress(build_prompt(each, setup.protocol, setup.toolbox, exemplars, instructions=instructions), today=today)
            for each in questions
        ]
    encoded = [_encode(prompt, setup.guards, model) for prompt in prompts]
    recorders: list[Recorder] = []

    def episodes() -> Iterable[Episode]:
        for index, (question, prompt, tokens) in enumerate(zip(questions, prompts, encoded)):
            listener = None if on_event is None else partial(on_event, index)
            file = None if trace is None else TraceFile(trace(index))
            recorder = Recorder(clock=clock, file=file, on_event=listener)
            recorder.start(**_describe(own[index], question, prompt, model))
            recorders.append(recorder)
            for doubt in setup.steering.doubts() if setup.steering is not None and index == 0 else ():
                recorder.warn(doubt)
            if form.note is not None and index == 0:
                recorder.stream("note", text=form.note)
            yield Episode(own[index], question, prompt, tokens, recorder)

    if prompts:
        with model.context(min(n_parallel, len(prompts))) as context:
            decoder = Decoder(context, model.vocabulary, spell_calls(model.vocabulary, setup.protocol))
            Scheduler(decoder, setup.guards.time_limit_s, clock).drive(episodes())
    return [recorder.trace for recorder in recorders]


def choose_exemplars(protocol: Protocol, toolbox: Toolbox) -> Sequence[Exemplar]:
    """The exemplars of a run that is given none of its own."""
    # A made-up call of a tool that needs approval would teach the model to make one.
    if protocol.native is not None:
        return ()
    harmless = {name: tool for name, tool in toolbox.items() if not tool.needs_approval}
    return default_exemplars(harmless) if protocol.has_tools else ()


def _steer(
    setup: Setup, model: AnyModel, *, reach: Reach, engine: str, grammar: str | Path | None, grounds: bool, explains: bool
) -> Steering:
    if reach not in REACHES:
        raise SettingsError(f"constrain={reach!r} means nothing. Use True, False, {', '.join(REACHES)}.")
    make: Callable[..., Steering] = Steering
    if grammar is not None:
        make = partial(OwnSteering, grammar=use_grammar(grammar, setup.protocol, reach, max_steps=setup.guards.max_steps))
    steering = make(
        protocol=setup.protocol, tools=with_grounding(setup.toolbox) if grounds else setup.toolbox,
        engine=make_engine(engine, model.vocabulary), vocabulary=spell_calls(model.vocabulary, setup.protocol),
        reach=reach, explains=explains, masks_first=not setup.sampling.is_plain,
        compile_limit_s=setup.guards.compile_limit_s,
    )
    steering.check_budget(setup.guards.max_step_tokens, setup.guards.min_calls)
    steering.compile(setup.guards.min_calls)
    return steering


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not NOT_GIVEN}


def _toolbox(tools: Iterable[Any], guards: Guards) -> Toolbox:
    toolbox = tools if isinstance(tools, Toolbox) else Toolbox(tools)
    if not guards.tool_time_limits:
        toolbox = Toolbox(replace(tool, timeout_s=None) for tool in toolbox.values())
    return toolbox


def _check_names(protocol: Protocol, toolbox: Toolbox) -> None:
    taken = next((name for name in toolbox if protocol.finish and name.casefold() == protocol.finish.casefold()), None)
    if taken is not None:
        raise SettingsError(f"The tool {taken} is called like the word that ends a run. Rename it, or the protocol's finish.")


def _encode(prompt: Prompt, guards: Guards, model: AnyModel) -> Encoded:
    """The prompt in tokens. Raises ContextOverflow where the window has no room for a step behind it."""
    tokens = encode(prompt, model.vocabulary)
    n_ids, n_shared = len(tokens.ids), tokens.n_shared
    needed = n_ids + min(MIN_STEP_TOKENS, guards.max_step_tokens)
    if needed > model.window:
        what = f"The prompt has {n_ids:,} tokens ({n_shared:,} before the question), and with room for a step it"
        raise ContextOverflow(what, needed=needed, available=model.window, window=model.window)
    return tokens


def _describe(setup: Setup, question: str, prompt: Prompt, model: AnyModel) -> dict[str, Any]:
    return {
        "version": TRACE_VERSION, "local_react": VERSION, "question": question, "model": model.describe(),
        "settings": asdict(setup.guards) | asdict(setup.sampling) | {"sampling_from": dict(setup.sampling_from)}
        | {"strict": setup.strict} | setup.form.describe() | _describe_steering(setup)
        | ({} if setup.frames is None else {"template_rewrites": setup.frames.rewrites}),
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
