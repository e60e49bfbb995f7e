"""Scores: the grades of one arm added up, each share with its interval.

Shares over episodes have Wilson's interval. Shares over steps have it too, and beside it one from a bootstrap over whole
episodes, since the steps of an episode hang together. Times are wall-clock seconds of the machine that ran it, and mean
something only where nothing else ran.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from local_react.bench.grading import Grade
from local_react.bench.statistics import Estimate, Share, clustered_share, mean, pass_hat, share

STEP_SHARES: Mapping[str, Callable[[Grade], int]] = {
    "malformed": lambda grade: grade.n_malformed,
    "unparsed": lambda grade: grade.n_unparsed,
    "unknown_tool": lambda grade: grade.n_unknown_tool,
    "wrong_arguments": lambda grade: grade.n_misfit,
    "refused": lambda grade: grade.n_refused,
    "forged": lambda grade: grade.n_forged,
}
"""Shares of steps: those that are no valid step in strict reading, and of these the ones that can't be parsed, that call
what there isn't, and whose arguments don't fit; those that the loop refused; those that forge an observation."""

EPISODE_SHARES: Mapping[str, Callable[[Grade], bool]] = {
    "success": lambda grade: grade.is_success,
    "answered": lambda grade: grade.answer is not None,
    "has_malformed": lambda grade: grade.n_malformed > 0,
    "has_forged": lambda grade: grade.n_forged > 0,
    "right_start": lambda grade: bool(grade.has_right_start),
}
"""Shares of episodes: right and nothing forbidden done; answered at all; at least one malformed step; at least one forged
observation; a first call that is one of the path."""

MEANS: Mapping[str, Callable[[Grade], float]] = {
    "steps": lambda grade: grade.n_steps,
    "calls": lambda grade: grade.n_calls,
    "tokens": lambda grade: grade.n_tokens,
    "sampled": lambda grade: grade.n_sampled,
    "evaluated": lambda grade: grade.n_evaluated,
    "seconds": lambda grade: grade.seconds,
}
"""Means over episodes: steps, calls, tokens that the model wrote, drawn ones among them, evaluated ones, seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One arm on one model at one temperature. `codes` counts malformed steps by code, `classes` failed episodes by their
    main class, `shown` episodes by every class that they show; `pass_hat` is by k, where tasks were run several times."""

    model: str
    arm: str
    temperature: float
    n_episodes: int
    n_tasks: int
    n_steps: int
    shares: Mapping[str, Share]
    clustered: Mapping[str, Estimate]
    means: Mapping[str, Estimate]
    codes: Mapping[str, int]
    classes: Mapping[str, int]
    shown: Mapping[str, int]
    endings: Mapping[str, int]
    kinds: Mapping[str, Share]
    invented_ids: Share
    pass_hat: Mapping[int, float]

    def write(self) -> dict[str, Any]:
        """As JSON values; a share has its value, too."""
        values = asdict(self)
        values["shares"] = {name: _write_share(found) for name, found in self.shares.items()}
        values["kinds"] = {name: _write_share(found) for name, found in self.kinds.items()}
        values["invented_ids"] = _write_share(self.invented_ids)
        return values


def score_arms(grades: Iterable[Grade], *, seed: int = 0) -> list[Score]:
    """The score of each arm on each model at each temperature, in the order in which they first occur."""
    groups: dict[tuple[str, float, str], list[Grade]] = defaultdict(list)
    for grade in grades:
        groups[grade.model, grade.temperature, grade.arm].append(grade)
    return [score_arm(group, seed=seed) for group in groups.values()]


def score_arm(grades: Sequence[Grade], *, seed: int = 0) -> Score:
    """The score of one arm from its grades, of which there must be at least one; `seed` is that of the bootstrap."""
    first, n, n_steps = grades[0], len(grades), sum(grade.n_steps for grade in grades)
    shares = {name: share(sum(map(count, grades)), n_steps) for name, count in STEP_SHARES.items()}
    for name, holds in EPISODE_SHARES.items():
        counted = [grade for grade in grades if name != "right_start" or grade.has_right_start is not None]
        shares[name] = share(sum(map(holds, counted)), len(counted))
    return Score(
        model=first.model, arm=first.arm, temperature=first.temperature, n_episodes=n, n_steps=n_steps,
        n_tasks=len({(grade.world, grade.task) for grade in grades}), shares=shares,
        clustered={
            name: clustered_share([(count(grade), grade.n_steps) for grade in grades], seed=seed)
            for name, count in STEP_SHARES.items()
        },
        means={name: mean([float(value(grade)) for grade in grades], seed=seed) for name, value in MEANS.items()},
        codes=_count(code for grade in grades for code in Counter(grade.codes).elements()),
        classes=_count(grade.main_class for grade in grades if grade.main_class is not None),
        shown=_count(failure for grade in grades for failure in grade.failures),
        endings=_count(str(grade.ending) for grade in grades), kinds=_score_kinds(grades),
        invented_ids=share(sum(grade.n_invented_ids for grade in grades), sum(grade.n_ids for grade in grades)),
        pass_hat=_pass_hats(grades),
    )


def _score_kinds(grades: Sequence[Grade]) -> dict[str, Share]:
    """The share of successes by kind of task."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for grade in grades:
        kinds[f"{grade.world}: {grade.kind}"].append(grade.is_success)
    return {kind: share(sum(kinds[kind]), len(kinds[kind])) for kind in sorted(kinds)}


def _pass_hats(grades: Sequence[Grade]) -> dict[int, float]:
    """pass^k for each k up to the number of runs that every task has."""
    runs: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for grade in grades:
        runs[grade.world, grade.task].append(grade.is_success)
    counts = [(sum(found), len(found)) for found in runs.values()]
    most = min(n for _, n in counts)
    return {k: estimate for k in range(1, most + 1) if most > 1 and (estimate := pass_hat(counts, k)) is not None}


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(Counter(names).most_common())


def _write_share(found: Share) -> dict[str, Any]:
    return asdict(found) | {"value": found.value}
