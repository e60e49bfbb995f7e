"""Matrices: a file says the same as flags, and what is wrong in one is named."""

from __future__ import annotations

import pytest

from local_react import SettingsError
from local_react.bench.matrix import LIMITS, make_matrix, read_matrix

WHOLE = """
models = ["a.gguf", "b.gguf"]
arms = ["free", "mine", "mine-too"]
worlds = ["billing"]
n_tasks = 3
task_seed = 5
seeds = [1, 2]
temperatures = [0.0, 0.7]
n_parallel = 2

[limits]
max_steps = 3

[load]
n_ctx = 2048
n_threads = 1

[[arm]]
name = "mine"
like = "constrained"
constrain = "repair"
guards = {min_calls = 1}

[[arm]]
name = "mine-too"
like = "mine"
n_exemplars = 0
instructions = "Be quick."
guards = {max_repeats = 1}
"""


def test_a_file_says_everything(tmp_path):
    path = tmp_path / "matrix.toml"
    path.write_text(WHOLE)
    matrix = read_matrix(path)
    assert (matrix.models, matrix.worlds, matrix.n_tasks, matrix.n_parallel) == (("a.gguf", "b.gguf"), ("billing",), 3, 2)
    assert matrix.limits == dict(LIMITS) | {"max_steps": 3}
    assert matrix.load_options() == {"n_ctx": 2048, "n_threads": 1}
    free, mine, too = matrix.chosen_arms()
    assert (free.name, mine.name, too.name) == ("free", "mine", "mine-too")
    assert (mine.constrain, dict(mine.guards)) == ("repair", {"min_calls": 1})
    assert (mine.instructions, too.instructions) == (None, "Be quick.")
    assert (too.constrain, too.n_exemplars, dict(too.guards)) == ("repair", 0, {"min_calls": 1, "max_repeats": 1})


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ({}, ["free", "constrained"]),
        ({"arm": [{"name": "mine"}]}, ["mine"]),
        ({"arm": [{"name": "mine"}, {"name": "other"}], "arms": ["lenient", "mine"]}, ["lenient", "mine"]),
    ],
)
def test_the_arms_are_those_that_are_named_else_the_matrixs_own(values, names):
    assert [arm.name for arm in make_matrix(values).chosen_arms()] == names


def test_none_is_no_limit(tmp_path):
    path = tmp_path / "matrix.toml"
    path.write_text('[limits]\nmax_malformed = "none"\n[[arm]]\nname = "x"\nguards = {observation_tokens = "none"}\n')
    matrix = read_matrix(path)
    assert matrix.limits["max_malformed"] is None
    assert matrix.chosen_arms()[0].guards == (("observation_tokens", None),)


def test_at_temperature_0_one_seed_is_enough():
    matrix = make_matrix({"temperatures": [0, 0.7], "seeds": [4, 5]})
    assert matrix.runs() == [(0.0, 4), (0.7, 4), (0.7, 5)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modles = ['a']", "no key called modles"),
        ("models = []", "models"),
        ("models = 'smollm2'", "models"),
        ("n_tasks = 0", "n_tasks"),
        ("n_tasks = '3'", "n_tasks.*'3'"),
        ("temperatures = ['hot']", "temperatures.0"),
        ("arms = ['bogus-arm']", "no arm called 'bogus-arm'"),
        ("arms = ['free', 'free']", "free is there twice"),
        ("[[arm]]\nname = 'x'\n[[arm]]\nname = 'x'", "x is described twice"),
        ("[limits]\nmax_step = 1", "no limit called max_step"),
        ("[limits]\nmax_steps = 0", "max_steps=0"),
        ("[load]\nn_cxt = 1", "load.n_cxt"),
        ("[[arm]]\nlike = 'free'", "arm.0.name is missing"),
        ("[[arm]]\nname = 'x'\nlike = 'bogus'", "no arm called 'bogus'"),
        ("[[arm]]\nname = 'x'\nengine = 3", "arm.0.engine"),
        ("[[arm]]\nname = 'x'\nground = true", "Set constrain"),
        ("[[arm]]\nname = 'x'\n[arm.guards]\nbogus = 1", "no guard called bogus"),
        ("x = 1\ny = 2", "1 more mistake"),
        ("models = [", "no TOML"),
    ],
)
def test_a_mistake_in_a_file_is_named(tmp_path, text, message):
    path = tmp_path / "matrix.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message):
        read_matrix(path)


def test_a_file_that_is_absent_is_told(tmp_path):
    with pytest.raises(SettingsError, match="No such file"):
        read_matrix(tmp_path / "matrix.toml")
