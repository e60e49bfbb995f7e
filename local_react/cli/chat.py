"""`local-react chat`: one question after another on a model that stays loaded, each an episode of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from local_react.cli.ask import ANSWERED, INTERRUPTED, UNANSWERED, Desk, ask, number_trace_file
from local_react.cli.run import open_desk, with_run_settings
from local_react.cli.streams import read_stdin, say
from local_react.errors import LocalReactError

# Importing it is what gives `input` a history, and keys to edit with.
try:
    import readline
except ImportError:
    readline = None

PROMPT = "? "


@click.command("chat")
@with_run_settings
@click.pass_context
def chat_command(context: click.Context, quiet: bool, as_json: bool, **settings: Any) -> None:
    """Answer questions one after another; the model stays loaded.

    Ctrl-C interrupts a question, Ctrl-D ends. Without a terminal, each line of stdin is a question, and the exit code is
    0 if all were answered. Each question is a run of its own: nothing of the last one is remembered. With --trace
    run.jsonl the traces are run-1.jsonl, run-2.jsonl and so on.
    """
    trace = settings.pop("trace")
    desk = open_desk(context, quiet=quiet, as_json=as_json, settings=settings)
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    worst = ANSWERED
    for number, question in enumerate(_typed_questions(desk) if is_terminal else _piped_questions(), 1):
        code = _ask(desk, question, trace, number)
        if code == INTERRUPTED and not is_terminal:
            context.exit(INTERRUPTED)
        worst = max(worst, code)
    context.exit(ANSWERED if is_terminal else worst)


def _ask(desk: Desk, question: str, trace: str | None, number: int) -> int:
    """Ask one question; a mistake in it doesn't end the chat."""
    try:
        return ask(desk, question, number_trace_file(trace, number))
    except LocalReactError as error:
        say(desk.errors, f"Error: {error}")
        return UNANSWERED
    except KeyboardInterrupt:
        return INTERRUPTED


def _piped_questions() -> Iterator[str]:
    yield from filter(None, map(str.strip, read_stdin()))


def _typed_questions(desk: Desk) -> Iterator[str]:
    """The questions that are typed, until Ctrl-D; Ctrl-C drops the line."""
    while True:
        try:
            question = input(PROMPT).strip()
        except EOFError:
            say(desk.log, "")
            return
        except KeyboardInterrupt:
            say(desk.log, "")
            continue
        if question:
            yield question
