"""The GGUF header: read within bounds, whatever the file claims."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import ModelFileError
from local_react.llama.header import ARRAY_LIMIT, READ_LIMIT, STRING_LIMIT, TYPE_SIZES, WINDOW, read_header
from tests.random_models import Encoded, make_model, write_gguf


class CountingFile(io.BytesIO):
    """A file in memory that counts the bytes read from it."""

    n_read = 0

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self.n_read += len(data)
        return data


def read(data: bytes):
    return read_header(io.BytesIO(data), len(data), "x.gguf")


class Sample:
    """A whole model file in memory, and where its header ends (a class, so that hypothesis prints no megabytes)."""

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        self.n_header = min(int(tensor.data_offset) for tensor in gguf.GGUFReader(path).tensors)


@pytest.fixture(scope="module")
def sample(tmp_path_factory) -> Sample:
    return Sample(make_model(tmp_path_factory.mktemp("header") / "random.gguf", n_embd=32, n_head=1, n_layer=1))


def strings(count: int, *lengths: int) -> Encoded:
    body = b"".join(struct.pack("<Q", length) + b"x" * length for length in lengths)
    return Encoded(struct.pack("<IIQ", 9, 8, count) + body)


@pytest.mark.parametrize("options", [{}, {"tokenizer": "sentencepiece"}, {"architecture": "mamba"}])
def test_the_header_says_what_the_gguf_package_says(tmp_path, options):
    path = make_model(tmp_path / "random.gguf", **options)
    data, reader = path.read_bytes(), gguf.GGUFReader(path)
    header = read(data)
    assert (header.version, header.n_tensors, header.end) == (3, len(reader.tensors), len(data))
    for name, field in reader.fields.items():
        if name.startswith("GGUF."):
            continue
        if gguf.GGUFValueType.ARRAY in field.types:
            assert header.lengths[name] == len(field.data)
        else:
            assert header.metadata[name] == field.contents()
    assert len(header.lengths) + len(header.metadata) == len([name for name in reader.fields if "GGUF." not in name])
    kinds = {int(tensor.tensor_type) for tensor in reader.tensors}
    alike = {kind: [int(tensor.n_elements) for tensor in reader.tensors if tensor.tensor_type == kind] for kind in kinds}
    assert header.tensor_types == {kind: (len(sizes), sum(sizes)) for kind, sizes in alike.items()}


def test_what_was_stepped_over_can_be_found_again(tmp_path):
    template = "{{ x }}" * 1000
    path = make_model(tmp_path / "random.gguf", chat_template=template)
    data = path.read_bytes()
    header = read(data)
    assert set(header.positions) == {"tokenizer.chat_template", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"}
    at = header.positions["tokenizer.chat_template"]
    assert data[at : at + 8 + len(template)] == struct.pack("<Q", len(template)) + template.encode()
    at = header.positions["tokenizer.ggml.tokens"]
    assert data[at : at + 9] == struct.pack("<Q", 2) + "Ā".encode()[:1], "the first token is byte 0, spelled as U+0100"


def test_block_sizes_agree_with_the_gguf_package():
    # gguf 0.19 gives Q8_1 40 bytes, ggml 36; the type serves computations only and is in no file.
    known = {int(kind): size for kind, size in gguf.GGML_QUANT_SIZES.items() if kind.name != "Q8_1"}
    assert known == TYPE_SIZES


@pytest.mark.parametrize(
    ("value", "scalar"),
    [
        (np.uint8(7), 7), (np.int8(-7), -7), (np.uint16(7), 7), (np.int16(-7), -7), (7, 7), (np.int32(-7), -7),
        (np.uint64(1 << 40), 1 << 40), (np.int64(-7), -7), (0.5, 0.5), (True, True), ("é", "é"), ("", ""),
        ("x" * 4096, "x" * 4096),
    ],
)
def test_scalars_of_every_type_are_kept(tmp_path, value, scalar):
    header = read(write_gguf(tmp_path / "x.gguf", {"key": value, "last": 5}, {}).read_bytes())
    assert header.metadata == {"key": scalar, "last": 5}


@pytest.mark.parametrize(
    ("value", "length"),
    [([1, 2, 3], 3), ([0.5], 1), (["a", "", "bcd"], 3), ("x" * 5000, 1), (strings(0), 0), (strings(2, 70_000, 3), 2)],
)
def test_arrays_and_long_texts_are_stepped_over(tmp_path, value, length):
    header = read(write_gguf(tmp_path / "x.gguf", {"key": value, "last": 5}, {}).read_bytes())
    assert header.lengths == {"key": length}
    assert header.metadata == {"last": 5}


@given(lengths=st.lists(st.one_of(st.integers(0, 40), st.integers(WINDOW - 20, WINDOW + 20)), max_size=30))
@settings(max_examples=60, deadline=None)
def test_strings_are_stepped_over_wherever_the_window_ends(tmp_path_factory, lengths):
    path = tmp_path_factory.mktemp("strings") / "x.gguf"
    header = read(write_gguf(path, {"key": strings(len(lengths), *lengths), "last": 5}, {}).read_bytes())
    assert header.metadata == {"last": 5}


def test_an_alignment_of_its_own_moves_the_weights(tmp_path):
    tensors = {"a": np.zeros(8, np.float32)}
    plain = read(write_gguf(tmp_path / "x.gguf", {"general.name": "x", "general.size": 1}, tensors).read_bytes())
    aligned = {"general.name": "x", "general.alignment": 4096}
    moved = read(write_gguf(tmp_path / "y.gguf", aligned, tensors).read_bytes())
    assert plain.end < 200
    assert moved.end == 4096 + 32


FAULTS = {
    "nothing": (b"", "cut short"),
    "magic only": (b"GGUF", "cut short"),
    "other magic": (b"GGUX" + bytes(20), "no GGUF file"),
    "version 0": (struct.pack("<4sIQQ", b"GGUF", 0, 0, 0), "version 0, which is too old"),
    "version 1": (struct.pack("<4sIQQ", b"GGUF", 1, 0, 0), "version 1, which is too old"),
    "version 4": (struct.pack("<4sIQQ", b"GGUF", 4, 0, 0), "version 4, newer"),
    "big-endian": (struct.pack(">4sIQQ", b"GGUF", 3, 0, 0), "big-endian"),
    "many tensors": (struct.pack("<4sIQQ", b"GGUF", 3, 1 << 60, 0), "claims 1,152,921,504,606,846,976 tensors"),
    "many entries": (struct.pack("<4sIQQ", b"GGUF", 3, 0, 1 << 31), "claims 2,147,483,648 metadata entries"),
    "no entries": (struct.pack("<4sIQQ", b"GGUF", 3, 0, 9), "cut short"),
    "long key": (struct.pack("<4sIQQQ", b"GGUF", 3, 0, 1, 1 << 62) + bytes(99), "a name of"),
}


@pytest.mark.parametrize(("data", "reason"), FAULTS.values(), ids=FAULTS)
def test_a_fault_at_the_beginning_is_named(data, reason):
    with pytest.raises(ModelFileError, match=reason):
        read(data)


VALUES = {
    "unknown type": (Encoded(struct.pack("<I", 13)), "unknown type 13"),
    "array of arrays": (Encoded(struct.pack("<IIQ", 9, 9, 1)), "array of the unknown type 9"),
    "endless numbers": (Encoded(struct.pack("<IIQ", 9, 4, 1 << 62)), "cut short"),
    "endless strings": (Encoded(struct.pack("<IIQ", 9, 8, 1 << 62)), "an array of 4,611,686,018,427,387,904 strings"),
    "string past the end": (Encoded(struct.pack("<IIQQ", 9, 8, 1, 1 << 20)), "cut short"),
    "string past all numbers": (Encoded(struct.pack("<IIQQQQQ", 9, 8, 4, *[(1 << 64) - 9] * 4)), "cut short"),
    "endless text": (Encoded(struct.pack("<IQ", 8, 1 << 40)), "a text of 1,099,511,627,776 bytes"),
    "odd alignment": (48, "alignment is 48"),
    "no alignment": (0, "alignment is 0"),
    "text as alignment": ("32", "alignment is '32'"),
}


@pytest.mark.parametrize(("value", "reason"), VALUES.values(), ids=VALUES)
def test_a_fault_in_the_metadata_is_named(tmp_path, value, reason):
    data = write_gguf(tmp_path / "x.gguf", {"general.alignment": value}, {}).read_bytes()
    with pytest.raises(ModelFileError, match=reason):
        read(data)


@pytest.mark.parametrize(("keys", "reason"), [((b"a", b"a"), "a key twice"), ((b"a", b""), "an empty key")])
def test_keys_are_different_and_not_empty(keys, reason):
    entries = b"".join(struct.pack("<Q", len(key)) + key + struct.pack("<II", 4, 1) for key in keys)
    with pytest.raises(ModelFileError, match=reason):
        read(struct.pack("<4sIQQ", b"GGUF", 3, 0, 2) + entries)


@pytest.mark.parametrize(
    ("shape", "offset", "reason"),
    [((1,) * 5, 0, "5 dimensions"), ((1 << 40, 1 << 40), 0, "impossible size"), ((1,), 1 << 63, "impossible size")],
)
def test_a_tensor_of_an_impossible_size_is_damage(shape, offset, reason):
    entry = struct.pack(f"<Q1sI{len(shape)}QIQ", 1, b"t", len(shape), *shape, 0, offset)
    with pytest.raises(ModelFileError, match=reason):
        read(struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + entry + bytes(64))


def test_a_tensor_type_that_is_not_known_yet_is_left_to_llama_cpp():
    entry = struct.pack("<Q1sIQIQ", 1, b"t", 1, 64, 999, 32)
    assert read(struct.pack("<4sIQQ", b"GGUF", 3, 1, 0) + entry).end == 64 + 32


@given(keep=st.floats(0, 1, exclude_max=True))
@settings(max_examples=200, deadline=None)
def test_every_cut_inside_the_header_is_seen(sample, keep):
    # Behind the table there are up to 31 bytes of padding, which nobody reads.
    with pytest.raises(ModelFileError, match="cut short"):
        read(sample.data[: int((sample.n_header - 32) * keep)])


@given(flips=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(1, 255)), min_size=1, max_size=8))
@settings(max_examples=400, deadline=None)
def test_flipped_bytes_raise_nothing_else_and_read_little(sample, flips):
    data = bytearray(sample.data)
    for at, change in flips:
        data[int(at * sample.n_header)] ^= change
    file = CountingFile(bytes(data))
    try:
        read_header(file, len(data), "x.gguf")
    except ModelFileError as error:
        assert error.path == "x.gguf"
    assert file.n_read <= len(data) + WINDOW


@given(data=st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_noise_behind_the_magic_raises_nothing_else(data):
    with pytest.raises(ModelFileError):
        read(b"GGUF\3\0\0\0" + data[:16].ljust(16, b"\1") + data[16:])


def test_no_file_makes_the_reader_read_more_than_its_limit():
    class Endless(CountingFile):
        """A file of strings, each longer than the window, without an end."""

        def read(self, size: int | None = -1) -> bytes:
            self.n_read += size
            return struct.pack("<Q", WINDOW) + bytes(size - 8)

    file = Endless()
    start = struct.pack("<4sIQQQ1sIIQ", b"GGUF", 3, 0, 1, 1, b"k", 9, 8, STRING_LIMIT)
    file.read = _after(start, file.read)
    with pytest.raises(ModelFileError, match="longer than 64 MiB"):
        read_header(file, 1 << 50, "x.gguf")
    assert file.n_read <= READ_LIMIT + WINDOW


def _after(start: bytes, read):
    """A read function whose first answer begins with `start`."""
    beginnings = [start]

    def answer(size: int) -> bytes:
        data = read(size)
        return (beginnings.pop() + data)[:size] if beginnings else data

    return answer


def test_a_full_vocabulary_is_read_without_the_numbers_that_go_with_it(tmp_path):
    n = 100_000
    metadata = {"tokens": strings(n, *[6] * n), "scores": [0.5] * n, "types": [1] * n, "last": 5}
    data = write_gguf(tmp_path / "x.gguf", metadata, {}).read_bytes()
    file = CountingFile(data)
    header = read_header(file, len(data), "x.gguf")
    assert header.lengths == {"tokens": n, "scores": n, "types": n}
    assert header.metadata == {"last": 5}
    assert file.n_read <= n * 14 + 4 * WINDOW


def test_short_arrays_of_numbers_are_kept_and_long_ones_stepped_over(tmp_path):
    changes = {"llama.attention.head_count_kv": [2, 0], "a.long": [1.5] * (ARRAY_LIMIT + 1), "a.text": ["x"], "a.none": []}
    header = read(make_model(tmp_path / "random.gguf", changes=changes).read_bytes())
    arrays = {key: values for key, values in header.arrays.items() if not key.startswith("tokenizer.")}
    assert arrays == {"llama.attention.head_count_kv": (2, 0), "a.none": ()}
    assert (header.lengths["a.long"], header.lengths["llama.attention.head_count_kv"]) == (ARRAY_LIMIT + 1, 2)
