"""Tiny GGUF models with random weights, so that tests can run the real llama.cpp in milliseconds.

`make_model` writes one; the same arguments give the same bytes. The vocabulary is a small byte-level one made here, a
small SentencePiece one with byte fallback, or a whole one copied from another GGUF. What such a model writes means
nothing, which makes it the harshest of authors. `write_gguf` is the layer below, for files with a fault in them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.random_architectures import ARCHITECTURES

NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6
ALIGNMENT = 32

WORDS = (
    "Thought", "Action", "Observation", "Answer", "Notice", "Question", " the", " a", " is", " of", "search", " search",
    "finish", "lookup", "tion", "ing", "er", "\n\n", "  ", "```", '="', '"]', "日本", "é", "🙂",
)
"""What the small vocabularies join into single tokens, each with all its beginnings."""


@dataclass(frozen=True)
class Encoded:
    """A metadata value (type number included) as it stands in a GGUF file."""

    data: bytes


Value = bool | int | float | str | list | np.generic | Encoded


def make_model(
    path: Path, *, architecture: str = "llama", vocabulary: Path | None = None, tokenizer: str = "bpe",
    add_space_prefix: bool = True, add_bos_token: bool = False, chat_template: str | None = None, seed: int = 0,
    n_embd: int = 64, n_layer: int = 2, n_head: int = 2, n_ctx_train: int = 2048,
    control: Sequence[str] = (), changes: Mapping[str, Value | None] | None = None, with_weights: bool = True,
) -> Path:
    """Writes a model of one of the ARCHITECTURES to `path` and returns it. The memory of "mamba" (recurrent) and "lfm2" (half
    of the layers are) can't be cut back.

    `tokenizer` is "bpe" or "sentencepiece", and `control` names further control tokens; a path as `vocabulary` copies that GGUF's tokenizer instead, and then the
    other options of the tokenizer are not used. `changes` sets metadata keys, or drops them with None.
    """
    if vocabulary is not None:
        words, n_vocab = copy_vocabulary(vocabulary)
    else:
        tokens, words = {"bpe": byte_level_vocabulary, "sentencepiece": sentencepiece_vocabulary}[tokenizer]()
        for name in control:
            tokens.append(name)
            words["tokenizer.ggml.token_type"] = [*words["tokenizer.ggml.token_type"], CONTROL]
            if "tokenizer.ggml.scores" in words:
                words["tokenizer.ggml.scores"] = [*words["tokenizer.ggml.scores"], 0.0]
        words["tokenizer.ggml.tokens"] = tokens
        n_vocab = len(tokens)
        words |= {"tokenizer.ggml.add_bos_token": add_bos_token, "tokenizer.ggml.add_space_prefix": add_space_prefix}
        if chat_template is not None:
            words["tokenizer.chat_template"] = chat_template
    random = np.random.default_rng(seed)
    sizes, tensors = ARCHITECTURES[architecture](random, n_vocab=n_vocab, n_embd=n_embd, n_layer=n_layer, n_head=n_head)
    metadata: dict[str, Value | None] = {
        "general.architecture": architecture,
        "general.type": "model",
        "general.name": "random",
        f"{architecture}.context_length": n_ctx_train,
        f"{architecture}.embedding_length": n_embd,
        f"{architecture}.block_count": n_layer,
        f"{architecture}.vocab_size": n_vocab,
        f"{architecture}.attention.layer_norm_rms_epsilon": 1e-5,
    }
    metadata |= {f"{architecture}.{key}": value for key, value in sizes.items()} | words | dict(changes or {})
    kept = {key: value for key, value in metadata.items() if value is not None}
    return write_gguf(path, kept, tensors if with_weights else {})


def byte_level_vocabulary() -> tuple[list[str], dict[str, Value]]:
    """A "gpt2" vocabulary: 256 bytes, the WORDS by merging, three control tokens of which two end a generation."""
    letters = _byte_letters()
    tokens, merges = list(letters), []
    for word in WORDS:
        symbols = [letters[byte] for byte in word.encode()]
        for end in range(1, len(symbols)):
            joined = "".join(symbols[: end + 1])
            if joined not in tokens:
                tokens.append(joined)
                merges.append("".join(symbols[:end]) + " " + symbols[end])
    kinds = [NORMAL] * len(tokens) + [CONTROL] * 3
    tokens += ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return tokens, {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.bos_token_id": len(tokens) - 2,
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
    }


def _byte_letters() -> list[str]:
    """The letter for each byte in a byte-level vocabulary: itself if it is visible, else one from 256 on."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    hidden = iter(range(256, 512))
    return [chr(byte if byte in visible else next(hidden)) for byte in range(256)]


