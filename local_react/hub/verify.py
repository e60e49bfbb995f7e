"""Verifying model files: read again from the first byte to the last, and held against the hash that was recorded.

Invariant: nothing remembered stands in for reading; a file with a wrong byte anywhere is never called sound while there is
a hash to hold it against. Refuses to repair.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from local_react.errors import ModelFileError
from local_react.hub.storage import recorded_by_hub
from local_react.llama.files import hash_model_file, read_file_header
from local_react.llama.hashes import hash_file, remembered_hash
from local_react.llama.places import find_packaged
from local_react.llama.registry import Entry, HubFile, Package


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification:
    """What became of verifying a file. `fault` is None for a sound one; `origin` says who recorded the hash, and both it and
    `recorded` are None if nobody did, so that only the header could be checked."""

    path: Path
    sha256: str
    recorded: str | None
    origin: str | None
    fault: str | None


def verify_model(path: Path, entry: Entry | None = None) -> Verification:
    """Read a model file again and compare it with what was recorded for it.

    Without any record its hash is remembered, for the next time. Raises ModelFileError if the file can't be read.
    """
    recorded, origin = _record(path, entry)
    digest = hash_file(path) if recorded is not None else hash_model_file(path, is_fresh=True)
    fault = None
    if recorded is not None and digest != recorded:
        fault = f"its SHA-256 is {digest}, and {recorded} was recorded by {origin}"
    try:
        _, size = read_file_header(path)
    except ModelFileError as error:
        return Verification(path=path, sha256=digest, recorded=recorded, origin=origin, fault=error.reason)
    if entry is not None and entry.size not in (None, size):
        fault = f"it has {size:,} bytes, and {entry.size:,} in the registry"
    return Verification(path=path, sha256=digest, recorded=recorded, origin=origin, fault=fault)


def _record(path: Path, entry: Entry | None) -> tuple[str | None, str | None]:
    """The hash that was recorded for a file, and by whom: the registry before the place it came from, that before us."""
    if entry is not None:
        if entry.sha256 is not None:
            return entry.sha256, "the registry"
        match entry.source:
            case HubFile() if (digest := recorded_by_hub(path)) is not None:
                return digest, "the hub"
            case Package(name) if (found := find_packaged(name)) is not None and found.sha256 is not None:
                return found.sha256, "the package"
    if (digest := remembered_hash(path)) is not None:
        return digest, "an earlier reading"
    return None, None
