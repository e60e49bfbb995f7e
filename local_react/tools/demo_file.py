"""Where the demo database lies, and how it comes to lie there whole.

Invariant: whoever looks finds either no file or a complete one, whatever crashes and however many processes build at
once: a file is built under another name and then moved into place. A damaged or older file of ours is built anew.
It never overwrites a file that isn't ours, and the tools' connections can't write.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path

from local_react.errors import SettingsError, ToolError
from local_react.tools.demo_data import APPLICATION_ID, DATA_VERSION, fill

_NAME = f"support_desk-{DATA_VERSION}.sqlite3"
_APPLICATION_ID_OFFSET = 68  # of the header that every SQLite file begins with


def demo_file(database: Path | None = None) -> Path:
    """The path of a complete, current demo database, built now if there is none.

    Without `database` it lies in the user's cache directory, or in a temporary directory where that can't be used.
    Raises SettingsError where `database` can't be built or holds something else, ToolError without SQLite's FTS5.
    """
    path = _default_path() if database is None else Path(database)
    if path is None:
        return _temporary_file()
    try:
        if is_current(path):
            return path
        if database is not None and not _is_replaceable(path):
            raise SettingsError(f"{path} is no demo database. Give the path of a new file, or delete this one.")
        build(path)
    except (OSError, sqlite3.OperationalError) as error:
        if database is None:
            return _temporary_file()
        raise SettingsError(f"The demo database can't be built at {path}: {error}. Give another path.") from error
    return path


def connect(path: Path) -> sqlite3.Connection:
    """A connection that can read and nothing else; rows can be read by column name."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def build(path: Path) -> None:
    """Build the database and move it to `path` in one stroke. Raises OSError and sqlite3.OperationalError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(handle)
    try:
        with closing(sqlite3.connect(name)) as connection:
            fill(connection)
        os.replace(name, path)
    except sqlite3.OperationalError as error:
        if "fts5" not in str(error):
            raise
        raise ToolError("The SQLite of this Python lacks FTS5. Run the demo with another build of Python.") from error
    except PermissionError:
        # On Windows a file that another process has open can't be replaced; it may well have built the same one.
        if not is_current(path):
            raise
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name)


def is_current(path: Path) -> bool:
    """Whether there is an undamaged database of this version at `path`."""
    try:
        with closing(connect(path)) as connection:
            pragmas = ("application_id", "user_version", "quick_check")
            found = [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
    except (sqlite3.DatabaseError, OSError):
        return False
    return found == [APPLICATION_ID, DATA_VERSION, "ok"]


def _default_path() -> Path | None:
    """The place in the user's cache directory; None for a user without a home."""
    cache_home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not cache_home.is_absolute():  # the XDG specification says to ignore relative paths
        try:
            cache_home = Path.home() / ".cache"
        except RuntimeError:
            return None
    return cache_home / "local_react" / _NAME


def _is_replaceable(path: Path) -> bool:
    """Whether there is nothing at `path`, or only an empty file or one that bears our mark."""
    if not path.exists():
        return True
    with path.open("rb") as file:
        header = file.read(_APPLICATION_ID_OFFSET + 4)
    return not header or header[_APPLICATION_ID_OFFSET:] == APPLICATION_ID.to_bytes(4, "big")


@cache  # one for the process, however many desks are opened
def _temporary_file() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="local_react-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build(folder / _NAME)
    return folder / _NAME
