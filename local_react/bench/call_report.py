"""The report of single calls: exactly right ones by arm and file of rows, why the others are wrong, and examples of those."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from local_react.bench.calls import BEST, CallScore, compare_calls, score_calls
from local_react.bench.document import Document, Plot, Section, Shown, Table
from local_react.bench.plots import Interval, draw_intervals
from local_react.bench.results import Begun, Called, Entry, Missed
from local_react.bench.statistics import holm
from local_react.bench.tables import NOTHING, pairs_table, short_name, show_p_value, show_share

N_EXAMPLES = 2


def calls_table(scores: Sequence[CallScore]) -> Table:
    """Right and malformed calls by arm."""
    return Table(
        title="Exactly right calls",
        head=("model", "rows", "arm", "right", "malformed", "tokens drawn a call", "seconds a call"),
        rows=tuple(
            (short_name(score.model), score.category, score.arm, show_share(score.right), show_share(score.malformed),
             f"{score.n_sampled / score.right.n:.1f}", f"{score.seconds / score.right.n:.2f}")
            for score in scores
        ),
        note="Right by the leaderboard's rules for Python, with Wilson's 95 % interval. Best possible under the functions' "
        "own types: " + ", ".join(f"{name} {best} of {n:,}" for name, (best, n) in BEST.items()) + ".",
    )


def reasons_table(scores: Sequence[CallScore]) -> Table:
    """Wrong calls by the first rule that each broke."""
    reasons = list(dict.fromkeys(reason for score in scores for reason in score.reasons))
    return Table(
        title="Why the others are wrong", head=("model", "rows", "arm", *(reason.replace("_", " ") for reason in reasons)),
        rows=tuple(
            (short_name(score.model), score.category, score.arm, *(f"{score.reasons.get(reason, 0):,}" for reason in reasons))
            for score in scores
        ),
    )


def build_call_report(
    entries: Sequence[Entry], *, title: str, question: str, pairs: Sequence[tuple[str, str]], n_damaged: int = 0
) -> Document:
    """The report of single calls in a results folder."""
    calls = [entry for entry in entries if isinstance(entry, Called)]
    missed = [entry for entry in entries if isinstance(entry, Missed)]
    begun = [entry for entry in entries if isinstance(entry, Begun)]
    scores, tests = score_calls(calls), compare_calls(calls, pairs)
    adjusted = holm({" ".join(key): test.p_value for key, test in tests.items()})
    compared = Table(
        title="Arms compared, row by row",
        head=("model", "first", "second", "rows", "only first", "only second", "p (McNemar)", "p (after Holm)"),
        rows=tuple(
            (short_name(key[0]), key[1], key[2], f"{test.n:,}", f"{test.n_only_first}", f"{test.n_only_second}",
             show_p_value(test.p_value), show_p_value(adjusted[" ".join(key)]))
            for key, test in tests.items()
        ),
        note="Exact two-sided McNemar test on the rows that only one of the arms got right.",
    )
    groups: dict[str, dict[str, Interval]] = defaultdict(dict)
    for score in scores:
        groups[f"{short_name(score.model)}, {score.category}"][score.arm] = (
            score.right.value, score.right.low, score.right.high,
        )
    plots = (Plot(title="Exactly right calls, with Wilson's 95 % interval",
                  svg=draw_intervals("calls", groups, label="right calls")),) if scores else ()
    sections = (
        Section(title="Calls", tables=(calls_table(scores), reasons_table(scores)), plots=plots),
        Section(title="Comparisons", tables=(compared,)),
        Section(title="Examples of wrong calls", shown=tuple(_examples(calls))),
        _how(begun, missed, calls, n_damaged),
    )
    return Document(
        title=title, lead=f"{question} {len(calls):,} calls.", sections=sections,
        data={
            "title": title, "question": question, "n_calls": len(calls), "n_damaged": n_damaged,
            "missed": [[one.what, one.why] for one in missed], "commands": list(dict.fromkeys(one.command for one in begun)),
            "environments": [dict(one.environment) for one in begun], "scores": [score.write() for score in scores],
            "comparisons": [
                {"model": key[0], "first": key[1], "second": key[2], "adjusted": adjusted[" ".join(key)]} | asdict(test)
                for key, test in tests.items()
            ],
        },
    )


def _examples(calls: Sequence[Called]) -> list[Shown]:
    n_kept: dict[tuple[str, str], int] = defaultdict(int)
    shown = []
    for call in calls:
        values = call.values
        mark = (values["arm"], values["reason"])
        if values["is_right"] or n_kept[mark] >= N_EXAMPLES:
            continue
        n_kept[mark] += 1
        shown.append(Shown(
            title=f"{values['reason'].replace('_', ' ')}: {values['arm']}, {values['row']}",
            lines=(
                ("question", values["question"]), *([("thought", values["thought"])] if values["thought"] else []),
                ("written", values["text"]),
                ("malformed" if values["malformed"] else "wrong", f"{values['malformed'] or values['reason']} "
                 f"{values['parameter'] or ''}".strip()),
            ),
        ))
    return shown


def _how(begun: Sequence[Begun], missed: Sequence[Missed], calls: Sequence[Called], n_damaged: int) -> Section:
    tables = [pairs_table("Machine and programs", [(k, str(v)) for k, v in begun[-1].environment.items()])] if begun else []
    models: dict[str, Mapping[str, Any]] = {call.values["model"]["name"]: call.values["model"] for call in calls}
    for name, told in models.items():
        tables.append(pairs_table(f"Model {short_name(name)}", [(k, str(v)) for k, v in told.items()]))
    if missed:
        tables.append(pairs_table("What couldn't be run", [(one.what, one.why) for one in missed]))
    return Section(
        title="How it was measured",
        paragraphs=(
            "One call for each row, greedy, read strictly; nothing is executed. Shares have Wilson's score interval (95 %), "
            "pairs of arms are compared by McNemar's exact test, corrected together after Holm.",
            f"{n_damaged} damaged lines were skipped." if n_damaged else "No line was damaged.",
        ),
        tables=tuple(tables), lines=tuple(dict.fromkeys(one.command for one in begun)) or (NOTHING,),
    )
