"""The benchmarks by name: each is a question, the arms and worlds that answer it, and what to compare.

A benchmark is a small value; running one is running its matrix. Sizes are those of a full run; `small` makes one that a
laptop ends in about a minute, for trying things, not for figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from local_react.bench.arms import GUARD_ARMS, STYLES
from local_react.bench.matrix import Matrix, make_matrix
from local_react.bench.worlds.catalogue import WORLDS
from local_react.decode.engines import ENGINES
from local_react.errors import SettingsError

SMALL_TASKS = 2
"""So many tasks of each world has a small run; one where there are more than `MANY_ARMS`."""

MANY_ARMS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A question, and the matrix that answers it. `pairs` are the arms to compare; empty for the first one with each other
    one. `metrics` name the figures to look at first. `limits` are guards of all arms that the question needs."""

    name: str
    question: str
    arms: tuple[str, ...]
    metrics: tuple[str, ...]
    worlds: tuple[str, ...] = ("billing",)
    n_tasks: int = 50
    temperatures: tuple[float, ...] = (0.0,)
    seeds: tuple[int, ...] = (0,)
    pairs: tuple[tuple[str, str], ...] = ()
    limits: tuple[tuple[str, Any], ...] = ()

    def small(self) -> Benchmark:
        """The same question on a few tasks, once, greedily."""
        n_tasks = 1 if len(self.arms) > MANY_ARMS else SMALL_TASKS
        return replace(self, n_tasks=n_tasks, temperatures=self.temperatures[:1], seeds=self.seeds[:1])

    def matrix(self, changes: Mapping[str, Any]) -> Matrix:
        """Its matrix; `changes` are keys of a matrix. Raises SettingsError for what is wrong in them."""
        values = {
            "arms": self.arms, "worlds": self.worlds, "n_tasks": self.n_tasks, "temperatures": self.temperatures,
            "seeds": self.seeds,
        }
        limits = dict(self.limits) | dict(changes.get("limits", {}))
        return make_matrix(values | dict(changes) | ({"limits": limits} if limits else {}), where=f"The benchmark {self.name}")


_ENGINE_ARMS = tuple(f"constrained-{engine}" for engine in ENGINES)
_BASES = ("free", "constrained")
_STYLED = tuple(f"{base}-{style}{end}" for end in ("", "-act") for style in STYLES for base in _BASES)
_EXEMPLARS = tuple(
    f"{base}-exemplars-{n}{end}" for base in _BASES for n in range(5) for end in ("", "-recovery") if n or not end
)

_EPISODE_BENCHMARKS = (
    Benchmark(
        name="parse", question="What share of a small model's steps is no valid step, and what does a constraint do about it?",
        arms=("introductions", "free-no-stop", "free-stop-only", "free", "lenient", "repair", *_ENGINE_ARMS),
        worlds=("billing", "arithmetic"),
        temperatures=(0.0, 0.7), n_tasks=60, metrics=("malformed", "success", "tokens", "seconds"),
        pairs=(
            ("introductions", "free"), ("free-no-stop", "free"), ("free-stop-only", "free"),
            *(("free", arm) for arm in ("lenient", "repair", *_ENGINE_ARMS)),
        ),
    ),
    Benchmark(
        name="fabrication", question="How often does a model write its observations itself?",
        arms=("introductions-no-stop", "introductions", "free-no-stop", "free-stop-only", "free", "constrained"), n_tasks=100,
        metrics=("forged",),
        limits=(("max_steps", 1), ("final_answer", False)),  # first steps, and no word that they are the last ones
        pairs=(("introductions-no-stop", "introductions"), ("free-no-stop", "free-stop-only"), ("free-no-stop", "free"),
               ("free-no-stop", "constrained")),
    ),
    Benchmark(
        name="encodings", question="Which way of writing arguments suits a small model in whole episodes?",
        arms=_STYLED, metrics=("right_start", "wrong_arguments"),
        pairs=tuple((f"free-{style}{end}", f"constrained-{style}{end}") for end in ("", "-act") for style in STYLES),
    ),
    Benchmark(
        name="grounding", question="Does a model that can only write values it has seen invent no ids, and find more answers?",
        arms=("constrained", "grounded"), n_tasks=100, metrics=("invented_ids", "success"),
    ),
    Benchmark(
        name="abuses", question="Which calls with malformed, missing or undeclared arguments get through?",
        arms=("free", "lenient", "constrained", "hermes-free", "hermes-constrained"), metrics=("wrong_arguments", "malformed"),
        pairs=(("free", "constrained"), ("hermes-free", "hermes-constrained")),
        limits=(("min_calls", 1),),  # in a tool-call format a small model would rather answer at once
    ),
    Benchmark(
        name="guards", question="What does each guard of the loop do for a free run?",
        arms=("lenient", *GUARD_ARMS), metrics=("success", "steps", "tokens"),
    ),
    Benchmark(
        name="ablation", question="Do small models gain from thoughts and actions together (the question of the ReAct paper)?",
        arms=tuple(f"{base}{end}" for base in _BASES for end in ("-think", "-act", "")), worlds=("billing", "arithmetic"),
        metrics=("success", "tokens"),
        pairs=tuple((f"{base}{end}", base) for base in _BASES for end in ("-think", "-act")),
    ),
    Benchmark(
        name="exemplars", question="How many worked examples pay, and does one with a failure and recovery?",
        arms=_EXEMPLARS, n_tasks=30, metrics=("malformed", "success", "tokens"),
        pairs=tuple((f"{base}-exemplars-0", arm) for base in _BASES for arm in _EXEMPLARS
                    if arm.startswith(base) and not arm.endswith("-0")),
    ),
    Benchmark(
        name="tasks", question="How many tasks does a model really do, how reliably, and how do the others fail?",
        arms=("free", "lenient", "constrained", "grounded"), worlds=tuple(WORLDS), temperatures=(0.7,),
        seeds=(0, 1, 2), n_tasks=30, metrics=("success", "pass_hat"),
    ),
    Benchmark(
        name="cost", question="Where do the tokens go, and does the ledger predict those of a longer run?",
        arms=("free", "lenient", "constrained", "explained"), n_tasks=30, metrics=("tokens", "evaluated", "seconds"),
    ),
)

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in _EPISODE_BENCHMARKS}
"""Every benchmark that runs episodes, by name."""


def find_benchmark(name: str) -> Benchmark:
    """The benchmark called `name`. Raises SettingsError for an unknown one."""
    if name not in BENCHMARKS:
        raise SettingsError(f"There is no benchmark called {name!r}. There are {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name]
