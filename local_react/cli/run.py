"""`local-react run`: one question, the run on stderr, the answer on stdout."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from local_react.cli.ask import Desk, ask
from local_react.cli.constraint import settle_constraint
from local_react.cli.options import CONSTRAINT, GUARDS, MODEL, PROMPT, RUN, SAMPLING, TOOLS, with_settings
from local_react.cli.settings_file import SETTINGS_FILE, with_settings_file
from local_react.cli.setup import run_options
from local_react.cli.streams import Hint, open_console, read_stdin, say, take_stdout


def with_run_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command everything that a run can be told, and how to show it."""
    for decorate in (
        with_settings_file,
        click.option("--yes", is_flag=True, help="Approve all calls.  [default: ask]"),
        click.option("--quiet", "-q", is_flag=True, help="Nothing on stderr but errors.  [default: show the run]"),
        click.option("--json", "as_json", is_flag=True, help="The run as one line of JSON on stdout.  [default: the answer]"),
        with_settings(TOOLS, MODEL, PROMPT, GUARDS, SAMPLING, CONSTRAINT, RUN),
    ):
        command = decorate(command)
    return command


def open_desk(context: click.Context, *, quiet: bool, as_json: bool, settings: dict[str, Any]) -> Desk:
    """Take stdout for the answers, then load tools and model."""
    settings = settle_constraint(context, settings)
    answers = take_stdout(context)
    log = open_console(sys.stderr, is_quiet=quiet)
    if SETTINGS_FILE in context.meta:
        say(log, f"Settings from {context.meta[SETTINGS_FILE]}", "dim")
    hint = Hint(log)
    return Desk(answers, log, open_console(sys.stderr), hint, run_options(settings, hint), as_json)


@click.command("run")
@click.argument("question")
@with_run_settings
@click.pass_context
def run_command(context: click.Context, question: str, quiet: bool, as_json: bool, **settings: Any) -> None:
    """Answer a question: the model thinks, calls tools, and answers.

    QUESTION is the question, or - to read it from stdin. The answer alone goes to stdout, everything else to stderr. The
    exit code is 0 for an answer, 1 for none, 2 for a mistake in the settings and 130 if interrupted.
    """
    if question == "-":
        question = "".join(read_stdin())
    trace = settings.pop("trace")
    desk = open_desk(context, quiet=quiet, as_json=as_json, settings=settings)
    context.exit(ask(desk, question, Path(trace) if trace else None))
