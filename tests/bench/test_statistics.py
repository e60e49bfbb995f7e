"""The statistics against published values, by-hand ones, and properties that hold for any data."""

from __future__ import annotations

import math
from math import comb

import numpy as np
import pytest
from hypothesis import given, strategies as st

from local_react import SettingsError
from local_react.bench.statistics import (
    clustered_share,
    holm,
    mcnemar,
    mean,
    paired_difference,
    paired_ratio,
    pass_at,
    pass_hat,
    share,
)

counts = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
probabilities = st.floats(0, 1)


@pytest.mark.parametrize(
    ("n_hits", "n", "low", "high"),
    [
        # Newcombe 1998, Statistics in Medicine 17, 857-872, table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_intervals_are_the_published_ones(n_hits, n, low, high):
    found = share(n_hits, n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


@given(counts)
def test_an_interval_holds_its_share(count):
    found = share(*count)
    if count[1] == 0:
        assert (found.value, found.low, found.high) == (None, None, None)
    else:
        assert 0 <= found.low <= found.value + 1e-12 and found.value - 1e-12 <= found.high <= 1
        assert found.high > found.low


@given(st.integers(1, 200))
def test_more_cases_make_an_interval_narrower(n):
    one, four = share(n // 2, n), share(4 * (n // 2), 4 * n)
    assert four.high - four.low < one.high - one.low


@pytest.mark.parametrize("count", [(-1, 5), (6, 5), (1, 0)])
def test_what_is_no_share_is_refused(count):
    with pytest.raises(SettingsError, match="is no share"):
        share(*count)


def test_mcnemars_exact_test_is_the_published_one():
    # Agresti, Categorical Data Analysis, 3rd edition, table 11.1: 150 and 86 discordant cases of 1,600.
    pairs = [(True, False)] * 150 + [(False, True)] * 86 + [(True, True)] * 794 + [(False, False)] * 570
    found = mcnemar([one for one, _ in pairs], [other for _, other in pairs])
    assert (found.n, found.n_only_first, found.n_only_second) == (1600, 150, 86)
    by_hand = 2 * sum(comb(236, i) for i in range(87)) / 2**236
    assert found.p_value == pytest.approx(by_hand, rel=1e-9)
    assert found.p_value < 1e-4


@pytest.mark.parametrize(("n_first", "n_second", "p_value"), [(0, 0, 1.0), (0, 5, 0.0625), (5, 0, 0.0625), (1, 9, 22 / 1024)])
def test_mcnemar_on_few_cases_by_hand(n_first, n_second, p_value):
    pairs = [(True, False)] * n_first + [(False, True)] * n_second + [(True, True)] * 7
    assert mcnemar([one for one, _ in pairs], [other for _, other in pairs]).p_value == pytest.approx(p_value)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_looks_at_both_arms_alike(pairs):
    first, second = [one for one, _ in pairs], [other for _, other in pairs]
    assert mcnemar(first, second).p_value == mcnemar(second, first).p_value
    assert mcnemar(first, first).p_value == 1.0


def test_holms_correction_by_hand():
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})


@given(st.dictionaries(st.text(max_size=3), probabilities, max_size=8))
def test_holms_correction_keeps_the_order_and_never_helps(p_values):
    adjusted = holm(p_values)
    assert list(adjusted) == list(p_values)
    for one in p_values:
        assert p_values[one] <= adjusted[one] <= 1
        for other in p_values:
            if p_values[one] < p_values[other]:
                assert adjusted[one] <= adjusted[other]


def test_a_p_value_that_is_none_is_refused():
    with pytest.raises(SettingsError, match="The p-value of b"):
        holm({"a": 0.5, "b": math.nan})


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(1, 6))
def test_pass_hat_k_is_the_share_of_draws_in_which_all_succeed(successes, k):
    """By the definition: every way of drawing k of six runs."""
    draws = [list(combination) for combination in _draws(6, k)]
    expected = np.mean([np.mean([all(i < c for i in draw) for draw in draws]) for c in successes])
    any_of_them = np.mean([np.mean([any(i < c for i in draw) for draw in draws]) for c in successes])
    assert pass_hat([(c, 6) for c in successes], k) == pytest.approx(expected)
    assert pass_at([(c, 6) for c in successes], k) == pytest.approx(any_of_them)


def _draws(n, k):
    if k == 0:
        yield ()
        return
    for last in range(k - 1, n):
        for before in _draws(last, k - 1):
            yield (*before, last)


def test_tasks_with_too_few_runs_are_left_out():
    assert pass_hat([(1, 1), (1, 2)], 2) == 0
    assert pass_hat([(1, 1)], 2) is None
    assert pass_hat([], 1) is None
    with pytest.raises(SettingsError):
        pass_hat([(3, 2)], 1)
    with pytest.raises(SettingsError):
        pass_at([(1, 2)], 0)


def test_a_bootstrap_interval_of_a_mean_is_close_to_the_one_of_theory():
    values = np.random.default_rng(7).normal(10, 2, 400)
    found = mean(values)
    half = 1.96 * values.std() / math.sqrt(400)
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.05)
    assert found.high == pytest.approx(values.mean() + half, abs=0.05)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.integers(0, 3))
def test_the_same_seed_gives_the_same_interval_around_the_mean(values, seed):
    found = mean(values, seed=seed)
    assert found == mean(values, seed=seed)
    assert min(values) - 1e-6 <= found.low <= found.high <= max(values) + 1e-6


def test_differences_and_ratios_are_taken_pair_by_pair():
    first, second = [1.0, 100.0, 3.0], [2.0, 101.0, 4.0]
    difference = paired_difference(first, second)
    assert (difference.value, difference.low, difference.high) == (1.0, 1.0, 1.0)
    doubled = paired_ratio(first, [2 * value for value in first])
    assert (doubled.value, doubled.low, doubled.high) == pytest.approx((2.0, 2.0, 2.0))
    assert paired_ratio([0, 0], [1, 2]).value is None
    assert paired_ratio([], []).value is None
    with pytest.raises(SettingsError, match="the same cases"):
        paired_difference([1], [])


def test_a_clustered_share_is_wider_than_wilsons_where_steps_hang_together():
    episodes = [(5, 5)] * 10 + [(0, 5)] * 10
    clustered, plain = clustered_share(episodes), share(50, 100)
    assert clustered.value == plain.value == 0.5
    assert clustered.high - clustered.low > plain.high - plain.low
    assert clustered_share([]).value is None
    assert clustered_share([(0, 0)]).n == 0
