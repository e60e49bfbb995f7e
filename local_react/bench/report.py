"""The report of a results folder: what was asked, what came out with its intervals, what went wrong, and how to repeat it.

Built from evidence alone: no model, no clock, so the same folder gives the same report. No figure is left out for being
unwelcome: what couldn't be run and what was damaged is counted in it, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from local_react.bench.comparison import Comparison, compare_arms
from local_react.bench.document import Document, Plot, Section, Shown, Table
from local_react.bench.evidence import Evidence, Example
from local_react.bench.failures import ORDER
from local_react.bench.ledger import Ledger
from local_react.bench.microscope import Microscope, look
from local_react.bench.plots import Interval, draw_grid, draw_intervals, draw_lines, draw_stacks
from local_react.bench.scores import Score, score_arms
from local_react.bench.statistics import N_RESAMPLES
from local_react.bench.tables import (
    classes_table,
    codes_table,
    comparisons_table,
    episodes_table,
    groups_table,
    ids_table,
    kinds_table,
    ledger_table,
    pairs_table,
    passes_table,
    predictions_table,
    short_name,
    steps_table,
    worst_table,
)
from local_react.language.step import Answer, Call, Malformed

METHODS = (
    "Shares have Wilson's score interval (95 %), which takes the cases for independent; shares of steps also have one from a "
    f"bootstrap over whole episodes ({N_RESAMPLES:,} resamples, seeded).",
    "Means, differences and ratios have percentile bootstrap intervals (95 %), paired ones over the pairs.",
    "Two arms are compared on the same model, task, seed and temperature by McNemar's exact test; the p-values of a table are "
    "corrected together after Holm.",
    "pass^k is the unbiased estimate from all runs of a task. An interval tells what chance does to these tasks; it doesn't "
    "tell what other tasks would give.",
)


def build_report(
    evidence: Evidence, *, title: str, question: str = "", pairs: Sequence[tuple[str, str]] = (), seed: int = 0,
    extra: Sequence[Section] = (), data: Mapping[str, Any] | None = None,
) -> Document:
    """The report. `pairs` are the arms to compare; without them the first arm is compared with each other one. `extra`
    sections and `data` of a benchmark's own come behind the scores."""
    scores = score_arms(evidence.grades, seed=seed)
    arms = list(dict.fromkeys(score.arm for score in scores))
    comparisons = compare_arms(evidence.grades, pairs or [(arms[0], other) for other in arms[1:]] if arms else (), seed=seed)
    microscope = look(evidence.places)
    sections = [
        *_score_sections(scores), *extra, *_comparison_section(comparisons), *_failure_sections(scores, evidence.examples),
        *_ledger_section(evidence.ledgers), *_microscope_section(microscope), _how_section(evidence),
    ]
    models = ", ".join(short_name(name) for name in evidence.models) or "no model"
    lead = f"{question} {len(evidence.grades):,} episodes on {models}.".strip()
    return Document(
        title=title, lead=lead, sections=tuple(sections),
        data={
            "title": title, "question": question, "n_episodes": len(evidence.grades), "n_damaged": evidence.n_damaged,
            "missed": [[one.what, one.why] for one in evidence.missed],
            "commands": list(dict.fromkeys(one.command for one in evidence.begun)),
            "environments": [dict(one.environment) for one in evidence.begun], "models": list(evidence.models.values()),
            "limits": dict(evidence.limits), "scores": [score.write() for score in scores],
            "comparisons": [comparison.write() for comparison in comparisons],
            "ledgers": [{"model": model, "arm": arm} | kept.write() for (model, arm), kept in evidence.ledgers.items()],
            "microscope": microscope.write() if microscope.n else None,
        } | dict(data or {}),
    )


def _score_sections(scores: Sequence[Score]) -> list[Section]:
    if not scores:
        return [Section(title="Scores", paragraphs=("There is no episode to score.",))]
    steps = Section(
        title="Steps that are no steps", tables=(steps_table(scores), codes_table(scores)),
        plots=(Plot(
            title="Share of malformed steps by arm, read strictly, with Wilson's 95 % interval",
            svg=draw_intervals("malformed", _intervals(scores, "malformed"), label="malformed steps"),
        ),),
    )
    passes = passes_table(scores)
    episodes = Section(
        title="Episodes",
        tables=(episodes_table(scores), *([passes] if passes else []), kinds_table(scores), ids_table(scores)),
        plots=(
            Plot(title="Share of successes by arm, with Wilson's 95 % interval",
                 svg=draw_intervals("success", _intervals(scores, "success"), label="successes")),
            Plot(title="Tokens that the model wrote in an episode, with the bootstrap interval of their mean",
                 svg=draw_intervals("tokens", _means(scores, "tokens"), label="tokens", is_share=False)),
        ),
    )
    return [steps, episodes]


def _comparison_section(comparisons: Sequence[Comparison]) -> list[Section]:
    return [Section(title="Comparisons", tables=(comparisons_table(comparisons),))] if comparisons else []


