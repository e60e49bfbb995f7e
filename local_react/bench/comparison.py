"""Two runs, compared case by case: the same model, task, seed and temperature, one thing changed.

Only cases that both have are compared. Each table of p-values is corrected after Holm, over all that are tested in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from local_react.bench.grading import Grade
from local_react.bench.scores import EPISODE_SHARES, MEANS
from local_react.bench.statistics import Estimate, Paired, holm, mcnemar, paired_difference, paired_ratio

TESTED = ("success", "answered", "has_malformed", "has_forged")
"""The shares of episodes that are tested."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How `second` differs from `first` on the `n` cases that both have.

    `tests` are McNemar's, with the p-values after Holm in `adjusted`; `differences` and `ratios` are of the means.
    """

    first: str
    second: str
    model: str
    n: int
    tests: Mapping[str, Paired]
    adjusted: Mapping[str, float]
    differences: Mapping[str, Estimate]
    ratios: Mapping[str, Estimate]

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def compare(
    first: Iterable[Grade], second: Iterable[Grade], *, names: tuple[str, str], across_arms: bool, seed: int = 0
) -> list[Comparison]:
    """Compare two runs, model by model. `across_arms` pairs whatever arm a case was run under; else only equal ones."""

    def case(grade: Grade) -> tuple[Any, ...]:
        case = (grade.model, grade.world, grade.task, grade.seed, grade.temperature)
        return case if across_arms else (*case, grade.arm)

    ones, others = ({case(grade): grade for grade in grades} for grades in (first, second))
    shared = [key for key in ones if key in others]
    models = list(dict.fromkeys(key[0] for key in shared))
    return [
        _compare_pairs(
            [(ones[key], others[key]) for key in shared if key[0] == model], names=names, model=model, seed=seed
        )
        for model in models
    ]


def compare_arms(grades: Sequence[Grade], pairs: Iterable[tuple[str, str]], *, seed: int = 0) -> list[Comparison]:
    """Compare pairs of arms of one run, by name; the p-values of all of them are corrected together."""
    found = [
        comparison
        for first, second in pairs
        for comparison in compare(
            [grade for grade in grades if grade.arm == first], [grade for grade in grades if grade.arm == second],
            names=(first, second), across_arms=True, seed=seed,
        )
    ]
    return correct_together(found)


def correct_together(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The comparisons with their p-values corrected as one table."""
    every = {
        f"{index} {name}": test.p_value
        for index, comparison in enumerate(comparisons) for name, test in comparison.tests.items()
    }
    adjusted = holm(every)
    return [
        Comparison(**{field: getattr(comparison, field) for field in Comparison.__slots__} | {
            "adjusted": {name: adjusted[f"{index} {name}"] for name in comparison.tests}
        })
        for index, comparison in enumerate(comparisons)
    ]


def _compare_pairs(
    pairs: Sequence[tuple[Grade, Grade]], *, names: tuple[str, str], model: str, seed: int
) -> Comparison:
    def values(of: Callable[[Grade], Any]) -> tuple[list[Any], list[Any]]:
        return [of(one) for one, _ in pairs], [of(other) for _, other in pairs]

    tests = {name: mcnemar(*values(EPISODE_SHARES[name])) for name in TESTED}
    return Comparison(
        first=names[0], second=names[1], model=model, n=len(pairs), tests=tests,
        adjusted=holm({name: test.p_value for name, test in tests.items()}),
        differences={name: paired_difference(*values(of), seed=seed) for name, of in MEANS.items()},
        ratios={name: paired_ratio(*values(of), seed=seed) for name, of in MEANS.items()},
    )
