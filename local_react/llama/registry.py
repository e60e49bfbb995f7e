"""The registry: models by the names that users give them, and where each of them comes from.

Two TOML files say it: the one that ships (`models/registry.toml`) and the user's own, beside their settings, whose entries
replace those of the same name. Invariant: an entry fits the schema, or SettingsError names file, entry and key; nothing
that a file doesn't say is made up. Refuses to look whether a model is here (`places.py`), or to fetch one.
"""

from __future__ import annotations

import difflib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Union

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from local_react.errors import ModelFileError, SettingsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REGISTRY_FILE = "registry.toml"
USER_FILE = "models.toml"
"""The user's own registry, in the folder of `config.toml`."""

_HUB = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)/(?P<file>[^@\s]+\.gguf)(?:@(?P<revision>[^@\s]+))?", re.ASCII)
_PACKAGE = re.compile(r"pypi:([A-Za-z0-9][\w.-]*)")
_LOCAL = re.compile(r"file:(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file in a repository of the Hugging Face hub, at a revision (a branch or a commit)."""

    repository: str
    file: str
    revision: str = "main"

    def __str__(self) -> str:
        return f"hf:{self.repository}/{self.file}@{self.revision}"


@dataclass(frozen=True, slots=True)
class Package:
    """A Python package that holds a model."""

    name: str

    def __str__(self) -> str:
        return f"pypi:{self.name}"


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A file of the user's own; `~` is their home."""

    path: str

    def __str__(self) -> str:
        return f"file:{self.path}"


Source = Union[HubFile, Package, LocalFile]


def parse_source(text: object) -> Source:
    """The source that `text` names: `hf:owner/repository/file.gguf@revision`, `pypi:package` or `file:path`.

    Raises ValueError for anything else.
    """
    if isinstance(text, str):
        # The hub itself allows neither -- nor .. in the name of a repository, and no step out of it is meant.
        if (found := _HUB.fullmatch(text)) and not re.search(r"--|\.\.|/[.-]|^[.-]|[.-]/|[.-]$", found["repository"]) and (
            _is_inside(found["file"]) and _is_inside(found["revision"] or "main")
        ):
            return HubFile(found["repository"], found["file"], found["revision"] or "main")
        if found := _PACKAGE.fullmatch(text):
            return Package(found[1])
        if "\0" not in text and (found := _LOCAL.fullmatch(text)):
            return LocalFile(found[1])
    raise ValueError("must be hf:owner/repository/file.gguf@revision, pypi:package or file:path")


def _is_inside(path: str) -> bool:
    """Whether a path, or a revision, of which huggingface-hub makes one, stays in the folder that is meant."""
    return path.isprintable() and "\\" not in path and not {"", ".", ".."} & {*path.split("/")}


def _no_path(name: object) -> object:
    if isinstance(name, str) and name.lower().endswith(".gguf"):
        raise ValueError("must not end in .gguf, like a path")
    return name


# A name must not be taken for a path: no slash, and no .gguf at its end.
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=100), BeforeValidator(_no_path)]


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Entry:
    """A model of the registry. `size` is in bytes, `sha256` that of the whole file; what isn't known is None.

    `gated` is whether its licence must be accepted on the hub before it can be fetched, `tried` whether it was run with
    local_react, and `read_in` says where all this was read.
    """

    name: _Name
    source: Annotated[Source, BeforeValidator(parse_source)]
    licence: str = Field(min_length=1)
    aliases: Annotated[tuple[_Name, ...], Field(strict=False)] = ()
    quantization: str | None = None
    size: int | None = Field(default=None, gt=0)
    sha256: str | None = Field(default=None, pattern=r"^[0-9a-f]{64}$")
    gated: bool = False
    tried: bool = False
    read_in: str = ""


