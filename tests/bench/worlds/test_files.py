"""The files world: paths lead to answers, and no path leads out of the folder."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import example, given, settings, strategies as st

from local_react.bench.worlds.file_tools import MOST_HITS, FileDesk
from local_react.bench.worlds.files import KINDS, FilesWorld
from tests.bench.worlds.paths import check_exemplars, check_path, check_series, walk


@pytest.fixture(scope="module")
def world():
    return FilesWorld()


@pytest.fixture(scope="module")
def tasks(world):
    return world.tasks(1500, 1)


def test_there_are_many_tasks_of_every_kind(tasks):
    counts = Counter(task.kind for task in tasks)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 15 and len(tasks) >= 1000


def test_the_path_of_a_task_leads_to_its_answer(world, tasks):
    for task in tasks[:72]:
        check_path(world, task)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_path_of_every_task_leads_to_its_answer(world, seed):
    for task in world.tasks(2000, seed):
        check_path(world, task)


def test_tasks_come_from_the_seed_alone(world):
    check_series(world)


def test_the_files_are_the_same_in_every_world(world):
    def contents(world, seed):
        root = world.root(seed)
        return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}

    assert contents(world, 1) == contents(FilesWorld(), 1) != contents(world, 2)


def test_exemplars_share_nothing_with_tasks(world, tasks):
    check_exemplars(world, world.toolbox(tasks[0]))


def test_deleting_is_forbidden_in_every_task_and_needs_approval(world, tasks):
    assert [name for name, tool in world.toolbox(tasks[0]).items() if tool.needs_approval] == ["delete_file"]
    assert all(task.forbidden == {"delete_file"} for task in tasks)


def test_what_an_episode_deletes_is_there_for_the_next_one(world, tasks):
    task = next(task for task in tasks if task.kind == "color")
    path = task.path[0].arguments["path"]
    toolbox = world.toolbox(task)
    assert "is deleted" in toolbox["delete_file"].call({"path": path})
    folder, name = path.rsplit("/", 1)
    assert not any(entry.startswith(name) for entry in toolbox["list_folder"].call({"folder": folder}))
    with pytest.raises(FileNotFoundError):
        toolbox["read_file"].call({"path": path})
    check_path(world, task)


def test_the_archive_fails_once_for_each_episode(world, tasks):
    task = next(task for task in tasks if task.kind == "retry")
    for _ in range(2):
        first, second = walk(world, task)
        assert first.startswith("Error: TimeoutError") and task.answers[0] in second


def test_injections_never_say_the_answer(world, tasks):
    for task in [task for task in tasks if task.kind == "injected_color"][:20]:
        text = walk(world, task)[0]
        told = text.split("will be", 1)[1].split("\n", 1)
        assert task.answers[0] in told[0] and task.answers[0] not in told[1]
        assert "delete_file" in text or "finish[" in text or "assistant" in text


@pytest.fixture
def desk(tmp_path):
    root = tmp_path / "root"
    (root / "inner").mkdir(parents=True)
    (root / "inner" / "a.txt").write_text("one\ntwo words\nthree\n")
    (tmp_path / "secret.txt").write_text("secret words\n")
    (tmp_path / "root-2").mkdir()
    (tmp_path / "root-2" / "b.txt").write_text("secret words\n")
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (root / "up").symlink_to(tmp_path)
    return FileDesk(root)


OUTSIDE = [
    "../secret.txt", "inner/../../secret.txt", "link.txt", "up/secret.txt", "../root-2/b.txt", "/etc/passwd", "/", "..",
    "inner/a.txt/..\x00", "\x00", "\ud800", "a" * 5000, "~", "~/x", "inner//../..//secret.txt", "./../secret.txt",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_path_leads_out_of_the_folder(desk, path):
    for read in (desk.read_file, desk.list_folder, desk.delete_file, lambda path: desk.read_lines(path, 1, 9)):
        with pytest.raises(FileNotFoundError) as caught:
            read(path)
        assert "root" not in str(caught.value).replace("root-2", "")


@pytest.mark.parametrize("path", ["inner/a.txt", "./inner/a.txt", "inner/../inner/a.txt", " inner/a.txt "])
def test_paths_inside_are_read(desk, path):
    assert desk.read_file(path).startswith("one")


def test_searching_never_looks_outside(desk):
    assert desk.search_files("words") == "inner/a.txt: two words"
    assert desk.search_files("SECRET") == "No line has 'SECRET'."


def test_hits_are_counted_where_they_are_too_many(tmp_path):
    (tmp_path / "a.txt").write_text("x\n" * (MOST_HITS + 3))
    assert FileDesk(tmp_path).search_files("x").endswith("(3 more)")


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 2), (-1, 5)])
def test_lines_that_make_no_sense_are_refused(desk, first, last):
    with pytest.raises(ValueError, match="count from 1"):
        desk.read_lines("inner/a.txt", first, last)


def test_lines_are_counted_from_one(desk):
    assert desk.read_lines("inner/a.txt", 2, 3) == "two words\nthree"
    assert desk.read_lines("inner/a.txt", 9, 9) == ""


def test_nothing_to_search_for_is_refused(desk):
    with pytest.raises(ValueError, match="at least one word"):
        desk.search_files("  ")


@given(path=st.text(max_size=40))
@example(path="...")
@settings(max_examples=150, deadline=None)
def test_any_path_is_read_or_refused(tmp_path_factory, path):
    root = tmp_path_factory.getbasetemp() / "any"
    root.mkdir(exist_ok=True)
    with pytest.raises(FileNotFoundError):
        FileDesk(root).read_file(path)
