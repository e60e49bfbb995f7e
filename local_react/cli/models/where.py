"""`local-react models where`."""

from __future__ import annotations

import click

from local_react.cli.models.named import find_file
from local_react.cli.text import make_visible


@click.command("where")
@click.argument("name")
def where_command(name: str) -> None:
    """Print the path of a model's file."""
    path, _ = find_file(name)
    click.echo(make_visible(str(path)))
