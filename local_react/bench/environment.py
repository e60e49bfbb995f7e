"""The machine and the programs that a benchmark ran on, as far as they bear on its figures.

Holds no host name, no user and no folder: a report is given away. A command is recorded with the names of its files only.
"""

from __future__ import annotations

import os
import platform
import shlex
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from local_react.llama.build import describe_build
from local_react.version import VERSION

PACKAGES = ("llama-cpp-python", "llguidance", "outlines", "outlines-core", "numpy", "scipy", "matplotlib")


def describe_environment() -> dict[str, Any]:
    """CPU, cores, load, versions, and how llama.cpp was built; all JSON values."""
    build = describe_build()
    return {
        "cpu": _cpu_name(), "cores": os.cpu_count(), "load": _load(), "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(), "local_react": VERSION,
        "packages": {name: found for name in PACKAGES if (found := _version(name)) is not None},
        "llama.cpp build": build.flags, "GPU offload": build.has_gpu_offload,
    }


def write_command(words: Sequence[str]) -> str:
    """A command line that can be pasted, with bare names in place of absolute paths."""
    return shlex.join([Path(words[0]).name, *(_bare(word) for word in words[1:])]) if words else ""


def _bare(word: str) -> str:
    flag, equals, value = word.partition("=")
    if equals and flag.startswith("-"):
        return f"{flag}={_bare(value)}"
    return Path(word).name if os.path.isabs(word) else word


def _cpu_name() -> str:
    """The name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.lower().startswith(("model name", "hardware")))
    return next(names, "") or platform.processor() or platform.machine()


def _load() -> list[float] | None:
    """How many processes wanted a core on average over 1, 5 and 15 minutes; None where the system doesn't tell."""
    try:
        return [round(value, 2) for value in os.getloadavg()]
    except (OSError, AttributeError):
        return None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
