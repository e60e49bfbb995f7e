"""Where output goes: the answer alone to stdout, everything else to stderr.

Invariant: from `take_stdout` on, only the `Answers` that it returned can write to the caller's stdout. What tools print,
and what C code or a child process writes to file descriptor 1, comes out on stderr.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import IO

import click
from rich.console import Console
from rich.text import Text

from local_react.cli.text import make_visible


class Answers:
    """The caller's stdout."""

    def __init__(self, file: IO[str] | None) -> None:
        self._file = file

    @property
    def encoding(self) -> str:
        """What a line is written in."""
        return getattr(self._file, "encoding", None) or "utf-8"

    @property
    def is_terminal(self) -> bool:
        """Whether somebody looks at it directly."""
        return self._file is not None and self._file.isatty()

    def write(self, line: str) -> None:
        """Write a line and flush it. Raises ClickException (exit code 1) where nobody reads any more."""
        try:
            if self._file is None:
                raise BrokenPipeError("stdout is closed")
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            file, self._file = self._file, None
            if file is not None:
                _abandon(file)
            raise click.ClickException(f"stdout can't be written: {error.strerror or error}.") from error


def _abandon(file: IO[str]) -> None:
    # The unwritten text would be tried again when Python exits, with a second complaint and an exit code of its own.
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, file.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass  # no real file, or a closed one


def take_stdout(context: click.Context) -> Answers:
    """Take stdout for the answers; until `context` closes, `print` writes to stderr.

    A real file descriptor 1 stays redirected for good: C libraries flush what they hold for it only when the process
    exits, and that must not reach the caller's stdout either.
    """
    if sys.stdout is None:
        _occupy(1)
        return Answers(None)
    try:
        is_real = sys.stdout.fileno() == 1
    except (OSError, AttributeError, io.UnsupportedOperation):
        is_real = False
    if not is_real:
        answers = Answers(sys.stdout)
        stack = ExitStack()
        stack.enter_context(redirect_stdout(sys.stderr))
        context.call_on_close(stack.close)
        return answers
    sys.stdout.flush()
    file = open(os.dup(1), "w", encoding=sys.stdout.encoding, errors="replace")
    _occupy(2)
    os.dup2(2, 1)
    # A new object: the old one may remember that it wrote to a file, and a terminal or a pipe is no file.
    sys.stdout = open(1, "w", buffering=1, encoding=file.encoding, errors="backslashreplace", closefd=False)
    return Answers(file)


def _occupy(descriptor: int) -> None:
    """Open a closed descriptor, so that no file opened later gets that number, and what a tool prints."""
    try:
        os.fstat(descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_WRONLY)
        if null != descriptor:
            os.dup2(null, descriptor)
            os.close(null)


def read_stdin() -> Iterator[str]:
    """The lines of stdin; bytes that are no UTF-8 become U+FFFD."""
    if sys.stdin is None:
        return
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")


def open_console(file: IO[str] | None, *, is_quiet: bool = False) -> Console:
    """A rich console that interprets nothing and wraps nothing; it colours on terminals, unless NO_COLOR is set."""
    if file is None or is_quiet:
        return Console(file=io.StringIO(), quiet=True)
    plain = {"color_system": None, "force_terminal": False} if os.environ.get("NO_COLOR") else {}
    return Console(file=file, highlight=False, markup=False, emoji=False, soft_wrap=True, **plain)


def say(console: Console, text: str, style: str = "", *, end: str = "\n") -> None:
    """Write text from anywhere in a style. Where nobody reads any more, nothing is written from then on."""
    if console.quiet:
        return
    with _while_read(console):
        # Captured, since rich would keep what a Ctrl-C interrupts, and write it again the next time.
        with console.capture() as capture:
            console.print(Text(make_visible(text), style=style, end=""), end=end, soft_wrap=True)
        console.file.write(capture.get())
        console.file.flush()


@contextmanager
def _while_read(console: Console) -> Iterator[None]:
    """What is written inside may fail, since nobody reads any more or a tool has closed the file; then all is quiet."""
    try:
        yield
    except (OSError, ValueError):
        console.quiet = True
        _abandon(console.file)


class Hint:
    """A line on a terminal that says what is going on, until there is something to show. Elsewhere it does nothing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._can_erase = console.is_terminal and console.color_system is not None and not console.quiet
        self._is_shown = False

    def show(self, text: str) -> None:
        """Show `text` instead of what was shown before."""
        if self._can_erase:
            self.clear()
            self._is_shown = True
            say(self._console, text, "dim", end="")

    def tell(self, text: str) -> None:
        """Write a line that stays, in place of what was shown."""
        self.clear()
        say(self._console, text, "yellow")

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._is_shown = False
            with _while_read(self._console):
                self._console.file.write("\r\x1b[K")
                self._console.file.flush()
