"""Constrained episodes: every step is a valid call or an answer, whatever the model, its temperature and its budget."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from benchmarks.order_a100 import RIGHT, ask
from local_react import (
    Answer,
    Call,
    Grounded,
    Guards,
    Malformed,
    Model,
    Protocol,
    Sampling,
    ScriptedModel,
    SettingsError,
    Tool,
    Toolbox,
    Trace,
    parse_step,
    run,
    run_many,
    tool,
)
from local_react.decode.engines import make_engine
from local_react.episodes import play as play_episodes
from local_react.language.fit import UNFIT, fit
from local_react.language.signature import Signature
from local_react.replay import RecordedSteering, first_difference, replay
from local_react.setup import Setup
from local_react.steering import MIN_THOUGHT, Steering
from local_react.trace import read_pieces
from tests.random_models import make_model
from tests.toolboxes import FLAT, NESTED, RAW

ENGINES = ["llguidance", "gbnf", "outlines"]


@tool
def web_search(query: str) -> str:
    """Search."""
    return f"found {query}"


@tool
def book(guests: list[str], seats: Annotated[int, "how many"], outdoor: bool = False) -> dict:
    """Book a table."""
    return {"booked": seats}


@tool
def add(a: int, b: float) -> float:
    """Add."""
    return a + b


TOOLS = (web_search, book, add)


def play(
    model: Model, *, tools: Any = TOOLS, max_steps: int = 4, max_step_tokens: int = 60, min_calls: int = 0,
    constrain: Any = True, **options: Any,
) -> Trace:
    guards = Guards(
        max_steps=max_steps, max_step_tokens=max_step_tokens, max_thought_tokens=8, repeated_calls=False, min_calls=min_calls,
        compile_limit_s=None,  # a busy machine would make it refuse
    )
    return run("What is it?", model=model, tools=tools, exemplars=(), guards=guards, constrain=constrain, **options)


def strictly_valid(trace: Trace, tools: Any, protocol: str = "finish") -> bool:
    """Whether each action reads strictly as the call or answer that it was taken for."""
    wire, toolbox = Protocol.preset(protocol), Toolbox(tools)
    readings = []
    for event in trace.completions:
        n_thought = event.get("n_thought_pieces")
        text = event["text"] if n_thought is None else b"".join(read_pieces(event["pieces"])[n_thought:]).decode().lstrip("\n")
        primed = wire.label(wire.opening, event["step"]) if n_thought is None else None
        readings.append(parse_step(text, wire, toolbox, strict=True, primed=primed))
    actions = [replace(step.action, thought=None) for step in trace.steps]
    return actions == readings and not any(isinstance(each, Malformed) for each in readings)


THOUGHTS = [
    " Action: add[a=1, b=2]", " Answer: 7", " Final Answer: 7", " <think> hmm", " a<|im_end|>b", " Observation: 5", " Notice: x",
    " Thought: again", "", " ```", " finish[no]",
]


@pytest.mark.parametrize("thought", THOUGHTS)
def test_nothing_in_a_thought_is_read_as_an_action(thought: str) -> None:
    """Regression: a call that the model wrote in its free thought was run instead of the constrained one behind it."""
    wire, toolbox = Protocol(), Toolbox(TOOLS)
    steering = RecordedSteering(protocol=wire, tools=toolbox, engine=SimpleNamespace(name="none"), vocabulary=None, reach="action")
    setup = Setup(
        protocol=wire, toolbox=toolbox, guards=Guards(), sampling=Sampling(), strict=False, n_top_logprobs=None, approve=None,
        steering=steering,
    )
    model = ScriptedModel([f"{thought}\n", " web_search[x]", " done\n", " finish[ok]"])
    (trace,) = play_episodes([setup], ["What?"], model=model, exemplars=())
    assert trace.steps[0].action == Call("web_search", {"query": "x"}, thought.strip() or None)
    assert trace.answer == "ok"
    assert first_difference(trace, replay(trace)) is None


@pytest.mark.parametrize("n_seeds", [3, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("protocol", ["finish", "numbered", "answer", "act", "think"])
def test_every_step_parses_under_every_protocol(tiny_model: Model, engine: str, protocol: str, n_seeds: int) -> None:
    for seed in range(n_seeds):
        sampling = Sampling(temperature=[0, 0.7, 2][seed % 3], seed=seed)
        trace = play(tiny_model, engine=engine, protocol=protocol, sampling=sampling)
        assert trace.ending in ("answered", "step_limit")
        assert strictly_valid(trace, TOOLS, protocol)


@pytest.mark.parametrize("reach", ["action", "step"])
@pytest.mark.parametrize("arguments", ["keyword", "positional", "json"])
def test_every_step_parses_in_every_encoding(tiny_model: Model, reach: str, arguments: str) -> None:
    protocol = Protocol.preset("finish", arguments=arguments)
    trace = play(tiny_model, protocol=protocol, constrain=reach, sampling=Sampling(temperature=1.5, seed=3), max_steps=6)
    assert not any(isinstance(step.action, Malformed) for step in trace.steps)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_budget_gives_whole_calls(tiny_model: Model, engine: str) -> None:
    smallest = next(n for n in itertools.count(1) if not refuses(tiny_model, n))
    for budget in range(smallest, smallest + 12):
        trace = play(tiny_model, engine=engine, max_step_tokens=budget, sampling=Sampling(temperature=2.0, seed=budget))
        assert strictly_valid(trace, TOOLS)
        assert all(len(event["pieces"]) <= budget + 8 for event in trace.completions), "the label isn't counted"


def refuses(model: Model, budget: int) -> bool:
    try:
        play(model, max_step_tokens=budget, max_steps=1)
    except SettingsError as error:
        assert "too small" in str(error)
        return True
    return False


def test_the_end_of_the_window_never_cuts_a_call(tiny_model: Model) -> None:
    endings = set()
    for n_ctx in range(380, 500, 9):
        with Model.load(tiny_model.path, n_ctx=n_ctx, n_threads=1) as model:
            trace = play(model, max_steps=20, max_step_tokens=100, sampling=Sampling(temperature=2.0, seed=n_ctx))
        assert strictly_valid(trace, TOOLS)
        endings.add(trace.ending)
    assert "context_full" in endings


def test_no_answer_comes_before_the_least_number_of_calls(tiny_model: Model) -> None:
    for seed in range(5):
        trace = play(tiny_model, min_calls=2, sampling=Sampling(temperature=2.0, seed=seed))
        assert [type(step.action) for step in trace.steps[:2]] == [Call, Call]


def test_the_last_step_is_the_answer(tiny_model: Model) -> None:
    for seed in range(5):
        trace = play(tiny_model, max_steps=3, sampling=Sampling(temperature=2.0, seed=seed))
        assert trace.ending == "answered"
        assert isinstance(trace.steps[-1].action, Answer)


def test_toolboxes_of_every_kind_are_kept_to(tiny_model: Model) -> None:
    called = set()
    for seed, signature in enumerate([*RAW, *FLAT, *NESTED]):
        made = Tool(
            signature.name, signature.description, signature.parameters, call=lambda arguments: "ok", function=lambda: "ok"
        )
        trace = play(tiny_model, tools=[made], max_steps=2, min_calls=1, max_step_tokens=400, sampling=Sampling(temperature=1.0, seed=seed))
        assert not any(isinstance(step.action, Malformed) for step in trace.steps)
        called |= {step.action.name for step in trace.steps if isinstance(step.action, Call)}
    assert called == {signature.name for signature in (*RAW, *FLAT, *NESTED)}


def test_repair_constrains_only_the_step_behind_a_malformed_one(tiny_model: Model) -> None:
    trace = play(tiny_model, constrain="repair", sampling=Sampling(temperature=1.0, seed=1))
    assert isinstance(trace.steps[0].action, Malformed), "a random model never writes a call by itself"
    assert not isinstance(trace.steps[1].action, Malformed)


def test_parallel_episodes_are_constrained_too(tiny_model: Model) -> None:
    traces = run_many(
        ["a", "b", "c"], model=tiny_model, tools=TOOLS, constrain=True, n_parallel=3, exemplars=(),
        sampling=Sampling(temperature=2.0, seed=1), guards=Guards(max_steps=3, max_step_tokens=60, repeated_calls=False),
    )
    for trace in traces:
        assert not any(isinstance(step.action, Malformed) for step in trace.steps)


def test_no_id_is_evaluated_twice(tiny_model: Model, recurrent_model: Model) -> None:
    for model in (tiny_model, recurrent_model):
        trace = play(model, max_steps=8, min_calls=7, sampling=Sampling(temperature=1.0, seed=4))
        assert len(trace.steps) == 8
        assert trace.evaluated <= trace.n_tokens
        assert trace.forced > 0


def test_the_same_seed_gives_the_same_trace(tiny_model: Model) -> None:
    options = {"sampling": Sampling(temperature=1.3, seed=9), "clock": lambda: 0.0}
    one, other = (play(tiny_model, **options).steps for _ in range(2))
    assert one == other


def test_a_constrained_trace_replays(tiny_model: Model) -> None:
    trace = play(tiny_model, sampling=Sampling(temperature=1.3, seed=2), explain=True)
    assert first_difference(trace, replay(trace)) is None
    assert any(event.get("choices") for event in trace.completions)


@pytest.mark.parametrize(("options", "match"), [
    ({"constrain": "always"}, "means nothing"), ({"engine": "magic"}, "no engine called"),
    ({"max_step_tokens": 2}, "too small"),
])
def test_options_that_make_no_sense_are_refused(tiny_model: Model, options: dict[str, Any], match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        play(tiny_model, **options)


def test_a_script_cannot_be_constrained() -> None:
    with pytest.raises(SettingsError, match="scripted model can't be constrained"):
        run("a", model=ScriptedModel([]), tools=TOOLS, constrain=True)


def found_in(trace: Trace, value: str) -> bool:
    """Whether the question or an observation before its step shows the value."""
    shown = [trace.question, *(step.observation.text for step in trace.steps if step.observation is not None)]
    return any(value in text for text in shown)


def ids() -> list[Callable[..., Any]]:
    @tool
    def lookup(customer: Annotated[str, Grounded(r"cus_\d+")]) -> dict:
        """Look a customer up."""
        return {"customer": customer, "invoices": ["INV-1", "INV-22"], "friend": "cus_7"}

    @tool
    def pay(invoice: Annotated[str, Grounded(r"INV-\d+")], amount: int) -> str:
        """Pay."""
        return "paid"

    @tool
    def remember(words: Annotated[str, Grounded()]) -> str:
        """Remember words."""
        return f"remembered {words}"

    return [lookup, pay, remember]


@pytest.mark.parametrize("n_seeds", [5, pytest.param(100, marks=pytest.mark.slow)])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_grounded_argument_is_always_one_that_was_shown(tiny_model: Model, engine: str, n_seeds: int) -> None:
    """In full, 500 calls and more of each model under each engine."""
    called = set()
    for seed in range(n_seeds):
        trace = run(
            "What about cus_12 and cus_345?", model=tiny_model, tools=ids(), constrain=True, engine=engine, exemplars=(),
            sampling=Sampling(temperature=2.0, seed=seed),
            guards=Guards(max_steps=6, max_step_tokens=80, min_calls=5, max_thought_tokens=4),
        )
        for event in trace.events:
            if event["event"] == "action" and event["kind"] == "call":
                called.add(event["name"])
                for name, source in event["seen_in"].items():
                    assert source == "question" or source.startswith("observation ")
                    assert found_in(trace, event["arguments"][name])
    assert called == {"lookup", "pay", "remember"}


def test_a_tool_whose_argument_is_unknown_cannot_be_called_yet(tiny_model: Model) -> None:
    for seed in range(4):
        trace = run(
            "What about cus_12?", model=tiny_model, tools=ids()[:2], constrain=True, exemplars=(),
            sampling=Sampling(temperature=2.0, seed=seed),
            guards=Guards(max_steps=3, max_step_tokens=60, min_calls=1, max_thought_tokens=4),
        )
        assert trace.steps[0].action.name == "lookup", "no invoice has been seen"


def test_where_nothing_can_be_called_the_answer_is_allowed_after_all(tiny_model: Model) -> None:
    guards = Guards(min_calls=1, max_steps=2)
    trace = run("No ids here.", model=tiny_model, tools=ids()[:2], constrain=True, exemplars=(), guards=guards)
    assert isinstance(trace.steps[0].action, Answer)


def test_ground_takes_every_text_that_has_a_pattern(tiny_model: Model) -> None:
    schema = {"type": "object", "properties": {"id": {"type": "string", "pattern": r"^x\d+$"}}, "required": ["id"]}
    made = Tool.from_schema("get", "Get it.", schema, lambda id: f"got {id}")
    for seed in range(3):
        trace = run(
            "Is it x7 or x88?", model=tiny_model, tools=[made], constrain=True, ground=True, exemplars=(),
            sampling=Sampling(temperature=2.0, seed=seed), guards=Guards(max_steps=2, min_calls=1, max_step_tokens=50),
        )
        assert trace.steps[0].action.arguments["id"] in ("x7", "x88")
        assert trace.events[0]["settings"]["grounded"] == ["get.id"]


def test_a_270m_base_model_runs_the_classic_example_to_its_right_end(gemma: Model) -> None:
    """Greedy, grounded: the order is looked up, tracking times out, the retry works, and the answer comes from it."""
    trace = ask(gemma, is_grounded=True, constrain=True)
    steps = [getattr(step.action, "name", "answer") for step in trace.steps]
    assert steps == ["lookup_order", "get_tracking", "get_tracking", "answer"]
    assert trace.steps[1].observation is not None and trace.steps[1].observation.is_error
    assert trace.ending == "answered" and RIGHT in (trace.answer or "")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_500_steps_of_each_real_model_are_all_valid(real_model: Model, engine: str) -> None:
    n_steps = 0
    for seed in range(100):
        trace = play(
            real_model, engine=engine, max_steps=5, max_step_tokens=50, min_calls=4,
            sampling=Sampling(temperature=[0.0, 0.7, 1.0, 2.0][seed % 4], seed=seed),
        )
        assert strictly_valid(trace, TOOLS)
        n_steps += len(trace.steps)
    assert n_steps == 500


def checked(signature: Signature, name: str) -> Tool:
    """A tool that refuses what doesn't fit its parameters."""

    def call(arguments: Mapping[str, Any]) -> str:
        for parameter in signature.parameters:
            if parameter.name not in arguments:
                assert not parameter.required, parameter.name
            else:
                assert fit(arguments[parameter.name], parameter.type, []) is not UNFIT, arguments
        assert set(arguments) <= {parameter.name for parameter in signature.parameters}
        return "ok"

    return Tool(name, "", signature.parameters, call=call, function=call)


