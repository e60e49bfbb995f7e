"""What the NAME of a command about models means."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from local_react.cli.text import make_visible
from local_react.errors import ModelFileError
from local_react.llama.files import find_model
from local_react.llama.registry import Entry, load_registry


def find_entry(name: str) -> Entry:
    """The entry of the registry that `name` means. Raises ModelFileError if there is none, or several."""
    registry = load_registry()
    entry = registry.find(name)
    if entry is None:
        meant = ", ".join(registry.near(name))
        remedy = f"{f'Perhaps you mean {meant}. ' if meant else ''}`local-react models list` shows the names."
        raise ModelFileError(name, "is not in the registry", remedy)
    return entry


def find_file(name: str) -> tuple[Path, Entry | None]:
    """The file that a path or a name means, and its entry if it was a name. Raises ModelFileError if it isn't here."""
    path = find_model(name)
    is_path = Path(name).expanduser().exists()
    return path, None if is_path else load_registry().find(name)


def print_path(path: Path) -> None:
    """Write a path to stdout: exactly for a pipe or a file, and on a terminal so that nothing in it acts."""
    click.echo(make_visible(str(path)) if sys.stdout.isatty() else str(path))


def in_megabytes(n_bytes: int) -> str:
    """A size for people, in units of a thousand, as disks and the hub count."""
    return f"{n_bytes / 1e6:,.0f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.2f} GB"
