"""`local-react models where`."""

from __future__ import annotations

import click

from local_react.cli.models.named import find_file, print_path


@click.command("where")
@click.argument("name")
def where_command(name: str) -> None:
    """Print the path of a model's file."""
    path, _ = find_file(name)
    print_path(path)
