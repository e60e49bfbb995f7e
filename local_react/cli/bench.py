"""`local-react bench`: run a matrix, and the benchmarks by name.

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
from local_react.bench.calls import CALL_ARMS
from local_react.bench.catalogue import BENCHMARKS, Benchmark
from local_react.bench.environment import describe_environment, write_command
from local_react.bench.evidence import gather
from local_react.bench.execution import Execution, Progress
from local_react.bench.matrix import Matrix, make_matrix, read_matrix
from local_react.bench.results import Missed, Results, open_results
from local_react.bench.scores import score_arms
from local_react.bench.tables import classes_table, episodes_table, steps_table
from local_react.bench.task import World
from local_react.bench.worlds.catalogue import WORLDS
from local_react.cli.bench_calls import CALL_BENCHMARKS, call_command
from local_react.cli.bench_options import MINUTES, OPTIONS, load_named, make_worlds, matrix_keys, with_options
from local_react.cli.bench_output import write_report, write_tables
from local_react.cli.bench_progress import shown_progress
from local_react.cli.bench_results import WITHOUT_MODEL, report_of
from local_react.cli.bench_speed import SPEED_QUESTION, speed_command
from local_react.cli.streams import Hint, open_console, say, take_stdout
from local_react.cli.text import write_json

PROGRAM = "local-react"


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


for _command in WITHOUT_MODEL:
    bench_command.add_command(_command)


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
@with_options(OPTIONS)
@click.option("--output", required=True, metavar="FOLDER",
              help="Where the results go, or where some already are.  [no default]")
@MINUTES
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
        missed = (entry for entry in Results(folder) if isinstance(entry, Missed))
        why, *others = dict.fromkeys(f"{entry.what}: {entry.why}" for entry in missed)
        more = f" ({len(others)} more reasons stand in the report.)" if others else ""
        say(log, f"{progress.n_missed} of {progress.n_total} episodes couldn't be run. {why}{more}")
    return progress


def _code(progress: Progress) -> int:
    """The exit code: 1 where nothing at all could be run."""
    return 1 if progress.n_missed and not progress.n_done else 0


def _merged(file: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The matrix of a file with the keys that were given as options; limits and loading are merged key by key."""
    nested = {name: {**file.get(name, {}), **given[name]} for name in ("limits", "load") if name in given}
    return {**file, **given, **nested}


def _command_of(benchmark: Benchmark) -> click.Command:
    """The command that runs a benchmark, scores it and writes its report."""

    @click.command(benchmark.name, help=f"{benchmark.question}\n\nArms: {', '.join(benchmark.arms)}.")
    @with_options(OPTIONS)
    @click.option("--output", metavar="FOLDER",
                  help=f"Where results and report go.  [default: bench-results/{benchmark.name}]")
    @MINUTES
    @click.option("--small", is_flag=True, help="A few tasks only, greedily, once.  [default: the full size]")
    @click.pass_context
    def command(context: click.Context, output: str | None, minutes: float | None, small: bool, **given: Any) -> None:
        answers = take_stdout(context)
        matrix = (benchmark.small() if small else benchmark).matrix(matrix_keys(given))
        folder, worlds = output or f"bench-results/{benchmark.name}", make_worlds(matrix, given)
        progress = run_matrix(matrix, worlds, folder, minutes=minutes)
        evidence = gather(Results(folder), {world.name: world.judge for world in worlds.values()})
        document = report_of(benchmark, evidence, f"Benchmark {benchmark.name}")
        write_report(document, folder)
        scores = score_arms(evidence.grades)
        write_tables(answers, (steps_table(scores), episodes_table(scores), classes_table(scores)))
        answers.write(write_json(document.data, answers.encoding))
        context.exit(_code(progress))

    return command
