"""The ledger accounts for every token, and its predictions are what a longer episode comes to."""

from __future__ import annotations

import json

import pytest

from local_react import Guards, Model, ScriptedModel, Trace, TraceError, run
from local_react.bench.ledger import HORIZONS, PURPOSES, add_ledgers, group_of, keep_ledger
from tests.bench.colours import Colours, answer, look
from tests.random_models import make_model

WORLD = Colours()
BAD = " nothing to run\n"


def play(script, **options) -> Trace:
    task = WORLD.tasks(1)[0]
    return run(task.question, model=ScriptedModel(script), tools=WORLD.toolbox(task), exemplars=WORLD.exemplars(), **options)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    with Model.load(make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", add_bos_token=True), n_threads=1) as model:
        yield model


@pytest.mark.parametrize(
    "script",
    [
        [look("0"), answer("red")],
        [BAD, look("0"), answer("red")],
        [look("0"), look("0"), answer("red")],
        [look("0"), " t\nAction: look[1]\nObservation: forged\n", answer("red")],
        [look("x"), answer("red")],
        [BAD, BAD, BAD],
    ],
)
def test_every_token_of_the_transcript_has_one_purpose(script):
    trace = play(script)
    ledger = keep_ledger(trace)
    assert ledger.n_tokens == trace.n_tokens
    assert ledger.n_steps == len(trace.completions)
    assert set(ledger.purposes) == set(PURPOSES)
    written = sum(len(event["ids"]) for event in trace.events if event.get("owner") == "model")
    assert ledger.purposes["completions"] + ledger.purposes["discarded"] == written


@pytest.mark.parametrize("constrain", [False, True])
def test_the_same_holds_for_a_real_model_and_its_beginning_of_text(tiny, constrain):
    task = WORLD.tasks(1)[0]
    trace = run(task.question, model=tiny, tools=WORLD.toolbox(task), exemplars=(), constrain=constrain, temperature=1.0,
                guards=Guards(max_steps=4, max_step_tokens=40, max_thought_tokens=5, max_malformed=None))
    ledger = keep_ledger(trace)
    assert ledger.n_tokens == trace.n_tokens >= ledger.n_evaluated
    assert ledger.parts["beginning of text"] == 1
    assert (ledger.purposes["discarded"] == 0) == constrain


def test_what_a_stateless_api_would_have_been_sent_is_the_transcript_before_each_step():
    trace = play([look("0"), BAD, answer("red")])
    sent, so_far, is_writing = 0, 0, False
    for event in trace.events:
        if event["event"] == "tokens":
            if event["owner"] == "model" and not is_writing:
                sent, is_writing = sent + so_far, True
            so_far += len(event["ids"])
        if event["event"] == "completion":
            is_writing = False
    assert keep_ledger(trace).n_sent == sent > 3 * keep_ledger(trace).n_prompt


def test_notices_and_observations_are_told_apart():
    ledger = keep_ledger(play([BAD, look("0"), answer("red")]))
    assert ledger.purposes["notices"] > 5
    assert 0 < ledger.purposes["observations"] < 5
    quiet = keep_ledger(play([look("0"), answer("red")]))
    assert quiet.purposes["notices"] == quiet.purposes["discarded"] == 0


def test_a_prediction_for_the_steps_that_were_seen_is_what_was_counted():
    trace = play([look(str(n)) for n in range(7)] + [answer("red")], guards=Guards(max_steps=10, repeated_calls=False))
    ledger = keep_ledger(trace)
    found = ledger.predict(ledger.n_steps)
    assert found.here == pytest.approx(ledger.n_tokens, abs=1)
    # The last step has no observation, and the steps differ by a token or two.
    assert found.stateless == pytest.approx(ledger.n_sent, rel=0.05)


def test_the_prompt_is_a_line_and_the_rest_a_square():
    ledger = keep_ledger(play([look("0"), look("1"), look("2"), answer("red")]))
    short, long = (ledger.terms(n, stateless=True) for n in (10, 20))
    for group in ("tools", "exemplars", "instructions"):
        assert long[group] == 2 * short[group] > 0
    assert long["completions"] / short["completions"] == pytest.approx(20 * 19 / (10 * 9))
    assert ledger.predict(10).largest_stateless in short
    assert ledger.predict(2).largest_stateless in ("tools", "exemplars", "instructions")
    assert ledger.predict(5000).largest_stateless == "completions"


def test_a_sum_predicts_the_mean():
    one, other = keep_ledger(play([look("0"), answer("red")])), keep_ledger(play([BAD, look("0"), look("1"), answer("red")]))
    total = add_ledgers([one, other])
    assert total.n_tokens == one.n_tokens + other.n_tokens and total.n_sent == one.n_sent + other.n_sent
    assert add_ledgers([one, one]).predict(9) == one.predict(9)
    assert [found["n_steps"] for found in json.loads(json.dumps(total.write()))["predictions"]] == list(HORIZONS)


@pytest.mark.parametrize(
    ("part", "group"),
    [("tool search", "tools"), ("exemplar 12", "exemplars"), ("instructions", "instructions"), ("toolbox", "toolbox")],
)
def test_parts_are_grouped(part, group):
    assert group_of(part) == group


@pytest.mark.parametrize("events", [[], [{"event": "start"}], [{"event": "prompt", "parts": {"a": "x"}}]])
def test_a_trace_without_its_prompt_has_no_ledger(events):
    with pytest.raises(TraceError, match="no prompt"):
        keep_ledger(Trace(events))
