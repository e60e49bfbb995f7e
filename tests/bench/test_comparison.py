"""Comparisons pair the cases that both sides have, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local_react.bench.comparison import TESTED, compare, compare_arms
from local_react.bench.statistics import mcnemar
from tests.bench.test_scores import GRADE, failing


def test_arms_are_compared_on_the_cases_that_both_have():
    free = [failing(task=f"t{i}") for i in range(6)]
    constrained = [replace(GRADE, arm="constrained", task=f"t{i}") for i in range(1, 9)]
    (found,) = compare_arms([*free, *constrained], [("free", "constrained")])
    assert (found.first, found.second, found.n) == ("free", "constrained", 5)
    assert found.tests["success"] == mcnemar([False] * 5, [True] * 5)
    assert found.tests["success"].p_value == 0.0625
    assert found.differences["tokens"].value == -20 and found.ratios["seconds"].value == 0.5
    assert set(found.tests) == set(found.adjusted) == set(TESTED)
    assert all(found.adjusted[name] >= found.tests[name].p_value for name in TESTED)
    json.dumps(found.write())


def test_the_p_values_of_several_pairs_are_corrected_together():
    grades = [failing(task=f"t{i}") for i in range(8)]
    grades += [replace(GRADE, arm=arm, task=f"t{i}") for arm in ("a", "b", "c") for i in range(8)]
    one = compare_arms(grades, [("free", "a")])[0]
    together = compare_arms(grades, [("free", "a"), ("free", "b"), ("free", "c")])
    assert len(together) == 3
    assert together[0].adjusted["success"] > one.adjusted["success"]
    assert together[0].tests == one.tests


@pytest.mark.parametrize(("across_arms", "n"), [(True, 1), (False, 0)])
def test_runs_are_paired_with_or_without_their_arms(across_arms, n):
    found = compare([GRADE], [replace(GRADE, arm="other")], names=("A", "B"), across_arms=across_arms)
    assert sum(comparison.n for comparison in found) == n


def test_models_are_compared_apart():
    grades = [GRADE, replace(GRADE, model="n")]
    assert [found.model for found in compare(grades, grades, names=("A", "B"), across_arms=False)] == ["m", "n"]
