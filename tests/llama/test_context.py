"""Sequences over one unified KV cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from local_react import run
from local_react.decode.generate import Decoder
from local_react.errors import DecodeError, ModelError, SettingsError
from local_react.llama.context import Chunk
from local_react.llama.model import Model
from tests.conftest import N_THREADS
from tests.random_models import make_model

TEXT = "Question: what is the answer?\nThought:"


def last_logits(model: Model, ids: list[int]) -> np.ndarray:
    with model.context(1) as context:
        context.clear(1)
        (row,) = context.decode([Chunk(1, ids, 0, True)])
        return context.logits(row).copy()


def test_a_copied_prefix_gives_the_logits_of_a_computed_one(tiny_model: Model, recurrent_model: Model) -> None:
    for model in (tiny_model, recurrent_model):
        ids = model.vocabulary.tokenize(TEXT)
        expected = last_logits(model, ids)
        with model.context(2) as context:
            for sequence in (0, 1, 2):
                context.clear(sequence)
            context.decode([Chunk(0, ids[:-1], 0, False)])
            context.copy(0, 1, len(ids) - 1)
            context.copy(0, 2, len(ids) - 1)
            rows = context.decode([Chunk(1, ids[-1:], len(ids) - 1, True), Chunk(2, ids[-1:], len(ids) - 1, True)])
            for row in rows:
                np.testing.assert_allclose(context.logits(row), expected, atol=1e-2)
            context.prefix = ()


def test_sequences_do_not_see_each_other(tiny_model: Model) -> None:
    one, other = (tiny_model.vocabulary.tokenize(text) for text in (TEXT, "something else entirely"))
    with tiny_model.context(2) as context:
        for sequence in (0, 1, 2):
            context.clear(sequence)
        context.prefix = ()
        rows = context.decode([Chunk(1, one, 0, True), Chunk(2, other, 0, True)])
        both = [context.logits(row).copy() for row in rows]
    np.testing.assert_allclose(both[0], last_logits(tiny_model, one), atol=1e-2)
    np.testing.assert_allclose(both[1], last_logits(tiny_model, other), atol=1e-2)


def test_counts_are_exact(tiny_model: Model) -> None:
    with tiny_model.context(1) as context:
        context.clear(1)
        calls, evaluated = context.n_decode_calls, context.n_evaluated
        context.decode([Chunk(1, [5, 6, 7], 0, False)])
        context.decode([Chunk(1, [8], 3, True)])
        assert context.n_decode_calls - calls == 2
        assert context.n_evaluated - evaluated == 4


def test_the_window_is_the_one_that_was_asked_for(smollm2: Model) -> None:
    """Regression: llama.cpp rounds n_ctx up (64 becomes 256); an episode still gets no more than it asked for."""
    with Model.load(smollm2.path, n_ctx=64, n_threads=1) as model, model.context(1) as context:
        assert context.window == 64


def test_past_the_end_of_the_cache_is_one_clear_error(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_ctx=64, n_threads=1) as model, pytest.raises(DecodeError, match="no room left in the KV cache"):
        with model.context(1) as context:
            for start in range(0, 4096, 64):
                context.decode([Chunk(1, [5] * 64, start, True)])


def test_an_exception_throws_the_context_away(tiny_model: Model) -> None:
    with pytest.raises(RuntimeError):
        with tiny_model.context(1) as broken:
            raise RuntimeError
    with tiny_model.context(1) as context:
        assert context is not broken


def test_a_context_is_kept_for_the_next_run(tiny_model: Model) -> None:
    with tiny_model.context(1) as first:
        pass
    with tiny_model.context(1) as second:
        assert second is first
        with tiny_model.context(1) as nested:
            assert nested is not first, "a run inside of a run has its own"


@pytest.mark.parametrize(
    "options",
    [
        {"n_ctx": 0}, {"n_ctx": -5}, {"n_ctx": 2.5}, {"n_ctx": True}, {"n_threads": 0}, {"n_threads": 513}, {"n_batch": 0},
        {"n_batch": 10**9}, {"type_k": "f12"}, {"type_v": ""}, {"flash_attention": "on"}, {"n_gpu_layers": "all"},
        {"n_gpu_layers": -2},
    ],
)
def test_options_that_make_no_sense_are_refused(tiny_model: Model, options: dict) -> None:
    with pytest.raises(SettingsError, match=next(iter(options))):
        Model.load(tiny_model.path, **options)


def test_a_context_that_cannot_be_made_quotes_its_own_reason_only(tmp_path: Path) -> None:
    """The lines of the load that went before were quoted too."""
    with Model.load(make_model(tmp_path / "odd.gguf", n_embd=48), n_threads=1, type_k="q8_0") as model:
        with pytest.raises(ModelError, match="parallel episodes: [^;]*does not divide n_embd_head_k=24. Try"):
            with model.context(1):
                pass


def test_a_closed_model_is_refused_before_llama_cpp_reads_freed_memory(tiny_model: Model) -> None:
    """It aborted the process."""
    model = Model.load(tiny_model.path, n_threads=1)
    model.close()
    model.close()
    with pytest.raises(ModelError, match="is closed"):
        run("x", model=model)
    with pytest.raises(ModelError, match="is closed"), model.context(1):
        pass


@pytest.mark.parametrize("options", [{"type_k": "q8_0", "type_v": "q8_0", "flash_attention": True}, {"flash_attention": False}, {"n_batch": 8}])
def test_kv_types_flash_attention_and_small_batches_work(smollm2: Model, options: dict) -> None:
    with Model.load(smollm2.path, n_ctx=256, n_threads=N_THREADS, **options) as model, model.context(1) as context:
        ids = model.vocabulary.tokenize("The capital of France is")
        (row,) = context.decode([Chunk(1, ids, 0, True)])
        assert model.vocabulary.piece(int(context.logits(row).argmax())) == b" Paris"


def test_a_context_lent_for_fewer_episodes_holds_no_more_of_them(tiny_model: Model) -> None:
    """A run of one episode at a time that got the context of eight ran eight at a time."""
    with tiny_model.context(8) as wide:
        pass
    with tiny_model.context(1) as narrow:
        assert narrow is wide
        decoder = Decoder(narrow, tiny_model.vocabulary)
        decoder.open(tiny_model.vocabulary.tokenize("a b c"))
        assert not decoder.has_room
    with tiny_model.context(8) as again:
        assert again is wide
        assert again.n_parallel == 8
