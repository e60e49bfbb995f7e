"""The spare exemplars fit their world: its tools take the calls, and return what looks like their observations."""

from __future__ import annotations

import json

import pytest

from local_react.bench.spare_exemplars import SPARES, spare_exemplars
from local_react.bench.worlds.catalogue import make_world
from local_react.language.prompt import check_exemplar
from local_react.language.protocol import Protocol
from local_react.language.step import Call
from tests.bench.colours import Colours


@pytest.mark.parametrize("world", SPARES)
def test_they_can_be_shown_with_the_tools_of_their_world(world):
    place = world()
    (task,) = place.tasks(1)
    toolbox = place.toolbox(task)
    for exemplar in spare_exemplars(place):
        check_exemplar(exemplar, Protocol(), toolbox)
        for step in exemplar.steps:
            if isinstance(step.action, Call):
                missing = toolbox.dispatch(step.action).result()
                assert missing.is_error, "the row of an exemplar must be one that no shop has"


def test_their_observations_have_the_fields_of_the_real_ones():
    world = make_world("billing")
    task = next(task for task in world.tasks(100) if task.path and task.path[0].name == "get_customer")
    real = json.loads(world.toolbox(task).dispatch(task.path[0]).result().text)
    shown = json.loads(spare_exemplars(world)[0].steps[0].observation.text)
    assert list(shown) == list(real)


def test_a_world_without_spares_has_none():
    assert spare_exemplars(Colours()) == ()
