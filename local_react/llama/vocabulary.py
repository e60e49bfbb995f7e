"""A model's vocabulary: tokens ⇄ bytes, and which tokens are special.

Invariant: `join(tokenize(text)) == text`, as bytes, on every kind of vocabulary. Text is never stripped, prefixed or
normalised here, and no text becomes a control token unless the caller says `special=True`.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property

import llama_cpp

from local_react.llama import log as _log  # noqa: F401  (our log callback must be in place before any call)

_PIECE_SIZE = 256
_BLANK_SIGN = "▁".encode()
_SPECIAL = (
    llama_cpp.LLAMA_TOKEN_ATTR_CONTROL | llama_cpp.LLAMA_TOKEN_ATTR_UNKNOWN | llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED
)


class Vocabulary:
    """The vocabulary of a loaded model. It must not outlive the model, which holds the memory."""

    def __init__(self, model: llama_cpp.llama_model_p) -> None:
        self.pointer = llama_cpp.llama_model_get_vocab(model)
        self.n_tokens: int = llama_cpp.llama_vocab_n_tokens(self.pointer)
        bos = llama_cpp.llama_vocab_bos(self.pointer)
        self.bos: int | None = bos if bos >= 0 else None
        eos = llama_cpp.llama_vocab_eos(self.pointer)
        self.eos: int | None = eos if eos >= 0 else None
        self.wants_bos: bool = bool(llama_cpp.llama_vocab_get_add_bos(self.pointer)) and self.bos is not None
        self._pieces: dict[int, bytes] = {}
        self._ends: dict[int, bool] = {}

    @property
    def function(self) -> int | None:
        """The address of llama.cpp's `llama_tokenize`, for libraries that call it with `pointer`."""
        return ctypes.cast(llama_cpp.llama_cpp._lib.llama_tokenize, ctypes.c_void_p).value

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        """The canonical token ids of `text`, without BOS. Control tokens are recognised only with `special`.

        Lone surrogates, which UTF-8 can't express, become "?".
        """
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        ids: list[int] = []
        for part, is_text in self._parts(data):
            if is_text or not self._byte_tokens.keys() >= set(part):
                ids += self._tokenize_text(part, special)
            else:
                ids += [self._byte_tokens[byte] for byte in part]
        return ids

    def _parts(self, data: bytes) -> Iterable[tuple[bytes, bool]]:
        """The bytes, cut into what llama.cpp tokenizes without loss and what it would replace (is_text false).

        It turns bytes that are no UTF-8 into U+FFFD, and, on SentencePiece vocabularies, the sign that stands for a blank
        into a blank. Both have to be spelled in byte tokens.
        """
        has_sign = _BLANK_SIGN in data and self._is_sentencepiece
        if not has_sign and not _is_broken(data):
            return [(data, True)] if data else []
        parts = re.split(b"(" + _BLANK_SIGN + b")", data) if has_sign else [data]
        runs: list[tuple[bytes, bool]] = []
        for part in parts:
            if has_sign and part == _BLANK_SIGN:
                runs.append((part, False))
            else:
                runs += _split_broken(part)
        return runs

    def _tokenize_text(self, data: bytes, special: bool) -> list[int]:
        if not self._prefixes_blank:
            return self._tokenize(data, special)
        # llama.cpp puts that blank behind each token that it takes by its name, too; so those are taken out here.
        tokens, pattern = self._named[special]
        ids: list[int] = []
        for part in pattern.split(data):
            ids += [tokens[part]] if part in tokens else self._tokenize_bare(part)
        return ids

    def _tokenize_bare(self, data: bytes) -> list[int]:
        """The ids of a text without names of special tokens, without the blank before it."""
        if not data:
            return []
        # SentencePiece models put a blank before what they tokenize. A line break in front takes that blank,
        # and both are dropped again.
        ids = self._tokenize(b"\n" + data, False)
        n_bytes = 0
        for n_dropped, token in enumerate(ids, 1):
            n_bytes += len(self.piece(token))
            if n_bytes == 2:
                return ids[n_dropped:]
            if n_bytes > 2:
                break
        return self._tokenize(data, False)

    @cached_property
    def _named(self) -> dict[bool, tuple[dict[bytes, int], re.Pattern[bytes]]]:
        """The tokens that llama.cpp takes by their names wherever these stand, with special tokens off (false) and on, and
        what finds the names."""
        kinds: dict[bool, dict[bytes, int]] = {False: {}, True: {}}
        for token in range(self.n_tokens):
            attributes = llama_cpp.llama_vocab_get_attr(self.pointer, token)
            name = llama_cpp.llama_vocab_get_text(self.pointer, token) if attributes & _SPECIAL else b""
            if name:
                kinds[True][name] = token
            if name and attributes & llama_cpp.LLAMA_TOKEN_ATTR_USER_DEFINED:
                kinds[False][name] = token
        patterns = {}
        for special, tokens in kinds.items():
            by_length = sorted(tokens, key=len, reverse=True)
            patterns[special] = re.compile(b"(" + b"|".join(map(re.escape, by_length)) + b")" if by_length else b"(?!)")
        return {special: (tokens, patterns[special]) for special, tokens in kinds.items()}

    def _tokenize(self, data: bytes, special: bool) -> list[int]:
        size = len(data) + 8
        buffer = (llama_cpp.llama_token * size)()
        n = llama_cpp.llama_tokenize(self.pointer, data, len(data), buffer, size, False, special)
        if n < 0:
            size = -n
            buffer = (llama_cpp.llama_token * size)()
            n = llama_cpp.llama_tokenize(self.pointer, data, len(data), buffer, size, False, special)
        return buffer[:n]

    @cached_property
    def _prefixes_blank(self) -> bool:
        return b"".join(map(self.piece, self._tokenize(b"x", False))) == b" x"

    @cached_property
    def _is_sentencepiece(self) -> bool:
        return llama_cpp.llama_vocab_type(self.pointer) == llama_cpp.LLAMA_VOCAB_TYPE_SPM

    @cached_property
    def _byte_tokens(self) -> dict[int, int]:
        """The token of each byte that has one of its own."""
        pieces = ((self.piece(token), token) for token in range(self.n_tokens) if not self.is_control(token))
        tokens: dict[int, int] = {}
        for piece, token in pieces:
            if len(piece) == 1:
                tokens.setdefault(piece[0], token)
        return tokens

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for; control tokens give their name, e.g. b"<|im_end|>"."""
        piece = self._pieces.get(token)
        if piece is None:
            piece = self._pieces[token] = self._read_piece(token)
        return piece

    def _read_piece(self, token: int) -> bytes:
        size = _PIECE_SIZE
        while True:
            buffer = ctypes.create_string_buffer(size)
            n = llama_cpp.llama_token_to_piece(self.pointer, token, buffer, size, 0, True)
            if n >= 0:
                return buffer.raw[:n]
            size = -n

    def longer_pieces(self, prefix: bytes, following: Iterable[int]) -> Iterator[bytes]:
        """The bytes of every token that goes on behind `prefix` with one of the `following` bytes; control tokens are
        left out. A prefix may have thousands of such tokens (a blank has), so only the ranges asked for are walked."""
        pieces = self._sorted_pieces
        for byte in following:
            head = prefix + bytes((byte,))
            for index in range(bisect_left(pieces, head), len(pieces)):
                if not pieces[index].startswith(head):
                    break
                yield pieces[index]

    @cached_property
    def _sorted_pieces(self) -> list[bytes]:
        return sorted({self.piece(token) for token in range(self.n_tokens) if not self.is_control(token)})

    def join(self, ids: Iterable[int]) -> bytes:
        """The bytes of a run of tokens."""
        return b"".join(map(self.piece, ids))

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation: an end-of-generation token (most models have several), or any other
        control token, such as one that begins a turn, which no text can hold."""
        is_end = self._ends.get(token)
        if is_end is None:
            is_end = self._ends[token] = bool(llama_cpp.llama_vocab_is_eog(self.pointer, token)) or self.is_control(token)
        return is_end

    def is_control(self, token: int) -> bool:
        """Whether the token is a control token, which no text may become."""
        return bool(llama_cpp.llama_vocab_is_control(self.pointer, token))

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """Every token that ends a generation."""
        return frozenset(token for token in range(self.n_tokens) if self.is_end(token))

    @cached_property
    def end_list(self) -> list[int]:
        """The end tokens as an index into a row of logits."""
        return sorted(self.end_tokens)


def _is_broken(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _split_broken(data: bytes) -> Iterable[tuple[bytes, bool]]:
    """Runs of whole characters (true) and of bytes that are part of none (false)."""
    while data:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start:
                yield data[: error.start], True
            yield data[error.start : error.end], False
            data = data[error.end :]
        else:
            yield data, True
            return
