"""`local-react bench bfcl` and `local-react bench arguments`: single calls on the leaderboard's rows."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from local_react.bench.bfcl import Row
from local_react.bench.bfcl_arms import read_arms
from local_react.bench.bfcl_rows import choose_rows
from local_react.bench.call_arm import CallArm
from local_react.bench.call_report import build_call_report, calls_table, reasons_table
from local_react.bench.calls import ARGUMENT_ARMS, LEADERBOARD_ARMS, call_pairs, find_call_arm, run_calls, score_calls
from local_react.bench.environment import describe_environment, write_command
from local_react.bench.matrix import ModelOptions
from local_react.bench.results import Called, Results, open_results
from local_react.cli.bench_options import LOAD_OPTIONS, MINUTES, load_named, with_options
from local_react.cli.bench_output import write_report, write_tables
from local_react.cli.bench_progress import shown_progress
from local_react.cli.streams import Hint, open_console, say, take_stdout
from local_react.cli.text import write_json
from local_react.decode.engines import ENGINES
from local_react.decode.scripted import ScriptedModel
from local_react.errors import LocalReactError, SettingsError

PROGRAM = "local-react"
SMALL_ROWS = 8

CALL_BENCHMARKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "arguments": (
        "Which way of writing arguments suits a small model, free and constrained, with a thought and without one?",
        ARGUMENT_ARMS,
    ),
    "bfcl": ("How many calls of the function-calling leaderboard are exactly right, free and constrained?", LEADERBOARD_ARMS),
}
"""The benchmarks of single calls: the question of each, and its arms."""


def call_command(name: str) -> click.Command:
    """The command of that benchmark of single calls."""

    question, default_arms = CALL_BENCHMARKS[name]

    @click.command(name, help=f"{question}\n\nNeeds the leaderboard's rows, joined with their answers or as published.")
    @click.option("--rows", "places", multiple=True, required=True, metavar="FILE|FOLDER",
                  help="Rows, or a folder with them; may be given several times.  [no default]")
    @click.option("--category", "categories", multiple=True, metavar="NAME",
                  help="Rows of this category only, such as simple; may be given several times.  [default: all]")
    @click.option("--every", type=click.IntRange(min=1), default=1, show_default=True, metavar="K",
                  help="The first of every K rows of a file.")
    @click.option("--model", "models", multiple=True, metavar="PATH|NAME",
                  help="A model; may be given several times.  [default: smollm2]")
    @click.option("--arm", "arms", multiple=True, metavar="NAME", help="An arm; may be given several times.  "
                  f"[default: those of --arms, or else {', '.join(default_arms)}]")
    @click.option("--arms", "arms_file", metavar="FILE.toml", help="Arms of your own, beside the named ones.  [default: none]")
    @click.option("--engine", type=click.Choice(list(ENGINES)), default=next(iter(ENGINES)), show_default=True,
                  help="What computes the constraint.")
    @click.option("-n", "--n-rows", type=click.IntRange(min=1), help="The first so many of those.  [default: all]")
    @click.option("--small", is_flag=True, help=f"{SMALL_ROWS} rows of each file.  [default: all]")
    @MINUTES
    @with_options(LOAD_OPTIONS)
    @click.option("--output", metavar="FOLDER", default=f"bench-results/{name}", show_default=True,
                  help="Where results and report go.")
    @click.pass_context
    def command(
        context: click.Context, places: tuple[str, ...], categories: tuple[str, ...], every: int, models: tuple[str, ...],
        arms: tuple[str, ...], arms_file: str | None, engine: str, n_rows: int | None, small: bool, minutes: float | None,
        output: str, **load: Any,
    ) -> None:
        answers = take_stdout(context)
        own = read_arms(arms_file) if arms_file is not None else {}
        chosen = [find_call_arm(each, own) for each in arms or own or default_arms]
        models = models or ("smollm2",)
        _refuse_twice("model", models)
        _refuse_twice("rows", places)
        _refuse_twice("arm", [replace(arm, name="") for arm in chosen], [arm.name for arm in chosen])
        n_rows = SMALL_ROWS if small and n_rows is None else n_rows
        rows = choose_rows(places, categories=categories, every=every, n_rows=n_rows)
        any_loaded = _run(models, rows, chosen, output, engine=engine, minutes=minutes, load=ModelOptions(**load))
        results = Results(output)
        entries = list(results)
        scores = score_calls(entry for entry in entries if isinstance(entry, Called))
        document = build_call_report(
            entries, title=f"Benchmark {name}", question=question, n_damaged=results.n_damaged,
            pairs=call_pairs(arm.name for arm in chosen),
        )
        write_report(document, output)
        write_tables(answers, (calls_table(scores), reasons_table(scores)))
        answers.write(write_json(document.data, answers.encoding))
        context.exit(0 if any_loaded else 1)

    return command


def _refuse_twice(option: str, values: Sequence[Any], names: Sequence[str] | None = None) -> None:
    """Raise SettingsError for what is given twice: it would be asked twice, and counted once."""
    for number, value in enumerate(values):
        if value in values[:number]:
            first, again = ((names or values)[at] for at in (values.index(value), number))
            raise SettingsError(f"--{option} {first} and --{option} {again} are the same. Give one of them.")


def _run(
    models: Sequence[str], rows: Sequence[Row], arms: Sequence[CallArm], folder: str, *, engine: str,
    minutes: float | None, load: ModelOptions,
) -> bool:
    """Run what isn't done; a model that can't be loaded is recorded, and the rest goes on. Returns whether one was loaded."""
    any_loaded = False
    log, deadline = open_console(sys.stderr), None if minutes is None else time.monotonic() + 60 * minutes
    with open_results(folder) as writer:
        writer.begin(write_command([PROGRAM, *sys.argv[1:]]), describe_environment())
        for name in models:
            try:
                model = load_named(name, load, Hint(log))
            except LocalReactError as error:
                writer.miss(f"model {name}", str(error))
                say(log, f"{name} couldn't be loaded: {error}")
                continue
            if isinstance(model, ScriptedModel):
                raise SettingsError("A scripted model can't be asked for calls of the leaderboard. Give a real one.")
            any_loaded = True
            with model, shown_progress(log) as tell:
                run_calls(model, rows, arms, writer, engine=engine, on_progress=tell,
                          should_stop=lambda: deadline is not None and time.monotonic() > deadline)
    return any_loaded
