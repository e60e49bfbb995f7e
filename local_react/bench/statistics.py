"""The statistics of the benchmarks: intervals for shares and means, tests for paired arms, pass^k.

What each method assumes stands in its docstring. Everything random is drawn from a seed, so the same data give the same
figures. Nothing here knows what the numbers count, and nothing is rounded: whoever prints a figure does that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy import stats

from local_react.errors import SettingsError

CONFIDENCE = 0.95
N_RESAMPLES = 2_000
"""Resamples of a bootstrap; their 2.5 % and 97.5 % points then rest on 50 values each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """`n_hits` of `n`, with an interval; `value` is None where there was nothing to count."""

    n_hits: int
    n: int
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """The share itself."""
        return self.n_hits / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean, a difference or a ratio over `n` cases, with an interval; None where it can't be computed."""

    value: float | None
    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A paired test of two arms: the cases in which only one of them hit, and the two-sided p-value."""

    n: int
    n_only_first: int
    n_only_second: int
    p_value: float


def share(n_hits: int, n: int, *, confidence: float = CONFIDENCE) -> Share:
    """A share with Wilson's score interval (Wilson 1927, J. Am. Stat. Assoc. 22, 209-212), without continuity correction.

    Assumes independent cases: steps of one episode aren't quite that, so an interval over steps is somewhat too narrow
    (`clustered_share` is the honest one). Raises SettingsError for counts that can't be.
    """
    if not 0 <= n_hits <= n:
        raise SettingsError(f"{n_hits} of {n} is no share.")
    if n == 0:
        return Share(n_hits=0, n=0, low=None, high=None)
    interval = stats.binomtest(n_hits, n).proportion_ci(confidence, method="wilson")
    return Share(n_hits=n_hits, n=n, low=float(interval.low), high=float(interval.high))


def clustered_share(hits: Sequence[tuple[int, int]], *, seed: int = 0, confidence: float = CONFIDENCE) -> Estimate:
    """A share over cases that come in clusters, given as (hits, cases) of each: a bootstrap that draws whole clusters.

    Percentile interval (Efron and Tibshirani 1993, chapter 13). Where no cluster differs from another, so neither do the
    resamples, and the interval is a point: read Wilson's then.
    """
    counts = np.asarray(hits, dtype=float).reshape(-1, 2)
    counts = counts[counts[:, 1] > 0]
    return _bootstrap(counts, lambda drawn: drawn[..., 0].sum(-1) / drawn[..., 1].sum(-1), seed=seed, confidence=confidence)


def mean(values: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE) -> Estimate:
    """The mean with a percentile bootstrap interval (Efron and Tibshirani 1993, chapter 13). Assumes independent cases."""
    counts = np.asarray(values, dtype=float).reshape(-1, 1)
    return _bootstrap(counts, lambda drawn: drawn[..., 0].mean(-1), seed=seed, confidence=confidence)


def paired_difference(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """The mean of `second` - `first`, case by case, with a percentile bootstrap over the cases."""
    _check_pairs(first, second)
    return mean([other - one for one, other in zip(first, second)], seed=seed, confidence=confidence)


def paired_ratio(
    first: Sequence[float], second: Sequence[float], *, seed: int = 0, confidence: float = CONFIDENCE
) -> Estimate:
    """The sum of `second` over the sum of `first`, with a percentile bootstrap that draws cases, so pairs stay together.

    A ratio of sums, not a mean of ratios: a short case doesn't count as much as a long one.
    """
    _check_pairs(first, second)
    pairs = np.column_stack([np.asarray(first, dtype=float), np.asarray(second, dtype=float)]).reshape(-1, 2)
    if len(pairs) and pairs[:, 0].sum() == 0:
        return Estimate(value=None, n=len(pairs), low=None, high=None)
    return _bootstrap(pairs, _ratio, seed=seed, confidence=confidence)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> Paired:
    """McNemar's test in its exact form: of the cases where the arms differ, is each as likely to hit?

    A two-sided binomial test with p = 1/2 on the discordant cases (McNemar 1947, Psychometrika 12, 153-157; exact by
    the sign test). Assumes that pairs are independent of each other. Without a discordant case the p-value is 1.
    """
    _check_pairs(first, second)
    n_first = sum(bool(one) and not other for one, other in zip(first, second))
    n_second = sum(bool(other) and not one for one, other in zip(first, second))
    n = n_first + n_second
    p_value = float(stats.binomtest(n_first, n, 0.5).pvalue) if n else 1.0
    return Paired(n=len(first), n_only_first=n_first, n_only_second=n_second, p_value=p_value)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's step-down correction of several p-values (Holm 1979, Scand. J. Stat. 6, 65-70), by name, in the given order.

    The i-th smallest of m is multiplied by m - i + 1, made no smaller than the one before it, and capped at 1. Assumes
    nothing about how the tests depend on each other.
    """
    if wrong := [name for name, value in p_values.items() if not 0 <= value <= 1]:
        raise SettingsError(f"The p-value of {wrong[0]}, {p_values[wrong[0]]!r}, is not between 0 and 1.")
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        highest = max(highest, min(1.0, p_values[name] * (len(p_values) - rank)))
        adjusted[name] = highest
    return {name: adjusted[name] for name in p_values}


