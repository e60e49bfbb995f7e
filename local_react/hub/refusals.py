"""What the hub's refusals mean, and what to do about each.

Invariant: an explanation comes out for any error, and it quotes no header, so that no token can stand in it. Refuses to
try anything again.
"""

from __future__ import annotations

import errno

from huggingface_hub import constants
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from local_react.errors import ModelFileError
from local_react.llama.places import locate_entry
from local_react.llama.registry import Entry, HubFile, load_registry

LOG_IN = "Make a token at https://huggingface.co/settings/tokens and give it as HF_TOKEN, or log in with `hf auth login`"


def explain_refusal(error: BaseException, entry: Entry) -> ModelFileError:
    """The exception for a file of `entry` that couldn't be fetched, made from what huggingface-hub raised."""
    reason, remedy = _explain(error, entry)
    return ModelFileError(entry.name, reason, remedy)


def _explain(error: BaseException, entry: Entry) -> tuple[str, str]:
    source = entry.source
    repository = source.repository if isinstance(source, HubFile) else str(source)
    page = f"{constants.ENDPOINT}/{repository}"
    match error:
        case GatedRepoError():
            return ("is gated: its licence must be accepted on the hub",
                    f"Accept it at {page} with your account. {LOG_IN}, and pull again.")
        case RevisionNotFoundError():
            return (f"has no revision {getattr(source, 'revision', '')!r} on the hub any more",
                    f"See {page}, and give it an entry of your own in models.toml.")
        case RepositoryNotFoundError():
            return (f"can't be seen on the hub: {repository} is not there, or private, or gated",
                    f"See {page}. If it is yours or gated: {LOG_IN}.")
        case LocalEntryNotFoundError() if isinstance(error.__cause__, HfHubHTTPError):
            return _explain(error.__cause__, entry)
        case LocalEntryNotFoundError() | OfflineModeIsEnabled():
            return _no_network()
        case EntryNotFoundError():
            return (f"is not on the hub: {repository} has no file {getattr(source, 'file', '')!r}",
                    f"See {page}, and give it an entry of your own in models.toml.")
        case HfHubHTTPError():
            return _explain_status(getattr(error.response, "status_code", None), page)
        case OSError() if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return ("doesn't fit on the disk, and nothing of it was kept",
                    f"Free some space at {constants.HF_HUB_CACHE}, or set HF_HOME to a folder on another disk.")
        case OSError() if "Consistency check failed" in str(error):
            return ("came incomplete, and nothing of it was kept", "Pull it again.")
        case OSError() if error.errno is not None:
            return (f"can't be written to {constants.HF_HUB_CACHE} ({error.strerror})",
                    "Check the permissions of that folder, or set HF_HOME to another one.")
        case OSError() | HTTPError():
            return _no_network()
    return (f"can't be fetched: huggingface-hub failed with {type(error).__name__}",
            "Try again with HF_HUB_DISABLE_XET=1; LOCAL_REACT_DEBUG=1 shows where it failed.")


def _explain_status(status: int | None, page: str) -> tuple[str, str]:
    match status:
        case 401:
            return ("was refused by the hub: it doesn't know the token that was sent",
                    f"{LOG_IN}. Unset HF_TOKEN to ask without one.")
        case 403:
            return ("was refused by the hub: the token that was sent doesn't allow it",
                    f"Let the token read gated repositories, and accept the licence at {page}.")
        case 429:
            return "was refused by the hub: too many requests came from here", "Wait some minutes, or send a token (HF_TOKEN)."
        case int() if status >= 500:
            return f"can't be had now: the hub answers {status}", "Try again later."
    return f"was refused by the hub, which answers {status}", f"See {page}."


def _no_network() -> tuple[str, str]:
    here = [entry.name for entry in load_registry() if locate_entry(entry) is not None]
    cached = f"On this machine are: {', '.join(here)}." if here else "No model of the registry is on this machine."
    if constants.HF_HUB_OFFLINE:
        return ("is not on this machine, and HF_HUB_OFFLINE forbids to fetch it",
                f"Unset HF_HUB_OFFLINE, or use another model. {cached}")
    return (f"can't be fetched: {constants.ENDPOINT} can't be reached",
            f"Check the connection (and HF_ENDPOINT, HTTPS_PROXY), or use another model. {cached}")
