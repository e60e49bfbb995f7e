"""How much memory a model needs, estimated from its header, and how much there is.

Invariant: nothing is loaded, and any header gives an estimate; what it doesn't say counts as nothing. Refuses nothing
itself: whoever loads compares the two numbers.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_react.llama.files import ModelHeader
from local_react.llama.header import TYPE_SIZES

KV_TYPES = {"f32": 0, "f16": 1, "bf16": 30, "q8_0": 8, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7}
"""KV cache types by name, with their ggml numbers."""

QUANTISED = frozenset(KV_TYPES) - {"f32", "f16", "bf16"}
"""The types that the values in the cache can have only with flash attention."""

CELLS = 256
"""llama.cpp rounds the cells of a KV cache up to a multiple of this (0.3.36)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryNeed:
    """Bytes that a loaded model takes: for its weights, for the KV cache of its context, and to compute."""

    weights: int
    kv_cache: int
    compute: int

    @property
    def total(self) -> int:
        """The sum, in bytes."""
        return self.weights + self.kv_cache + self.compute

    def on_host(self, offloaded: float) -> MemoryNeed:
        """What of it main memory must hold where a part of the layers, from 0 to 1, is on GPUs of their own."""
        left = 1 - offloaded
        return MemoryNeed(weights=int(self.weights * left), kv_cache=int(self.kv_cache * left), compute=self.compute)


