"""`local-react bench`: run a matrix, score it, compare, report; and the benchmarks by name.

Invariant: only `run` and the benchmarks load a model. Tables go to stdout, and the last line there of all that measures,
scores or reports is one JSON document; progress goes to stderr.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from local_react.bench.arms import ARMS
from local_react.bench.call_report import build_call_report, calls_table, reasons_table
from local_react.bench.calls import CALL_ARMS, call_pairs, score_calls
from local_react.bench.catalogue import BENCHMARKS, Benchmark
from local_react.bench.comparison import compare, correct_together
from local_react.bench.document import Document
from local_react.bench.environment import describe_environment, write_command
from local_react.bench.evidence import Evidence, gather
from local_react.bench.execution import Execution, Progress
from local_react.bench.forecast import forecast_sections
from local_react.bench.matrix import Matrix, make_matrix, read_matrix
from local_react.bench.report import build_report
from local_react.bench.results import Called, Recorded, Results, open_results, pack
from local_react.bench.scores import score_arms
from local_react.bench.tables import classes_table, codes_table, comparisons_table, episodes_table, steps_table
from local_react.bench.task import World
from local_react.bench.worlds.catalogue import WORLDS
from local_react.cli.bench_calls import CALL_BENCHMARKS, call_command
from local_react.cli.bench_options import load_named, make_worlds, matrix_keys, with_run_options
from local_react.cli.bench_output import gather_all, write_report, write_tables
from local_react.cli.bench_progress import shown_progress
from local_react.cli.bench_speed import SPEED_QUESTION, speed_command
from local_react.cli.streams import Hint, open_console, say, take_stdout
from local_react.cli.text import write_json
from local_react.errors import SettingsError

PROGRAM = "local-react"

_MINUTES = click.option("--minutes", type=click.FloatRange(min=0),
                        help="Begin nothing new after so many minutes.  [default: no limit]")


class BenchGroup(click.Group):
    """The commands, and behind them every benchmark by its name."""

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command or benchmark of that name."""
        if name in BENCHMARKS:
            return _command_of(BENCHMARKS[name])
        if name in CALL_BENCHMARKS:
            return call_command(name)
        return speed_command if name == "speed" else super().get_command(ctx, name)


@click.group("bench", cls=BenchGroup)
def bench_command() -> None:
    """Measure models and settings, and report what came out.

    `bench list` shows the benchmarks; `bench NAME` runs one, scores it and writes its report. `bench run` runs a matrix of
    your own. A run that was interrupted goes on where it stopped when the same command is given again.
    """


@bench_command.command("list")
@click.option("--arms", "with_arms", is_flag=True, help="Show every arm with its settings.  [default: names only]")
@click.pass_context
def list_command(context: click.Context, with_arms: bool) -> None:
    """List the benchmarks, the worlds and the arms."""
    answers = take_stdout(context)
    for benchmark in BENCHMARKS.values():
        answers.write(f"{benchmark.name:12} {benchmark.question}")
        answers.write(f"{'':12} arms: {', '.join(benchmark.arms)}")
    for name, (question, arms) in CALL_BENCHMARKS.items():
        answers.write(f"{name:12} {question}")
        answers.write(f"{'':12} arms: {', '.join(arms)}")
    answers.write(f"{'speed':12} {SPEED_QUESTION}")
    answers.write(f"{'worlds':12} {', '.join(WORLDS)}, or --tasks FILE.jsonl")
    answers.write("arms" if with_arms else f"{'arms':12} {', '.join(ARMS)}")
    for arm in ARMS.values() if with_arms else ():
        answers.write(f"  {arm.name:32} {write_json(arm.settings(), answers.encoding)}")
    answers.write("arms of single calls" if with_arms else f"{'of calls':12} {', '.join(CALL_ARMS)}")
    for call_arm in CALL_ARMS.values() if with_arms else ():
        answers.write(f"  {call_arm.name:32} {write_json(asdict(call_arm), answers.encoding)}")


@bench_command.command("run")
@click.option("--matrix", "matrix_file", metavar="FILE.toml", help="A file that says what to run.  [default: the options]")
@with_run_options
@click.option("--output", required=True, metavar="FOLDER",
              help="Where the results go, or where some already are.  [no default]")
@_MINUTES
@click.pass_context
def run_command(
    context: click.Context, matrix_file: str | None, output: str, minutes: float | None, **given: Any
) -> None:
    """Run a matrix of models, arms and worlds into a results folder.

    What is there already is left as it is. Options change the matrix of the file. Exits with 1 if nothing could be run.
    """
    answers = take_stdout(context)
    file = read_matrix(matrix_file).model_dump(exclude_unset=True) if matrix_file is not None else {}
    matrix = make_matrix(_merged(file, matrix_keys(given)))
    progress = run_matrix(matrix, make_worlds(matrix, given), output, minutes=minutes)
    answers.write(write_json({"folder": Path(output).name} | asdict(progress), answers.encoding))
    context.exit(_code(progress))


@bench_command.command("score")
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


@bench_command.command("compare")
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


