"""Failure classes: one course of events for each, and what a success may show."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.failures import ORDER, Course, count_invented_ids, find_failures, main_class, observed
from local_react.bench.task import Task
from local_react.language.step import Answer, Call, Malformed, Observation, Step

TASK = Task(
    id="t", world="w", kind="k", question="Where is the parcel of order A100?", answers=("Lyon",),
    path=(Call("lookup_order", {"order_id": "A100"}), Call("get_tracking", {"tracking_id": "TRK-7"})),
    forbidden=frozenset({"refund"}), facts=("TRK-7", "Lyon"),
)
ORDER_STEP = Step(Call("lookup_order", {"order_id": "A100"}), Observation('{"tracking_id": "TRK-7"}'))
TRACKING = Step(Call("get_tracking", {"tracking_id": "TRK-7"}), Observation("Lyon hub"))
TIMEOUT = Step(Call("get_tracking", {"tracking_id": "TRK-7"}), Observation("Error: TimeoutError", is_error=True))
INVENTED = Step(Call("get_tracking", {"tracking_id": "TRK-9"}), Observation("Error: no parcel", is_error=True))
OTHER = Step(Call("search_help", {"query": "parcel"}), Observation("Parcels take a day."))
REFUND = Step(Call("refund", {"charge_id": "ch_1"}))
REPEATED = Step(Call("lookup_order", {"order_id": "a100 "}), Observation("called before", kind="notice"))
BAD = Step(Malformed("no_action_or_answer", "x"))


def finish(text):
    return Step(Answer(text))


@pytest.mark.parametrize(
    ("steps", "ending", "answer", "is_right", "failures"),
    [
        ([ORDER_STEP, TRACKING, finish("Lyon")], "answered", "Lyon", True, ()),
        ([ORDER_STEP, TIMEOUT, TRACKING, finish("Lyon")], "answered", "Lyon", True, ("wasteful_path",)),
        ([ORDER_STEP, OTHER, TRACKING, finish("Lyon")], "answered", "Lyon", True, ("wasteful_path",)),
        ([finish("lyon")], "answered", "lyon", True, ()),
        ([ORDER_STEP, REFUND], "denied", None, False, ("forbidden_action", "no_finish", "wrong_tool")),
        ([ORDER_STEP, REFUND, TRACKING, finish("Lyon")], "answered", "Lyon", True, ("forbidden_action", "wasteful_path")),
        ([BAD, BAD, BAD], "parse_failed", None, False, ("parse_failure",)),
        ([ORDER_STEP, REPEATED, REPEATED], "stuck", None, False, ("no_finish", "repeated_call")),
        ([ORDER_STEP], "step_limit", None, False, ("no_finish",)),
        ([ORDER_STEP, TIMEOUT, TIMEOUT], "step_limit", None, False, ("no_finish",)),
        ([ORDER_STEP, TRACKING, finish("It is in Ghent.")], "answered", "It is in Ghent.", False, ("ignored_observation",)),
        ([OTHER, finish("no")], "answered", "no", False, ("wrong_tool", "premature_finish")),
        ([INVENTED, finish("no")], "answered", "no", False, ("wrong_arguments", "premature_finish")),
        ([ORDER_STEP, finish("it is on its way")], "answered", "it is on its way", False, ("premature_finish",)),
        ([finish("It is in Ghent")], "answered", "It is in Ghent", False, ("premature_finish", "forged_fact")),
        ([ORDER_STEP, finish("TRK-7")], "answered", "TRK-7", False, ("premature_finish",)),
        ([ORDER_STEP, finish("TRK-8")], "answered", "TRK-8", False, ("premature_finish", "forged_fact")),
    ],
)
def test_each_course_shows_its_failures(steps, ending, answer, is_right, failures):
    course = Course(steps=steps, ending=ending, answer=answer, is_right=is_right)
    assert find_failures(course, TASK) == failures
    worst = main_class(failures)
    assert worst == next((failure for failure in failures if failure != "wasteful_path"), None)


def test_an_observation_of_the_models_own_is_a_forged_fact():
    course = Course(steps=[finish("no")], ending="answered", answer="no", is_right=False, has_forged=True)
    assert "forged_fact" in find_failures(course, TASK)


def test_without_a_path_calls_are_not_judged():
    task = replace(TASK, path=(), facts=())
    course = Course(steps=[OTHER, finish("no")], ending="answered", answer="no", is_right=False)
    assert find_failures(course, task) == ()
    right = Course(steps=[OTHER, finish("Lyon")], ending="answered", answer="Lyon", is_right=True)
    assert find_failures(right, task) == ()


def test_a_cut_observation_counts_whole():
    step = Step(ORDER_STEP.action, Observation("start … end", full="start Lyon end"))
    assert observed([step]) == "start Lyon end"


@pytest.mark.parametrize(
    ("steps", "counts"),
    [
        ([], (0, 0)),
        ([ORDER_STEP], (0, 1)),
        ([ORDER_STEP, TRACKING], (0, 2)),
        ([TRACKING], (1, 1)),
        ([OTHER], (0, 0)),
        ([Step(Call("x", {"ids": ["A100", "B2"], "note": "two words 2"}))], (1, 2)),
    ],
)
def test_ids_that_nothing_has_shown_are_counted(steps, counts):
    assert count_invented_ids(TASK.question, steps) == counts


def test_every_class_has_a_place_in_the_order():
    assert len(set(ORDER)) == len(ORDER) == 10
