"""Foreign files and failed loads are explained by what can be seen of them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import ModelFileError
from local_react.llama.files import judge_model_file
from local_react.llama.symptoms import explain_foreign_file, explain_load_failure

SAFETENSORS = struct.pack("<Q", 40) + b'{"__metadata__":{"format":"pt"}}' + bytes(64)
FOREIGN = {
    "git-lfs pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 7\n", "git-lfs pointer"),
    "web page": (b"<!DOCTYPE html>\n<html><head><title>404</title>", "web page"),
    "web page in capitals": (b"\n\n  <HTML>", "web page"),
    "xml": (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "web page"),
    "hub's error": (b"Entry not found", "a server's error message"),
    "hub's refusal": (b"Access to model o/r is restricted. You must be authenticated.", "a server's error message"),
    "json": (b'{"error": "Invalid username or password."}', "JSON text"),
    "ggml": (b"lmgg" + bytes(60), "old ggml format"),
    "ggmf": (b"fmgg" + bytes(60), "old ggml format"),
    "ggjt": (b"tjgg" + bytes(60), "old ggml format"),
    "session": (b"nsgg" + bytes(60), "saved llama.cpp session"),
    "zip": (b"PK\3\4" + bytes(60), "zip archive"),
    "gzip": (b"\x1f\x8b\x08" + bytes(60), "gzip archive"),
    "xz": (b"\xfd7zXZ\0" + bytes(60), "compressed archive"),
    "pickle": (b"\x80\x02}q\0" + bytes(60), "Python pickle"),
    "safetensors": (SAFETENSORS, "safetensors"),
    "zeros": (bytes(4096), "zeros only"),
    "text": (b"hello, this is no model at all", "is no GGUF file (it begins with b'hello, t')"),
    "big-endian": (struct.pack(">4sIQQ", b"GGUF", 3, 1, 1) + bytes(64), "big-endian"),
    "version 1": (struct.pack("<4sIII", b"GGUF", 1, 1, 1) + bytes(64), "version 1, which is too old"),
    "version 99": (struct.pack("<4sIQQ", b"GGUF", 99, 1, 1) + bytes(64), "version 99, newer"),
    "three bytes": (b"GGU", "cut short (3 bytes)"),
    "magic only": (b"GGUF", "cut short"),
    "billions of tensors": (struct.pack("<4sIQQ", b"GGUF", 3, 1 << 40, 1) + bytes(64), "claims 1,099,511,627,776 tensors"),
    "empty": (b"", "is empty"),
}


@pytest.mark.parametrize(("data", "reason"), FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_file_is_called_by_its_name(tmp_path, data, reason):
    (tmp_path / "model.gguf").write_bytes(data)
    with pytest.raises(ModelFileError) as caught:
        judge_model_file(tmp_path / "model.gguf")
    error = caught.value
    assert reason in error.reason
    assert error.remedy.endswith((".", ")"))
    assert str(tmp_path / "model.gguf") in str(error)


@given(beginning=st.binary(max_size=64))
@settings(max_examples=200, deadline=None)
def test_any_beginning_is_explained_on_one_line(beginning):
    error = explain_foreign_file(Path("x.gguf"), beginning)
    assert error.reason
    assert error.remedy
    assert "\n" not in str(error)


LOGS = {
    "architecture": ("error loading model architecture: unknown model architecture: 'llama99'", "'llama99'", "Update"),
    "pre-tokenizer": ("error loading model vocabulary: unknown pre-tokenizer type: 'new-bpe'", "'new-bpe'", "Update"),
    "tensor type": ("gguf_init_from_reader: tensor 'a' has invalid ggml type 99. should be in [0, 42)", "type 99", "Update"),
    "cut": ("tensor 'a' data is not within the file bounds, model is corrupted or incomplete", "cut short", "Download"),
    "memory": ("ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 9", "memory", "smaller"),
    "cuda memory": ("cudaMalloc failed: out of memory", "memory", "smaller"),
    "projector": ("CLIP cannot be used as main model, use it with --mmproj instead", "no text model", "main file"),
    "key": ("error loading model hyperparameters: key not found in model: llama.block_count", "llama.block_count", "again"),
    "tensor": ("check_tensor_dims: tensor 'blk.0.attn_q.weight' not found", "'blk.0.attn_q.weight'", "whole"),
    "shape": ("check_tensor_dims: tensor 'a' has wrong shape; expected 1, got 2", "'a' in a shape", "Update"),
    "header": ("gguf_init_from_reader: tensor 'a' has offset 7, expected 0\nfailed to read", "offset 7, expected 0", "again"),
    "something new": ("load: fine\nllama_model_load: error loading model: the moon is full\n", "the moon is full", "Update"),
    "something else": ("fine\nthe moon is full\n", "the moon is full", "Update"),
    "silence": ("", "no reason", "Update"),
}


@pytest.mark.parametrize(("log", "reason", "remedy"), LOGS.values(), ids=LOGS)
def test_the_log_of_a_failed_load_becomes_a_reason_and_a_remedy(log, reason, remedy):
    error = explain_load_failure(Path("x.gguf"), f"print_info: rope_finetuned = unknown\n{log}" if log else log)
    assert reason in error.reason
    assert remedy in error.remedy
    assert error.path == "x.gguf"


@given(log=st.text())
@settings(max_examples=100, deadline=None)
def test_any_log_is_explained_in_one_line(log):
    error = explain_load_failure(Path("x.gguf"), log)
    assert isinstance(error, ModelFileError)
    assert "\n" not in error.reason
    assert len(error.reason) < 400
