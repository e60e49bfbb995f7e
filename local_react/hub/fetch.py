"""Fetching a model of the registry through huggingface-hub: its cache, its environment variables, its token, its bar.

Invariant: what `pull_model` returns has the size and the hash that the registry or the hub gives for it, and what hasn't
is not left under the final name. A broken connection is resumed by huggingface-hub; a pull that was stopped begins again
(2.x keeps no part of it). Refuses to install packages, and to accept licences for anybody.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_download, hf_hub_url
from huggingface_hub.errors import HfHubHTTPError

from local_react.errors import ModelFileError
from local_react.hub.refusals import explain_refusal
from local_react.hub.storage import SHA256, discard_hub_file, recorded_by_hub
from local_react.llama.files import hash_model_file, judge_model_file, read_file_header
from local_react.llama.places import locate_hub_file, open_entry
from local_react.llama.registry import Entry, HubFile

REMOVE = "Remove it with `local-react models remove {name}` and pull it again, or correct your registry."

PASSING = (408, 429, 500, 502, 503, 504)
"""Answers that may be better the next time: huggingface-hub asks again by itself."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the hub says about a file before it is fetched; None where it doesn't say."""

    size: int | None
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Pulled:
    """A model that is here now. `is_checked` is whether there was a published hash to hold it against."""

    path: Path
    sha256: str
    is_checked: bool
    was_here: bool


def pull_model(entry: Entry) -> Pulled:
    """Fetch the file of an entry, unless it is here, and check it.

    A file that is here and damaged is fetched again. Raises ModelFileError for all that can go wrong: no network, a gated
    repository, a refused token, a full disk, a file of another size or hash than published, a file that is no model.
    """
    if not isinstance(entry.source, HubFile):
        path = open_entry(entry)
        return _checked(entry, path, entry.sha256, was_here=True)
    path = locate_hub_file(entry.source)
    if path is not None and not _is_damaged(path):
        # Not removed if the registry disagrees: the cache is shared, and the file is what its hub published.
        return _checked(entry, path, entry.sha256 or recorded_by_hub(path), was_here=True)
    if path is not None:
        discard_hub_file(path)
    published = _ask_hub(entry, entry.source)
    _compare(entry, published)
    _check_space(entry, published.size or entry.size)
    path = _download(entry, entry.source)
    expected = entry.sha256 or published.sha256 or recorded_by_hub(path)
    try:
        pulled = _checked(entry, path, expected, was_here=False)
    except ModelFileError:
        discard_hub_file(path)
        raise
    judge_model_file(path)
    return pulled


def _is_damaged(path: Path) -> bool:
    """Whether a file in the cache is not what the hub published under its name; where it published no hash, whether it is
    no whole GGUF file."""
    try:
        if (recorded := recorded_by_hub(path)) is not None:
            return hash_model_file(path) != recorded
        read_file_header(path)
    except ModelFileError:
        return True
    return False


def _ask_hub(entry: Entry, source: HubFile) -> Published:
    url = hf_hub_url(source.repository, source.file, revision=source.revision)
    try:
        found = get_hf_file_metadata(url)
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in PASSING:
            return Published(None, None)
        raise explain_refusal(error, entry) from error
    except Exception as error:
        raise explain_refusal(error, entry) from error
    return Published(found.size, found.etag if found.etag and SHA256.fullmatch(found.etag) else None)


def _compare(entry: Entry, published: Published) -> None:
    """Refuses a file that isn't the one of the registry, before it is fetched."""
    remedy = (
        "The file was replaced on the hub. If you trust the new one, give it an entry of your own in models.toml, "
        "without size and sha256."
    )
    if None not in (entry.size, published.size) and entry.size != published.size:
        reason = f"has {published.size:,} bytes on the hub, and {entry.size:,} in the registry"
        raise ModelFileError(entry.name, reason, remedy)
    if None not in (entry.sha256, published.sha256) and entry.sha256 != published.sha256:
        reason = f"has the SHA-256 {published.sha256} on the hub, and {entry.sha256} in the registry"
        raise ModelFileError(entry.name, reason, remedy)


def _check_space(entry: Entry, size: int | None) -> None:
    folder = Path(constants.HF_HUB_CACHE)
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if size is not None and free < size:
        reason = f"needs {size / 1e6:,.0f} MB, and {free / 1e6:,.0f} MB are free on the disk of {constants.HF_HUB_CACHE}"
        raise ModelFileError(entry.name, reason, "Free some space, or set HF_HOME to a folder on another disk.")


def _download(entry: Entry, source: HubFile) -> Path:
    try:
        path = hf_hub_download(source.repository, source.file, revision=source.revision, library_name="local_react")
    except Exception as error:  # its parts raise classes of their own (httpx, hf_xet), and RuntimeError
        raise explain_refusal(error, entry) from error
    return Path(path)


def _checked(entry: Entry, path: Path, expected: str | None, *, was_here: bool) -> Pulled:
    """Holds the file against its size, its hash and its own header. Raises ModelFileError."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise ModelFileError(entry.name, f"can't be read ({error})", "Pull it again.") from error
    if entry.size is not None and size != entry.size:
        reason = f"has {size:,} bytes, and {entry.size:,} in the registry"
        raise ModelFileError(entry.name, reason, REMOVE.format(name=entry.name))
    digest = hash_model_file(path)
    if expected is not None and digest != expected:
        reason = f"is damaged, or another file: its SHA-256 is {digest}, and {expected} was published"
        raise ModelFileError(entry.name, reason, f"Don't use it. {REMOVE.format(name=entry.name)}")
    if expected is None:
        read_file_header(path)
    return Pulled(path, digest, expected is not None, was_here)
