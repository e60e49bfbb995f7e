"""`local-react bench score | compare | report | pack | trace`: what is made of results folders, without a model."""

from __future__ import annotations

from pathlib import Path

import click

from local_react.bench.arms import ARMS
from local_react.bench.call_report import build_call_report, calls_table, reasons_table
from local_react.bench.calls import call_pairs, score_calls
from local_react.bench.catalogue import BENCHMARKS, Benchmark
from local_react.bench.comparison import compare, correct_together
from local_react.bench.document import Document
from local_react.bench.evidence import Evidence
from local_react.bench.forecast import forecast_sections
from local_react.bench.packing import pack
from local_react.bench.report import build_report
from local_react.bench.results import MARK, Called, Recorded, Results, arm_of
from local_react.bench.scores import score_arms
from local_react.bench.tables import classes_table, codes_table, comparisons_table, episodes_table, steps_table
from local_react.cli.bench_calls import CALL_BENCHMARKS
from local_react.cli.bench_output import gather_all, write_report, write_tables
from local_react.cli.streams import take_stdout
from local_react.cli.text import write_json
from local_react.errors import SettingsError


@click.command("score")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER…")
@click.pass_context
def score_command(context: click.Context, folders: tuple[str, ...]) -> None:
    """Score the episodes of results folders, without a model."""
    answers = take_stdout(context)
    results = Results(*folders)
    evidence, calls = gather_all(results), score_calls(entry for entry in results if isinstance(entry, Called))
    scores = score_arms(evidence.grades)
    write_tables(answers, (steps_table(scores), codes_table(scores), episodes_table(scores), classes_table(scores)))
    write_tables(answers, (calls_table(calls), reasons_table(calls)))
    document = {
        "scores": [score.write() for score in scores], "calls": [score.write() for score in calls],
        "n_damaged": evidence.n_damaged, "missed": [[one.what, one.why] for one in evidence.missed],
    }
    answers.write(write_json(document, answers.encoding))


@click.command("compare")
@click.argument("first", metavar="FOLDER[:ARM]")
@click.argument("second", metavar="FOLDER[:ARM]")
@click.pass_context
def compare_command(context: click.Context, first: str, second: str) -> None:
    """Compare two runs case by case, without a model.

    Cases are paired by model, task, seed and temperature, and by arm unless both sides name one.
    """
    answers = take_stdout(context)
    sides = [_select(first), _select(second)]
    has_arms = [arm is not None for _, arm in sides]
    if has_arms[0] != has_arms[1]:
        raise SettingsError("Name an arm on both sides, as FOLDER:ARM, or on none.")
    grades = [
        [grade for grade in gather_all(Results(folder)).grades if arm in (None, grade.arm)] for folder, arm in sides
    ]
    found = correct_together(compare(*grades, names=(first, second), across_arms=has_arms[0]))
    if not found:
        raise SettingsError(f"{first} and {second} have no case in common. Run both on the same tasks, seeds and models.")
    write_tables(answers, (comparisons_table(found),))
    answers.write(write_json({"comparisons": [one.write() for one in found]}, answers.encoding))


@click.command("report")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER…")
@click.option("--title", help="The title of the report.  [default: that of the benchmark, or the names of the folders]")
@click.option("--benchmark", "name", type=click.Choice([*BENCHMARKS, *CALL_BENCHMARKS]), metavar="NAME",
              help="What was run: its question heads the report, its pairs of arms are compared.  [default: not said]")
@click.option("--arm", "chosen", multiple=True, metavar="NAME", help="An arm to report; may be given several times.  "
              "[default: all that are there]")
@click.option("--output", metavar="FOLDER",
              help="Where report.html, report.md and report.json go.  [default: the first FOLDER]")
@click.pass_context
def report_command(
    context: click.Context, folders: tuple[str, ...], title: str | None, name: str | None, chosen: tuple[str, ...],
    output: str | None,
) -> None:
    """Write the report of results folders, without a model: HTML, Markdown and JSON."""
    answers = take_stdout(context)
    title = title or (f"Benchmark {name}" if name else ", ".join(Path(folder).name for folder in folders))
    results = Results(*folders, arms=chosen)
    entries = list(results)
    arms = {kind: {arm_of(entry): None for entry in entries if isinstance(entry, kind)} for kind in (Called, Recorded)}
    if absent := [arm for arm in chosen if arm not in {**arms[Called], **arms[Recorded]}]:
        raise SettingsError(f"There is nothing of the arm {absent[0]!r} in {', '.join(folders)}.")
    if arms[Called] and arms[Recorded]:
        raise SettingsError("There are episodes and single calls in these folders. Report them apart, or choose with --arm.")
    if name in (BENCHMARKS if arms[Called] else CALL_BENCHMARKS):
        raise SettingsError(f"What is in {', '.join(folders)} is not of the benchmark {name}.")
    if arms[Called]:
        question = CALL_BENCHMARKS[name][0] if name in CALL_BENCHMARKS else ""
        document = build_call_report(
            entries, title=title, question=question, pairs=call_pairs(arms[Called]), n_damaged=results.n_damaged
        )
    else:
        evidence = gather_all(results)
        document = report_of(BENCHMARKS[name], evidence, title) if name in BENCHMARKS else build_report(evidence, title=title)
    write_report(document, output or folders[0])
    answers.write(write_json(document.data, answers.encoding))


@click.command("pack")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER…")
@click.option("--arm", "arms", multiple=True, metavar="NAME", help="An arm to pack; may be given several times.  "
              "[default: all that are there]")
@click.option("--output", metavar="FOLDER", required=True, help="Where the packed files go.  [no default]")
@click.pass_context
def pack_command(context: click.Context, folders: tuple[str, ...], arms: tuple[str, ...], output: str) -> None:
    """Pack results folders into one, to publish them: it can be reported and gone on with as they can."""
    answers = take_stdout(context)
    pack(folders, output, arms)
    answers.write(output)


@click.command("trace")
@click.argument("folder", metavar="FOLDER")
@click.argument("key", metavar="KEY")
@click.option("--output", metavar="FILE", help="Where the trace goes.  [default: KEY.jsonl here]")
@click.pass_context
def trace_command(context: click.Context, folder: str, key: str, output: str | None) -> None:
    """Take the trace of one episode out of a results folder, for `local-react trace show` and `replay`."""
    answers = take_stdout(context)
    recorded = Results(folder).find(key)
    path = Path(output or f"{recorded.item.key}.jsonl")
    if (path.parent / MARK).exists():
        raise SettingsError(f"{path} is in a folder with results, where nothing else belongs. Choose another place.")
    recorded.trace.write(path)
    answers.write(str(path))


def report_of(benchmark: Benchmark, evidence: Evidence, title: str) -> Document:
    """The report of a benchmark: its question, its own pairs of arms as far as both were run."""
    arms = {grade.arm for grade in evidence.grades}
    return build_report(
        evidence, title=title, question=benchmark.question, pairs=[pair for pair in benchmark.pairs if {*pair} <= arms],
        extra=forecast_sections(evidence.forecasts), data={"benchmark": benchmark.name, "metrics": list(benchmark.metrics)},
    )


def _select(side: str) -> tuple[str, str | None]:
    """A folder, and the arm named behind its last colon, if that isn't part of the folder's name."""
    folder, colon, arm = side.rpartition(":")
    return (folder, arm) if colon and arm in ARMS or colon and not Path(side).exists() else (side, None)


WITHOUT_MODEL = (score_command, compare_command, report_command, pack_command, trace_command)
"""These commands."""
