"""Where a model and its context really lie, read back from llama.cpp's log: what was asked for may not be what was done.

Knows the lines of llama.cpp as of llama-cpp-python 0.3.36 (`load_tensors: offloaded 29/29 layers to GPU`,
`llama_kv_cache: CUDA0 KV buffer size = 56.00 MiB`) and the older ones of the same shape. What the log doesn't say stays
None. Any text can be read; nothing is asked of llama.cpp here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

BufferKind = Literal["weights", "kv_cache", "state", "compute", "output"]

_KINDS: dict[str, BufferKind] = {
    "model": "weights", "": "weights", "KV": "kv_cache", "RS": "state", "compute": "compute", "output": "output",
}
_BUFFER = re.compile(r": +(\S+) +(?:(model|KV|RS|compute|output) )?buffer size = +([0-9]+\.[0-9]+) MiB")
_OFFLOADED = re.compile(r"offloaded ([0-9]+)/([0-9]+) layers to GPU")
_ASSIGNED = re.compile(r"load_tensors: layer +[0-9]+ assigned to device (\w+)")
_DEVICE = re.compile(r"using device (\S+) \((.+?)\)(?: \([^)]*\))? - ([0-9]+) MiB free")
_WINDOW = re.compile(r"n_ctx_seq +[=(] *([0-9]+)|n_ctx_per_seq +[=(] *([0-9]+)")
_FLASH = re.compile(
    r"(?i)flash[ _]att(?:entio)?n\b[^\n]*?(?P<last>enabled|disabled|forcing off|= 1|= 0|set to enabled|set to disabled)"
)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that llama.cpp took on one device, by its own name for it ("CPU_Mapped", "CUDA0"); `size` in bytes."""

    device: str
    kind: BufferKind
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What a log tells: layers in all and on GPUs, the GPUs used, the buffers, and how the context was made.

    The output layer counts as one, as llama.cpp counts it. `n_ctx` is the window of one sequence in tokens, as granted.
    """

    n_layers: int | None = None
    n_offloaded: int = 0
    devices: tuple[str, ...] = ()
    buffers: tuple[Buffer, ...] = ()
    flash_attention: bool | None = None
    n_ctx: int | None = None

    def size(self, kind: BufferKind) -> int:
        """Bytes of all buffers of a kind."""
        return sum(buffer.size for buffer in self.buffers if buffer.kind == kind)

    def with_context(self, context: Placement) -> Placement:
        """The placement of weights, with that of a context beside it."""
        return replace(
            self, buffers=self.buffers + context.buffers, flash_attention=context.flash_attention, n_ctx=context.n_ctx
        )

    def describe(self) -> dict[str, Any]:
        """The same as JSON values; `buffers` are [device, kind, bytes]."""
        return {
            "n_layers": self.n_layers, "n_offloaded": self.n_offloaded, "devices": list(self.devices),
            "flash_attention": self.flash_attention, "n_ctx": self.n_ctx,
            "buffers": [[buffer.device, buffer.kind, buffer.size] for buffer in self.buffers],
        }


def read_placement(log: str) -> Placement:
    """What llama.cpp's log tells about a model that was loaded, or a context that was made, while it was recorded."""
    offloaded, assigned = _OFFLOADED.search(log), _ASSIGNED.findall(log)
    n_layers = int(offloaded[2]) if offloaded else len(assigned) or None
    n_offloaded = int(offloaded[1]) if offloaded else sum(not device.startswith("CPU") for device in assigned)
    windows = [int(one or other) for one, other in _WINDOW.findall(log)]
    return Placement(
        n_layers=n_layers, n_offloaded=n_offloaded, buffers=_buffers(log), flash_attention=_flash_attention(log),
        devices=tuple(dict.fromkeys(f"{name} ({what})" for name, what, _ in _DEVICE.findall(log))),
        n_ctx=windows[0] if windows else None,
    )


def _buffers(log: str) -> tuple[Buffer, ...]:
    """The buffers, one for each device and kind: parts of weights and caches add up, later sizes of the others count."""
    sizes: dict[tuple[str, BufferKind], int] = {}
    for device, name, mib in _BUFFER.findall(log):
        key = (device, _KINDS[name])
        size = round(float(mib) * (1 << 20))
        adds_up = key[1] in ("weights", "kv_cache", "state")
        sizes[key] = sizes.get(key, 0) + size if adds_up else size
    return tuple(Buffer(device, kind, size) for (device, kind), size in sizes.items())


def _flash_attention(log: str) -> bool | None:
    """The last word counts: "auto" is settled further down."""
    found = [match["last"].lower() for match in _FLASH.finditer(log)]
    return None if not found else found[-1] in ("enabled", "= 1", "set to enabled")
