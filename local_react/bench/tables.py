"""The tables of a report, from scores, comparisons, ledgers and places. Texts only; nothing is computed but rounding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from local_react.bench.comparison import Comparison
from local_react.bench.document import Table
from local_react.bench.failures import ORDER
from local_react.bench.ledger import HORIZONS, PURPOSES, Ledger, group_of
from local_react.bench.microscope import Microscope
from local_react.bench.scores import Score
from local_react.bench.statistics import Estimate, Share

NOTHING = "–"
"""Stands where there was nothing to count."""


def show_share(found: Share) -> str:
    """A share with its interval and its counts: "12.3 % (9.8 to 15.4), 41 of 333"."""
    if found.value is None or found.low is None or found.high is None:
        return NOTHING
    interval = f"{_percent(found.low, '')} to {_percent(found.high, '')}"
    return f"{_percent(found.value)} ({interval}), {found.n_hits:,} of {found.n:,}"


def show_estimate(found: Estimate, digits: int = 1) -> str:
    """A mean, difference or ratio with its interval."""
    if found.value is None or found.low is None or found.high is None:
        return NOTHING
    return f"{found.value:,.{digits}f} ({found.low:,.{digits}f} to {found.high:,.{digits}f})"


def show_p_value(value: float) -> str:
    """A p-value with three digits that say something."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def short_name(model: str) -> str:
    """A model's file name without what all of them end in."""
    return model.removesuffix(".gguf")


def steps_table(scores: Sequence[Score]) -> Table:
    """The shares of malformed steps."""
    names = ("malformed", "unparsed", "unknown_tool", "wrong_arguments", "forged")
    return Table(
        title="Steps",
        head=("model", "T", "arm", "steps", *(name.replace("_", " ") for name in names), "malformed, by episodes"),
        rows=tuple(
            (*_who(score), f"{score.n_steps:,}", *(show_share(score.shares[name]) for name in names),
             _show_percents(score.clustered["malformed"]))
            for score in scores
        ),
        note="Share of steps, read strictly, with Wilson's 95 % interval. Malformed steps can't be parsed, or call what there "
        "isn't, or have arguments that don't fit. The last column has an interval that draws whole episodes; where no episode "
        "differs from another it is a point, and Wilson's counts.",
    )


def codes_table(scores: Sequence[Score]) -> Table:
    """Malformed steps by code."""
    codes = list(dict.fromkeys(code for score in scores for code in score.codes))
    return Table(
        title="Malformed steps by code", head=("model", "T", "arm", *codes),
        rows=tuple((*_who(score), *(_count(score.codes.get(code, 0)) for code in codes)) for score in scores),
        note="Each code is explained in the README under “What can go wrong in a step”.",
    )


def episodes_table(scores: Sequence[Score]) -> Table:
    """How episodes went, and what they cost."""
    return Table(
        title="Episodes",
        head=("model", "T", "arm", "success", "answered", "first call right", "steps", "tokens written", "seconds"),
        rows=tuple(
            (*_who(score), show_share(score.shares["success"]), show_share(score.shares["answered"]),
             show_share(score.shares["right_start"]), show_estimate(score.means["steps"]),
             show_estimate(score.means["tokens"], 0), show_estimate(score.means["seconds"]))
            for score in scores
        ),
        note="A success is a right answer with nothing forbidden done. Means have a bootstrap interval (95 %). Seconds are "
        "those of the clock, and depend on what else the machine did.",
    )


def classes_table(scores: Sequence[Score]) -> Table:
    """Failed episodes by main class, and what all episodes show."""
    classes = [name for name in ORDER if any(score.shown.get(name) for score in scores)]
    return Table(
        title="Failures by class", head=("model", "T", "arm", "episodes", *(name.replace("_", " ") for name in classes)),
        rows=tuple(
            (*_who(score), f"{score.n_episodes:,}",
             *(f"{_count(score.classes.get(name, 0))} / {_count(score.shown.get(name, 0))}" for name in classes))
            for score in scores
        ),
        note="Episodes whose main class it is / episodes that show it. An episode can show several classes; a right answer by "
        "a wasteful path is no failure.",
    )


def kinds_table(scores: Sequence[Score]) -> Table:
    """Successes by kind of task."""
    kinds = list(dict.fromkeys(kind for score in scores for kind in score.kinds))
    return Table(
        title="Successes by kind of task",
        head=("kind", *(f"{short_name(s.model)}, T {s.temperature:g}, {s.arm}" for s in scores)),
        rows=tuple(
            (kind, *(_hits(score.kinds[kind]) if kind in score.kinds else NOTHING for score in scores)) for kind in kinds
        ),
    )


def passes_table(scores: Sequence[Score]) -> Table | None:
    """pass^k; None where no task was run more than once."""
    ks = sorted({k for score in scores for k in score.pass_hat})
    if not ks:
        return None
    return Table(
        title="pass^k", head=("model", "T", "arm", *(f"k = {k}" for k in ks)),
        rows=tuple((*_who(s), *(_percent(s.pass_hat[k]) if k in s.pass_hat else NOTHING for k in ks)) for s in scores),
        note="How likely k runs of a task all succeed, on average over tasks (unbiased).",
    )


