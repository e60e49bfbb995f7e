"""The demo database lies there whole or not at all, and nothing foreign is overwritten."""

import os
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from local_react.errors import SettingsError, ToolError
from local_react.tools import demo_file as module
from local_react.tools.demo_data import APPLICATION_ID, DATA_VERSION
from local_react.tools.demo_file import build, connect, demo_file, is_current


@pytest.fixture
def cache_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def truncated(path):
    path.write_bytes(path.read_bytes()[:5000])


def emptied(path):
    path.write_bytes(b"")


def with_a_broken_page(path):
    content = bytearray(path.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    path.write_bytes(content)


def with_a_wrong_count(path):
    """Readable by chance, and reported by SQLite's own check as a wrong number of cells in a page."""
    content = bytearray(path.read_bytes())
    content[4096 + 3 : 4096 + 5] = b"\x00\x01"
    path.write_bytes(content)


def of_another_version(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {DATA_VERSION + 1}")


def full_of_noise(path):
    path.write_bytes(b"no database at all\n" * 100)


def test_the_default_place_is_in_the_users_cache(cache_home):
    path = demo_file()
    assert path == cache_home / "local_react" / f"support_desk-{DATA_VERSION}.sqlite3"
    assert is_current(path)


def test_a_relative_cache_home_is_ignored(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert demo_file().parent == tmp_path / ".cache" / "local_react"


def test_a_current_file_is_left_alone(tmp_path):
    path = demo_file(tmp_path / "desk.sqlite3")
    before = path.stat()
    assert demo_file(path) == path
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_a_path_with_signs_that_mean_something_in_a_uri_works(tmp_path):
    path = tmp_path / "50% of #1?mode=rw&ö.sqlite3"
    assert is_current(demo_file(path))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("damage", [truncated, emptied, with_a_broken_page, with_a_wrong_count, of_another_version])
def test_a_damaged_or_older_file_of_ours_is_built_anew(tmp_path, damage):
    path = demo_file(tmp_path / "desk.sqlite3")
    whole = path.read_bytes()
    damage(path)
    assert not is_current(path)
    assert demo_file(path).read_bytes() == whole


def test_in_the_cache_anything_damaged_is_built_anew(cache_home):
    full_of_noise(demo_file())
    assert is_current(demo_file())


def test_a_file_that_is_not_ours_is_never_overwritten(tmp_path):
    text, foreign = tmp_path / "letter.txt", tmp_path / "foreign.sqlite3"
    full_of_noise(text)
    with closing(sqlite3.connect(foreign)) as connection, connection:
        connection.execute("CREATE TABLE precious (value)")
    for path in (text, foreign):
        before = path.read_bytes()
        with pytest.raises(SettingsError, match="no demo database"):
            demo_file(path)
        assert path.read_bytes() == before


def test_a_cache_that_cannot_be_used_gives_one_temporary_file(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = demo_file()
    assert is_current(path)
    assert tmp_path not in path.parents
    assert demo_file() == path


def test_a_user_without_a_home_gets_a_temporary_file(monkeypatch):
    def homeless():
        raise RuntimeError("no home")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert is_current(demo_file())


def test_a_given_path_that_cannot_be_written_is_the_callers_mistake(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file" / "desk.sqlite3", tmp_path):
        with pytest.raises(SettingsError, match="can't be built"):
            demo_file(path)


def test_a_crash_while_building_leaves_neither_a_half_file_nor_a_stray_one(tmp_path, monkeypatch):
    def crash(connection):
        connection.execute("CREATE TABLE half (value)")
        connection.commit()
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "fill", crash)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "desk.sqlite3")
    assert list(tmp_path.iterdir()) == []


def test_a_python_without_full_text_search_is_told_so(tmp_path, monkeypatch):
    def fail(connection):
        raise sqlite3.OperationalError("no such module: fts5")

    monkeypatch.setattr(module, "fill", fail)
    with pytest.raises(ToolError, match="FTS5"):
        demo_file(tmp_path / "desk.sqlite3")


def test_the_file_bears_our_mark_where_the_sqlite_header_has_it(tmp_path):
    assert demo_file(tmp_path / "desk.sqlite3").read_bytes()[68:72] == APPLICATION_ID.to_bytes(4, "big")


def test_a_tools_connection_cannot_write(tmp_path):
    with closing(connect(demo_file(tmp_path / "desk.sqlite3"))) as connection:
        for statement in ("DELETE FROM orders", "CREATE TABLE more (value)", "PRAGMA user_version = 7"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(statement)


def test_threads_that_build_at_once_all_find_a_whole_file(tmp_path):
    path = tmp_path / "new" / "desk.sqlite3"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: is_current(demo_file(path)), range(24)))
    assert all(found)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_processes_that_build_at_once_all_find_a_whole_file(tmp_path):
    program = (
        "from local_react.tools.demo import SupportDesk\n"
        "print(SupportDesk(tracking_failures=0).get_tracking('A100')['location'])"
    )
    root = Path(module.__file__).parents[2]
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(root)}
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=60)[0] for process in processes] == ["Lyon hub\n"] * 4
    assert len(list((tmp_path / "local_react").iterdir())) == 1
