"""What a file says about itself is told whole, from the header alone, as the gguf package reads it."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import gguf
import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import ModelFileError
from local_react.llama.embedded import EMBEDDED
from local_react.llama.inspection import (
    TEMPLATE_LIMIT,
    SpecialToken,
    TensorCount,
    inspect_model_file,
)
from tests.random_models import make_model

TINY = {"n_embd": 32, "n_head": 1, "n_layer": 1}
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("tokenizer", ["bpe", "sentencepiece"])
def test_everything_in_the_file_is_told_as_the_gguf_package_reads_it(tmp_path, tokenizer):
    changes = {"general.sampling.temp": 0.5, "general.sampling.top_k": 40, "general.license": "mit", "general.file_type": 1}
    path = make_model(tmp_path / "x.gguf", tokenizer=tokenizer, n_ctx_train=777, changes=changes, **TINY)
    found, reader = inspect_model_file(path), gguf.GGUFReader(path)
    assert (found.path, found.size_bytes, found.version) == (str(path), path.stat().st_size, 3)
    assert (found.architecture, found.quantization, found.n_ctx_train) == ("llama", "F16", 777)
    assert found.n_parameters == sum(int(tensor.n_elements) for tensor in reader.tensors)
    for name, count in found.tensor_types.items():
        alike = [tensor for tensor in reader.tensors if tensor.tensor_type.name == name]
        assert count == TensorCount(len(alike), sum(int(tensor.n_elements) for tensor in alike))
    assert found.sampling == {"temp": 0.5, "top_k": 40}
    assert found.general == {"architecture": "llama", "type": "model", "name": "random", "license": "mit", "file_type": 1}
    tokens = reader.fields["tokenizer.ggml.tokens"]
    assert found.n_tokens == len(tokens.data)
    for name in found.special_tokens:
        number = reader.fields[f"tokenizer.ggml.{name}_token_id"].contents()
        assert found.special_tokens[name] == SpecialToken(number, tokens.contents(number))
    assert set(found.special_tokens) >= {"bos", "eos"}
    assert found.sizes["block_count"] == 1 and found.tokenizer["model"] in ("gpt2", "llama")
    assert not [key for key in found.tokenizer if key.endswith("token_id")]


def test_chat_templates_are_told_by_name_short_and_long(tmp_path):
    long = "{{ x }}" * 2000
    changes = {"tokenizer.chat_template.tool_use": "{{ tools }}", "tokenizer.chat_template.rag": "é" * TEMPLATE_LIMIT}
    found = inspect_model_file(make_model(tmp_path / "x.gguf", chat_template=long, changes=changes, **TINY))
    assert found.chat_templates == {"default": long, "tool_use": "{{ tools }}", "rag": None}
    assert inspect_model_file(make_model(tmp_path / "y.gguf", **TINY)).chat_templates == {}


def test_what_the_file_does_not_say_is_not_made_up(tmp_path):
    names = ("general.architecture", "general.name", "general.type", "llama.context_length", "tokenizer.ggml.bos_token_id")
    found = inspect_model_file(make_model(tmp_path / "x.gguf", changes=dict.fromkeys(names), **TINY))
    assert (found.architecture, found.n_ctx_train, found.quantization, found.general) == (None, None, None, {})
    assert "bos" not in found.special_tokens and found.sampling == {}


def test_a_token_id_beyond_the_vocabulary_has_no_text(tmp_path):
    changes = {"tokenizer.ggml.eos_token_id": 10**6, "tokenizer.ggml.padding_token_id": "seven"}
    found = inspect_model_file(make_model(tmp_path / "x.gguf", changes=changes, **TINY))
    assert found.special_tokens["eos"] == SpecialToken(10**6, None)
    assert "padding" not in found.special_tokens


def test_new_types_are_told_by_number_and_numbers_that_json_has_not_as_texts(tmp_path):
    changes = {"general.file_type": 999, "general.sampling.temp": math.nan, "llama.rope.scale": math.inf}
    found = inspect_model_file(make_model(tmp_path / "x.gguf", changes=changes, **TINY))
    assert found.quantization == "type 999"
    assert (found.sampling["temp"], found.sizes["rope.scale"]) == ("nan", "inf")
    assert json.loads(json.dumps(asdict(found), allow_nan=False))["architecture"] == "llama"


def test_a_model_of_an_unknown_architecture_and_one_without_weights_can_be_inspected(tmp_path):
    path = make_model(tmp_path / "x.gguf", changes={"general.architecture": "llama99"}, with_weights=False, **TINY)
    found = inspect_model_file(path)
    assert (found.architecture, found.n_parameters, found.tensor_types) == ("llama99", 0, {})


def test_what_is_no_whole_gguf_file_is_refused(tmp_path):
    path = make_model(tmp_path / "x.gguf", **TINY)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelFileError, match="cut short"):
        inspect_model_file(path)
    path.write_bytes(b"<html>")
    with pytest.raises(ModelFileError, match="web page"):
        inspect_model_file(path)


@given(flips=st.lists(st.tuples(st.integers(24, 3000), st.integers(0, 255)), min_size=1, max_size=5))
@settings(max_examples=80, deadline=None)
def test_damage_is_told_or_inspected_and_raises_nothing_else(tmp_path_factory, flips):
    path = make_model(tmp_path_factory.mktemp("damage") / "x.gguf", chat_template="{{ x }}" * 700, **TINY)
    data = bytearray(path.read_bytes())
    for at, value in flips:
        data[at] = value
    path.write_bytes(data)
    try:
        json.dumps(asdict(inspect_model_file(path)), allow_nan=False)
    except ModelFileError as error:
        assert error.path == str(path)


@pytest.mark.skipif(importlib.util.find_spec(EMBEDDED["gemma3-270m"].package) is None, reason="Gemma is not installed")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_a_large_vocabulary_takes_little_memory():
    """250 MB, 262,144 tokens; the aim is 200 MB for the whole command. It takes some 50 MB."""
    # The peak that getrusage tells begins with that of the process which started this one.
    code = (
        "from pathlib import Path; from local_react.llama.files import find_model\n"
        "from local_react.llama.inspection import inspect_model_file\n"
        "found = inspect_model_file(find_model('gemma3-270m'))\n"
        "lines = Path('/proc/self/status').read_text().splitlines()\n"
        "print(found.n_tokens, next(line.split()[1] for line in lines if line.startswith('VmHWM')))\n"
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60)
    n_tokens, kilobytes = child.stdout.split()
    assert n_tokens == "262144"
    assert int(kilobytes) < 200_000