def pass_hat(counts: Sequence[tuple[int, int]], k: int) -> float | None:
    """pass^k: how likely k runs of a task all succeed, on average over tasks, from (successes, runs) of each task.

    The unbiased estimator C(c, k) / C(n, k) (Yao et al. 2024, tau-bench, arXiv 2406.12045). Tasks with fewer than k runs
    are left out; None where all are.
    """
    return _average_over_tasks(counts, k, lambda c, n: comb(c, k) / comb(n, k))


def pass_at(counts: Sequence[tuple[int, int]], k: int) -> float | None:
    """pass@k: how likely at least one of k runs of a task succeeds, from (successes, runs) of each task.

    The unbiased estimator 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, arXiv 2107.03374).
    """
    return _average_over_tasks(counts, k, lambda c, n: 1 - comb(n - c, k) / comb(n, k))


def _average_over_tasks(
    counts: Sequence[tuple[int, int]], k: int, estimate: Callable[[int, int], float]
) -> float | None:
    if k < 1:
        raise SettingsError(f"k={k} runs can't be asked for: give 1 or more.")
    if wrong := [(c, n) for c, n in counts if not 0 <= c <= n]:
        raise SettingsError(f"{wrong[0][0]} of {wrong[0][1]} runs can't have succeeded.")
    found = [estimate(c, n) for c, n in counts if n >= k]
    return sum(found) / len(found) if found else None


def _bootstrap(
    cases: np.ndarray, figure: Callable[[np.ndarray], np.ndarray], *, seed: int, confidence: float
) -> Estimate:
    """`figure` of the cases (shape (n, width)), and of resamples of them (shape (resamples, n, width)) for its interval."""
    n = len(cases)
    if n == 0:
        return Estimate(value=None, n=0, low=None, high=None)
    value = float(figure(cases))
    random = np.random.default_rng(seed)
    # In slices, so that ten thousand cases don't take gigabytes.
    n_at_once = max(1, 2_000_000 // (n * cases.shape[1]))
    drawn = []
    for start in range(0, N_RESAMPLES, n_at_once):
        size = min(n_at_once, N_RESAMPLES - start)
        drawn.append(figure(cases[random.integers(0, n, size=(size, n))]))
    low, high = np.nanquantile(np.concatenate(drawn), [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value=value, n=n, low=float(low), high=float(high))


def _ratio(pairs: np.ndarray) -> np.ndarray:
    below = pairs[..., 0].sum(-1)
    return pairs[..., 1].sum(-1) / np.where(below == 0, np.nan, below)


def _check_pairs(first: Sequence[object], second: Sequence[object]) -> None:
    if len(first) != len(second):
        raise SettingsError(f"Paired arms need the same cases: {len(first)} and {len(second)} were given.")
