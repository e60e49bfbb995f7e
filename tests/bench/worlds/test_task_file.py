"""Tasks from files: our own lines, HotpotQA's and FEVER's, and what is wrong with a line."""

from __future__ import annotations

import json

import pytest

from local_react.bench.worlds.catalogue import WORLDS, make_world
from local_react.bench.worlds.given import WITHOUT_TOOLS, GivenWorld
from local_react.bench.worlds.task_file import EXAMPLE, read_tasks
from local_react.errors import SettingsError
from local_react.language.step import Call
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

FULL = {
    "id": "first", "kind": "where", "question": "Where is order A100?", "answers": ["Lyon", "Lyon hub"],
    "path": [{"name": "track", "arguments": {"order": "A100"}}], "forbidden": ["refund"], "facts": ["Lyon hub"],
    "match": "exact",
}  # fmt: skip


def track(order: str) -> str:
    """Where an order is."""
    return "Lyon hub"


def refund(order: str) -> str:
    """Pay back."""
    return "done"


def tools():
    return Toolbox([track, Tool.from_function(refund, needs_approval=True)])


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        path = tmp_path / "mine.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
        return path

    return write


def test_a_line_with_everything_becomes_a_task_with_everything(write):
    world = make_world(str(write(FULL)), make_toolbox=tools)
    (task,) = world.tasks(10)
    assert (task.id, task.world, task.kind, task.answers) == ("first", "mine", "where", ("Lyon", "Lyon hub"))
    assert task.path == (Call("track", {"order": "A100"}),)
    assert (task.forbidden, task.facts) == ({"refund"}, ("Lyon hub",))
    assert world.judge(task, "lyon.") and not world.judge(task, "It is in Lyon.")
    assert list(world.toolbox(task)) == ["track", "refund"]
    assert world.toolbox(task) is not world.toolbox(task)


def test_the_example_in_the_error_messages_is_a_task(write):
    world = make_world(str(write(EXAMPLE, "", EXAMPLE.replace("A100", "A101"))))
    assert [(task.id, task.kind) for task in world.tasks(9)] == [("mine-1", "given"), ("mine-3", "given")]
    assert world.judge(world.tasks(1)[0], "It is in Lyon.")
    assert world.exemplars() == WITHOUT_TOOLS


def test_a_mark_of_the_byte_order_before_the_first_line_is_no_part_of_it(write):
    path = write(FULL)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [task.id for task in read_tasks(path).tasks] == ["first"]


def test_the_tasks_of_a_file_come_in_its_order_under_any_seed(write):
    world = make_world(str(write(*({"question": f"{n}?", "answers": ["x"]} for n in range(5)))))
    assert [task.question for task in world.tasks(3, seed=9)] == ["0?", "1?", "2?"]
    assert world.tasks(3, 9) == world.tasks(3, 0)
    assert world.tasks(0) == []


def test_exemplars_show_the_users_tools_but_none_that_needs_approval(write):
    world = make_world(str(write(FULL)), make_toolbox=tools)
    called = {step.action.name for exemplar in world.exemplars() for step in exemplar.steps[:-1]}
    assert called == {"track"}


def test_texts_with_odd_line_breaks_stay_on_their_line(write):
    line = json.dumps({"question": "a\u2028b\x85c?", "answers": ["x"]}, ensure_ascii=False)
    (task,) = make_world(str(write(line))).tasks(5)
    assert task.question == "a\u2028b\x85c?"


BAD = [
    ("{", "is no JSON"),
    ("[]", "is no object"),
    ("3", "is no object"),
    ({"answers": ["x"]}, "question"),
    ({"question": "?"}, "answers"),
    ({"question": "?", "answers": []}, "answers"),
    ({"question": "?", "answers": [""]}, "answers"),
    ({"question": "", "answers": ["x"]}, "question"),
    ({"question": 3, "answers": ["x"]}, "question"),
    ({"question": "?", "answers": "x"}, "answers"),
    ({"question": "?", "answers": ["x"], "hints": []}, "hints"),
    ({"question": "?", "answers": ["x"], "match": "fuzzy"}, "match"),
    ({"question": "?", "answers": ["x"], "path": [{"arguments": {}}]}, "path"),
    ({"question": "?", "answers": ["x"], "forbidden": ["launch"]}, "no tool launch"),
    ({"question": "?", "answers": ["x"], "path": [{"name": "track", "arguments": {}}]}, "doesn't fit"),
    ({"id": "a", "question": "?", "answers": ["x"]}, "has the id 'a' too"),
    ({"id": "h", "question": "?", "answer": "x"}, "type"),
    ({"id": "f", "claim": "x", "label": "MAYBE"}, "label"),
]


@pytest.mark.parametrize(("line", "said"), BAD)
def test_what_is_wrong_with_a_line_is_said_with_its_number(write, line, said):
    path = write({"id": "a", "question": "?", "answers": ["x"]}, line)
    with pytest.raises(SettingsError, match="line 2") as caught:
        make_world(str(path), make_toolbox=tools)
    assert said in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff"])
def test_a_file_without_tasks_is_refused(tmp_path, content):
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"mine\.jsonl"):
        read_tasks(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(SettingsError, match="can't be read"):
        make_world(str(tmp_path / "none.jsonl"))


def test_hotpotqa_rows_are_judged_by_the_published_rule(shared):
    world = make_world(str(shared / "data" / "hotpotqa_dev.jsonl"))
    tasks = world.tasks(1000)
    assert len(tasks) == 500 and {task.kind for task in tasks} == {"bridge", "comparison"}
    task = next(task for task in tasks if task.answers == ("Canary Islands, Spain",))
    assert world.judge(task, "the Canary Islands Spain")
    assert not world.judge(task, "They are in the Canary Islands, Spain.")
    assert all(world.judge(task, task.answers[0]) for task in tasks if task.answers[0].strip(".?! "))
    assert not world.toolbox(task)


def test_fever_rows_ask_for_one_of_three_labels(shared):
    world = make_world(str(shared / "data" / "fever_dev.jsonl"))
    tasks = world.tasks(1000)
    assert len(tasks) == 500 and {task.kind for task in tasks} == {"supports", "refutes", "not enough info"}
    for task in tasks:
        assert world.judge(task, task.answers[0].title())
        assert sum(world.judge(task, label) for label in ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")) == 1
    asked = {exemplar.question for exemplar in world.exemplars()}
    assert not asked & {task.question for task in tasks}


def test_every_named_world_is_made_under_its_name():
    for name in WORLDS:
        assert make_world(name).name == name


@pytest.mark.parametrize(("name", "said"), [("biling", "Did you mean billing?"), ("zzz", "There is no world called 'zzz'.")])
def test_an_unknown_world_is_refused_by_name(name, said):
    with pytest.raises(SettingsError) as caught:
        make_world(name)
    assert said in str(caught.value) and "arithmetic" in str(caught.value)


def test_a_world_with_tools_of_its_own_takes_no_others():
    with pytest.raises(SettingsError, match="has tools"):
        make_world("arithmetic", make_toolbox=tools)


def test_given_exemplars_are_taken(write):
    given = GivenWorld(read_tasks(write(FULL)), tools, exemplars=WITHOUT_TOOLS[:1])
    assert given.exemplars() == WITHOUT_TOOLS[:1]