def sentencepiece_vocabulary() -> tuple[list[str], dict[str, Value]]:
    """A "llama" vocabulary: unknown, begin, end, 256 byte tokens, ASCII and WORDS with scores, a second end."""
    pieces = ["▁", *(chr(letter) for letter in range(0x21, 0x7F))]
    for word in WORDS:
        piece = word.replace(" ", "▁")
        pieces += [piece[:end] for end in range(1, len(piece) + 1) if "\n" not in piece]
    pieces = list(dict.fromkeys(pieces))
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), *pieces, "<end_of_turn>"]
    kinds = [UNKNOWN, CONTROL, CONTROL, *[BYTE] * 256, *[NORMAL] * len(pieces), CONTROL]
    scores = [0.0] * 259 + [-float(rank) for rank in range(len(pieces))] + [0.0]
    return tokens, {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.pre": "default",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.scores": scores,
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
    }


_SCALAR_FORMS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


def copy_vocabulary(source: Path) -> tuple[dict[str, Value], int]:
    """The tokenizer entries of a GGUF as they stand, and the number of tokens. Reads the metadata only."""
    with source.open("rb") as file:
        n_entries = struct.unpack("<4sIQQ", file.read(24))[3]
        data, at = file.read(32 << 20), 0
    entries: dict[str, Value] = {}
    n_tokens = 0
    for _ in range(n_entries):
        n = struct.unpack_from("<Q", data, at)[0]
        key = data[at + 8 : at + 8 + n].decode()
        start = at + 8 + n
        at = _value_end(data, start)
        if key.startswith("tokenizer."):
            entries[key] = Encoded(data[start:at])
        if key == "tokenizer.ggml.tokens":
            n_tokens = struct.unpack_from("<Q", data, start + 8)[0]
    return entries, n_tokens


def _value_end(data: bytes, at: int) -> int:
    kind, at, count = struct.unpack_from("<I", data, at)[0], at + 4, 1
    if kind == _ARRAY:
        kind, count = struct.unpack_from("<IQ", data, at)
        at += 12
    if kind != _STRING:
        return at + count * struct.calcsize("<" + _SCALAR_FORMS[kind])
    length_at = struct.Struct("<Q").unpack_from
    for _ in range(count):
        at += 8 + length_at(data, at)[0]
    return at


def write_gguf(path: Path, metadata: Mapping[str, Value], tensors: Mapping[str, np.ndarray], version: int = 3) -> Path:
    """Writes a GGUF file of these metadata and tensors (float32 or float16) and returns its path."""
    head = struct.pack("<4sIQQ", b"GGUF", version, len(tensors), len(metadata))
    head += b"".join(_string(key) + _encode(value) for key, value in metadata.items())
    table, body, offset = [], [], 0
    for name, array in tensors.items():
        shape = array.shape[::-1]
        kind = {np.dtype(np.float32): 0, np.dtype(np.float16): 1}[array.dtype]
        table.append(_string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, offset))
        body.append(_padded(array.tobytes()))
        offset += len(body[-1])
    path.write_bytes(_padded(head + b"".join(table)) + b"".join(body))
    return path


def _encode(value: Value) -> bytes:
    match value:
        case Encoded(data):
            return data
        case np.generic():
            kind = {"u1": 0, "i1": 1, "u2": 2, "i2": 3, "u4": 4, "i4": 5, "u8": 10, "i8": 11}[value.dtype.str[1:]]
            return struct.pack("<I", kind) + value.tobytes()
        case str():
            return struct.pack("<I", _STRING) + _string(value)
        case [str(), *_]:
            return struct.pack("<IIQ", _ARRAY, _STRING, len(value)) + b"".join(map(_string, value))
        case [float(), *_]:
            return struct.pack(f"<IIQ{len(value)}f", _ARRAY, 6, len(value), *value)
        case [*_]:
            return struct.pack(f"<IIQ{len(value)}i", _ARRAY, 5, len(value), *value)
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
    raise TypeError(f"GGUF has no place for {value!r}")


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % ALIGNMENT)
