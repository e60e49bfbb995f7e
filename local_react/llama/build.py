"""What the installed llama.cpp is: its version, how it was built, and what it can use."""

from __future__ import annotations

from dataclasses import dataclass

import llama_cpp

from local_react.llama import log as _log  # noqa: F401  (our log callback must be in place before any call)
from local_react.llama.model import default_threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """The installed llama.cpp. `flags` are its own words, e.g. "CPU : SSE3 = 1 | AVX2 = 1"."""

    binding_version: str
    flags: str
    has_gpu_offload: bool
    has_mmap: bool
    n_threads: int  # that a model is loaded with by default


def describe_build() -> Build:
    """Ask llama.cpp about itself."""
    return Build(
        binding_version=llama_cpp.__version__,
        flags=llama_cpp.llama_print_system_info().decode("utf-8", "replace").strip(" |"),
        has_gpu_offload=bool(llama_cpp.llama_supports_gpu_offload()),
        has_mmap=bool(llama_cpp.llama_supports_mmap()),
        n_threads=default_threads(),
    )
