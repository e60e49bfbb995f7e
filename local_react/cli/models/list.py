"""`local-react models list`: what there is, what is here, and what fits in this machine's memory.

Invariant: no network is asked and no weight is read. What is known of a file is told as it is; what is guessed from its size
begins with "about".
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from local_react.cli.models.named import in_megabytes
from local_react.cli.text import make_visible, write_json
from local_react.errors import ModelFileError
from local_react.llama.files import judge_model_file
from local_react.llama.memory import available_memory, estimate_memory
from local_react.llama.places import locate_entry
from local_react.llama.registry import Entry, load_registry

WINDOW = 4096
"""The window in tokens that runs have by default."""

GUESSED_PER_TOKEN = 1e-4
"""A token's share of the KV cache, and of the buffers, for a model that isn't here, in sizes of its file.
The KV cache of the two embedded models is 2.3 and 0.7 times that."""

NARROW = 100
"""Columns; where there are fewer, licence and quantization are left out."""

UNBOUND = 200
"""Columns of a table that goes to a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A model of the registry on this machine. `memory` is in bytes, `is_guess` whether from the size of the file alone;
    `fault` says why a file that is here can't be used."""

    entry: Entry
    path: Path | None
    memory: int | None
    is_guess: bool
    fits: bool | None
    fault: str | None


@click.command("list")
@click.option("--n-ctx", type=click.IntRange(min=1), default=WINDOW, show_default=True,
              help="The window in tokens to reckon with.")
@click.option("--here", "is_here", is_flag=True, help="Only what is on this machine.  [default: all of the registry]")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON.  [default: a table]")
def list_command(n_ctx: int, is_here: bool, as_json: bool) -> None:
    """List the models: what is here, and what fits in memory."""
    free = available_memory()
    rows = [row for entry in load_registry() if (row := describe(entry, n_ctx, free)).path is not None or not is_here]
    if as_json:
        listed = {"n_ctx": n_ctx, "free_memory": free, "models": [_as_dict(row) for row in rows]}
        click.echo(write_json(listed, getattr(sys.stdout, "encoding", None) or "utf-8"))
        return
    # In a file or a pipe there is no width to keep to, unless somebody names one.
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBOUND
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    console.print(_table(rows, is_wide=console.width >= NARROW))
    amount = "An unknown amount" if free is None else in_megabytes(free)
    console.print(f"{amount} of memory is free. Memory is for a window of {n_ctx:,} tokens.")


def describe(entry: Entry, n_ctx: int, free: int | None) -> Row:
    """How an entry stands on this machine, with `free` bytes of memory; `free=None` is not known."""
    path, fault, memory = locate_entry(entry), None, None
    if path is not None and path.is_file():
        try:
            memory = estimate_memory(judge_model_file(path), n_ctx=n_ctx).total
        except ModelFileError as error:
            fault = error.reason
    is_guess = memory is None
    if is_guess and entry.size is not None:
        memory = round(entry.size * (1 + n_ctx * GUESSED_PER_TOKEN))
    fits = memory <= free if memory is not None and free is not None else None
    return Row(entry=entry, path=path, memory=memory, is_guess=is_guess, fits=fits, fault=fault)


def _table(rows: list[Row], *, is_wide: bool) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head, how in (
        ("name", {"no_wrap": True}), ("here", {}), ("size", {"justify": "right"}), ("memory", {"justify": "right"}),
        ("fits", {}), *((("quantization", {}), ("licence", {})) if is_wide else ()),
    ):
        table.add_column(head, **how)
    for row in rows:
        more = (row.entry.quantization or "unknown", _licence(row.entry)) if is_wide else ()
        cells = (row.entry.name, _here(row), _size(row), _memory(row), _fits(row), *more)
        table.add_row(*(Text(make_visible(cell)) for cell in cells))
    return table


def _here(row: Row) -> str:
    if row.fault is not None:
        return f"unusable: {row.fault}"
    return "yes" if row.path is not None else ""


def _size(row: Row) -> str:
    return in_megabytes(row.entry.size) if row.entry.size is not None else "unknown"


def _memory(row: Row) -> str:
    if row.memory is None:
        return "unknown"
    return f"{'about ' if row.is_guess else ''}{in_megabytes(row.memory)}"


def _fits(row: Row) -> str:
    return {True: "yes", False: "no", None: "?"}[row.fits]


def _licence(entry: Entry) -> str:
    return f"{entry.licence}, gated" if entry.gated else entry.licence


def _as_dict(row: Row) -> dict[str, object]:
    entry = row.entry
    return {
        "name": entry.name, "aliases": list(entry.aliases), "source": str(entry.source), "quantization": entry.quantization,
        "size": entry.size, "sha256": entry.sha256, "licence": entry.licence, "gated": entry.gated, "tried": entry.tried,
        "path": str(row.path) if row.path is not None else None, "memory": row.memory, "is_guess": row.is_guess,
        "fits": row.fits, "fault": row.fault,
    }
