"""Judging takes milliseconds, for every kind of bad file and for a sound one with a large vocabulary (files.py).

The times are those of the process, so that other work on the machine doesn't count.
"""

from __future__ import annotations

import importlib.util
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_react.errors import ModelFileError
from local_react.llama.embedded import EMBEDDED
from local_react.llama.files import find_model, judge_model_file
from tests.random_models import Encoded, make_model

MOST_S = 0.05
"""The aim for each file."""

TINY = {"n_embd": 32, "n_head": 1, "n_layer": 1}


def bytes_of(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data + bytes(1 << 20))


def header(version: int, n_tensors: int, n_entries: int) -> bytes:
    return struct.pack("<4sIQQ", b"GGUF", version, n_tensors, n_entries)


def cut(path: Path) -> None:
    make_model(path, **TINY)
    os.truncate(path, path.stat().st_size - 64)


def strings(count: int) -> Encoded:
    return Encoded(struct.pack("<IIQ", 9, 8, count) + struct.pack("<Q", 0) * min(count, 400_000))


BAD = {
    "pointer": (bytes_of(b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"), "git-lfs pointer"),
    "web page": (bytes_of(b"<!DOCTYPE html><html>"), "web page"),
    "old ggml": (bytes_of(b"tjgg\1\0\0\0"), "old ggml format"),
    "wrong magic": (bytes_of(b"FUGG\3\0\0\0"), "is no GGUF file"),
    "future version": (bytes_of(header(9, 1, 1)), "newer than llama.cpp knows"),
    "absurd number of tensors": (bytes_of(header(3, 1 << 60, 1)), "claims 1,152,921,504,606,846,976 tensors"),
    "absurd number of entries": (bytes_of(header(3, 1, 1 << 60)), "metadata entries"),
    "absurd array": (lambda path: make_model(path, changes={"x": strings(1 << 40)}, **TINY), "array of 1,099,511,627,776 strings"),
    "data past the end": (cut, "is cut short"),
    "unknown architecture": (
        lambda path: make_model(path, changes={"general.architecture": "llama99"}, **TINY), "which the installed llama.cpp doesn't know",
    ),
    "a vocabulary longer than any": (lambda path: make_model(path, changes={"x": strings(1 << 21)}, **TINY), "claim an array"),
}


def judged_s(path: Path) -> tuple[float, ModelFileError | None]:
    """The shortest of three times that judging took, in seconds, and what it said."""
    times, error = [], None
    for _ in range(3):
        start = time.process_time()
        try:
            judge_model_file(path)
        except ModelFileError as caught:
            error = caught
        times.append(time.process_time() - start)
    return min(times), error


@pytest.mark.parametrize(("write", "reason"), BAD.values(), ids=BAD)
def test_each_kind_of_bad_file_is_named_at_once(tmp_path, write, reason):
    write(tmp_path / "x.gguf")
    seconds, error = judged_s(tmp_path / "x.gguf")
    assert reason in error.reason
    assert seconds < MOST_S


@pytest.mark.parametrize("name", EMBEDDED)
def test_a_sound_model_passes_at_once(name):
    if importlib.util.find_spec(EMBEDDED[name].package) is None:
        pytest.skip(f"{name} is not installed")
    seconds, error = judged_s(find_model(name))
    assert error is None and seconds < MOST_S
