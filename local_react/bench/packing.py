"""Results as they are published: the lines of some folders, packed, in a folder that is read like any other."""

from __future__ import annotations

import lzma
import os
from collections.abc import Collection, Sequence
from pathlib import Path

from local_react.bench.results import PACKED, arm_of, begin_folder, check_mark, read_entry, read_lines
from local_react.errors import SettingsError


def pack(folders: Sequence[str | Path], output: str | Path, arms: Collection[str] = ()) -> None:
    """Pack what was recorded in some folders into one that can be read and gone on with like them, much smaller.

    With `arms`, episodes and calls of other arms are left out. A packed file is put in its place when it is whole. Raises
    SettingsError for what is no results folder, for two of one name, for a folder that would be packed into itself, and where
    it can't be written.
    """
    output, names = Path(output), [Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):
        raise SettingsError("Two of the folders have the same name. Each needs its own.")
    for folder in folders:
        check_mark(Path(folder))
        if Path(folder).resolve() == output.resolve():
            raise SettingsError(f"{folder} can't be packed into itself. Choose another folder for the output.")
    try:
        output.mkdir(parents=True, exist_ok=True)
        begin_folder(output)
        for folder, name in zip(folders, names):
            _pack(Path(folder), output / f"{name}{PACKED}", frozenset(arms))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", error)
        raise SettingsError(f"{output} can't be written: {reason}. Choose another folder.") from error


def _pack(folder: Path, target: Path, arms: frozenset[str]) -> None:
    part = target.with_name(f"{target.name}.part")
    try:
        with lzma.open(part, "wb", preset=9) as file:
            for line in read_lines(folder):
                if not arms or _is_of(line, arms):
                    file.write(line if line.endswith(b"\n") else line + b"\n")
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _is_of(line: bytes, arms: frozenset[str]) -> bool:
    """Whether a line is of one of the arms, or of none: a command, what couldn't be run, a damaged line."""
    entry = read_entry(line)
    arm = None if entry is None else arm_of(entry)
    return arm is None or arm in arms
