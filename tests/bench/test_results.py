"""The results folder: what was written is read again, and neither a crash, a full disk nor a second process spoils it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from local_react import ScriptedModel, SettingsError
from local_react.bench.arms import FREE
from local_react.bench.execution import run_items
from local_react.bench.items import Item
from local_react.bench.results import EPISODES, MARK, Begun, Missed, Recorded, Results, open_results
from tests.bench.colours import Colours, answer, look

WORLD = Colours()


def item(n: int, **changes) -> Item:
    values = {"model": {"name": "scripted"}, "arm": FREE, "task": WORLD.tasks(n + 1)[n], "seed": 0, "temperature": 0.0,
              "limits": {"max_steps": 4}}
    return Item(**values | changes)


def play(one: Item):
    return run_items(ScriptedModel([look("0"), answer("red")]), WORLD, [one], clock=lambda: 0.0)[0]


def fill(folder: Path, n: int) -> list[Recorded]:
    recorded = []
    with open_results(folder) as writer:
        for i in range(n):
            recorded.append(Recorded(item(i), play(item(i)), i == 0))
            writer.add(*(recorded[-1].item, recorded[-1].trace, recorded[-1].is_right))
    return recorded


def test_what_was_written_is_read_again(tmp_path):
    recorded = fill(tmp_path / "run", 2)
    results = Results(tmp_path / "run")
    assert list(results) == recorded
    assert results.n_damaged == 0
    with open_results(tmp_path / "run") as writer:
        assert writer.done == {one.item.key for one in recorded}
        writer.begin("bench run", {"cpu": "fast"})
        writer.miss("model x", "It is broken.")
    assert list(results) == [*recorded, Begun("bench run", {"cpu": "fast"}), Missed("model x", "It is broken.")]
    assert results.find(recorded[1].item.key[:9]) == recorded[1]


@pytest.mark.parametrize("key", ["", "zz"])
def test_a_key_must_mean_one_episode(tmp_path, key):
    fill(tmp_path, 2)
    with pytest.raises(SettingsError, match="the beginning of [02] keys"):
        Results(tmp_path).find(key)


@pytest.mark.parametrize(
    "damage",
    [
        lambda line: line[: len(line) // 2],
        lambda line: b"\x00\xff" + line,
        lambda line: b"[]\n",
        lambda line: b"{}\n",
        lambda line: line.replace(b'"temperature": 0.0', b'"temperature": 1.0'),
        lambda line: line.replace(b'"event": "completion"', b'"event": "completion", "n_sampled": "x"', 1).replace(
            b'"n_sampled": 1', b'"m_sampled": 1'),
        lambda line: b"[" * 100_000 + b"\n",
        lambda line: b'{"call": "k", "values": {}}\n',
        lambda line: b'{"call": "k", "values": {"model": {}, "arm": 3}}\n',
        lambda line: line.replace(b'"arm": {"name": "free"', b'"arm": {"name": ["free"]'),
        lambda line: line.replace(b'"temperature": 0.0', b'"temperature": "0"'),
        lambda line: line.replace(b'"kind": "', b'"kind": 3, "was": "', 1),
    ],
)
def test_a_damaged_line_is_skipped_and_counted_and_its_episode_runs_again(tmp_path, damage):
    first, second, third = fill(tmp_path, 3)
    lines = (tmp_path / EPISODES).read_bytes().splitlines(keepends=True)
    damaged = damage(lines[1])
    (tmp_path / EPISODES).write_bytes(lines[0] + damaged.rstrip(b"\n") + b"\n" + lines[2])
    results = Results(tmp_path)
    assert list(results) == [first, third]
    assert results.n_damaged == 1
    with open_results(tmp_path) as writer:
        assert writer.n_damaged == 1 and second.item.key not in writer.done
        writer.add(second.item, second.trace, second.is_right)
    assert list(results) == [first, third, second]


def test_a_line_that_a_killed_process_left_unfinished_costs_only_itself(tmp_path):
    first, second = fill(tmp_path, 2)
    path = tmp_path / EPISODES
    path.write_bytes(path.read_bytes()[:-20])
    with open_results(tmp_path) as writer:
        assert writer.done == {first.item.key}
        writer.add(second.item, second.trace, second.is_right)
    assert list(Results(tmp_path)) == [first, second]


def test_two_writers_on_one_folder_are_refused(tmp_path):
    with open_results(tmp_path):
        with pytest.raises(SettingsError, match="Another process writes"):
            with open_results(tmp_path):
                pass
        code = f"from local_react.bench.results import open_results\nwith open_results({str(tmp_path)!r}): pass"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and "Another process writes" in done.stderr
    with open_results(tmp_path):
        pass


@pytest.mark.parametrize(
    ("mark", "message"), [('{"version": 99}', "version 99"), ("{", "damaged"), ("[]", "damaged"), ("{}", "damaged"), (None, "no ")]
)
def test_a_folder_of_another_version_is_refused(tmp_path, mark, message):
    fill(tmp_path, 1)
    (tmp_path / MARK).write_text(mark) if mark is not None else (tmp_path / MARK).unlink()
    with pytest.raises(SettingsError, match=message):
        Results(tmp_path)
    with pytest.raises(SettingsError, match=message):
        with open_results(tmp_path):
            pass


def test_a_folder_that_can_not_be_written_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="can't be written"):
        with open_results(tmp_path / "file" / "run"):
            pass


FULL_DISK = """
import resource, sys
from tests.bench.test_results import item, open_results, play
from local_react import TraceError
with open_results(sys.argv[1]) as writer:
    writer.add(item(0), play(item(0)), True)
    size = (writer.folder / "episodes.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, size + 500))
    try:
        writer.add(item(1), play(item(1)), True)
    except TraceError as error:
        print(error)
"""


def test_a_full_disk_loses_nothing_that_was_there(tmp_path):
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path / "run")], capture_output=True, text=True, timeout=60, cwd=root)
    assert "goes on where it stopped" in done.stdout, done.stderr
    results = Results(tmp_path / "run")
    assert [recorded.item for recorded in results.episodes()] == [item(0)]
    assert results.n_damaged == 0
    assert json.loads((tmp_path / "run" / EPISODES).read_bytes())["is_right"] is True
