"""The three abuses of a call: freely written they are refused, explained and never run; under a constraint they can't be
written, whatever the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_react import Call, Guards, Malformed, Model, Sampling, run_many
from local_react.language.derivative import accepts
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.template import ChatTemplate
from tests.abuses import ABUSES, CALLED, DESIGNS, FITTING, TOOLS, Abuse, Design, cases, list_charges, play, refused_at
from tests.language.native.templates import QWEN
from tests.random_models import make_model

each_case = pytest.mark.parametrize(("abuse", "design"), list(cases()), ids=lambda each: each.name)


@each_case
def test_freely_written_an_abuse_is_named_explained_and_never_run(abuse: Abuse, design: Design) -> None:
    CALLED.clear()
    trace = play(design, abuse, FITTING)
    malformed, fitting, _ = trace.steps
    assert isinstance(malformed.action, Malformed) and malformed.action.code == abuse.code
    assert malformed.observation.kind == "notice" and malformed.action.message in malformed.observation.text
    assert isinstance(fitting.action, Call) and trace.answer.endswith("ok" if design.protocol.native is None else "ok.")
    assert len(CALLED) == 1


@each_case
def test_under_a_constraint_an_abuse_is_no_word(abuse: Abuse, design: Design) -> None:
    taken, refused = refused_at(design, abuse)
    assert refused and not accepts(design.language, design.held(abuse))
    assert taken.count("list_charges") == 1, "it is refused for its arguments, not for its shape"
    assert accepts(design.language, design.held(FITTING))


@pytest.fixture(scope="module")
def random_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path: Path = make_model(tmp_path_factory.mktemp("abuses") / "tiny.gguf", seed=7)
    with Model.load(path, n_threads=1) as model:
        yield model


@pytest.mark.parametrize("temperature", [1.0, 2.0])
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_no_random_model_gets_an_abuse_past_the_constraint(random_model: Model, design: Design, temperature: float) -> None:
    native = {} if design.protocol.native is None else {"template": ChatTemplate(QWEN)}
    CALLED.clear()
    traces = run_many(
        ["Any charges?"] * 4, model=random_model, tools=TOOLS, protocol=design.protocol, exemplars=(), constrain=True,
        guards=Guards(max_steps=4, min_calls=3, max_step_tokens=110, max_thought_tokens=4, repeated_calls=False),
        sampling=Sampling(temperature=temperature, seed=11), n_parallel=4, **native,
    )
    actions = [step.action for trace in traces for step in trace.steps]
    calls = [action for action in actions if isinstance(action, Call)]
    assert len(calls) == 12 == len(CALLED) and not any(isinstance(action, Malformed) for action in actions)
    for call in calls:
        assert list(call.arguments) == ["customer_id", "since"]
        assert all(
            fit_exactly(value, list_charges.parameter(name).type) is not UNFIT for name, value in call.arguments.items()
        )


def test_each_abuse_has_a_code_of_its_own() -> None:
    assert len({abuse.code for abuse in ABUSES}) == 3
