"""What the options of `bench` become: keys of a matrix, worlds, and nothing where nothing was given."""

from __future__ import annotations

import json

import pytest

from local_react import PromptError, SettingsError, ToolError
from local_react.bench.matrix import make_matrix
from local_react.cli.bench_options import OPTIONS, make_worlds, matrix_keys

NOTHING = {
    "models": (), "arms": (), "worlds": (), "task_files": (), "tools": (), "exemplars": None, "n_tasks": None, "task_seed": None,
    "seeds": (), "temperatures": (), "max_steps": None, "max_step_tokens": None, "n_parallel": None, "n_ctx": None,
    "n_threads": None, "n_gpu_layers": None,
}


@pytest.mark.parametrize(
    ("given", "keys"),
    [
        ({}, {}),
        ({"models": ("a",), "temperatures": (0.0,)}, {"models": ("a",), "temperatures": (0.0,)}),
        ({"task_files": ("t.jsonl",), "worlds": ("billing",)}, {"worlds": ("t.jsonl", "billing")}),
        ({"n_tasks": 3, "task_seed": 0, "n_parallel": 2}, {"n_tasks": 3, "task_seed": 0, "n_parallel": 2}),
        ({"max_steps": 2}, {"limits": {"max_steps": 2}}),
        ({"n_threads": 1, "n_gpu_layers": 0}, {"load": {"n_threads": 1, "n_gpu_layers": 0}}),
    ],
)
def test_only_what_was_given_becomes_a_key(given, keys):
    assert matrix_keys(NOTHING | given) == keys
    make_matrix(matrix_keys(NOTHING | given))


def test_every_option_is_known_here():
    assert len(OPTIONS) == len(NOTHING)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a/mine.jsonl", "b/mine.jsonl", "other.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(json.dumps({"question": "What?", "answers": ["this"]}) + "\n")
    return tmp_path


def worlds(*names, **given):
    return make_worlds(make_matrix({"worlds": names}), given)


def test_worlds_come_by_name_and_from_files(folder):
    found = worlds("billing", "other.jsonl")
    assert [world.name for world in found.values()] == ["billing", "other"]
    assert list(found) == ["billing", "other.jsonl"]


def test_two_files_of_one_name_are_refused(folder):
    with pytest.raises(SettingsError, match="Two worlds are called mine"):
        worlds("a/mine.jsonl", "b/mine.jsonl")


@pytest.mark.parametrize(
    ("given", "error"), [({"tools": ("absent.py",)}, ToolError), ({"exemplars": "absent.json"}, PromptError)]
)
def test_tools_and_exemplars_that_are_absent_are_told(folder, given, error):
    with pytest.raises(error, match="absent"):
        worlds("other.jsonl", **given)
