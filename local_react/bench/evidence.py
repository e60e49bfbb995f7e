"""The evidence of a results folder, read once: grades, ledgers, explained tokens, and examples to look at.

Traces are large, so they are read one by one and not kept; of each kind of failure a few examples are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from local_react.bench.forecast import Forecast, forecast
from local_react.bench.grading import Grade, Judge, grade
from local_react.bench.items import MODEL_KEYS, Item
from local_react.bench.ledger import Ledger, add_ledgers, keep_ledger
from local_react.bench.microscope import Place, find_places
from local_react.bench.results import Begun, Missed, Recorded, Results
from local_react.errors import TraceError

N_EXAMPLES = 2
"""So many examples of each kind of failure are kept for each arm."""


@dataclass(frozen=True, slots=True)
class Example:
    """An episode to look at, and the kinds of failure that it is an example of."""

    of: tuple[str, ...]
    grade: Grade
    recorded: Recorded


@dataclass(slots=True, kw_only=True)
class Evidence:
    """What results folders say. `ledgers` and `forecasts` are by model and arm."""

    grades: list[Grade] = field(default_factory=list)
    ledgers: dict[tuple[str, str], Ledger] = field(default_factory=dict)
    forecasts: dict[tuple[str, str], list[Forecast]] = field(default_factory=dict)
    places: list[Place] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)
    begun: list[Begun] = field(default_factory=list)
    missed: list[Missed] = field(default_factory=list)
    models: dict[str, Mapping[str, object]] = field(default_factory=dict)
    limits: Mapping[str, object] = field(default_factory=dict)
    n_damaged: int = 0


class ArmNames:
    """Tells arms of one name apart that ran with other settings: their figures must not be added up.

    The settings that a name is seen with first have the bare name; others get what differs behind it, as in
    "free [max_steps=3]".
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], dict[str, Any]] = {}

    def name(self, item: Item) -> str:
        """The name of an item's arm."""
        settings = _flatten(item)
        first = self._first.setdefault((item.model_name, item.arm.name), settings)
        changed = [f"{name}={value}" for name, value in settings.items() if first.get(name, ...) != value]
        changed += [f"no {name}" for name in first if name not in settings]
        return f"{item.arm.name} [{', '.join(changed)}]" if changed else item.arm.name


def _flatten(item: Item) -> dict[str, Any]:
    """All settings of an item but task, seed and temperature, by name."""
    model = {name: item.model[name] for name in MODEL_KEYS if name in item.model}
    guards = dict(item.limits) | dict(item.arm.guards)
    return item.arm.settings() | {"guards": None} | guards | model | {"n_parallel": item.n_parallel}


def gather(results: Results, judges: Mapping[str, Judge] | None = None) -> Evidence:
    """Read results. `judges` decide about answers by world; of a world without one, the recorded verdict counts."""
    evidence = Evidence()
    ledgers: dict[tuple[str, str], list[Ledger]] = defaultdict(list)
    n_kept: dict[tuple[str, str], int] = defaultdict(int)
    names = ArmNames()
    for entry in results:
        match entry:
            case Begun():
                evidence.begun.append(entry)
            case Missed():
                evidence.missed.append(entry)
            case Recorded(item=item):
                arm = names.name(item)
                found = replace(grade(entry, (judges or {}).get(item.task.world)), arm=arm)
                evidence.grades.append(found)
                evidence.models.setdefault(item.model_name, item.model)
                evidence.limits = item.limits
                evidence.places += find_places(entry.trace, item.key)
                try:
                    ledgers[item.model_name, arm].append(keep_ledger(entry.trace))
                    foreseen = forecast(entry.trace)
                except TraceError:
                    foreseen = None  # an episode that broke off before its prompt has no tokens to account for
                if foreseen is not None:
                    evidence.forecasts.setdefault((item.model_name, arm), []).append(foreseen)
                of = tuple(kind for kind in sorted({*found.failures, *found.codes}) if n_kept[arm, kind] < N_EXAMPLES)
                for kind in of:
                    n_kept[arm, kind] += 1
                if of:
                    evidence.examples.append(Example(of, found, entry))
    evidence.ledgers = {key: add_ledgers(kept) for key, kept in ledgers.items()}
    evidence.n_damaged = results.n_damaged
    return evidence