@dataclass(frozen=True, slots=True)
class Registry:
    """Entries by name."""

    entries: Mapping[str, Entry]

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries.values())

    def find(self, name: str) -> Entry | None:
        """The entry of that name or alias, in any case; a name counts before an alias.

        Raises ModelFileError, which lists them, if it is the alias of several.
        """
        wanted = name.lower()
        for entry in self:
            if entry.name.lower() == wanted:
                return entry
        found = [entry for entry in self if wanted in (alias.lower() for alias in entry.aliases)]
        if len(found) > 1:
            names = ", ".join(entry.name for entry in found)
            raise ModelFileError(name, f"is a name of {len(found)} models", f"Give one of these: {names}.")
        return found[0] if found else None

    def near(self, name: str) -> list[str]:
        """The names that `name` may have been meant for: those that begin with it, else those spelled alike."""
        wanted = name.lower()
        if begun := [entry.name for entry in self if wanted and entry.name.lower().startswith(wanted)]:
            return begun
        return difflib.get_close_matches(wanted, [entry.name for entry in self], n=4, cutoff=0.7)


def load_registry() -> Registry:
    """The registry that ships and the user's own over it. Raises SettingsError for a file that can't be used."""
    user = user_registry_path()
    own = read_registry(user) if user.is_file() else []
    return _joined([*read_registry(shipped_registry_path()), *own])


def _joined(entries: Iterable[Entry]) -> Registry:
    """Later entries replace earlier ones of the same name, in any case."""
    by_name: dict[str, Entry] = {}
    for entry in entries:
        by_name[entry.name.lower()] = entry
    return Registry({entry.name: entry for entry in by_name.values()})


def shipped_registry_path() -> Path:
    """Where the registry lies that ships: in the package, or in a checkout beside it."""
    package = Path(__file__).parents[1]
    folders = (package / "models", package.parent / "models")
    return next((path for folder in folders if (path := folder / REGISTRY_FILE).is_file()), folders[0] / REGISTRY_FILE)


def user_registry_path() -> Path:
    """Where the user's own registry lies, or would lie."""
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(folder) / "local_react" / USER_FILE


def read_registry(path: Path) -> list[Entry]:
    """The entries of a registry file, in its order. Raises SettingsError, naming file, entry and key."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"The registry {path} can't be read: {error.strerror or error}. Check its permissions.") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"The registry {path} is no TOML: {error}. Correct it.") from error
    tables = content.pop("model", [])
    if content or not isinstance(tables, list):
        key = next(iter(content), "model")
        raise SettingsError(f"The registry {path} has the key {key!r}. It may have [[model]] tables only.")
    entries = [_read_entry(path, number, table) for number, table in enumerate(tables, 1)]
    names = [entry.name.lower() for entry in entries]
    if twice := next((entry.name for entry in entries if names.count(entry.name.lower()) > 1), None):
        raise SettingsError(f"The registry {path} has two entries called {twice!r}. Give one of them another name.")
    return entries


def _read_entry(path: Path, number: int, table: Any) -> Entry:
    if not isinstance(table, dict):
        raise SettingsError(f"The registry {path}, entry {number}: it is {table!r}. Write a [[model]] table.")
    try:
        return Entry(**table)
    except ValidationError as error:
        first, name = error.errors()[0], table.get("name")
        where = f"entry {name!r}" if isinstance(name, str) else f"entry {number}"
        raise SettingsError(f"The registry {path}, {where}: {_complaint(first)}.") from error


def _complaint(error: Mapping[str, Any]) -> str:
    """What is wrong with an entry, from pydantic's description of its first error."""
    key = str(error["loc"][0]) if error["loc"] else "it"
    match error["type"]:
        case "unexpected_keyword_argument" | "extra_forbidden":
            return f"there is no key {key!r}. The keys are {', '.join(KEYS)}"
        case "missing" | "missing_keyword_only_argument" | "missing_argument":
            return f"the key {key!r} is missing"
        case "value_error":
            return f"{key} is {error['input']!r}, and it {error['ctx']['error']}"
    return f"{key} is {error['input']!r}. {error['msg']}"


KEYS = tuple(Entry.__dataclass_fields__)
"""The keys that an entry may have."""