def _failure_sections(scores: Sequence[Score], examples: Sequence[Example]) -> list[Section]:
    if not any(score.shown for score in scores) and not examples:
        return []
    bars = {f"{short_name(s.model)[:14]} {s.arm} T{s.temperature:g}": {
        name.replace("_", " "): s.classes[name] / s.n_episodes for name in ORDER if name in s.classes
    } for s in scores}
    return [
        Section(
            title="What went wrong", tables=(classes_table(scores),),
            plots=(Plot(title="Failed episodes by main class, as a share of all episodes of the arm",
                        svg=draw_stacks("classes", bars, label="share of episodes")),),
        ),
        Section(
            title="Examples", paragraphs=("Each line opens. `local-react bench trace FOLDER KEY` gives the whole trace.",),
            shown=tuple(show_example(example) for example in examples),
        ),
    ]


def show_example(example: Example) -> Shown:
    """An episode as lines to read: what was asked and expected, each step, and how it ended."""
    grade, task = example.grade, example.recorded.item.task
    lines = [("question", task.question), ("acceptable", " or ".join(task.answers) or "(anything)")]
    for number, step in enumerate(example.recorded.trace.steps, 1):
        if step.thought:
            lines.append((f"thought {number}", step.thought))
        match step.action:
            case Call(name=name, arguments=arguments):
                lines.append((f"call {number}", f"{name} {dict(arguments)}"))
            case Answer(text=text):
                lines.append((f"answer {number}", text))
            case Malformed(code=code, message=message):
                lines.append((f"malformed {number}", f"{code}: {message}"))
                lines.append((f"written {number}", _written(example, number)))
        if step.observation is not None:
            kind = "error" if step.observation.is_error else step.observation.kind
            lines.append((f"{kind} {number}", step.observation.text))
    lines.append(("end", f"{grade.ending}; {'right' if grade.is_right else 'not right'}"))
    name = ", ".join(example.of).replace("_", " ")
    where = f"{short_name(grade.model)}, {grade.arm}, T {grade.temperature:g}, {grade.task}"
    return Shown(title=f"{name}: {where} (key {grade.key})", lines=tuple(lines))


def _written(example: Example, number: int) -> str:
    completions = example.recorded.trace.completions
    return str(completions[number - 1]["text"]) if number <= len(completions) else ""


def _ledger_section(ledgers: Mapping[tuple[str, str], Ledger]) -> list[Section]:
    if not ledgers:
        return []
    (model, arm), first = next(iter(ledgers.items()))
    steps = range(1, 41)
    lines = {
        "here": [(float(n), float(first.predict(n).here)) for n in steps],
        "stateless": [(float(n), float(first.predict(n).stateless)) for n in steps],
    }
    return [Section(
        title="Where the tokens go", tables=(ledger_table(ledgers), predictions_table(ledgers)),
        plots=(Plot(
            title=f"Tokens of an episode of n steps, predicted from those of {short_name(model)}, {arm}",
            svg=draw_lines("ledger", lines, x_label="steps", y_label="tokens"),
        ),),
    )]


def _microscope_section(microscope: Microscope) -> list[Section]:
    if not microscope.n:
        return []
    return [Section(
        title="The constraint under the microscope",
        paragraphs=(f"{microscope.n:,} tokens were drawn under a constraint that was explained; on average it took away "
                    f"{100 * microscope.removed:.1f} % of the model's probability.",),
        tables=(worst_table(microscope), groups_table(microscope)),
        plots=(Plot(title="Mass removed on average, by tool and position of the token in its line",
                    svg=draw_grid("microscope", microscope.grid, label="position of the token")),),
    )]


def _how_section(evidence: Evidence) -> Section:
    commands = tuple(dict.fromkeys(one.command for one in evidence.begun))
    tables: list[Table] = []
    if evidence.begun:
        environment = evidence.begun[-1].environment
        tables.append(pairs_table("Machine and programs", ((name, _told(value)) for name, value in environment.items())))
    for name, model in evidence.models.items():
        tables.append(pairs_table(f"Model {short_name(name)}", ((key, _told(value)) for key, value in model.items())))
    tables.append(pairs_table("Limits of every episode", ((name, value) for name, value in evidence.limits.items())))
    if evidence.missed:
        tables.append(pairs_table("What couldn't be run", ((one.what, one.why) for one in evidence.missed)))
    damaged = f"{evidence.n_damaged} damaged lines were skipped." if evidence.n_damaged else "No line was damaged."
    return Section(
        title="How it was measured", paragraphs=(*METHODS, damaged), tables=tuple(tables),
        lines=commands or ("(not recorded)",),
    )


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _intervals(scores: Sequence[Score], name: str) -> dict[str, dict[str, Interval]]:
    groups: dict[str, dict[str, Interval]] = {}
    for score in scores:
        found = score.shares[name]
        groups.setdefault(_series(score), {})[score.arm] = (found.value, found.low, found.high)
    return groups


def _means(scores: Sequence[Score], name: str) -> dict[str, dict[str, Interval]]:
    groups: dict[str, dict[str, Interval]] = {}
    for score in scores:
        found = score.means[name]
        groups.setdefault(_series(score), {})[score.arm] = (found.value, found.low, found.high)
    return groups


def _series(score: Score) -> str:
    return f"{short_name(score.model)}, T {score.temperature:g}"
