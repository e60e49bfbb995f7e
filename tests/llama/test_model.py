"""What is told before a model is loaded: too little memory, options that can't be, a window that is too long."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from local_react.errors import ModelError, SettingsError
from local_react.llama import model as model_module
from local_react.llama.model import Model


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 5 MB."""
    monkeypatch.setattr(model_module, "available_memory", lambda: 5_000_000)


def test_too_little_memory_is_refused_with_the_numbers_before_loading(tiny_model, little_memory, monkeypatch):
    monkeypatch.setattr(model_module, "_load_weights", lambda *options: pytest.fail("it was loaded"))
    pattern = r"needs about [\d.]+ MB of memory \(weights [\d.]+ MB, KV cache [\d.]+ MB, to compute [\d.]+ MB\), and 5.0 MB are"
    with pytest.raises(ModelError, match=pattern) as caught:
        Model.load(tiny_model.path, n_threads=1, n_ctx=2048, n_batch=2048)
    assert "--force-memory" in str(caught.value)


def test_the_check_can_be_switched_off(tiny_model, little_memory):
    with Model.load(tiny_model.path, n_threads=1, n_ctx=2048, n_batch=2048, check_memory=False) as model, model.context(2):
        assert model.placement.size("kv_cache") > 0


def test_so_are_too_many_episodes_at_once(tiny_model, little_memory):
    with Model.load(tiny_model.path, n_threads=1, n_ctx=256) as model:
        with model.context(1):
            pass
        with pytest.raises(ModelError, match=r"64 episodes at once needs about .*KV cache"), model.context(64):
            pass
        with model.context(1):
            pass


def test_a_system_that_does_not_tell_its_memory_is_not_in_the_way(tiny_model, monkeypatch):
    monkeypatch.setattr(model_module, "available_memory", lambda: None)
    Model.load(tiny_model.path, n_threads=1).close()


def test_a_window_longer_than_the_model_was_trained_for_is_a_warning_and_stands_in_the_trace(tiny_model):
    with pytest.warns(UserWarning, match=r"4,096 tokens is longer than the 2,048 that .* was trained on") as caught:
        model = Model.load(tiny_model.path, n_threads=1, n_ctx=4096)
    with model:
        assert len(caught) == 1 and model.warnings == (str(caught[0].message),)
        assert model.describe()["warnings"] == list(model.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Model.load(tiny_model.path, n_threads=1, n_ctx=2048) as model:
            assert model.warnings == () and "warnings" not in model.describe()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"type_v": "q8_0", "flash_attention": False}, "type_v='q8_0' needs flash attention"),
        ({"type_k": []}, "type_k"), ({"type_v": None}, "type_v"), ({"type_k": "q9"}, "type_k"),
        ({"flash_attention": 1}, "flash_attention"), ({"check_memory": None}, "check_memory"), ({"check_memory": 1}, "check_memory"),
        ({"n_ctx": "x"}, "n_ctx"), ({"n_ctx": 1.5}, "n_ctx"), ({"n_batch": None}, "n_batch"), ({"n_threads": "all"}, "n_threads"),
        ({"n_gpu_layers": "auto"}, "n_gpu_layers"), ({"main_gpu": "x"}, "main_gpu"), ({"tensor_split": 3}, "tensor_split"),
    ],
)  # fmt: skip
def test_an_option_that_can_not_be_is_refused_by_name(tiny_model: Model, options: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        Model.load(tiny_model.path, **options)


def test_quantised_values_are_kept_where_flash_attention_may_be_used(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_threads=1, type_k="q8_0", type_v="q8_0") as model, model.context(1):
        assert model.placement.flash_attention is True


def test_the_description_has_what_was_asked_for_and_what_was_done(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_threads=1, n_ctx=256) as model:
        described = model.describe()
    assert (described["n_ctx"], described["n_gpu_layers"]) == (256, model.offload.n_gpu_layers)
    assert described["placement"]["n_offloaded"] == model.placement.n_offloaded
    assert "main_gpu" not in described and "tensor_split" not in described
