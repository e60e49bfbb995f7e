"""The tensors of tiny random models, by architecture, as llama.cpp 0.3.36 of the binding wants them.

Each builder gives the sizes for the metadata (without the name of the architecture) and the tensors. Weights are large
enough for the logits to tell tokens apart, and small enough for half precision.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Built = tuple[dict[str, Any], dict[str, np.ndarray]]


def _transformer(
    random: np.random.Generator, *, n_vocab: int, n_embd: int, n_layer: int, n_head: int, has_bias: bool = False,
    has_head_norms: bool = False, has_post_norms: bool = False,
) -> Built:
    """Attention and a gated feed-forward net in each layer."""
    tensors = _outer_tensors(random, n_vocab, n_embd)
    for layer in range(n_layer):
        block = f"blk.{layer}."
        tensors |= _attention(random, block, n_embd, n_head, has_head_norms=has_head_norms)
        tensors |= _feed_forward(random, block, n_embd)
        if has_bias:
            tensors |= {f"{block}attn_{part}.bias": np.zeros(n_embd, np.float32) for part in "qkv"}
        if has_post_norms:
            for part in ("post_attention_norm", "post_ffw_norm"):
                tensors[f"{block}{part}.weight"] = np.ones(n_embd, np.float32)
    return _attention_sizes(n_embd, n_head), tensors


def _attention_sizes(n_embd: int, n_head: int) -> dict[str, Any]:
    return {
        "feed_forward_length": 2 * n_embd, "attention.head_count": n_head, "attention.head_count_kv": n_head,
        "rope.dimension_count": n_embd // n_head,
    }


def _attention(
    random: np.random.Generator, block: str, n_embd: int, n_head: int, *, has_head_norms: bool = False
) -> dict[str, np.ndarray]:
    tensors = {f"{block}attn_norm.weight": np.ones(n_embd, np.float32)}
    for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
        tensors[f"{block}{part}.weight"] = _weights(random, n_embd, n_embd)
    if has_head_norms:
        for part in ("attn_q_norm", "attn_k_norm"):
            tensors[f"{block}{part}.weight"] = np.ones(n_embd // n_head, np.float32)
    return tensors


def _feed_forward(random: np.random.Generator, block: str, n_embd: int) -> dict[str, np.ndarray]:
    return {
        f"{block}ffn_norm.weight": np.ones(n_embd, np.float32),
        f"{block}ffn_gate.weight": _weights(random, 2 * n_embd, n_embd),
        f"{block}ffn_up.weight": _weights(random, 2 * n_embd, n_embd),
        f"{block}ffn_down.weight": _weights(random, n_embd, 2 * n_embd),
    }


def _gemma3(random: np.random.Generator, *, n_embd: int, n_head: int, **sizes: int) -> Built:
    """Norms before and behind each part, and attention over a sliding window in most layers."""
    values, tensors = _transformer(
        random, n_embd=n_embd, n_head=n_head, has_head_norms=True, has_post_norms=True, **sizes
    )
    per_head = n_embd // n_head
    return values | {
        "attention.sliding_window": 64, "attention.key_length": per_head, "attention.value_length": per_head,
    }, tensors


def _lfm2(random: np.random.Generator, *, n_vocab: int, n_embd: int, n_layer: int, n_head: int) -> Built:
    """A hybrid: every other layer is a short convolution, whose state can't be cut back."""
    n_convolved = 3
    tensors = _outer_tensors(random, n_vocab, n_embd)
    tensors["token_embd_norm.weight"] = tensors.pop("output_norm.weight")
    for layer in range(n_layer):
        block = f"blk.{layer}."
        tensors |= _feed_forward(random, block, n_embd)
        if layer % 2:
            tensors |= _attention(random, block, n_embd, n_head, has_head_norms=True)
            continue
        tensors |= {
            f"{block}attn_norm.weight": np.ones(n_embd, np.float32),
            f"{block}shortconv.conv.weight": _weights(random, n_embd, n_convolved).astype(np.float32),
            f"{block}shortconv.in_proj.weight": _weights(random, 3 * n_embd, n_embd),
            f"{block}shortconv.out_proj.weight": _weights(random, n_embd, n_embd),
        }
    heads = [n_head * (layer % 2) for layer in range(n_layer)]
    return _attention_sizes(n_embd, n_head) | {
        "attention.head_count_kv": heads, "shortconv.l_cache": n_convolved,
    }, tensors


def _mamba(random: np.random.Generator, *, n_vocab: int, n_embd: int, n_layer: int, n_head: int) -> Built:
    n_inner, n_state, n_convolved, rank = 2 * n_embd, 16, 4, 4
    small = 0.5  # products of products: larger weights overflow float16 within a few tokens
    tensors = _outer_tensors(random, n_vocab, n_embd)
    for layer in range(n_layer):
        block = f"blk.{layer}."
        tensors[f"{block}attn_norm.weight"] = np.ones(n_embd, np.float32)
        tensors[f"{block}ssm_in.weight"] = _weights(random, 2 * n_inner, n_embd, small)
        tensors[f"{block}ssm_conv1d.weight"] = _weights(random, n_inner, n_convolved, small).astype(np.float32)
        tensors[f"{block}ssm_conv1d.bias"] = np.zeros(n_inner, np.float32)
        tensors[f"{block}ssm_x.weight"] = _weights(random, rank + 2 * n_state, n_inner, small)
        tensors[f"{block}ssm_dt.weight"] = _weights(random, n_inner, rank, small)
        tensors[f"{block}ssm_dt.bias"] = np.full(n_inner, -2, np.float32)
        tensors[f"{block}ssm_a"] = -np.ones((n_inner, n_state), np.float32)
        tensors[f"{block}ssm_d"] = np.ones(n_inner, np.float32)
        tensors[f"{block}ssm_out.weight"] = _weights(random, n_embd, n_inner, small)
    sizes = {
        "feed_forward_length": 0, "attention.head_count": 0, "ssm.conv_kernel": n_convolved, "ssm.inner_size": n_inner,
        "ssm.state_size": n_state, "ssm.time_step_rank": rank,
    }
    return sizes, tensors


def _outer_tensors(random: np.random.Generator, n_vocab: int, n_embd: int) -> dict[str, np.ndarray]:
    # An output matrix of its own: with the embedding in its place a random model would only repeat its last token.
    return {
        "token_embd.weight": _weights(random, n_vocab, n_embd),
        "output_norm.weight": np.ones(n_embd, np.float32),
        "output.weight": _weights(random, n_vocab, n_embd),
    }


def _weights(random: np.random.Generator, n_out: int, n_in: int, size: float = 2) -> np.ndarray:
    return (random.standard_normal((n_out, n_in), np.float32) * (size / n_in**0.5)).astype(np.float16)


ARCHITECTURES: dict[str, Callable[..., Built]] = {
    "llama": _transformer,
    "qwen2": partial(_transformer, has_bias=True),
    "qwen3": partial(_transformer, has_head_norms=True),
    "gemma3": _gemma3,
    "lfm2": _lfm2,
    "mamba": _mamba,
}
"""The builder of each architecture."""
