"""What the speed benchmarks show: a bar of rounds on standard error, a table, and the report as one JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

Rounds = Callable[[str], Callable[[], None]]
"""Given what is measured now, what is to be called after each round of it."""


@contextmanager
def bar_of_rounds() -> Iterator[Callable[[int], Rounds]]:
    """A bar that is begun with the number of all rounds.

    It is drawn between measurements only, never by a thread that would run during one.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False) as progress:

        def begin(n_rounds: int) -> Rounds:
            task = progress.add_task("start", total=n_rounds)

            def describe(what: str) -> Callable[[], None]:
                progress.update(task, description=what)
                progress.refresh()

                def finish_round() -> None:
                    progress.advance(task)
                    progress.refresh()

                return finish_round

            return describe

        yield begin


def write_report(report: dict[str, Any], output: Path | None) -> None:
    """Write the document to a file, if one is given. What was there is replaced."""
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def show_report(report: dict[str, Any], table: Table) -> None:
    """The table for people, and the document as the last line of standard output."""
    Console(width=120).print(table)
    print(json.dumps(report, ensure_ascii=False))
