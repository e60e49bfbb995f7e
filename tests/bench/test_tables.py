"""Tables: figures are rounded, never changed, and what wasn't counted says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.comparison import compare_arms
from local_react.bench.scores import score_arm
from local_react.bench.statistics import Estimate, share
from local_react.bench.tables import (
    NOTHING,
    classes_table,
    codes_table,
    comparisons_table,
    episodes_table,
    kinds_table,
    passes_table,
    short_name,
    show_estimate,
    show_p_value,
    show_share,
    steps_table,
)
from tests.bench.test_scores import GRADE, failing

SCORES = [score_arm([GRADE, failing(task="t1")]), score_arm([replace(GRADE, arm="constrained", codes={}, n_malformed=0)])]


@pytest.mark.parametrize(
    ("found", "shown"),
    [
        (share(41, 333), "12.3 % (9.2 to 16.3), 41 of 333"),
        (share(0, 1000), "0.0 % (0.0 to 0.4), 0 of 1,000"),
        (share(0, 0), NOTHING),
    ],
)
def test_a_share_shows_its_interval_and_its_counts(found, shown):
    assert show_share(found) == shown


def test_estimates_and_p_values_are_short():
    assert show_estimate(Estimate(value=1234.56, n=3, low=1.0, high=2000.04)) == "1,234.6 (1.0 to 2,000.0)"
    assert show_estimate(Estimate(value=None, n=0, low=None, high=None)) == NOTHING
    assert [show_p_value(value) for value in (0.0, 0.0009, 0.001, 0.0625, 1.0)] == [
        "< 0.001", "< 0.001", "0.001", "0.062", "1.000",
    ]
    assert short_name("a.b.gguf") == "a.b"


@pytest.mark.parametrize("make", [steps_table, codes_table, episodes_table, classes_table])
def test_every_score_has_a_row_as_wide_as_the_head(make):
    table = make(SCORES)
    assert [row[2] for row in table.rows] == ["free", "constrained"]
    assert all(len(row) == len(table.head) for row in table.rows)


def test_what_an_arm_has_not_got_is_told():
    table = kinds_table([SCORES[0], replace(SCORES[1], kinds={"w: other": share(1, 1)})])
    assert table.rows == (("w: look-up", "1 of 2", NOTHING), ("w: other", NOTHING, "1 of 1"))
    assert passes_table(SCORES) is None
    several = score_arm([GRADE, replace(GRADE, seed=1)])
    assert passes_table([several, SCORES[0]]).rows[1][3:] == (NOTHING, NOTHING)


def test_a_comparison_has_a_row_for_each_test():
    grades = [failing(task="t1"), replace(GRADE, arm="constrained", task="t1")]
    table = comparisons_table(compare_arms(grades, [("free", "constrained")]))
    assert [row[4] for row in table.rows] == ["success", "answered", "has malformed", "has forged"]
    assert all(len(row) == len(table.head) for row in table.rows)
