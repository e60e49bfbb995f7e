"""`local-react models`: the models of the registry, fetched, looked at and removed.

This file holds the group only; the module of a command is imported when it is run, since only `pull` needs huggingface-hub
and only `inspect` the gguf package.
"""

from __future__ import annotations

from importlib import import_module

import click

COMMANDS = ("list", "pull", "verify", "inspect", "where", "remove")
"""The commands, each in a module of its name."""


class ModelCommands(click.Group):
    """The group of the commands about models."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        # Not list(COMMANDS): once the module of that name is imported, `list` is that module here.
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, from a module of that name."""
        if name not in COMMANDS:
            return None
        return getattr(import_module(f"local_react.cli.models.{name}"), f"{name}_command")


@click.group("models", cls=ModelCommands)
def models_command() -> None:
    """List, fetch, verify, inspect and remove models.

    NAME is a name or an alias of the registry; `list` shows them. A registry of your own stands in local_react/models.toml
    in the configuration folder.
    """
