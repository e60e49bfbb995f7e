"""What the installed llama.cpp is: its version, how it was built, what it can use, and how to get another build.

Refuses to install anything.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to build llama.cpp for GPUs: for whose, and what CMake is told."""

    gpus: str
    flag: str

    @property
    def command(self) -> str:
        """The shell command that builds and installs it."""
        install = "pip install --upgrade --force-reinstall --no-cache-dir llama-cpp-python"
        if sys.platform == "win32":
            return f'$env:CMAKE_ARGS="{self.flag}"; {install}'
        return f'CMAKE_ARGS="{self.flag}" {install}'


RECIPES = {
    "CUDA": Recipe("NVIDIA", "-DGGML_CUDA=on"),
    "Metal": Recipe("Apple", "-DGGML_METAL=on"),
    "ROCm": Recipe("AMD", "-DGGML_HIP=on"),
    "Vulkan": Recipe("most others", "-DGGML_VULKAN=on"),
}
"""By backend, from the README of llama-cpp-python 0.3.36. Each needs the maker's own development kit."""

_TRACES = {
    "CUDA": ("dev/nvidia0", "proc/driver/nvidia/version", "Windows/System32/nvcuda.dll"),
    "ROCm": ("dev/kfd",),
    "Vulkan": ("dev/dri/renderD128", "Windows/System32/vulkan-1.dll"),
}
"""What the drivers leave in the file system."""


def fitting_recipe(*, root: Path = Path("/"), system: str = sys.platform, machine: str = platform.machine()) -> str | None:
    """The recipe for the GPU of this machine, by its name in `RECIPES`; None where there is no sign of one."""
    if system == "darwin":
        return "Metal" if machine == "arm64" else None
    return next((name for name, traces in _TRACES.items() if any((root / trace).exists() for trace in traces)), None)


def describe_build() -> Build:
    """Ask llama.cpp about itself."""
    return Build(
        binding_version=llama_cpp.__version__,
        flags=llama_cpp.llama_print_system_info().decode("utf-8", "replace").strip(" |"),
        has_gpu_offload=bool(llama_cpp.llama_supports_gpu_offload()),
        has_mmap=bool(llama_cpp.llama_supports_mmap()),
        n_threads=default_threads(),
    )
