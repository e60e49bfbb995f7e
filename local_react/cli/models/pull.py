"""`local-react models pull`."""

from __future__ import annotations

import click

from local_react.cli.models.named import find_entry, print_path
from local_react.cli.text import make_visible
from local_react.hub.fetch import pull_model


@click.command("pull")
@click.argument("name")
def pull_command(name: str) -> None:
    """Fetch a model of the registry, and check it.

    It goes through huggingface-hub, and into its cache: HF_HOME, HF_TOKEN, HF_HUB_OFFLINE and HF_ENDPOINT count. The path
    of the file is written to stdout, all else to stderr.
    """
    entry = find_entry(name)
    pulled = pull_model(entry)
    state = "was here already" if pulled.was_here else "is here"
    check = "its SHA-256 is the published one" if pulled.is_checked else "no SHA-256 was published to check it against"
    click.echo(f"{entry.name} {state}; {check}. Licence: {make_visible(entry.licence)}.", err=True)
    print_path(pulled.path)
