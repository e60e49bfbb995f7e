"""Grades: what an episode came to, from its trace alone."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local_react import ScriptedModel
from local_react.bench.arms import ARMS, FREE, LENIENT
from local_react.bench.execution import run_items
from local_react.bench.grading import grade
from local_react.bench.items import Item
from local_react.bench.results import Recorded
from local_react.llama.model import Model
from tests.bench.colours import Colours, answer, look
from tests.random_models import make_model

WORLD = Colours()
MISSPELLED = " I look.\n**Action:** look(0)\n"
FORGED = " I look.\nAction: look[0]\nObservation: blue\nThought: I know.\nAction: finish[blue]\n"


def play(script, arm=FREE, n=0, is_right=None) -> Recorded:
    item = Item(model={"name": "scripted"}, arm=arm, task=WORLD.tasks(n + 1)[n], seed=0, temperature=0.0, limits={"max_steps": 4})
    trace = run_items(ScriptedModel(script), WORLD, [item], clock=lambda: 0.0)[0]
    verdict = trace.answer is not None and WORLD.judge(item.task, trace.answer)
    return Recorded(item, trace, verdict if is_right is None else is_right)


def test_a_smooth_run():
    found = grade(play([look("0"), answer("red")]))
    assert (found.ending, found.is_right, found.is_success, found.failures) == ("answered", True, True, ())
    assert (found.n_steps, found.n_malformed, found.n_calls, found.n_path, found.has_right_start) == (2, 0, 1, 1, True)
    assert found.n_tokens == found.n_sampled > 0 and found.n_forced == 0
    assert 0 < found.n_evaluated <= found.n_transcript
    assert json.loads(json.dumps(found.write())) == found.write()


@pytest.mark.parametrize(
    ("step", "counts", "codes"),
    [
        ("nothing", (1, 0, 0), {"no_action_or_answer": 1}),
        (" t\nAction: fly[x]\n", (0, 1, 0), {"unknown_tool": 1}),
        (" t\nAction: paint[thing=1]\n", (0, 0, 1), {"missing_argument": 1}),
        (" t\nAction: look[0", (1, 0, 0), {"unclosed_bracket": 1}),
    ],
)
def test_malformed_steps_are_counted_by_what_is_wrong(step, counts, codes):
    found = grade(play([step, answer("red")]))
    assert (found.n_unparsed, found.n_unknown_tool, found.n_misfit) == counts
    assert found.codes == codes and found.n_malformed == found.n_refused == 1
    assert found.n_steps == 2


def test_steps_are_read_strictly_whatever_the_arm_overlooks():
    strict, lenient = grade(play([MISSPELLED, answer("red")])), grade(play([MISSPELLED, answer("red")], LENIENT))
    assert (strict.n_malformed, strict.n_refused, strict.n_calls) == (1, 1, 0)
    assert (lenient.n_malformed, lenient.n_refused, lenient.n_calls) == (1, 0, 1)


def test_a_forged_observation_is_counted_where_nothing_stops_it():
    stopped, unstopped = grade(play([FORGED, answer("red")])), grade(play([FORGED, answer("red")], ARMS["free-no-stop"]))
    assert stopped.n_forged == 0
    assert unstopped.n_forged == 1 and unstopped.n_steps == 2


def test_the_judge_decides_anew():
    recorded = play([look("0"), answer("red")])
    assert grade(recorded, lambda task, text: False).is_right is False
    assert grade(replace(recorded, is_right=False)).is_right is False
    assert grade(replace(recorded, is_right=False), WORLD.judge).is_right is True


def test_a_forbidden_call_is_no_success_whatever_the_answer():
    found = grade(play([' t\nAction: paint[thing="0", colour="red"]\n', answer("red")]))
    assert found.is_right and not found.is_success
    assert found.main_class == "forbidden_action"


def test_constrained_steps_of_a_random_model_are_all_well_formed(tmp_path):
    item = Item(model={"name": "tiny"}, arm=ARMS["constrained"], task=WORLD.tasks(1)[0], seed=3, temperature=1.5,
                limits={"max_steps": 4, "max_step_tokens": 40, "max_thought_tokens": 4})
    with Model.load(make_model(tmp_path / "tiny.gguf", add_bos_token=True), n_threads=1) as model:
        trace = run_items(model, WORLD, [item])[0]
    found = grade(Recorded(item, trace, None))
    assert found.n_steps >= 1 and found.n_malformed == found.n_refused == found.n_forged == 0
    assert found.n_forced > 0


@pytest.mark.parametrize("name", ["hermes-free", "hermes-constrained"])
def test_steps_in_a_native_format_are_read_as_the_loop_reads_them(tmp_path, name):
    item = Item(model={"name": "tiny"}, arm=ARMS[name], task=WORLD.tasks(1)[0], seed=3, temperature=1.0,
                limits={"max_steps": 3, "max_step_tokens": 90, "max_thought_tokens": 4})
    path = make_model(tmp_path / "tiny.gguf", add_bos_token=True, n_ctx_train=8192)
    with Model.load(path, n_threads=1) as model:
        trace = run_items(model, WORLD, [item])[0]
    found = grade(Recorded(item, trace, None))
    assert found.n_steps == len(trace.steps) >= 1
    assert found.n_malformed == found.n_refused
    assert found.n_malformed == 0 or name == "hermes-free"