@bench_command.command("report")
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
    arms = {kind: {_arm_name(entry): None for entry in entries if isinstance(entry, kind)} for kind in (Called, Recorded)}
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
        document = _report_of(BENCHMARKS[name], evidence, title) if name in BENCHMARKS else build_report(evidence, title=title)
    write_report(document, output or folders[0])
    answers.write(write_json(document.data, answers.encoding))


@bench_command.command("pack")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER…")
@click.option("--output", metavar="FOLDER", required=True, help="Where the packed files go.  [no default]")
@click.pass_context
def pack_command(context: click.Context, folders: tuple[str, ...], output: str) -> None:
    """Pack results folders into one, to publish them: it can be reported and gone on with as they can."""
    answers = take_stdout(context)
    pack(folders, output)
    answers.write(output)


@bench_command.command("trace")
@click.argument("folder", metavar="FOLDER")
@click.argument("key", metavar="KEY")
@click.option("--output", metavar="FILE", help="Where the trace goes.  [default: KEY.jsonl here]")
@click.pass_context
def trace_command(context: click.Context, folder: str, key: str, output: str | None) -> None:
    """Take the trace of one episode out of a results folder, for `local-react trace show` and `replay`."""
    answers = take_stdout(context)
    recorded = Results(folder).find(key)
    path = Path(output or f"{recorded.item.key}.jsonl")
    recorded.trace.write(path)
    answers.write(str(path))


def run_matrix(matrix: Matrix, worlds: Mapping[str, World], folder: str, *, minutes: float | None = None) -> Progress:
    """Run what isn't done of a matrix into a folder, and say on stderr how far it is."""
    log, deadline = open_console(sys.stderr), None if minutes is None else time.monotonic() + 60 * minutes
    with open_results(folder) as writer:
        if writer.n_damaged:
            say(log, f"{writer.n_damaged} damaged lines in {folder} were skipped; their episodes run again.")
        writer.begin(write_command([PROGRAM, *sys.argv[1:]]), describe_environment())
        with shown_progress(log) as tell:
            progress = Execution(
                matrix, worlds, writer, load=lambda name: load_named(name, matrix.load, Hint(log)), on_progress=tell,
                should_stop=lambda: deadline is not None and time.monotonic() > deadline,
            ).run()
    if progress.n_missed:
        say(log, f"{progress.n_missed} of {progress.n_total} episodes couldn't be run; the report says why.")
    return progress


def _code(progress: Progress) -> int:
    """The exit code: 1 where nothing at all could be run."""
    return 1 if progress.n_missed and not progress.n_done else 0


def _select(side: str) -> tuple[str, str | None]:
    """A folder, and the arm named behind its last colon, if that isn't part of the folder's name."""
    folder, colon, arm = side.rpartition(":")
    return (folder, arm) if colon and arm in ARMS or colon and not Path(side).exists() else (side, None)


def _merged(file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The matrix of a file with the keys that were given as options; limits and loading are merged key by key."""
    nested = {name: {**file.get(name, {}), **given[name]} for name in ("limits", "load") if name in given}
    return {**file, **given, **nested}


def _arm_name(entry: Called | Recorded) -> str:
    return entry.item.arm.name if isinstance(entry, Recorded) else str(entry.values["arm"])


def _report_of(benchmark: Benchmark, evidence: Evidence, title: str) -> Document:
    """The report of a benchmark: its question, its own pairs of arms as far as both were run."""
    arms = {grade.arm for grade in evidence.grades}
    return build_report(
        evidence, title=title, question=benchmark.question, pairs=[pair for pair in benchmark.pairs if {*pair} <= arms],
        extra=forecast_sections(evidence.forecasts), data={"benchmark": benchmark.name, "metrics": list(benchmark.metrics)},
    )


def _command_of(benchmark: Benchmark) -> click.Command:
    """The command that runs a benchmark, scores it and writes its report."""

    @click.command(benchmark.name, help=f"{benchmark.question}\n\nArms: {', '.join(benchmark.arms)}.")
    @with_run_options
    @click.option("--output", metavar="FOLDER",
                  help=f"Where results and report go.  [default: bench-results/{benchmark.name}]")
    @_MINUTES
    @click.option("--small", is_flag=True, help="A few tasks only, greedily, once.  [default: the full size]")
    @click.pass_context
    def command(context: click.Context, output: str | None, minutes: float | None, small: bool, **given: Any) -> None:
        answers = take_stdout(context)
        matrix = (benchmark.small() if small else benchmark).matrix(matrix_keys(given))
        folder, worlds = output or f"bench-results/{benchmark.name}", make_worlds(matrix, given)
        progress = run_matrix(matrix, worlds, folder, minutes=minutes)
        evidence = gather(Results(folder), {world.name: world.judge for world in worlds.values()})
        document = _report_of(benchmark, evidence, f"Benchmark {benchmark.name}")
        write_report(document, folder)
        scores = score_arms(evidence.grades)
        write_tables(answers, (steps_table(scores), episodes_table(scores), classes_table(scores)))
        answers.write(write_json(document.data, answers.encoding))
        context.exit(_code(progress))

    return command
