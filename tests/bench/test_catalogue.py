"""The benchmarks by name: each can be run as it stands, and compares what it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from local_react import SettingsError
from local_react.bench.arms import ARMS
from local_react.bench.catalogue import BENCHMARKS, find_benchmark
from local_react.bench.execution import options_in
from local_react.bench.matrix import read_matrix
from local_react.bench.worlds.catalogue import make_world
from local_react.cli.bench_calls import CALL_BENCHMARKS


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_arm_of_a_benchmark_can_be_run_in_its_worlds(name):
    matrix = BENCHMARKS[name].matrix({})
    for world in matrix.worlds:
        for arm in matrix.chosen_arms():
            n = len(options_in(make_world(world), arm, matrix.limits)["exemplars"])
            assert arm.n_exemplars in (None, n)


@pytest.mark.parametrize("name", BENCHMARKS)
def test_every_benchmark_compares_arms_that_it_has(name):
    benchmark = BENCHMARKS[name]
    assert {arm for pair in benchmark.pairs for arm in pair} <= set(benchmark.arms) <= set(ARMS)
    assert benchmark.name == name and benchmark.question.endswith(("?", "."))
    small = benchmark.small()
    assert (small.arms, small.worlds, small.question) == (benchmark.arms, benchmark.worlds, benchmark.question)
    assert small.n_tasks < benchmark.n_tasks


def test_changes_go_before_what_a_benchmark_says():
    matrix = find_benchmark("parse").matrix({"arms": ["free"], "n_tasks": 2, "limits": {"max_steps": 2}})
    assert (matrix.arms, matrix.n_tasks, matrix.limits["max_steps"]) == (("free",), 2, 2)


def test_the_limits_that_a_question_needs_stay_beside_those_that_are_given():
    assert find_benchmark("abuses").matrix({}).limits["min_calls"] == 1
    limits = find_benchmark("abuses").matrix({"limits": {"max_steps": 2}}).limits
    assert (limits["min_calls"], limits["max_steps"]) == (1, 2)
    assert find_benchmark("abuses").matrix({"limits": {"min_calls": 0}}).limits["min_calls"] == 0


@pytest.mark.parametrize(("changes", "message"), [({"bogus": 1}, "The benchmark parse: .*bogus"), ({"n_tasks": 0}, "n_tasks")])
def test_a_wrong_change_is_named(changes, message):
    with pytest.raises(SettingsError, match=message):
        find_benchmark("parse").matrix(changes)


def test_an_unknown_benchmark_is_told():
    with pytest.raises(SettingsError, match="no benchmark called 'bogus'"):
        find_benchmark("bogus")


def test_make_bench_small_runs_every_benchmark():
    text = (Path(__file__).parents[2] / "Makefile").read_text(encoding="utf-8")
    named = {name for line in re.findall(r"^(?:CALL_)?BENCHMARKS = (.*)$", text, re.MULTILINE) for name in line.split()}
    assert named == {*BENCHMARKS, *CALL_BENCHMARKS}
    assert "bench speed --small" in text


def test_the_readme_of_the_benchmarks_names_every_one():
    text = (Path(__file__).parents[2] / "benchmarks" / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^\| `(\w+)` \| .*\|$", text.split("## The benchmarks by name")[1].split("\n**")[0], re.MULTILINE))
    assert named == {*BENCHMARKS, *CALL_BENCHMARKS, "speed"}


def test_the_matrix_of_the_headline_is_that_of_its_benchmark():
    matrix = read_matrix(Path(__file__).parents[2] / "benchmarks" / "parse.toml")
    benchmark = find_benchmark("parse").matrix({"models": matrix.models, "load": {"n_ctx": 4096}})
    assert matrix == benchmark
