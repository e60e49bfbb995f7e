"""Which of the leaderboard's rows are asked for: files and folders, categories, every so-manieth row, the first few.

The choice depends on positions alone, so the same words choose the same rows each time. A choice that leaves nothing is an
error: a benchmark of no rows would look like one that is done.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from local_react.bench.bfcl import Row, read_rows
from local_react.errors import SettingsError


def choose_rows(
    places: Iterable[str | Path], *, categories: Collection[str] = (), every: int = 1, n_rows: int | None = None
) -> list[Row]:
    """The rows of these files and of the files in these folders, of the named categories (of all, where none is named).

    Of each file the first of every `every` rows is taken, and of those the first `n_rows`. Raises SettingsError for a place
    that isn't there, for a category that no file holds, and where no row is left.
    """
    files = [file for place in places for file in _files(Path(place), categories)]
    rows: list[Row] = []
    found: set[str] = set()
    for file in files:
        read = read_rows(file)
        found |= {row.category for row in read}
        rows += [row for row in read if not categories or row.category in categories][::every][:n_rows]
    if unknown := [category for category in categories if category not in found]:
        raise SettingsError(
            f"There are no rows of the category {unknown[0]}. The files hold {', '.join(sorted(found)) or 'none'}."
        )
    if not rows:
        raise SettingsError("No rows are left. Give a file that holds some.")
    return rows


def _files(place: Path, categories: Collection[str]) -> list[Path]:
    """The file itself, or the files in a folder; those of other categories needn't be read."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise SettingsError(
            f"There is no file {place}. Give the leaderboard's rows, one JSON object a line, or a folder with such files."
        )
    files = sorted(file for file in place.iterdir() if file.suffix in (".json", ".jsonl"))
    if not files:
        raise SettingsError(f"The folder {place} holds no .json or .jsonl file. Give the leaderboard's rows.")
    return [file for file in files if not categories or any(file.stem.endswith(category) for category in categories)]
