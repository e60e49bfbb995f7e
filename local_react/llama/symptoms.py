"""How unusable model files show themselves: by their first bytes, and in llama.cpp's log.

Each symptom is (pattern, reason, remedy), worded for ModelFileError. Invariant: whatever the bytes or the log, an
explanation comes out, on one line. Refuses to look at files itself.
"""

from __future__ import annotations

import re
from pathlib import Path

from local_react.errors import ModelFileError
from local_react.llama.header import DAMAGED, UPDATE

CONVERT = "llama.cpp reads GGUF files only: get the model's GGUF conversion."
AGAIN = "Download it again."

FOREIGN = (
    (re.compile(rb"version https://git-lfs\.github\.com"), "is a git-lfs pointer, not the model itself",
     "Fetch the file with `git lfs pull`, or download it from its page."),
    (re.compile(rb"\s*<(?:!doctype|html|head|\?xml|!--)", re.I), "is a web page saved as a model",
     "Download the file itself: the address of its page isn't the address of the file."),
    # What the Hugging Face hub writes in place of a file.
    (re.compile(rb"(?:Entry not found|Not found|Repository not found|Invalid username or password|Access to model|"
                rb"Unauthorized|Forbidden|Too many requests)", re.I), "is a server's error message, not the model", AGAIN),
    (re.compile(rb'\s*[{\[]\s*["{]'), "is a JSON text, perhaps a server's error message", AGAIN),
    (re.compile(rb"(?:lmgg|fmgg|tjgg|algg)"), "is in an old ggml format from before GGUF", CONVERT),
    (re.compile(rb"(?:nsgg|qsgg|agg)"), "is a saved llama.cpp session, not a model", "Give the model's own file."),
    (re.compile(rb"PK\x03\x04"), "is a zip archive (a PyTorch checkpoint, or a packed download)", CONVERT),
    (re.compile(rb"\x1f\x8b"), "is a gzip archive", "Unpack it first."),
    (re.compile(rb"\x28\xb5\x2f\xfd|\xfd7zXZ|7z\xbc\xaf"), "is a compressed archive", "Unpack it first."),
    (re.compile(rb"\x80[\x02-\x05]"), "is a Python pickle (an old PyTorch checkpoint)", CONVERT),
    (re.compile(rb".{8}\{", re.S), "is a safetensors file", CONVERT),
    (re.compile(rb"\0{64}"), "begins with zeros only: a download that never filled its file", AGAIN),
)
"""How files that aren't GGUF begin, tried in this order."""

_MEMORY = "Take a smaller quantization or a smaller n_ctx, or free some memory."
_UNKNOWN = "which the installed llama.cpp doesn't know"

LOG_LINES = (
    (r"unknown model architecture: '([^']*)'", "has the architecture {0!r}, " + _UNKNOWN, UPDATE),
    (r"unknown pre-tokenizer type: '([^']*)'", "has the tokenizer {0!r}, " + _UNKNOWN, UPDATE),
    (r"unknown tokenizer: '([^']*)'", "has the tokenizer {0!r}, " + _UNKNOWN, UPDATE),
    (r"has invalid ggml type (-?\d+)", "has tensors of type {0}, " + _UNKNOWN, UPDATE),
    (r"CLIP cannot be used as main model", "holds an image projector, no text model", "Give the model's main file."),
    (r"not within the file bounds", "is cut short", AGAIN),
    (r"failed to load GGUF split from (\S+)", "is one of several parts, and {0} can't be read",
     "Download that part again."),
    (r"(?:unable to allocate|failed to allocate|bad_alloc|mmap failed|[Oo]ut of memory|cudaMalloc failed)",
     "doesn't fit into memory", _MEMORY),
    (r"failed to open [^\n]*|Permission denied", "can't be opened", "Check its permissions."),
    (r"key not found in model: (\S+)", "lacks the metadata key {0}", DAMAGED),
    (r"tensor '([^']*)' not found", "lacks the tensor {0!r}",
     "Get a whole conversion of the model; if it is new, update llama-cpp-python."),
    (r"tensor '([^']*)' has wrong shape", "has the tensor {0!r} in a shape that llama.cpp doesn't expect", UPDATE),
    (r"wrong number of tensors; expected (\d+), got (\d+)", "holds {0} tensors where llama.cpp expects {1}", UPDATE),
    (r"error loading model vocabulary: ([^\n]+)", "has a vocabulary that llama.cpp can't read ({0})", UPDATE),
    (r"gguf_init_from_\w+: ([^\n]+)", "is damaged ({0})", DAMAGED),
    (r"error loading model: ([^\n]+)", "was refused by llama.cpp ({0})", f"{DAMAGED} If it is new: {UPDATE}"),
)
"""What llama.cpp 0.3.36's log says about a load that failed; the first that matches counts."""


def explain_foreign_file(path: Path, beginning: bytes) -> ModelFileError:
    """The exception for a file whose first 64 bytes are `beginning` and no GGUF header; the caller raises it."""
    for pattern, reason, remedy in FOREIGN:
        if pattern.match(beginning):
            return ModelFileError(path, reason, remedy)
    if b"GGUF".startswith(beginning):
        return ModelFileError(path, f"is cut short ({len(beginning)} bytes)", AGAIN)
    return ModelFileError(path, f"is no GGUF file (it begins with {beginning[:8]!r})", CONVERT)


def explain_load_failure(path: Path, log: str) -> ModelFileError:
    """The exception for a load of `path` that failed, made from llama.cpp's captured `log`; the caller raises it."""
    for pattern, reason, remedy in LOG_LINES:
        if found := re.search(pattern, log):
            return ModelFileError(path, reason.format(*(group[:300] for group in found.groups())), remedy)
    last = (log.strip().splitlines() or ["which gave no reason"])[-1].strip()
    return ModelFileError(path, f"was refused by llama.cpp ({last[:300]})", f"{DAMAGED} If it is new: {UPDATE}")
