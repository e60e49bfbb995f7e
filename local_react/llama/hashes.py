"""The SHA-256 of model files, which have gigabytes: computed once, remembered in the user's cache.

Invariant: the memory saves time and changes nothing; damaged, lost or forbidden, it is as if it were empty. Refuses to
trust an entry whose size or time of change is not the file's.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

from local_react.errors import ModelFileError


def hash_model_file(path: Path, *, cache_dir: Path | None = None, is_fresh: bool = False) -> str:
    """The SHA-256 of the whole file, in hex; remembered in `cache_dir` by path, size and time of change.

    `is_fresh` reads the file even if its hash is remembered. A memory that is damaged or can't be written costs only time.
    Raises ModelFileError if the model can't be read.
    """
    memory = _memory(cache_dir)
    try:
        resolved = Path(path).resolve()
        status = resolved.stat()
        hashes = _remembered_hashes(memory)
        mark = [status.st_size, status.st_mtime_ns]
        if not is_fresh and (known := hashes.get(str(resolved))) and known[:2] == mark:
            return known[2]
        with resolved.open("rb") as file:
            digest = _digest(file)
            after = os.fstat(file.fileno())
    except (OSError, ValueError, RuntimeError) as error:
        raise _unreadable(path, error) from error
    if [after.st_size, after.st_mtime_ns] == mark:
        _remember_hashes(memory, hashes | {str(resolved): [*mark, digest]})
    return digest


def hash_file(path: Path) -> str:
    """The SHA-256 of the whole file, in hex, read now; nothing is remembered. Raises ModelFileError if it can't be read."""
    try:
        with Path(path).open("rb") as file:
            return _digest(file)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _digest(file: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def _unreadable(path: Path, error: Exception) -> ModelFileError:
    return ModelFileError(path, f"can't be read ({error})", "Check the path and its permissions.")


def remembered_hash(path: Path, *, cache_dir: Path | None = None) -> str | None:
    """The SHA-256 that the file had when it was last hashed, whether or not it has changed since; None if it never was."""
    try:
        known = _remembered_hashes(_memory(cache_dir)).get(str(Path(path).resolve()))
    except (OSError, ValueError, RuntimeError):
        return None
    return known[2] if known else None


def _memory(cache_dir: Path | None) -> Path:
    if cache_dir is None:
        cache_dir = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "local_react"
    return cache_dir / "model_hashes.json"


def _remembered_hashes(memory: Path) -> dict[str, list]:
    try:
        entries = json.loads(memory.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(entries, dict):
        return {}
    return {path: entry for path, entry in entries.items() if _is_hash_entry(entry)}


def _is_hash_entry(entry: object) -> bool:
    match entry:
        case [int(), int(), str(digest)]:
            return re.fullmatch(r"[0-9a-f]{64}", digest) is not None
    return False


def _remember_hashes(memory: Path, hashes: Mapping[str, list]) -> None:
    kept = dict(list(hashes.items())[-100:])
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=memory.parent, prefix=memory.name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(scratch, memory)
        except BaseException:
            os.unlink(scratch)
            raise
    except OSError:
        pass  # only the time for the next hash is lost