def estimate_memory(
    header: ModelHeader, *, n_ctx: int, n_parallel: int = 1, n_batch: int = 512, type_k: str = "f16", type_v: str = "f16",
    flash_attention: bool | None = None,
) -> MemoryNeed:
    """What a model needs with a window of `n_ctx` tokens for each of `n_parallel` episodes.

    `type_k` and `type_v` are names in `KV_TYPES`. Weights are the size of the file. The KV cache is exact for plain
    attention, and layers with a sliding window are counted in full, since that is how a context is made here. Compute buffers
    are estimated from above, by a fifth at most (measured with llama-cpp-python 0.3.36 on two models, windows of 256 to
    16,384 tokens, 1 to 16 episodes; by a half without flash attention). Copies of weights in another order, which llama.cpp
    makes for some CPUs, aren't counted: the pages of the file that they replace can be dropped.
    """
    shape = _Shape(header)
    n_cells = -(-n_ctx * n_parallel // CELLS) * CELLS
    kv_cache = shape.kv_bytes(n_cells, type_k, type_v) + shape.state_bytes(n_parallel + 1)
    compute = shape.compute_bytes(n_cells, min(n_batch, n_cells), n_parallel + 1, is_flash=flash_attention is not False)
    return MemoryNeed(weights=header.size_bytes, kv_cache=kv_cache, compute=compute)


def count_layers(header: ModelHeader) -> int:
    """The layers of a model but for the output layer; 0 where the header doesn't say."""
    return _Shape(header).n_layer


def show_bytes(size: int) -> str:
    """A size for people: "98.1 MB", "3.2 GB"."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e9 else f"{size / 1e6:,.1f} MB"


class _Shape:
    """The sizes of a model's layers, by the names that llama.cpp gives them in the metadata."""

    def __init__(self, header: ModelHeader) -> None:
        self._header = header
        self.n_layer = self._number("block_count")
        self.n_embd = self._number("embedding_length")
        self.n_head = max(self._numbers("attention.head_count"), default=0)
        head = self.n_embd // self.n_head if self.n_head else 0
        self.head_k = self._number("attention.key_length", head)
        self.head_v = self._number("attention.value_length", head)

    def kv_bytes(self, n_cells: int, type_k: str, type_v: str) -> int:
        """Keys and values of all layers that keep them."""
        heads = self._numbers("attention.head_count_kv") or self._numbers("attention.head_count")
        if len(heads) == 1:
            n_kept = self.n_layer - self._number("attention.shared_kv_layers")
            # Qwen's hybrids have attention in every n-th layer only.
            n_kept = -(-n_kept // max(self._number("full_attention_interval", 1), 1))
            heads = heads * max(n_kept, 0)
        n_heads = sum(heads)
        return _bytes(n_cells * n_heads * self.head_k, type_k) + _bytes(n_cells * n_heads * self.head_v, type_v)

    def state_bytes(self, n_sequences: int) -> int:
        """The states of recurrent layers, float32; they don't grow with the window."""
        inner, state, groups = (self._number(f"ssm.{key}") for key in ("inner_size", "state_size", "group_count"))
        convolved = max(self._number("ssm.conv_kernel") - 1, 0) * (inner + 2 * groups * state)
        return 4 * n_sequences * self.n_layer * (convolved + inner * state)

    def compute_bytes(self, n_cells: int, n_batch: int, n_rows: int, *, is_flash: bool) -> int:
        """Activations of a batch, the attention mask, the scores of all heads without flash attention, rows of logits."""
        hidden = max(self._numbers("feed_forward_length"), default=0)
        experts = self._number("expert_feed_forward_length") * self._number("expert_used_count")
        activations = 3 * max(hidden, experts, self._number("ssm.inner_size")) + 3 * (self.n_embd + self.n_head * self.head_k)
        n_masks = 2 if self._number("attention.sliding_window") else 1
        attention = 2 * n_masks if is_flash else 4 * (n_masks + self.n_head)
        logits = 4 * n_rows * (self._header.n_vocab or 0)
        # Logits are computed when the activations are done with, and then copied out.
        return max(n_batch * (4 * activations + n_cells * attention), logits) + logits

    def _number(self, key: str, default: int = 0) -> int:
        value = self._header.metadata.get(f"{self._header.architecture}.{key}", default)
        return int(value) if isinstance(value, (int, float)) and 0 <= value < 1 << 40 else default

    def _numbers(self, key: str) -> list[int]:
        """A number for each layer, or one for all of them."""
        values = self._header.arrays.get(f"{self._header.architecture}.{key}")
        if values is None:
            return [number] if (number := self._number(key)) else []
        return [int(value) for value in values if 0 <= value < 1 << 40]


def _bytes(n_values: int, type_name: str) -> int:
    block, size = TYPE_SIZES[KV_TYPES[type_name]]
    return n_values * size // block


def available_memory(*, root: Path = Path("/")) -> int | None:
    """Bytes of main memory that a new program can have without swapping; None where the system doesn't tell.

    On Linux what the kernel calls available, or less where a control group limits this process (a container); on Windows
    the free physical memory. macOS doesn't tell cheaply: there it is all of the physical memory. `root` is where /proc and
    /sys lie.
    """
    if sys.platform == "win32":
        return _windows_memory()
    amounts = [*_kernel_amounts(root), *_group_amounts(root)]
    if amounts:
        return min(amounts)
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _kernel_amounts(root: Path) -> Iterator[int]:
    for line in _text(root / "proc/meminfo").splitlines():
        if found := re.fullmatch(r"MemAvailable:\s*([0-9]+) kB", line):
            yield int(found[1]) * 1024


def _group_amounts(root: Path) -> Iterator[int]:
    """What the limits of this process's control group, and of those round it, leave; both versions of control groups."""
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        folder = top / path.strip("/")
        # In a container the path may be that of the host, and only the top is there.
        for each in (folder, *folder.parents):
            if each.is_relative_to(top):
                limit, used = (_text(each / name).strip() for name in names)
                if limit.isdigit() and used.isdigit():
                    yield max(int(limit) - int(used) + _file_pages(_text(each / "memory.stat")), 0)


def _file_pages(statistics: str) -> int:
    """Bytes of a group's memory that hold files, and are given back when memory runs short."""
    found = dict(line.split(maxsplit=1) for line in statistics.splitlines() if " " in line)
    values = (found.get(f"total_{name}", found.get(name, "0")) for name in ("active_file", "inactive_file"))
    return sum(int(value) for value in values if value.isdigit())


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""


def _windows_memory() -> int | None:
    class Status(ctypes.Structure):
        # MEMORYSTATUSEX of the Windows API
        _fields_ = [("dwLength", ctypes.c_ulong), ("dwMemoryLoad", ctypes.c_ulong)] + [
            (name, ctypes.c_ulonglong)
            for name in ("total", "available", "page_total", "page_available", "virtual_total", "virtual", "extended")
        ]

    status = Status(dwLength=ctypes.sizeof(Status))
    is_there = ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
    return status.available if is_there else None
