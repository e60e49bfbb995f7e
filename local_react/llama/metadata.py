"""What a loaded model says about itself: the texts and numbers of its file's metadata, as llama.cpp gives them.

Arrays are left out, as llama.cpp leaves them out. Refuses to interpret what it reads, but for the author's sampling.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping

import llama_cpp

CHAT_TEMPLATE = "tokenizer.chat_template"

SAMPLING_KEYS = {
    "temp": "temperature", "top_k": "top_k", "top_p": "top_p", "min_p": "min_p", "penalty_last_n": "penalty_last_n",
    "penalty_repeat": "repeat_penalty",
}
"""The keys `general.sampling.*` (llama.h, `llama_model_meta_key`) that a field of `Sampling` answers to."""


def read_metadata(model: llama_cpp.llama_model_p) -> dict[str, str]:
    """Every entry that is no array, as text."""
    entries = {}
    for index in range(llama_cpp.llama_model_meta_count(model)):
        key = _read(llama_cpp.llama_model_meta_key_by_index, model, index)
        entries[key] = _read(llama_cpp.llama_model_meta_val_str_by_index, model, index)
    return entries


def _read(function, model: llama_cpp.llama_model_p, index: int) -> str:
    size = 256
    while True:
        buffer = ctypes.create_string_buffer(size)
        n = function(model, index, buffer, size)
        if n < size:
            return buffer.value.decode("utf-8", "replace")
        size = n + 1


def author_sampling(metadata: Mapping[str, str]) -> dict[str, float | int]:
    """The sampler settings that the model's author recommends, by the names of the fields of `Sampling`.

    What isn't a number is left out: a file must not keep a model from running by a wrong recommendation.
    """
    found: dict[str, float | int] = {}
    for key, name in SAMPLING_KEYS.items():
        try:
            value = float(metadata[f"general.sampling.{key}"])
        except (KeyError, ValueError):
            continue
        if math.isfinite(value):
            found[name] = int(value) if name in ("top_k", "penalty_last_n") else value
    return found
