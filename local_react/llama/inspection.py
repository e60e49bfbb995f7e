"""What a GGUF file says about the model in it: read from its header, without loading a weight.

The gguf package gives the names of types and keys; its reader makes an array of every token, which takes seconds and
hundreds of megabytes for a large vocabulary (10 s and 720 MB for 262,144 tokens, gguf 0.19), so the bytes are read by
`header.py`. Invariant: what the file doesn't say is absent or None. Refuses to judge whether llama.cpp can use the file.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import gguf

from local_react.errors import ModelFileError
from local_react.llama.files import read_file_header
from local_react.llama.header import TEXT_LIMIT, Header

Value = int | float | bool | str

TEMPLATE_LIMIT = 1 << 20
"""Bytes; a longer chat template is named, and its text left out."""

SAMPLING = "general.sampling."
TEMPLATE = gguf.Keys.Tokenizer.CHAT_TEMPLATE
_TOKEN_ID = "_token_id"


@dataclass(frozen=True, slots=True)
class TensorCount:
    """How many tensors there are of one type, and how many numbers they hold."""

    n_tensors: int
    n_parameters: int


@dataclass(frozen=True, slots=True)
class SpecialToken:
    """A token by its id; `text` is None if the vocabulary has no such id."""

    id: int
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What a model file says about itself.

    `general` are its entries on name, author, licence and the like, `sizes` those of its architecture, `tokenizer` those of
    its tokenizer, each without the common beginning of their keys. `chat_templates` are by name, the unnamed one is
    "default"; the text of one longer than `TEMPLATE_LIMIT` is None. `sampling` are the author's sampling defaults.
    """

    path: str
    size_bytes: int
    version: int
    architecture: str | None
    quantization: str | None
    n_parameters: int
    n_ctx_train: int | None
    tensor_types: Mapping[str, TensorCount]
    general: Mapping[str, Value]
    sizes: Mapping[str, Value | list[int | float]]
    tokenizer: Mapping[str, Value]
    n_tokens: int | None
    special_tokens: Mapping[str, SpecialToken]
    chat_templates: Mapping[str, str | None]
    sampling: Mapping[str, Value]


def inspect_model_file(path: Path) -> Inspection:
    """What the model file `path` says about itself. Raises ModelFileError for a file that is no whole GGUF file.

    For 262,144 tokens it takes some 0.2 s, most of it to find the texts of special tokens.
    """
    header, size = read_file_header(Path(path))
    try:
        with Path(path).open("rb") as file:
            return _describe(file, header, str(path), size)
    except OSError as error:
        raise ModelFileError(path, f"can't be read ({error})", "Check the path and the disk.") from error


def _describe(file: BinaryIO, header: Header, path: str, size: int) -> Inspection:
    architecture = header.metadata.get(gguf.Keys.General.ARCHITECTURE)
    architecture = architecture if isinstance(architecture, str) else None
    beginning = f"{architecture}."
    n_ctx_train = header.metadata.get(f"{beginning}context_length")
    arrays = {key: list(values) for key, values in header.arrays.items() if key.startswith(beginning)}
    tokenizer = _under(header.metadata, "tokenizer.ggml.")
    return Inspection(
        path=path, size_bytes=size, version=header.version, architecture=architecture, quantization=_quantization(header),
        n_parameters=sum(n for _, n in header.tensor_types.values()),
        n_ctx_train=n_ctx_train if isinstance(n_ctx_train, int) else None,
        tensor_types={
            _name_of(gguf.GGMLQuantizationType, kind): TensorCount(*count) for kind, count in header.tensor_types.items()
        },
        general={key: value for key, value in _under(header.metadata, "general.").items() if not key.startswith("sampling.")},
        sizes=_under(header.metadata, beginning) | _under(arrays, beginning),
        tokenizer={key: value for key, value in tokenizer.items() if not key.endswith(_TOKEN_ID)},
        n_tokens=header.lengths.get(gguf.Keys.Tokenizer.LIST),
        special_tokens=_special_tokens(file, header, tokenizer),
        chat_templates=_chat_templates(file, header),
        sampling=_under(header.metadata, SAMPLING),
    )


def _under(entries: Mapping, beginning: str) -> dict:
    """The entries whose keys begin so, without that beginning; numbers that JSON hasn't got are written as texts."""
    return {key[len(beginning):]: _plain(value) for key, value in entries.items() if key.startswith(beginning)}


def _plain(value: object) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _quantization(header: Header) -> str | None:
    kind = header.metadata.get(gguf.Keys.General.FILE_TYPE)
    if not isinstance(kind, int):
        return None
    return _name_of(gguf.LlamaFileType, kind).removeprefix("MOSTLY_").removeprefix("ALL_")


def _name_of(names: type, number: int) -> str:
    """The name of a type, or its number if the installed gguf package is older than the type."""
    try:
        return names(number).name
    except ValueError:
        return f"type {number}"


def _special_tokens(file: BinaryIO, header: Header, tokenizer: Mapping[str, Value]) -> dict[str, SpecialToken]:
    ids = {
        key.removesuffix(_TOKEN_ID): value for key, value in tokenizer.items()
        if key.endswith(_TOKEN_ID) and isinstance(value, int) and not isinstance(value, bool)
    }
    texts = _texts_at(file, header, set(ids.values()))
    return {name: SpecialToken(number, texts.get(number)) for name, number in ids.items()}


def _texts_at(file: BinaryIO, header: Header, numbers: Iterable[int]) -> dict[int, str]:
    """The texts of the tokens of these ids. The lengths were held against the file's size when the header was read."""
    key = gguf.Keys.Tokenizer.LIST
    wanted = {number for number in numbers if 0 <= number < header.lengths.get(key, 0)}
    if not wanted or key not in header.positions:
        return {}
    file.seek(header.positions[key])
    found = {}
    length = struct.Struct("<Q")
    for number in range(max(wanted) + 1):
        n = length.unpack(file.read(8))[0]
        if n > TEXT_LIMIT:
            file.seek(n, 1)
            continue
        text = file.read(n)
        if number in wanted:
            found[number] = text.decode(errors="replace")
    return found


def _chat_templates(file: BinaryIO, header: Header) -> dict[str, str | None]:
    keys = [key for key in (*header.metadata, *header.positions) if key == TEMPLATE or key.startswith(f"{TEMPLATE}.")]
    return {key[len(TEMPLATE) + 1 :] or "default": _text_of(file, header, key) for key in keys}


def _text_of(file: BinaryIO, header: Header, key: str) -> str | None:
    if key in header.metadata:
        return str(header.metadata[key])
    file.seek(header.positions[key])
    n = struct.unpack("<Q", file.read(8))[0]
    return file.read(n).decode(errors="replace") if n <= TEMPLATE_LIMIT else None
