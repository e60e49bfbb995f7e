"""Walking the paths of tasks: what every world's test does."""

from __future__ import annotations

import json

from local_react.bench.task import Task, World
from local_react.language.arguments import Misfit, fit_arguments, read_arguments, write_arguments
from local_react.tools.result import describe_error, render_result


def walk(world: World, task: Task) -> list[str]:
    """Make the calls of a task's path on a fresh toolbox; returns the observations.

    Each call goes the way of a model's: written out and read back.
    """
    toolbox = world.toolbox(task)
    seen = []
    for call in task.path:
        tool = toolbox[call.name]
        fitted = fit_arguments(call.arguments, tool)
        assert not isinstance(fitted, Misfit), (task, fitted)
        read = read_arguments(write_arguments(fitted, tool), tool)
        assert read.values == fitted, task
        assert call.name not in task.forbidden, task
        try:
            seen.append(render_result(tool.call(dict(read.values))))
        except Exception as error:
            seen.append(f"Error: {describe_error(error)}")
    return seen


def check_path(world: World, task: Task) -> None:
    """The path leads to the answer: its observations show all facts, and the answers are judged right."""
    assert task.world == world.name
    assert task.question.strip() and task.answers and task.path
    text = "\n".join(walk(world, task))
    for fact in task.facts:
        assert fact in text or json.dumps(fact, ensure_ascii=False)[1:-1] in text, (task, text)
    for answer in task.answers:
        assert world.judge(task, answer), task
        assert world.judge(task, f"It is {answer}."), task
    assert not world.judge(task, "I am sure that it is purple."), task


def check_series(world: World) -> None:
    """The same seed gives the same tasks, more tasks begin with fewer, other seeds give others, and nothing comes twice."""
    tasks = world.tasks(60, 3)
    assert world.tasks(60, 3) == tasks == type(world)().tasks(60, 3)
    assert world.tasks(20, 3) == tasks[:20]
    assert world.tasks(0, 3) == []
    assert {task.question for task in world.tasks(60, 4)} != {task.question for task in tasks}
    assert len({task.id for task in tasks}) == len({task.question for task in tasks}) == 60
    assert {task.seed for task in tasks} == {3}


def check_exemplars(world: World, toolbox) -> None:
    """The exemplars fit the tools, and share no question and no fact with a task."""
    exemplars = world.exemplars()
    tasks = world.tasks(300, 1)
    told = "\n".join(
        str(part) for exemplar in exemplars for step in exemplar.steps
        for part in (exemplar.question, step.action, step.observation and step.observation.text)
    )  # fmt: skip
    for exemplar in exemplars:
        for step in exemplar.steps[:-1]:
            assert not isinstance(fit_arguments(step.action.arguments, toolbox[step.action.name]), Misfit)
    assert not {task.question for task in tasks} & {exemplar.question for exemplar in exemplars}
    for task in tasks:
        for value in (value for call in task.path for value in call.arguments.values()):
            assert not isinstance(value, str) or value not in told, (task, value)
