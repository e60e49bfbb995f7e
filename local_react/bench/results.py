"""The results folder: every episode that was run, in one file that only grows.

    results.json      the version of this layout, and of the program that began it
    episodes.jsonl    one line an episode: its item, the verdict on its answer, and the events of its trace; between them a
                      line for each command that wrote here, and for each part of a matrix that couldn't be run
    NAME.jsonl.xz     the same lines, packed: what is published of a folder called NAME, which may lie beside others
    writer.lock       held by the process that writes

An episode is written when it has ended, in one go, and is on disk before the next one begins; so a run that was killed
loses the episode under way and nothing else. A damaged line is skipped and counted, and its episode run again. Two
processes on one folder are refused, and so is a folder of another version. Nothing in here is ever rewritten.
"""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import NoneType
from typing import IO, Any, Union

from filelock import FileLock, Timeout

from local_react.bench.items import Item, check_kinds, read_item
from local_react.errors import LocalReactError, SettingsError, TraceError
from local_react.trace import Trace, check_event, encode
from local_react.version import VERSION as PROGRAM

VERSION = 1
MARK, EPISODES, PACKED, LOCK = "results.json", "episodes.jsonl", ".jsonl.xz", "writer.lock"


_TOLD_OF_CALLS: Mapping[str, Any] = {
    "model": dict, "arm": str, "category": str, "row": str, "question": str, "is_right": bool, "reason": str,
    "parameter": (str, NoneType), "text": str, "thought": (str, NoneType), "malformed": (str, NoneType), "n_sampled": int,
    "n_forced": int, "seconds": (int, float),
}
"""What scores and reports look at in a call."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An episode as it was recorded. `is_right` is the verdict of the world when it ran; None where nothing was answered."""

    item: Item
    trace: Trace
    is_right: bool | None


@dataclass(frozen=True, slots=True)
class Missed:
    """A part of a matrix that couldn't be run at all: a model that doesn't load, say."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Begun:
    """A command began to write here: its words, and the machine that it ran on."""

    command: str
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Called:
    """A single call that was asked for and judged (see calls.py), as JSON values; `key` is what it is known by."""

    key: str
    values: Mapping[str, Any]


Entry = Union[Recorded, Missed, Begun, Called]


class Results:
    """Results folders to read as one. `n_damaged` counts the lines that the last reading had to skip.

    With `arms`, episodes and calls of other arms are passed over. Raises SettingsError for a folder that is none, or of
    another version.
    """

    def __init__(self, *folders: str | Path, arms: Collection[str] = ()) -> None:
        self.folders = tuple(map(Path, folders))
        self.arms = frozenset(arms)
        self.n_damaged = 0
        for folder in self.folders:
            check_mark(folder)

    def __iter__(self) -> Iterator[Entry]:
        """What was recorded, in that order; of an episode that is there twice, the first one."""
        self.n_damaged = 0
        seen: set[str] = set()
        for line in chain.from_iterable(map(read_lines, self.folders)):
            entry = read_entry(line)
            if entry is None:
                self.n_damaged += 1
            elif (key := key_of(entry)) is None:
                yield entry
            elif key not in seen and (not self.arms or arm_of(entry) in self.arms):
                seen.add(key)
                yield entry

    def episodes(self) -> Iterator[Recorded]:
        """The episodes alone."""
        return (entry for entry in self if isinstance(entry, Recorded))

    def find(self, key: str) -> Recorded:
        """The episode whose key begins with `key`. Raises SettingsError unless there is exactly one."""
        found = [recorded for recorded in self.episodes() if recorded.item.key.startswith(key)]
        if len(found) != 1:
            places = ", ".join(map(str, self.folders))
            raise SettingsError(f"{key!r} is the beginning of {len(found)} keys in {places}. Give that of one episode.")
        return found[0]


class ResultsWriter:
    """A results folder to add to. Get one from `open_results`."""

    def __init__(self, folder: Path, file: IO[bytes], done: frozenset[str], n_damaged: int) -> None:
        self.folder = folder
        self.done = done
        self.n_damaged = n_damaged
        self._file = file

    def add(self, item: Item, trace: Trace, is_right: bool | None) -> None:
        """Record an episode. Raises TraceError where the disk won't take it; the folder is then as it was before."""
        self._write({"item": item.write(), "is_right": is_right, "events": trace.events})

    def add_call(self, key: str, values: Mapping[str, Any]) -> None:
        """Record a single call. Raises TraceError as `add` does."""
        self._write({"call": key, "values": dict(values)})

    def begin(self, command: str, environment: Mapping[str, Any]) -> None:
        """Record that a command writes here from now on."""
        self._write({"command": command, "environment": dict(environment)})

    def miss(self, what: str, why: str) -> None:
        """Record that a part of the matrix couldn't be run."""
        self._write({"missed": what, "why": why})

    def _write(self, values: dict[str, Any]) -> None:
        size = self._file.seek(0, os.SEEK_END)
        try:
            rest = memoryview(encode(values))
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            try:
                os.ftruncate(self._file.fileno(), size)
            except OSError:
                pass  # the half line will be skipped as a damaged one
            raise TraceError(
                f"{self.folder} can't be written any more: {error.strerror}. Make room, and start the same command again: "
                "it goes on where it stopped."
            ) from error


