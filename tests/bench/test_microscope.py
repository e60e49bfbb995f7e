"""The microscope: every drawn token of an explained run is a place, with what the model wanted there."""

from __future__ import annotations

import json

import pytest

from local_react import Guards, Model, run
from local_react.bench.microscope import END, NAME, Place, find_argument, find_places, look
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Integer, Text
from tests.bench.colours import Colours
from tests.random_models import make_model

WORLD = Colours()
PAINT = Signature("paint", "", (Parameter("thing", Text()), Parameter("colour", Text()), Parameter("n", Integer())))
LOOK = Signature("look", "", (Parameter("thing", Text()),))


@pytest.fixture(scope="module", params=["action", "step"])
def trace(request, tmp_path_factory):
    task = WORLD.tasks(1)[0]
    with Model.load(make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", add_bos_token=True), n_threads=1) as model:
        return run(task.question, model=model, tools=WORLD.toolbox(task), exemplars=(), constrain=request.param, explain=True,
                   temperature=1.0, guards=Guards(max_steps=4, max_step_tokens=60, max_thought_tokens=4, min_calls=2))


def test_every_drawn_token_of_an_action_is_a_place(trace):
    places = list(find_places(trace, "k"))
    drawn = [choice for event in trace.completions for choice in event.get("choices", ()) if choice["mass"] is not None]
    assert len(places) == len(drawn) > 5
    for place, choice in zip(places, drawn):
        assert place.removed == pytest.approx(1 - choice["mass"], abs=1e-9) and 0 <= place.removed <= 1
        assert place.wanted_probability == choice["wanted_probability"]
        assert place.wanted == (choice["wanted_text"] or f"token {choice['wanted']}")
        assert place.was_redrawn == (choice["origin"] == "masked")
    assert {place.tool for place in places} <= {"look", "paint", END}


def test_the_sums_count_every_place(trace):
    places = list(find_places(trace, "k"))
    found = look(places)
    assert found.n == len(places) == sum(group.n for group in found.by_tool) == sum(group.n for group in found.by_argument)
    assert sum(group.n_redrawn for group in found.by_tool) == sum(place.was_redrawn for place in places)
    assert [place.removed for place in found.worst] == sorted((place.removed for place in found.worst), reverse=True)
    assert found.worst[0].removed == max(place.removed for place in places)
    assert len(found.worst) <= 10
    assert all(len(row) == 24 for _, row in found.grid)
    json.dumps(found.write())


def test_without_an_explanation_there_is_nothing_to_see():
    found = look([])
    assert (found.n, found.worst, found.grid) == (0, (), ())


def test_the_same_slip_in_many_episodes_is_one_of_the_worst():
    values = {"step": 1, "tool": "look", "argument": NAME, "position": 0, "before": "", "token": "look", "wanted": "find",
              "wanted_probability": 0.5, "removed": 0.9, "was_redrawn": True}
    found = look([Place(key=str(n), **values) for n in range(50)] + [Place(key="x", **values | {"wanted": "seek", "removed": 0.5})])
    assert [place.wanted for place in found.worst] == ["find", "seek"]


@pytest.mark.parametrize(
    ("before", "tool", "argument"),
    [
        ("", LOOK, NAME), (" loo", LOOK, NAME), (" look[", LOOK, "thing"), (" look[a, b", LOOK, "thing"),
        (" finish[", None, END), (" paint[", PAINT, NAME), (" paint[thing=", PAINT, "thing"),
        (' paint[thing="colour", colour', PAINT, "thing"), (' paint[thing="a", colour="b', PAINT, "colour"),
        (' paint[thing="a", colour="b", n=', PAINT, "n"), (' paint[{"thing": "a", "n": ', PAINT, "n"),
        (' paint["a", "b', PAINT, "colour"), (' paint["a", "b", 1, 2', PAINT, "n"), (" none[x", Signature("none"), NAME),
    ],
)
def test_the_argument_that_is_being_written_is_found(before, tool, argument):
    assert find_argument(before, tool) == argument
