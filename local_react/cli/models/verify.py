"""`local-react models verify`."""

from __future__ import annotations

import click

from local_react.cli.models.named import find_file
from local_react.cli.text import make_visible
from local_react.hub.verify import verify_model


@click.command("verify")
@click.argument("name", metavar="NAME|FILE")
@click.pass_context
def verify_command(context: click.Context, name: str) -> None:
    """Read a model file again, and compare it with its recorded hash.

    The record is that of the registry, the hub or the package, else the hash that the file had when it was first read.
    Exits with 1 if the file is damaged.
    """
    path, entry = find_file(name)
    found = verify_model(path, entry)
    if found.fault is not None:
        click.echo(make_visible(f"BAD  {name}: {found.fault}"))
        again = f"Pull it again with `local-react models pull {name}`." if entry is not None else "Get the file again."
        click.echo(make_visible(again), err=True)
        context.exit(1)
    record = f"as recorded by {found.origin}" if found.recorded else "which nobody recorded; it is remembered from now on"
    click.echo(make_visible(f"ok   {name}: SHA-256 {found.sha256}, {record}"))
