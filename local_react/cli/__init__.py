"""The command line: arguments in, text out, exit codes.

This file holds the group only. The module of a command is imported when that command is run, so that `--help` is quick
and loads neither llama.cpp nor the tools. Exit codes: 0 answered (or done), 1 not answered (or something is wrong), 2 a
mistake of the caller, 130 interrupted.
"""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module
from typing import Any

import click

from local_react.cli.text import make_visible
from local_react.errors import LocalReactError, SettingsError
from local_react.version import VERSION

COMMANDS = {
    "run": "Answer a question: the model thinks, calls tools, and answers.",
    "chat": "Answer questions one after another; the model stays loaded.",
    "prompt": "Print the prompt, with the tokens that each part costs.",
    "grammar": "Print the language that --constrain holds the model to.",
    "trace": "Print a recorded run, or run it again without a model.",
    "models": "List, fetch, verify, inspect and remove models.",
    "bench": "Measure models and settings, and report what came out.",
    "doctor": "Check the installation and the model.",
}
"""The commands and their one-line helps, which are the first lines of their docstrings."""

EXTRAS = {"bench": "bench"}
"""The commands that need packages of an extra, and its name."""

DEBUG_VARIABLE = "LOCAL_REACT_DEBUG"
INTERRUPTED = 130
UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT)
"""What the system says of an output that takes no more."""


class CommandLine(click.Group):
    """The group of all commands; what goes wrong in one of them ends here."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, from a module of that name."""
        if name not in COMMANDS:
            return None
        try:
            module = import_module(f"local_react.cli.{name}")
        except ModuleNotFoundError as error:
            if name not in EXTRAS or str(error.name).startswith("local_react"):
                raise
            what = f"`local-react {name}` needs the package {error.name}, which isn't installed."
            raise SettingsError(f"{what} Install it with `pip install 'local_react[{EXTRAS[name]}]'`.") from error
        return getattr(module, f"{name}_command")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the whole program. Where nobody can read what it says, it ends with one line on stderr and exit code 1."""
        try:
            return super().main(*args, **extra)
        except OSError as error:
            # What click itself prints, a help text, fails here; its own main knows a closed pipe only.
            if error.filename is not None or error.errno not in UNWRITABLE:
                raise
            _abandon_stdout()
            click.echo(f"Error: stdout can't be written: {error.strerror}.", err=True)
            sys.exit(1)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and turn what it raises into a message and an exit code."""
        try:
            return super().invoke(ctx)
        except LocalReactError as error:
            if os.environ.get(DEBUG_VARIABLE):
                raise
            click.echo(f"Error: {make_visible(str(error))}", err=True)
            ctx.exit(2)
        except (KeyboardInterrupt, click.Abort):
            click.echo("Interrupted.", err=True)
            ctx.exit(INTERRUPTED)


def _abandon_stdout() -> None:
    """Let what is left unwritten go nowhere: Python would try it again at its exit, with a complaint of its own."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError, AttributeError):
        pass  # no real file


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="local-react")
def main() -> None:
    """A ReAct loop that runs a GGUF model on your own machine.

    Each setting can be given as an option, as an environment variable (LOCAL_REACT_TEMPERATURE for --temperature), or in
    a TOML file: --config, else local_react.toml here, else local_react/config.toml in the configuration folder. The first
    of these that says something counts.
    """