# A counted text with a pattern is what outlines says that it can't do (tests/decode/test_constraint.py).
COUNTED = next(each for each in RAW if each.name == "find")
KINDS = [each for each in (*RAW, *FLAT, *NESTED) if each is not COUNTED]


def box(size: int, first: int, kinds: Sequence[Signature] = KINDS) -> list[Tool]:
    """So many tools of all kinds, from the kind `first` on."""
    names: dict[str, Signature] = {}
    for index in range(size):
        kind = kinds[(first + index) % len(kinds)]
        names[kind.name if kind.name not in names else f"{kind.name}_{index}"] = kind
    return [checked(kind, name) for name, kind in names.items()]


@pytest.fixture(scope="module", params=["bpe", "sentencepiece"])
def roomy_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Tiny models with room for the prompt of 50 tools."""
    path = make_model(tmp_path_factory.mktemp("roomy") / f"{request.param}.gguf", tokenizer=request.param, n_ctx_train=8192)
    with Model.load(path, n_ctx=8192, n_threads=1) as model:
        yield model


def smallest_budget(model: Model, engine: str, tools: list[Tool]) -> int:
    """The least `max_step_tokens` that a run takes."""
    steering = Steering(
        protocol=Protocol(), tools=Toolbox(tools), engine=make_engine(engine, model.vocabulary), vocabulary=model.vocabulary
    )
    return MIN_THOUGHT + max(map(steering.cost, steering.languages_ahead(min_calls=1)))


def hold(model: Model, engine: str, tools: list[Tool], seeds: Iterable[int]) -> int:
    """Play an episode of up to six steps for each seed, at temperatures from 0 to 2 and budgets from the smallest up, and
    check that each step is valid; returns how many there were."""
    n_steps, smallest = 0, smallest_budget(model, engine, tools)
    for seed in seeds:
        trace = play(
            model, tools=tools, engine=engine, max_steps=6, max_step_tokens=smallest + seed * 7 % 60, min_calls=5,
            sampling=Sampling(temperature=seed % 9 / 4, seed=seed),
        )
        assert trace.ending in ("answered", "step_limit", "context_full")
        assert strictly_valid(trace, tools)
        assert all(event["reason"] == "constraint" for event in trace.completions)
        assert not [step for step in trace.steps if step.observation is not None and step.observation.is_error]
        n_steps += len(trace.steps)
    return n_steps


def hold_at_the_end_of_the_window(model: Model, engine: str, tools: list[Tool], rooms: Iterable[int]) -> int:
    """The same, with room for so few tokens behind the prompt that the window ends in the middle of an argument."""
    whole = play(model, tools=tools, max_steps=1, engine=engine)
    n_steps, n_prompt = 0, len(next(event["ids"] for event in whole.events if event["event"] == "tokens"))
    for room in rooms:
        with Model.load(model.path, n_ctx=n_prompt + room, n_threads=1) as narrow:
            trace = play(
                narrow, tools=tools, engine=engine, max_steps=20, max_step_tokens=100, min_calls=19,
                sampling=Sampling(temperature=2.0, seed=room),
            )
        assert trace.ending == "context_full" and trace.n_tokens <= n_prompt + room
        assert strictly_valid(trace, tools)
        n_steps += len(trace.steps)
    return n_steps


@pytest.mark.parametrize("engine", ENGINES)
def test_hundreds_of_steps_of_random_models_are_all_valid(roomy_model: Model, engine: str) -> None:
    n_steps = hold(roomy_model, engine, box(1, 5), range(3)) + hold(roomy_model, engine, box(5, 3), range(3, 6))
    n_steps += hold(roomy_model, engine, box(50, 0, RAW[:4]), range(6, 8))
    n_steps += hold_at_the_end_of_the_window(roomy_model, engine, box(5, 3), (40, 75))
    assert n_steps >= 50, "300 over all engines and vocabularies"


@pytest.mark.parametrize("engine", ["llguidance", "gbnf"])
def test_a_counted_pattern_is_kept_to_by_the_engines_that_can(roomy_model: Model, engine: str) -> None:
    assert hold(roomy_model, engine, [checked(COUNTED, "find")], range(3)) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_thousands_of_steps_of_random_models_are_all_valid(roomy_model: Model, engine: str) -> None:
    """Toolboxes of 1, 5 and 50 tools, any temperature, budgets from the smallest up, and the end of the window."""
    n_steps = 0
    for first in range(15):
        n_steps += hold(roomy_model, engine, box(1, first), range(first, first + 9))
        n_steps += hold(roomy_model, engine, box(5, first), range(first, first + 9))
    n_steps += hold(roomy_model, engine, box(50, 0), range(40))
    for first in range(0, 15, 3):
        n_steps += hold_at_the_end_of_the_window(roomy_model, engine, box(5, first), range(40, 140, 10))
    assert n_steps >= 1_700, "10,000 over all engines and vocabularies"
