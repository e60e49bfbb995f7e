"""Arms: each one can be given to a run, differs from the others in its settings, and chooses its exemplars."""

from __future__ import annotations

import inspect
import json

import pytest

from local_react import Guards, SettingsError, run
from local_react.bench.arms import ARMS, CONSTRAINED, FREE, GUARDS, Arm, find_arm
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step

SMOOTH = [
    Exemplar(f"Question {n}?", (Step(Call("look", {"thing": f"{n}"}, "I look."), Observation("red")), Step(Answer("red", "So."))))
    for n in range(4)
]
FAILING = Exemplar("Failing?", (
    Step(Call("look", {"thing": "f"}, "I look."), Observation("Error: no", is_error=True)), Step(Answer("none", "So.")),
))
EXEMPLARS = [SMOOTH[0], FAILING, *SMOOTH[1:]]


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_can_be_given_to_a_run(name):
    options = ARMS[name].options(EXEMPLARS, {"max_steps": 3})
    inspect.signature(run).bind("Question?", model=None, tools=(), **options)
    assert options["guards"].max_steps == 3
    assert json.loads(json.dumps(ARMS[name].settings())) == ARMS[name].settings()
    assert ARMS[name].name == name


def test_only_the_default_engine_has_two_names():
    settings = [json.dumps(arm.settings(), sort_keys=True) for arm in ARMS.values()]
    twins = {name for name, text in zip(ARMS, settings) if settings.count(text) > 1}
    assert twins == {
        "constrained", "constrained-llguidance", "constrained-keyword", "free", "free-keyword",
        "free-act", "free-keyword-act", "constrained-act", "constrained-keyword-act",
    }


def test_the_guards_of_an_arm_go_before_the_limits_of_all():
    arm = Arm(name="x", guards=(("max_steps", 2),))
    assert arm.options((), {"max_steps": 9, "max_step_tokens": 50})["guards"] == Guards(max_steps=2, max_step_tokens=50)


@pytest.mark.parametrize(
    ("n", "has_recovery", "chosen"),
    [
        (None, True, EXEMPLARS), (None, False, SMOOTH), (0, True, []), (0, False, []), (1, True, [FAILING]),
        (1, False, SMOOTH[:1]), (3, True, [*SMOOTH[:2], FAILING]), (4, False, SMOOTH),
    ],
)
def test_exemplars_are_chosen_with_and_without_a_failure(n, has_recovery, chosen):
    arm = Arm(name="x", n_exemplars=n, has_recovery=has_recovery)
    assert list(arm.options(EXEMPLARS, {})["exemplars"]) == chosen


def test_too_few_exemplars_are_told():
    with pytest.raises(SettingsError, match="wants 5 exemplars, and the world has 4"):
        Arm(name="x", n_exemplars=5, has_recovery=False).options(EXEMPLARS, {})


def test_without_tools_an_exemplar_is_its_last_thought_and_answer():
    exemplars = Arm(name="x", protocol="think").options(EXEMPLARS, {})["exemplars"]
    assert [exemplar.question for exemplar in exemplars] == [exemplar.question for exemplar in EXEMPLARS]
    assert [exemplar.steps for exemplar in exemplars] == [exemplar.steps[-1:] for exemplar in EXEMPLARS]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"protocol": "bogus"}, "no protocol called"),
        ({"arguments": "yaml"}, "no argument style"),
        ({"constrain": "some"}, "constrain='some'"),
        ({"n_exemplars": -1}, "n_exemplars=-1"),
        ({"ground": True}, "Set constrain"),
        ({"explain": True}, "Set constrain"),
        ({"guards": (("bogus", 1),)}, "no guard called bogus"),
    ],
)
def test_what_no_run_could_be_given_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        Arm(name="x", **changes)


def test_an_unknown_arm_is_told_with_those_that_are_close():
    with pytest.raises(SettingsError, match="no arm called 'constrained-gbn'.*constrained-gbnf"):
        find_arm("constrained-gbn")
    assert find_arm("free") is FREE and find_arm("constrained") is CONSTRAINED
    assert "max_steps" in GUARDS
