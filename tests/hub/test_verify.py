"""A model file is read again from end to end, and one wrong byte is found by whatever was recorded."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import ModelFileError
from local_react.hub.storage import recorded_by_hub
from local_react.hub.verify import verify_model
from local_react.llama.hashes import remembered_hash
from local_react.llama.registry import Entry
from tests.random_models import make_model

TINY = {"n_embd": 32, "n_head": 1, "n_layer": 1}


@pytest.fixture
def model(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return make_model(tmp_path / "random.gguf", **TINY)


def flip(path: Path, at: int) -> None:
    """Change one byte, and leave size and time of change as they were."""
    before, data = path.stat(), bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_byte_of_a_tensor_is_found_by_the_registrys_hash(model):
    entry = Entry(name="a", source=f"file:{model}", licence="MIT", sha256=sha256(model), size=model.stat().st_size)
    found = verify_model(model, entry)
    assert (found.fault, found.origin, found.recorded) == (None, "the registry", found.sha256)
    flip(model, -50)
    for _ in range(2):
        found = verify_model(model, entry)
        assert found.fault == f"its SHA-256 is {found.sha256}, and {entry.sha256} was recorded by the registry"


def test_without_a_published_hash_the_one_of_the_first_reading_counts_each_time(model):
    first = verify_model(model)
    assert (first.fault, first.recorded, first.origin) == (None, None, None)
    assert remembered_hash(model) == first.sha256 == sha256(model)
    again = verify_model(model)
    assert (again.fault, again.recorded, again.origin) == (None, first.sha256, "an earlier reading")
    flip(model, -50)
    for _ in range(2):
        assert "was recorded by an earlier reading" in verify_model(model).fault


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_any_wrong_byte_is_found(tmp_path_factory, data):
    path = make_model(tmp_path_factory.mktemp("verify") / "x.gguf", **TINY)
    entry = Entry(name="a", source=f"file:{path}", licence="MIT", sha256=sha256(path))
    flip(path, data.draw(st.integers(0, path.stat().st_size - 1)))
    assert verify_model(path, entry).fault is not None


def test_the_hubs_hash_is_the_name_of_the_blob(tmp_path, model):
    blob = tmp_path / "blobs" / sha256(model)
    blob.parent.mkdir()
    model.rename(blob)
    link = tmp_path / "snapshots" / "c" / "x.gguf"
    link.parent.mkdir(parents=True)
    link.symlink_to(os.path.relpath(blob, link.parent))
    assert recorded_by_hub(link) == blob.name
    entry = Entry(name="a", source="hf:o/r/x.gguf", licence="MIT")
    assert verify_model(link, entry).origin == "the hub"
    flip(blob, -50)
    assert f"and {blob.name} was recorded by the hub" in verify_model(link, entry).fault


@pytest.mark.parametrize("name", ["x", "a" * 40, "g" * 64])
def test_other_names_of_blobs_are_no_hashes(tmp_path, name):
    (tmp_path / "link").symlink_to(name)
    assert recorded_by_hub(tmp_path / "link") is None
    assert recorded_by_hub(tmp_path / "none") is None


def test_a_cut_file_and_one_of_another_size_are_faulty(model):
    entry = Entry(name="a", source=f"file:{model}", licence="MIT", size=5)
    assert verify_model(model, entry).fault == f"it has {model.stat().st_size:,} bytes, and 5 in the registry"
    model.write_bytes(model.read_bytes()[:-10])
    assert "cut short" in verify_model(model).fault


def test_a_file_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(ModelFileError, match="can't be read"):
        verify_model(tmp_path / "none.gguf")
