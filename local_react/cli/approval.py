"""Asking the person at the terminal before a call.

Invariant: nothing but an explicit yes runs a call; the end of input never does. The whole call is shown, made harmless,
before anything is asked.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import IO

from rich.console import Console

from local_react.cli.streams import Hint, open_console, say
from local_react.language.arguments import Misfit, read_arguments, write_arguments, write_call
from local_react.language.protocol import ArgumentStyle
from local_react.language.step import Call
from local_react.tools.tool import Tool

TERMINAL = "/dev/tty"


@dataclass(frozen=True, slots=True)
class TerminalApproval:
    """Shows a call on the terminal and asks whether to run it. `style` is how its arguments are written."""

    style: ArgumentStyle
    hint: Hint

    def __call__(self, call: Call, tool: Tool) -> bool | Call:
        """True to run the call, False to deny it, another call to run that one."""
        self.hint.clear()
        edited = call
        with open_terminal() as (reading, writing):
            console = open_console(writing)
            while True:
                say(console, write_call(edited.name, edited.arguments, tool, self.style), "bold")
                match _ask(console, reading, "Run it? [y]es / [n]o / [e]dit: "):
                    case "y" | "yes":
                        return True if edited == call else edited
                    case None | "n" | "no":
                        return False
                    case "e" | "edit":
                        edited = self._edit(edited, tool, console, reading)

    def _edit(self, call: Call, tool: Tool, console: Console, reading: IO[str]) -> Call:
        say(console, f"The arguments are: {write_arguments(call.arguments, tool, self.style)}")
        text = _ask(console, reading, "The new ones (empty to leave them): ")
        if not text:
            return call
        read = read_arguments(text, tool, self.style)
        if isinstance(read, Misfit):
            say(console, read.message, "yellow")
            return call
        return replace(call, arguments=read.values)


def has_terminal() -> bool:
    """Whether there is somebody to ask."""
    try:
        with open_terminal():
            return True
    except OSError:
        return False


@contextmanager
def open_terminal() -> Iterator[tuple[IO[str], IO[str]]]:
    """The terminal to read from and to write to, whatever stdin and stderr are. Raises OSError where there is none."""
    try:
        descriptor = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        if sys.stdin is None or sys.stderr is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        yield sys.stdin, sys.stderr
        return
    with (
        open(descriptor, encoding="utf-8", errors="replace") as reading,
        open(os.dup(descriptor), "w", encoding="utf-8", errors="replace") as writing,
    ):
        yield reading, writing


def _ask(console: Console, reading: IO[str], question: str) -> str | None:
    """The line that was typed, None at the end of input."""
    say(console, question, end="")
    line = reading.readline()
    return line.strip() if line else None
