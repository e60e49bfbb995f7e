"""The header of a GGUF file: its metadata and its table of tensors, read without loading anything.

Invariant: at most `READ_LIMIT` bytes are read and `STRING_LIMIT` strings stepped over, whatever the file claims about
itself, and every claim is held against the file's size before it is believed. Arrays are stepped over but for short ones
of numbers, and so are long texts.
A file that can't be read raises ModelFileError and nothing else. Refuses to judge what the metadata mean (`files.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from local_react.errors import ModelFileError

DAMAGED = "The file is damaged: download it again."
UPDATE = "Update llama-cpp-python (`pip install -U llama-cpp-python`), or take an older conversion of the model."

WINDOW = 1 << 16
READ_LIMIT = 64 << 20
STRING_LIMIT = 1 << 20
"""Largest known need: 650,000 (200,000 tokens and 450,000 merges), 15 MB."""

ENTRY_LIMIT = 1 << 16
TENSOR_LIMIT = 1 << 44
"""Bytes, and elements; the largest model files have under 2 ** 41 bytes in all."""

TEXT_LIMIT = 4096
"""Longer texts (chat templates) are stepped over."""

ARRAY_LIMIT = 1024
"""Longer arrays (of tokens) are stepped over; those with a number for each layer are shorter."""

LLAMA_STRING_LIMIT = 1 << 30
"""llama.cpp refuses longer strings."""

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9

TYPE_SIZES = {
    0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34),
    10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 15: (256, 292), 16: (256, 66),
    17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82), 23: (256, 136),
    24: (1, 1), 25: (1, 2), 26: (1, 4), 27: (1, 8), 28: (1, 8), 29: (256, 56), 30: (1, 2), 34: (256, 54),
    35: (256, 66), 39: (32, 17), 40: (64, 36), 41: (128, 18),
}
"""Elements and bytes of a block, by ggml's number of the tensor type. A type that isn't here is left to llama.cpp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What the header says: scalar metadata, the lengths of arrays, the short ones of numbers, and `end`, the bytes the
    file must have.

    `positions` tells where the long texts and the arrays of texts stand that were stepped over, in bytes from the file's
    beginning, and `tensor_types` how many tensors and how many numbers there are of each of ggml's types.
    """

    version: int
    n_tensors: int
    metadata: Mapping[str, int | float | bool | str]
    lengths: Mapping[str, int]
    arrays: Mapping[str, tuple[int | float, ...]]
    positions: Mapping[str, int]
    tensor_types: Mapping[int, tuple[int, int]]
    end: int


def read_header(file: BinaryIO, size: int, path: object) -> Header:
    """The header of the GGUF file `file`, which has `size` bytes. Raises ModelFileError naming `path`."""
    reader = _Reader(file, size, path)
    version = _read_version(reader)
    n_tensors, n_entries = reader.number("<Q"), reader.number("<Q")
    for count, what in ((n_tensors, "tensors"), (n_entries, "metadata entries")):
        if count > ENTRY_LIMIT:
            raise reader.damaged(f"its header claims {count:,} {what}")
    metadata: dict[str, int | float | bool | str] = {}
    lengths: dict[str, int] = {}
    arrays: dict[str, tuple[int | float, ...]] = {}
    positions: dict[str, int] = {}
    for _ in range(n_entries):
        key = reader.name()
        if not key or key in metadata or key in lengths:
            raise reader.damaged(f"its metadata hold {'a key twice' if key else 'an empty key'}")
        _read_entry(reader, key, metadata, lengths, arrays, positions)
    tensor_types: dict[int, tuple[int, int]] = {}
    end = _read_tensor_table(reader, n_tensors, _alignment(reader, metadata), tensor_types)
    return Header(
        version=version, n_tensors=n_tensors, metadata=metadata, lengths=lengths, arrays=arrays, positions=positions,
        tensor_types=tensor_types, end=end,
    )


def _read_version(reader: _Reader) -> int:
    if reader.take(4) != b"GGUF":
        raise ModelFileError(reader.path, "is no GGUF file", "Give a model in GGUF format.")
    version = reader.number("<I")
    # llama.cpp's own test: a small number written in the other byte order has its low half empty.
    if version and not version & 0xFFFF:
        raise ModelFileError(reader.path, "is a big-endian GGUF file", "Take the little-endian file of this model.")
    if version < 2:
        raise ModelFileError(reader.path, f"is a GGUF file of version {version}, which is too old for llama.cpp",
                             "Take a newer conversion of the model.")
    if version > 3:
        raise ModelFileError(reader.path, f"is a GGUF file of version {version}, newer than llama.cpp knows", UPDATE)
    return version


def _read_entry(reader: _Reader, key: str, metadata: dict, lengths: dict[str, int], arrays: dict, positions: dict) -> None:
    kind = reader.number("<I")
    if kind in _SCALARS:
        metadata[key] = reader.number(_SCALARS[kind])
    elif kind == _STRING:
        start, text = reader.position, reader.text()
        if text is None:
            lengths[key] = 1
            positions[key] = start
        else:
            metadata[key] = text
    elif kind == _ARRAY:
        kind, count = reader.number("<I"), reader.number("<Q")
        lengths[key] = count
        if kind in _SCALARS and count <= ARRAY_LIMIT:
            form = f"<{count}{_SCALARS[kind][1]}"
            arrays[key] = struct.unpack(form, reader.take(struct.calcsize(form)))
        elif kind in _SCALARS:
            reader.skip(count * struct.calcsize(_SCALARS[kind]))
        elif kind == _STRING:
            positions[key] = reader.position
            reader.skip_strings(count)
        else:
            raise reader.damaged(f"its metadata hold an array of the unknown type {kind}")
    else:
        raise reader.damaged(f"its metadata hold a value of the unknown type {kind}")


def _alignment(reader: _Reader, metadata: Mapping[str, object]) -> int:
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise reader.damaged(f"its alignment is {alignment!r}, not a power of two")
    return alignment


def _read_tensor_table(reader: _Reader, n_tensors: int, alignment: int, types: dict[int, tuple[int, int]]) -> int:
    """Steps over the tensor table, counts tensors and numbers by type, and returns where the last tensor ends."""
    end = 0
    for _ in range(n_tensors):
        name = reader.name()
        n_dimensions = reader.number("<I")
        if n_dimensions > 4:
            raise reader.damaged(f"its tensor {name!r} has {n_dimensions} dimensions")
        elements = 1
        for _ in range(n_dimensions):
            elements *= reader.number("<Q")
        kind, offset = reader.number("<I"), reader.number("<Q")
        block, block_bytes = TYPE_SIZES.get(kind, (1, 0))
        size = elements // block * block_bytes
        if max(elements, offset, size) > TENSOR_LIMIT:
            raise reader.damaged(f"its tensor {name!r} has an impossible size")
        end = max(end, offset + size)
        n_so_far, n_elements = types.get(kind, (0, 0))
        types[kind] = (n_so_far + 1, n_elements + elements)
    if not n_tensors:
        return reader.position
    return -(-reader.position // alignment) * alignment + end


class _Reader:
    """A bounded walk over a file: small numbers and texts come from a window, everything else is stepped over."""

    def __init__(self, file: BinaryIO, size: int, path: object) -> None:
        self.path = path
        self.position = 0
        self._file = file
        self._size = size
        self._window = b""
        self._start = 0
        self._n_read = 0
        self._n_strings = 0

    def damaged(self, what: str) -> ModelFileError:
        return ModelFileError(self.path, f"is damaged: {what}", DAMAGED)

    def take(self, n: int) -> bytes:
        """The next `n` bytes (at most `WINDOW`)."""
        at = self._see(n)
        self.position += n
        return self._window[at : at + n]

    def number(self, form: str) -> int:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def skip(self, n: int) -> None:
        if self.position + n > self._size:
            raise self._cut()
        self.position += n

    def name(self) -> str:
        """The next string, which must be short."""
        n = self.number("<Q")
        if n > TEXT_LIMIT:
            raise self.damaged(f"its header holds a name of {n:,} bytes")
        return self.take(n).decode(errors="replace")

    def text(self) -> str | None:
        """The next string, or None for one over TEXT_LIMIT bytes, which is stepped over."""
        n = self.number("<Q")
        if n > LLAMA_STRING_LIMIT:
            raise self.damaged(f"its header holds a text of {n:,} bytes")
        if n > TEXT_LIMIT:
            self.skip(n)
            return None
        return self.take(n).decode(errors="replace")

    def skip_strings(self, count: int) -> None:
        """Steps over `count` strings; the inner loop is bare because vocabularies hold hundreds of thousands."""
        self._n_strings += count
        if self._n_strings > STRING_LIMIT:
            raise self.damaged(f"its metadata claim an array of {count:,} strings")
        length_at = struct.Struct("<Q").unpack_from
        while count:
            at, window, n_done = self._see(8), self._window, 0
            try:
                for n_done in range(count):  # noqa: B007 (read behind the loop)
                    at += 8 + length_at(window, at)[0]
                n_done = count
            except (struct.error, OverflowError):  # the next length lies behind the window, or far beyond any file
                pass
            count -= n_done
            self.position = self._start + at
            if self.position > self._size:
                raise self._cut()

    def _see(self, n: int) -> int:
        """Brings `n` bytes from the position on into the window and returns where they start in it."""
        if self.position + n > self._size:
            raise self._cut()
        at = self.position - self._start
        if not 0 <= at <= len(self._window) - n:
            if self._n_read >= READ_LIMIT:
                raise self.damaged(f"its header is longer than {READ_LIMIT >> 20} MiB")
            self._file.seek(self.position)
            self._start, self._window, at = self.position, self._file.read(WINDOW), 0
            self._n_read += len(self._window)
            if len(self._window) < n:  # the file shrank since its size was taken
                raise self._cut()
        return at

    def _cut(self) -> ModelFileError:
        return ModelFileError(self.path, f"is cut short inside its header, or damaged ({self._size:,} bytes)", DAMAGED)
