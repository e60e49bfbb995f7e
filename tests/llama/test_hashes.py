"""A model file is hashed once, and no damage to what is remembered changes a hash."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from local_react.errors import ModelFileError
from local_react.llama import hashes
from local_react.llama.hashes import hash_model_file, remembered_hash
from tests.random_models import make_model

TINY = {"n_embd": 32, "n_head": 1, "n_layer": 1}


@pytest.fixture
def model(tmp_path) -> Path:
    return make_model(tmp_path / "random.gguf", **TINY)


def test_the_hash_is_that_of_the_whole_file(tmp_path, model):
    assert hash_model_file(model, cache_dir=tmp_path / "cache") == sha256(model.read_bytes()).hexdigest()


def test_a_file_is_read_once_until_it_changes(tmp_path, model):
    cache, before = tmp_path / "cache", model.stat()
    digest = hash_model_file(model, cache_dir=cache)
    changed = bytearray(model.read_bytes())
    changed[-1] ^= 1
    model.write_bytes(changed)
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert hash_model_file(model, cache_dir=cache) == digest, "it was read again"
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert hash_model_file(model, cache_dir=cache) == sha256(changed).hexdigest()


def test_what_changed_behind_the_clocks_back_is_seen_when_it_is_read_afresh(tmp_path, model):
    cache, before = tmp_path / "cache", model.stat()
    digest = hash_model_file(model, cache_dir=cache)
    changed = bytearray(model.read_bytes())
    changed[len(changed) // 2] ^= 1
    model.write_bytes(changed)
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert remembered_hash(model, cache_dir=cache) == digest
    assert hash_model_file(model, cache_dir=cache, is_fresh=True) == sha256(changed).hexdigest()
    assert remembered_hash(model, cache_dir=cache) == hash_model_file(model, cache_dir=cache) == sha256(changed).hexdigest()


def test_a_file_that_was_never_hashed_has_no_remembered_hash(tmp_path, model):
    assert remembered_hash(model, cache_dir=tmp_path / "cache") is None
    assert remembered_hash(Path("x\0y"), cache_dir=tmp_path / "cache") is None


def test_a_file_that_changes_while_it_is_read_is_not_remembered(tmp_path, model, monkeypatch):
    real = os.fstat

    def touched(handle):
        os.utime(model, ns=(0, 7))
        return real(handle)

    monkeypatch.setattr(hashes.os, "fstat", touched)
    hash_model_file(model, cache_dir=tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_two_files_are_remembered_apart_and_a_link_as_its_target(tmp_path, model):
    cache, other = tmp_path / "cache", make_model(tmp_path / "other.gguf", seed=1, **TINY)
    (tmp_path / "link.gguf").symlink_to(model)
    digests = [hash_model_file(path, cache_dir=cache) for path in (model, other, tmp_path / "link.gguf", model)]
    assert digests[0] == digests[2] == digests[3] != digests[1]
    assert len(json.loads((cache / "model_hashes.json").read_text())) == 2


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "null", '{"MODEL": 1}', '{"MODEL": [1, 2]}', '{"MODEL": [SIZE, TIME, "short"]}', "\xff", "[" * 9999],
)
def test_a_damaged_memory_costs_only_time(tmp_path, model, damage):
    status = model.stat()
    text = damage.replace("MODEL", str(model)).replace("SIZE", str(status.st_size)).replace("TIME", str(status.st_mtime_ns))
    memory = tmp_path / "cache" / "model_hashes.json"
    memory.parent.mkdir()
    memory.write_bytes(text.encode("latin-1"))
    assert hash_model_file(model, cache_dir=memory.parent) == sha256(model.read_bytes()).hexdigest()
    assert str(model) in json.loads(memory.read_text())


def test_a_memory_that_can_not_be_written_costs_only_time(tmp_path, model):
    (tmp_path / "file").write_bytes(b"in the way")
    assert hash_model_file(model, cache_dir=tmp_path / "file" / "cache") == sha256(model.read_bytes()).hexdigest()


def test_a_write_that_fails_leaves_the_old_memory_and_no_scratch_file(tmp_path, model, monkeypatch):
    cache, other = tmp_path / "cache", make_model(tmp_path / "other.gguf", seed=1, **TINY)
    hash_model_file(model, cache_dir=cache)
    before = (cache / "model_hashes.json").read_bytes()

    def fail(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hashes.os, "replace", fail)
    assert hash_model_file(other, cache_dir=cache) == sha256(other.read_bytes()).hexdigest()
    assert [path.read_bytes() for path in cache.iterdir()] == [before]


def test_the_memory_lies_in_the_users_cache(tmp_path, model, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    hash_model_file(model)
    assert (tmp_path / "xdg" / "local_react" / "model_hashes.json").exists()


def test_a_missing_file_has_no_hash(tmp_path):
    with pytest.raises(ModelFileError, match="can't be read"):
        hash_model_file(tmp_path / "none.gguf", cache_dir=tmp_path)