@contextmanager
def open_results(folder: str | Path) -> Iterator[ResultsWriter]:
    """Open a results folder for writing, and make it where it isn't there.

    Raises SettingsError where another process writes it, where it is of another version, and where it can't be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK)
        lock.acquire(timeout=0)
    except Timeout as error:
        raise SettingsError(f"Another process writes to {folder}. Wait for it, or choose another folder.") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise SettingsError(f"{folder} can't be written: {reason}. Choose another folder.") from error
    try:
        begin_folder(folder)
        results = Results(folder)
        done = frozenset(key for entry in results if (key := key_of(entry)) is not None)
        # Unbuffered: what a full disk didn't take must not be tried again when the file is closed.
        with open(folder / EPISODES, "ab", buffering=0) as file:
            _end_line(folder / EPISODES, file)
            yield ResultsWriter(folder, file, done, results.n_damaged)
    finally:
        lock.release()


def key_of(entry: Entry) -> str | None:
    """What an entry is known by; None for one that is no piece of work."""
    match entry:
        case Recorded(item=item):
            return item.key
        case Called(key=key):
            return key
    return None


def check_mark(folder: Path) -> None:
    """Raise SettingsError where `folder` holds no results, or those of another version."""
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
        version = mark["version"]
    except OSError as error:
        raise SettingsError(f"{folder} is no folder with results: it has no {MARK}. Give the folder of a run.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SettingsError(f"{folder / MARK} is damaged. Restore it from another folder of the same version.") from error
    if version != VERSION:
        raise SettingsError(
            f"{folder} has results of version {version!r}, and this program knows version {VERSION}. "
            "Use the version of local_react that wrote them, or choose another folder."
        )


def begin_folder(folder: Path) -> None:
    """Write the mark of a new folder; one that holds something else is refused."""
    if (folder / MARK).exists():
        check_mark(folder)
        return
    if (folder / EPISODES).exists():
        raise SettingsError(f"{folder} has an {EPISODES}, but no {MARK}: it isn't ours. Choose another folder.")
    text = json.dumps({"version": VERSION, "local_react": PROGRAM})
    try:
        (folder / MARK).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise SettingsError(f"{folder} can't be written: {error.strerror}. Choose another folder.") from error


def _end_line(path: Path, file: IO[bytes]) -> None:
    """End the line that a killed process left unfinished, so that the next one isn't lost with it."""
    with open(path, "rb") as written:
        if written.seek(0, os.SEEK_END) and written.seek(-1, os.SEEK_END) is not None and written.read(1) != b"\n":
            file.write(b"\n")


def read_lines(folder: Path) -> Iterator[bytes]:
    """The lines of a folder that aren't empty: those of packed files first."""
    for path in (*sorted(folder.glob(f"*{PACKED}")), folder / EPISODES):
        if path.name == EPISODES and not path.exists():
            continue  # nothing was run here yet, or all of it is packed
        try:
            with lzma.open(path) if path.name.endswith(PACKED) else open(path, "rb") as file:
                yield from (line for line in file if line.strip())
        except (OSError, EOFError, lzma.LZMAError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(f"{path} can't be read: {reason}. Restore it, or take it away.") from error


def arm_of(entry: Entry) -> str | None:
    """The name of the arm that an episode or call is of."""
    match entry:
        case Recorded(item=item):
            return item.arm.name
        case Called(values=values):
            return str(values["arm"])
    return None


def _read_call(values: Mapping[str, Any]) -> Called:
    """A single call. Raises KeyError or TypeError for one that lacks what scores and reports look at."""
    told = dict(values["values"])
    check_kinds(told, _TOLD_OF_CALLS)
    check_kinds(told["model"], {"name": str})
    return Called(str(values["call"]), told)


def read_entry(line: bytes) -> Entry | None:
    """What a line holds; None for a damaged one."""
    try:
        values = json.loads(line)
        if "missed" in values:
            return Missed(str(values["missed"]), str(values["why"]))
        if "call" in values:
            return _read_call(values)
        if "command" in values:
            return Begun(str(values["command"]), dict(values["environment"]))
        item, trace = read_item(values["item"]), Trace(values["events"])
        for event in trace.events:
            check_event(event, "the line")
        if item.key != values["item"]["key"]:
            return None
        return Recorded(item, trace, values["is_right"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, LocalReactError):
        return None