def ids_table(scores: Sequence[Score]) -> Table:
    """Invented ids."""
    return Table(
        title="Ids in calls that neither question nor observations had shown", head=("model", "T", "arm", "invented"),
        rows=tuple((*_who(score), show_share(score.invented_ids)) for score in scores),
    )


def comparisons_table(comparisons: Sequence[Comparison]) -> Table:
    """Arms compared case by case."""
    return Table(
        title="Arms compared, case by case",
        head=("model", "first", "second", "cases", "what", "only first", "only second", "p (McNemar)", "p (after Holm)",
              "tokens, second ÷ first", "seconds, second ÷ first"),
        rows=tuple(
            (short_name(found.model), found.first, found.second, f"{found.n:,}", name.replace("_", " "),
             f"{test.n_only_first}", f"{test.n_only_second}", show_p_value(test.p_value), show_p_value(found.adjusted[name]),
             show_estimate(found.ratios["tokens"], 2), show_estimate(found.ratios["seconds"], 2))
            for found in comparisons for name, test in found.tests.items()
        ),
        note="The same model, task, seed and temperature under both arms. Exact two-sided McNemar test on the cases in which "
        "only one arm hit; Holm's correction over all rows of this table.",
    )


def ledger_table(ledgers: Mapping[tuple[str, str], Ledger]) -> Table:
    """Tokens of an episode, by what they are for."""
    groups = list(dict.fromkeys(group_of(part) for ledger in ledgers.values() for part in ledger.parts))
    return Table(
        title="Tokens of an episode, on average", head=("model", "arm", *groups, *PURPOSES, "all", "evaluated", "stateless"),
        rows=tuple(
            (short_name(model), arm,
             *(_average(sum(n for part, n in ledger.parts.items() if group_of(part) == group), ledger) for group in groups),
             *(_average(ledger.purposes.get(purpose, 0), ledger) for purpose in PURPOSES),
             _average(ledger.n_tokens, ledger), _average(ledger.n_evaluated, ledger), _average(ledger.n_sent, ledger))
            for (model, arm), ledger in ledgers.items()
        ),
        note="Stateless: what an API without memory would have been sent, the whole conversation anew for each step. The "
        "prompt is evaluated once for all episodes that share it, so fewer tokens are evaluated than the transcript has.",
    )


def predictions_table(ledgers: Mapping[tuple[str, str], Ledger]) -> Table:
    """Tokens of longer episodes, and what to cut."""
    return Table(
        title="Tokens of an episode of n steps, predicted",
        head=("model", "arm", "n", "here", "cutting pays most here", "stateless", "cutting pays most there"),
        rows=tuple(
            (short_name(model), arm, str(n), f"{found.here:,}", found.largest_here, f"{found.stateless:,}",
             found.largest_stateless)
            for (model, arm), ledger in ledgers.items() for n in HORIZONS for found in [ledger.predict(n)]
        ),
    )


def worst_table(microscope: Microscope) -> Table:
    """The ten places where the constraint took most from the model."""
    return Table(
        title="The ten worst places",
        head=("behind", "model wanted", "with", "was given", "removed", "tool", "argument", "episode"),
        rows=tuple(
            (_quoted(place.before[-60:]), _quoted(place.wanted), _percent(place.wanted_probability), _quoted(place.token),
             _percent(place.removed), place.tool, place.argument, place.key)
            for place in microscope.worst
        ),
    )


def groups_table(microscope: Microscope) -> Table:
    """What was removed, by tool and argument."""
    return Table(
        title="Mass removed by tool and argument", head=("tool and argument", "tokens drawn", "removed on average", "redrawn"),
        rows=tuple((g.name, f"{g.n:,}", _percent(g.removed), f"{g.n_redrawn:,}") for g in microscope.by_argument),
    )


def pairs_table(title: str, pairs: Iterable[tuple[str, object]]) -> Table:
    """Names and values."""
    return Table(title=title, head=("what", "value"), rows=tuple((name, str(value)) for name, value in pairs))


def _who(score: Score) -> tuple[str, str, str]:
    return short_name(score.model), f"{score.temperature:g}", score.arm


def _percent(value: float, sign: str = " %") -> str:
    return f"{100 * value:.1f}{sign}"


def _show_percents(found: Estimate) -> str:
    if found.value is None or found.low is None or found.high is None:
        return NOTHING
    return f"{_percent(found.low, '')} to {_percent(found.high)}"


def _hits(found: Share) -> str:
    return f"{found.n_hits} of {found.n}"


def _count(n: int) -> str:
    return f"{n:,}"


def _average(n: int, ledger: Ledger) -> str:
    return f"{n / max(ledger.n_episodes, 1):,.0f}"


def _quoted(text: str) -> str:
    return repr(text)[1:-1] if text.isprintable() else repr(text)
