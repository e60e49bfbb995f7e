"""The page of what was found: its words are written, its figures come from the committed reports.

    python -m benchmarks.findings --write

fills in `findings.md.jinja` and draws the two pictures beside it; without --write it only says whether the page is current.
tests/test_findings.py fails where page and reports differ.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from local_react.bench.catalogue import BENCHMARKS
from local_react.bench.plots import Interval, draw_intervals
from local_react.bench.statistics import Share, share
from local_react.bench.tables import NOTHING, show_share

HERE = Path(__file__).parent
RESULTS = HERE / "results"
TEMPLATE, PAGE = "findings.md.jinja", HERE / "FINDINGS.md"

MODELS = {"SmolLM2": "SmolLM2-135M-Instruct.Q4_1.gguf", "Gemma": "gemma-3-270m-q4_k_m.gguf"}
"""The two models, by what the page calls them."""


class Reports:
    """The committed reports, by the names of their folders, and the figures in them."""

    def __init__(self, results: Path) -> None:
        self._results = results

    @cached_property
    def _reports(self) -> dict[str, Mapping[str, Any]]:
        paths = sorted(self._results.glob("*/report.json"))
        return {path.parent.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The benchmarks whose report scores arms: all but `speed`."""
        return tuple(name for name, report in self._reports.items() if "scores" in report)

    def report(self, name: str) -> Mapping[str, Any]:
        """The JSON document of a report."""
        return self._reports[name]

    def arms(self, name: str, model: str) -> tuple[str, ...]:
        """The arms that were run with a model, in the order of the report."""
        return tuple(dict.fromkeys(score["arm"] for score in self._scores(name, model)))

    def part(self, name: str, model: str, arm: str, what: str = "malformed", temperature: float | None = None) -> Share:
        """A share of an arm's steps or episodes, at one temperature or over all that were run."""
        scores = self._chosen(name, model, arm, temperature)
        counts = [score["invented_ids"] if what == "invented_ids" else score["shares"][what] for score in scores]
        return share(sum(count["n_hits"] for count in counts), sum(count["n"] for count in counts))

    def mean(self, name: str, model: str, arm: str, what: str, temperature: float | None = None) -> float:
        """The mean of a figure over an arm's episodes."""
        scores = self._chosen(name, model, arm, temperature)
        n_episodes = sum(score["n_episodes"] for score in scores)
        return float(sum(score["means"][what]["value"] * score["n_episodes"] for score in scores) / n_episodes)

    def n_steps(self, name: str, model: str, arm: str) -> int:
        """How many steps an arm wrote."""
        return sum(int(score["n_steps"]) for score in self._chosen(name, model, arm, None))

    def calls(self, name: str, model: str, category: str, arm: str, what: str = "right") -> Share | None:
        """A share of an arm's single calls on the rows of a category; None where it wasn't asked."""
        scores = [score for score in self._scores(name, model) if (score["category"], score["arm"]) == (category, arm)]
        return share(scores[0][what]["n_hits"], scores[0][what]["n"]) if scores else None

    def speed(self, model: str) -> Mapping[str, Any]:
        """What `speed` measured of a model."""
        return next(one for one in self.report("speed")["speeds"] if one["model"]["name"] == MODELS[model])

    def ledger(self, name: str, model: str, arm: str) -> Mapping[str, Any]:
        """Where an arm's tokens went."""
        return next(one for one in self.report(name)["ledgers"] if (one["model"], one["arm"]) == (MODELS[model], arm))

    def p_value(self, name: str, model: str, first: str, second: str, what: str = "") -> float:
        """The p-value of a comparison after Holm's correction; `what` names the figure where several were compared."""
        for one in self.report(name)["comparisons"]:
            if (one["model"], one["first"], one["second"]) == (MODELS[model], first, second):
                return float(one["adjusted"][what] if what else one["adjusted"])
        raise KeyError(f"{name} doesn't compare {first} with {second} on {model}")

    def _scores(self, name: str, model: str) -> list[Mapping[str, Any]]:
        return [score for score in self.report(name)["scores"] if score["model"] == MODELS[model]]

    def _chosen(self, name: str, model: str, arm: str, temperature: float | None) -> list[Mapping[str, Any]]:
        found = [
            score for score in self._scores(name, model)
            if score["arm"] == arm and temperature in (None, score["temperature"])
        ]
        if not found:
            raise KeyError(f"{name} has no arm {arm} on {model}")
        return found


def shown(found: Share | None) -> str:
    """A share with its interval and counts; a dash for what wasn't measured."""
    return NOTHING if found is None else show_share(found)


def counted(found: Share | None) -> str:
    """A share in short: "36 of 60"."""
    return NOTHING if found is None else f"{found.n_hits:,} of {found.n:,}"


def percent(found: Share | None) -> str:
    """A share in shorter still: "34.6 %"."""
    return NOTHING if found is None or found.value is None else f"{100 * found.value:.1f} %"


def probability(value: float) -> str:
    """A p-value: "p = 0.03", "p < 0.001"."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.2g}"


def render(reports: Reports) -> str:
    """The page, with the figures of these reports."""
    environment = Environment(
        loader=FileSystemLoader(HERE), undefined=StrictUndefined, keep_trailing_newline=True, trim_blocks=True,
        lstrip_blocks=True, autoescape=False,
    )
    environment.globals.update(
        reports=reports, models=tuple(MODELS), shown=shown, counted=counted, percent=percent, probability=probability,
        number=_number,
    )
    return environment.get_template(TEMPLATE).render()


def _number(value: float) -> str:
    """A count with its thousands set off."""
    return f"{value:,.0f}"


def draw(reports: Reports) -> dict[str, str]:
    """The pictures by file name: malformed steps by arm, and right calls by arm."""
    steps = {
        model: {arm: _interval(reports.part("parse", model, arm)) for arm in BENCHMARKS["parse"].arms
                if arm in reports.arms("parse", model)}
        for model in MODELS
    }
    calls = {
        model: {arm: _interval(reports.calls("bfcl", model, "simple", arm)) for arm in reports.arms("bfcl", model)}
        for model in MODELS
    }
    return {
        "malformed_steps.svg": draw_intervals("steps", steps, label="malformed steps, both temperatures"),
        "right_calls.svg": draw_intervals("calls", calls, label="exactly right calls, rows of simple"),
    }


def _interval(found: Share | None) -> Interval:
    return (None, None, None) if found is None else (found.value, found.low, found.high)


@click.command()
@click.option("--write", is_flag=True, help="Write the page and its pictures.  [default: say whether the page is current]")
def main(write: bool) -> None:
    """Make the page of what was found from the committed reports. Exits with 1 where it isn't current and isn't written."""
    reports = Reports(RESULTS)
    page = render(reports)
    if write:
        PAGE.write_text(page, encoding="utf-8")
        for name, picture in draw(reports).items():
            (RESULTS / name).write_text(f"{picture}\n", encoding="utf-8")
    is_current = PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page
    click.echo(json.dumps({"page": PAGE.name, "is_current": is_current, "reports": reports.names}))
    raise SystemExit(0 if is_current else 1)


if __name__ == "__main__":
    main()
