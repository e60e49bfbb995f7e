"""What `local-react bench` writes: tables on stdout, and the three files of a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from local_react.bench.document import Document, Table, render_html, render_markdown
from local_react.bench.evidence import Evidence, gather
from local_react.bench.grading import Judge
from local_react.bench.results import Results
from local_react.bench.worlds.catalogue import WORLDS, make_world
from local_react.cli.streams import Answers
from local_react.cli.text import make_visible, write_json
from local_react.errors import SettingsError

FORMS: dict[str, Callable[[Document], str]] = {
    "report.html": render_html,
    "report.md": render_markdown,
    "report.json": lambda document: write_json(document.data),
}
"""The files of a report, and what writes each."""


def write_report(document: Document, folder: str | Path) -> None:
    """Write a report in its three forms. Raises SettingsError where that fails."""
    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
        for name, render in FORMS.items():
            (place / name).write_text(f"{render(document)}\n", encoding="utf-8", errors="replace")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise SettingsError(f"The report can't be written to {place}: {reason}. Choose another folder.") from error


def gather_all(results: Results) -> Evidence:
    """The evidence in results. Worlds that have a name judge anew; of others the recorded verdicts count."""
    judges: dict[str, Judge] = {name: make_world(name).judge for name in WORLDS}
    return gather(results, judges)


def write_tables(answers: Answers, tables: Sequence[Table]) -> None:
    """Tables for people, their columns below each other."""
    for table in tables:
        if not table.rows:
            continue
        widths = [max(len(row[column]) for row in (table.head, *table.rows)) for column in range(len(table.head))]
        answers.write(make_visible(table.title))
        for row in (table.head, *table.rows):
            answers.write(make_visible("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()))
        answers.write("")
