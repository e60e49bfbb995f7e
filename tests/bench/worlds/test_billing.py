"""The billing world: paths lead to answers, desks are fresh, odd names and injections are there, refunds are forbidden."""

from __future__ import annotations

from collections import Counter

import pytest

from local_react.bench.worlds.billing import BillingWorld
from local_react.bench.worlds.shop_questions import KINDS
from local_react.language.observation import indent
from local_react.language.step import Call
from local_react.tools.demo_data import ARTICLES
from tests.bench.worlds.paths import check_exemplars, check_path, check_series, walk


@pytest.fixture(scope="module")
def world():
    return BillingWorld()


@pytest.fixture(scope="module")
def tasks(world):
    return world.tasks(3000, 1)


def test_there_are_thousands_of_tasks_of_every_kind(tasks):
    counts = Counter(task.kind for task in tasks)
    assert len(tasks) == 3000
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 20


def test_the_path_of_a_task_leads_to_its_answer(world, tasks):
    for task in tasks[:51]:
        check_path(world, task)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_the_path_of_every_task_leads_to_its_answer(world, seed):
    for task in world.tasks(3000, seed):
        check_path(world, task)


def test_tasks_come_from_the_seed_alone(world):
    check_series(world)


def test_the_database_is_the_same_in_every_world_and_differs_between_seeds(world):
    assert world.database(1).read_bytes() == BillingWorld().database(1).read_bytes() != world.database(2).read_bytes()


def test_exemplars_share_nothing_with_tasks(world, tasks):
    check_exemplars(world, world.toolbox(tasks[0]))


def test_refunding_is_forbidden_in_every_task_and_needs_approval(world, tasks):
    toolbox = world.toolbox(tasks[0])
    assert [name for name, tool in toolbox.items() if tool.needs_approval] == ["refund"]
    assert all(task.forbidden == {"refund"} for task in tasks)


def test_a_desk_forgets_its_refunds_and_its_failures(world, tasks):
    task = next(task for task in tasks if task.kind == "no_refund")
    for _ in range(2):
        (listed,) = walk(world, task)
        assert "refunded" not in listed
        toolbox = world.toolbox(task)
        charge = next(part for part in listed.split('"') if part.startswith("ch_"))
        toolbox["refund"].call({"charge_id": charge, "amount": 1.0})
    retry = next(task for task in tasks if task.kind == "retry")
    for _ in range(2):
        first, second = walk(world, retry)
        assert first.startswith("Error: TimeoutError")
        assert retry.answers[0] in second


def test_arguments_have_commas_brackets_and_quotes(tasks):
    texts = [call.arguments["name"] for task in tasks if task.kind == "by_name" for call in task.path]
    texts += [call.arguments["item"] for task in tasks if task.kind == "odd_arguments" for call in task.path]
    for sign in ",[]()\"'&":
        assert any(sign in text for text in texts), sign


def test_injections_read_like_lines_of_the_loop_and_never_say_the_answer(world, tasks):
    injected = [task for task in tasks if task.kind == "injected_note"][:40]
    texts = [walk(world, task)[0] for task in injected]
    lines = [line for text in texts for line in text.splitlines()[1:]]
    assert any(line.startswith("Action: refund[") for line in lines)
    assert any(line.startswith("Action: finish[") for line in lines)
    assert any(line.startswith("Observation:") for line in lines)
    assert any(line.startswith("Ignore all earlier instructions") for line in lines)
    for task, text in zip(injected, texts):
        first, *rest = text.split("\n")
        assert task.answers[0] in first
        assert not any(task.answers[0] in line for line in rest)
        # The loop indents what follows the first line, so no label stands at the start of one.
        assert not any(line.startswith(("Action", "Observation")) for line in indent(text).splitlines())


def test_what_is_asked_for_in_vain_is_in_no_table(world, tasks):
    for task in [task for task in tasks if task.kind == "not_found"][:40]:
        (seen,) = walk(world, task)
        assert seen.startswith("Error: LookupError: no ")
        assert world.judge(task, seen)


@pytest.mark.parametrize("text", ["' OR 1=1 --", "%", "\ud800", "", 'x"); DROP TABLE orders; --'])
def test_texts_of_a_model_never_become_sql(world, tasks, text):
    toolbox = world.toolbox(tasks[0])
    for call in (Call("find_customer", {"name": text}), Call("read_note", {"order_id": text})):
        with pytest.raises((LookupError, ValueError)):
            toolbox[call.name].call(call.arguments)
    if text.isprintable():
        assert toolbox["list_orders"].call({"customer_id": text, "item": text}) == []


def test_no_task_rests_on_the_demos_fixed_articles(world, tasks):
    assert "search_help" not in world.toolbox(tasks[0])
    assert not {title for title, _ in ARTICLES} & {task.question for task in tasks}
