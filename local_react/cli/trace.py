"""`local-react trace`: recorded runs, printed or run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from local_react.cli.ask import describe_ending
from local_react.cli.ledger import ledger_command
from local_react.cli.picture import draw, open_recorder, title_of
from local_react.cli.printer import Printer, show_trace
from local_react.cli.streams import Hint, open_console, say, take_stdout
from local_react.cli.text import make_visible
from local_react.cli.tool_files import load_toolbox
from local_react.language.step import Answer, Call, Malformed, Observation
from local_react.replay import REPEATABLE, Difference, first_difference, replay
from local_react.trace import Trace


@click.group("trace")
def trace_command() -> None:
    """Print a recorded run, or run it again without a model."""


trace_command.add_command(ledger_command)


@trace_command.command("show")
@click.argument("file")
@click.option("--svg", metavar="PICTURE.svg", help="Draw the run in this file.  [default: print it]")
def show_command(file: str, svg: str | None) -> None:
    """Print a run from its trace FILE, as it looked when it ran."""
    trace = Trace.read(file)
    if svg is not None:
        _write_picture(Path(svg), trace)
        return
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    console = open_console(sys.stdout)
    say(console, trace.question)
    _show_run(console, trace)
    if console.quiet:
        raise click.ClickException("stdout can't be written to its end.")


def _write_picture(path: Path, trace: Trace) -> None:
    recorder, title = open_recorder(), title_of(trace.question)
    if title != trace.question:
        say(recorder, trace.question)
    _show_run(recorder, trace)
    try:
        path.write_text(draw(recorder, title), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} can't be written: {error.strerror}.") from error


def _show_run(console: Console, trace: Trace) -> None:
    show_trace(trace, Printer(console, Hint(open_console(None))))
    _show_end(console, trace)


def _show_end(console: Console, trace: Trace) -> None:
    if trace.ending == "answered":
        say(console, str(trace.answer))
    else:
        say(console, f"Not answered, {describe_ending(trace)}")
    counts = f"{len(trace.steps)} steps, {trace.n_tokens:,} tokens, {trace.sampled:,} sampled, {trace.evaluated:,} evaluated"
    say(console, counts, "dim")


@trace_command.command("replay")
@click.argument("file")
@click.option("--tools", multiple=True, metavar="FILE.py|MODULE:NAME|demo",
              help="Run these tools.  [default: run none, and take the recorded observations]")
@click.pass_context
def replay_command(context: click.Context, file: str, tools: tuple[str, ...]) -> None:
    """Run the loop again on the completions in trace FILE, without a model.

    Prints the first difference and exits with 1, or says that there is none.
    """
    answers = take_stdout(context)
    recorded = Trace.read(file)
    replayed = replay(recorded, load_toolbox(tools) if tools else None)
    difference = first_difference(recorded, replayed)
    if difference is not None:
        for line in _describe(difference):
            answers.write(make_visible(line))
        context.exit(1)
    compared = "" if recorded.ending in REPEATABLE else f"; the record breaks off there ({recorded.ending or 'no end'})"
    answers.write(f"The same: {len(recorded.steps)} steps{compared}.")


def _describe(difference: Difference) -> list[str]:
    where = f"Step {difference.step}" if difference.step is not None else "The run"
    return [
        f"{where} differs in its {difference.what}.",
        f"  recorded: {_spell(difference.recorded)}",
        f"  replayed: {_spell(difference.replayed)}",
    ]


def _spell(value: Any) -> str:
    match value:
        case Call(name=name, arguments=arguments, thought=thought):
            return f"call {name} {dict(arguments)!r}, thought {thought!r}"
        case Answer(text=text, thought=thought):
            return f"answer {text!r}, thought {thought!r}"
        case Malformed(code=code, message=message):
            return f"malformed: {code}, {message!r}"
        case Observation(text=text, kind=kind, is_error=is_error, full=full):
            return f"{'error' if is_error else kind} {(text if full is None else full)!r}"
        case None:
            return "none"
    return str(value)
