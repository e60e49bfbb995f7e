"""`local-react models remove`."""

from __future__ import annotations

import click

from local_react.cli.models.named import find_entry, in_megabytes
from local_react.cli.text import make_visible
from local_react.errors import ModelFileError
from local_react.hub.storage import remove_model
from local_react.llama.places import locate_entry


@click.command("remove")
@click.argument("name")
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Don't ask.  [default: ask]")
def remove_command(name: str, is_sure: bool) -> None:
    """Remove a fetched model from this machine."""
    entry = find_entry(name)
    path = locate_entry(entry)
    if path is None or not path.is_file():
        raise ModelFileError(entry.name, "is not on this machine", "There is nothing to remove.")
    amount = in_megabytes(path.stat().st_size)
    if not is_sure:
        click.confirm(make_visible(f"Remove {path} ({amount})?"), abort=True, err=True)
    remove_model(entry)
    click.echo(f"{entry.name} is removed; {amount} are free again.", err=True)
