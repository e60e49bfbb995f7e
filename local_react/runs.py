"""Runs: one question or many, from the caller's options to the setups of their episodes, which `episodes.py` plays.

Invariant: what the caller got wrong is raised before anything is decoded. Refuses options that contradict each other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from local_react.decode.engines import ENGINES, make_engine
from local_react.decode.scripted import ScriptedModel
from local_react.episodes import play
from local_react.errors import SettingsError
from local_react.form import AUTO, AnyModel, choose_form
from local_react.grounding import with_grounding
from local_react.guards import Guards
from local_react.language.prompt import Exemplar
from local_react.language.protocol import Protocol
from local_react.language.template import ChatTemplate
from local_react.language.thinking import Choice
from local_react.llama.sampling import Sampling
from local_react.native import spell_calls, template_for, with_format
from local_react.options import FILE, KINDS, check_kind, check_options
from local_react.own_grammar import OwnGrammar, OwnSteering, use_grammar
from local_react.recommendation import choose_sampling
from local_react.recorder import OnEvent
from local_react.setup import Approve, Setup
from local_react.steering import REACHES, Reach, Steering
from local_react.tools.toolbox import Toolbox
from local_react.trace import Trace


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
    reach: Reach | None = _choose_reach(constrain or grammar is not None)
    _check_together(
        model, logprobs=logprobs, reach=reach, engine=engine, grammar=grammar, ground=ground, explain=explain
    )
    guards = replace(guards, **_given(max_steps=max_steps, max_step_tokens=max_step_tokens))
    chosen, sources = choose_sampling(sampling, model, _given(temperature=temperature, seed=seed))
    protocol = Protocol.preset(protocol) if isinstance(protocol, str) else protocol
    own = None if grammar is None or reach is None else use_grammar(grammar, protocol, reach, max_steps=guards.max_steps)
    setup = with_format(Setup(
        protocol=protocol, toolbox=_toolbox(tools, guards), guards=guards, sampling=chosen, sampling_from=sources,
        strict=strict, n_top_logprobs=logprobs, approve=approve, steering=None,
        form=choose_form(model, template_for(protocol, template), think=think, clock=clock),
    ), model)
    if reach is not None:
        steering = _steer(setup, model, reach=reach, engine=engine, grammar=own, grounds=ground, explains=explain)
        setup = replace(setup, steering=steering)
    return play(
        _setups(setup, questions, seeds, toolboxes), questions, model=model, exemplars=exemplars, instructions=instructions,
        n_parallel=n_parallel, on_event=on_event, trace=trace, clock=clock,
    )


def _choose_reach(constrain: bool | Reach) -> Reach | None:
    """What is held to its language; None where nothing is."""
    if constrain is True:
        return "action"
    if constrain and constrain not in REACHES:
        raise SettingsError(f"constrain={constrain!r} means nothing. Use True, False, {', '.join(REACHES)}.")
    return constrain or None


def _check_together(
    model: AnyModel, *, logprobs: int | None, reach: Reach | None, engine: str, grammar: str | Path | None, ground: bool,
    explain: bool,
) -> None:
    """Raise SettingsError for options that don't go together."""
    if logprobs is not None and isinstance(model, ScriptedModel):
        raise SettingsError("A scripted model has no log-probabilities. Leave `logprobs` out, or load a real model.")
    if engine not in ENGINES:
        raise SettingsError(f"There is no engine called {engine!r}. The engines are {', '.join(ENGINES)}.")
    if grammar is not None and ground:
        raise SettingsError("A grammar of your own can't follow what the run has shown. Give `ground` or `grammar`, not both.")
    if reach is None and (ground or explain):
        raise SettingsError(f"{'ground' if ground else 'explain'} says something about the constraint. Give constrain, too.")


def _setups(
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


def _steer(
    setup: Setup, model: AnyModel, *, reach: Reach, engine: str, grammar: OwnGrammar | None, grounds: bool, explains: bool
) -> Steering:
    """What the steps are held to, with the languages compiled that are known before the run."""
    make: Callable[..., Steering] = Steering if grammar is None else partial(OwnSteering, grammar=grammar)
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
