"""Tools over a folder of real files: list, search, read. Nothing outside the folder can be reached, and nothing is written.

Every path is resolved, links included, and must lie in the folder; what doesn't is no file, as far as a model is told. Where
the folder lies is in no observation. Deleting is remembered by the one episode and never done. The archive is on a slow drive:
the first reading from there fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from local_react.tools.calculator import calculator
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

MOST_HITS = 6
SLOW_FOLDER = "archive"


class FileDesk:
    """The files below one folder, for one episode; its methods are the tools.

    What isn't there is a FileNotFoundError, a value that makes no sense a ValueError.
    """

    def __init__(self, root: Path, *, failures: int = 1) -> None:
        self._root = root.resolve()
        self._failures_left = failures
        self._deleted: set[Path] = set()

    def list_folder(self, folder: str) -> list[str]:
        """List the files in a folder with their sizes, and its folders.

        Args:
            folder: The folder's path, like guide/maps; a dot for the outermost one.
        """
        place = self._resolve(folder, "folder")
        if not place.is_dir():
            raise FileNotFoundError(f"no folder {_shown(folder)}")
        return [self._entry(path) for path in sorted(place.iterdir()) if path not in self._deleted]

    def search_files(self, words: str) -> str:
        """Find lines with all of these words; gives the path of the file with each.

        Args:
            words: One or more words, like a name.
        """
        wanted = words.casefold().split()
        if not wanted:
            raise ValueError("there is nothing to search for: give at least one word")
        hits = []
        for path in self._files():
            for line in path.read_text(encoding="utf-8").splitlines():
                if all(word in line.casefold() for word in wanted):
                    hits.append(f"{path.relative_to(self._root).as_posix()}: {line}")
        left = len(hits) - MOST_HITS
        more = [f"({left} more)"] if left > 0 else []
        return "\n".join([*hits[:MOST_HITS], *more]) or f"No line has {_shown(words)}."

    def read_file(self, path: str) -> str:
        """Read a file.

        Args:
            path: The file's path, like guide/maps/lake.txt.
        """
        return self._file(path).read_text(encoding="utf-8")

    def read_lines(self, path: str, first: int, last: int) -> str:
        """Read some lines of a file.

        Args:
            path: The file's path, like guide/maps/lake.txt.
            first: The number of the first line, from 1.
            last: The number of the last line.
        """
        if not 1 <= first <= last:
            raise ValueError(f"there are no lines {first} to {last}: count from 1, the first line first")
        return "\n".join(self._file(path).read_text(encoding="utf-8").splitlines()[first - 1 : last])

    def delete_file(self, path: str) -> str:
        """Delete a file for good.

        Args:
            path: The file's path, like guide/maps/lake.txt.
        """
        file = self._file(path)
        self._deleted.add(file)
        return f"{file.relative_to(self._root).as_posix()} is deleted"

    def _file(self, path: str) -> Path:
        file = self._resolve(path, "file")
        if not file.is_file():
            raise FileNotFoundError(f"no file {_shown(path)}")
        if file.relative_to(self._root).parts[0] == SLOW_FOLDER and self._failures_left > 0:
            self._failures_left -= 1
            raise TimeoutError("the archive's drive did not answer in time, try again")
        return file

    def _resolve(self, path: str, kind: str) -> Path:
        try:
            place = (self._root / path.strip()).resolve(strict=True)
        except (OSError, ValueError, RuntimeError):  # not there, a NUL, a lone surrogate, too long, a circle of links
            place = None
        if place is None or not place.is_relative_to(self._root) or place in self._deleted:
            raise FileNotFoundError(f"no {kind} {_shown(path)}") from None
        return place

    def _files(self) -> Iterator[Path]:
        for path in sorted(self._root.rglob("*")):
            if path.is_file() and path not in self._deleted and path.resolve().is_relative_to(self._root):
                yield path

    def _entry(self, path: Path) -> str:
        return f"{path.name}/" if path.is_dir() else f"{path.name} ({path.stat().st_size} bytes)"


def file_toolbox(root: Path) -> Toolbox:
    """The tools of one episode; only deleting needs approval."""
    desk = FileDesk(root)
    return Toolbox([
        desk.list_folder, desk.search_files, desk.read_file, desk.read_lines,
        Tool.from_function(desk.delete_file, needs_approval=True), calculator,
    ])  # fmt: skip


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:59] + "…")
