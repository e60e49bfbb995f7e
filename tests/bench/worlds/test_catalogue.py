"""A model that takes the path of each task is right in every world, within the loop and under its guards."""

from __future__ import annotations

import pytest

from local_react import Call, Protocol, ScriptedModel, run
from local_react.bench.worlds.catalogue import WORLDS, make_world
from local_react.language.prompt import write_action
from local_react.language.step import Answer


def script(task, tools):
    """What a perfect model writes: a thought and the call, for each call of the path, then the answer."""
    protocol = Protocol.preset("finish")
    actions = [*task.path, Answer(task.answers[0])]
    return [f" Go on.\n{write_action(action, protocol, tools, number)}\n" for number, action in enumerate(actions, 1)]


@pytest.mark.parametrize("name", WORLDS)
def test_a_model_that_takes_the_path_is_right(name):
    world = make_world(name)
    n_kinds = len({task.kind for task in world.tasks(40)})
    for task in world.tasks(n_kinds):
        tools = world.toolbox(task)
        trace = run(
            task.question, model=ScriptedModel(script(task, tools)), tools=tools, exemplars=world.exemplars(), strict=True
        )
        assert trace.ending == "answered", (task, trace.error)
        assert world.judge(task, trace.answer), task
        calls = [step.action for step in trace.steps if isinstance(step.action, Call)]
        assert [(call.name, call.arguments) for call in calls] == [(call.name, call.arguments) for call in task.path]
