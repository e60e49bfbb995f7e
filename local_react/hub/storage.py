"""Model files in huggingface-hub's cache: what was recorded of them, and how they go; also those joined from parts.

Invariant: of a file in the cache its snapshot's link goes, and its blob only if no other snapshot links to it; files of the
user's own and of packages are never touched.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from local_react.errors import ModelFileError
from local_react.llama.embedded import EMBEDDED
from local_react.llama.places import embedded_name, locate_entry
from local_react.llama.registry import Entry, HubFile, Package

SHA256 = re.compile(r"[0-9a-f]{64}")
SNAPSHOTS = "snapshots"
"""The folder of a repository in the cache that has a folder for each commit, with links to the blobs beside it."""


def recorded_by_hub(path: Path) -> str | None:
    """The SHA-256 that the hub published for a file in huggingface-hub's cache, which is the name of its blob; else None."""
    try:
        name = Path(os.readlink(path)).name
    except OSError:
        return None
    return name if SHA256.fullmatch(name) else None


def remove_model(entry: Entry) -> Path:
    """Remove the file of an entry from this machine, and return where it was.

    Raises ModelFileError if it isn't here, or isn't ours to remove.
    """
    path = locate_entry(entry)
    if path is None or not path.exists():
        raise ModelFileError(entry.name, "is not on this machine", "There is nothing to remove.")
    match entry.source:
        case HubFile():
            discard_hub_file(path)
        case Package(name):
            embedded = embedded_name(entry.source)
            if embedded is None or not EMBEDDED[embedded].in_parts:
                raise ModelFileError(entry.name, f"comes with the package {name}", f"Remove it with `pip uninstall {name}`.")
            _unlink(path, entry.name)
        case _:
            raise ModelFileError(entry.name, f"is a file of your own, {path}", "Remove it yourself.")
    return path


def discard_hub_file(path: Path) -> None:
    """Remove a file from huggingface-hub's cache, and its blob if nothing else links to it. Raises ModelFileError."""
    try:
        blob = path.parent / os.readlink(path)
    except OSError:
        blob = None  # a cache without links holds the file itself
    _unlink(path, path.name)
    if blob is None:
        return
    blob = Path(os.path.normpath(blob))
    repository = blob.parent.parent
    links = (link for link in (repository / SNAPSHOTS).rglob("*") if link.is_symlink())
    if not any(os.path.normpath(link.parent / os.readlink(link)) == str(blob) for link in links):
        _unlink(blob, path.name)


def _unlink(path: Path, name: str) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        remedy = f"Check the permissions of {path.parent}."
        raise ModelFileError(name, f"can't be removed ({error.strerror})", remedy) from error
