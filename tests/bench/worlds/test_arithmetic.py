"""The world of sums: every path gives the answer, which is computed in fractions and not by the calculator."""

from __future__ import annotations

from fractions import Fraction

import pytest

from local_react.bench.worlds.arithmetic import KINDS, TOOL, ArithmeticWorld, write_number
from local_react.tools.result import describe_error
from tests.bench.worlds.paths import check_exemplars, check_path, check_series

WORLD = ArithmeticWorld()


def test_the_path_of_a_task_leads_to_its_answer():
    tasks = WORLD.tasks(400, 5)
    assert {task.kind for task in tasks} == set(KINDS)
    for task in tasks:
        check_path(WORLD, task)
        assert len(task.path) == 1


@pytest.mark.slow
def test_the_path_of_every_task_leads_to_its_answer():
    tasks = WORLD.tasks(6000, 6)
    assert len(tasks) == 6000
    for task in tasks:
        check_path(WORLD, task)


def test_tasks_come_from_the_seed_alone():
    check_series(WORLD)


def test_exemplars_share_nothing_with_tasks():
    check_exemplars(WORLD, WORLD.toolbox(WORLD.tasks(1)[0]))


def test_the_observations_of_the_exemplars_are_the_tools_own():
    tool = WORLD.toolbox(WORLD.tasks(1)[0])[TOOL]
    for exemplar in WORLD.exemplars():
        for step in exemplar.steps[:-1]:
            try:
                seen = str(tool.call(step.action.arguments))
            except ValueError as error:
                seen = f"Error: {describe_error(error)}"
            assert seen == step.observation.text


@pytest.mark.parametrize(
    ("value", "text"), [(Fraction(12), "12"), (Fraction(-3), "-3"), (Fraction(1, 2), "0.5"), (Fraction(2331, 10), "233.1")]
)
def test_numbers_are_written_as_the_calculator_does(value, text):
    assert write_number(value) == text


def test_a_number_without_a_short_form_is_refused():
    with pytest.raises(ValueError, match="1/3"):
        write_number(Fraction(1, 3))
