"""llama.cpp's own grammar sampler, asked about one token or about all.

A grammar that llama.cpp can't parse makes `llama_sampler_init_grammar` return NULL, and using that kills the process; so
does accepting a token that the grammar doesn't allow. Neither can happen through this class: every text is checked
before llama.cpp sees it (15 ms for the grammar of 50 tools), and what it returns is looked at too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import llama_cpp
import numpy as np

from local_react.errors import ConstraintError, GrammarError
from local_react.llama import log
from local_react.llama.gbnf_check import ROOT, check_gbnf
from local_react.llama.vocabulary import Vocabulary

_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class NativeGrammar:
    """A GBNF grammar with its state for one sequence. Raises GrammarError for a text that llama.cpp can't parse."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._pointer = _parse(text, vocabulary)
        self._one = np.zeros(1, _CANDIDATE)
        self._one_array = _array_over(self._one)
        self._all: np.ndarray | None = None

    def copy(self) -> NativeGrammar:
        """A grammar in the same state that goes its own way."""
        copy = NativeGrammar.__new__(NativeGrammar)
        copy._vocabulary = self._vocabulary
        copy._pointer = llama_cpp.llama_sampler_clone(self._pointer)
        copy._one = np.zeros(1, _CANDIDATE)
        copy._one_array = _array_over(copy._one)
        copy._all = None
        return copy

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""
        self._one[0] = (token, 0.0, 0.0)
        self._one_array.size = 1
        llama_cpp.llama_sampler_apply(self._pointer, ctypes.byref(self._one_array))
        return bool(np.isfinite(self._one["logit"][0]))

    def accept(self, token: int) -> None:
        """The token came. Raises ConstraintError where it isn't allowed."""
        if not self.allows(token):
            piece = self._vocabulary.piece(token)
            raise ConstraintError(f"The grammar doesn't allow the token {token} ({piece!r}) here.")
        llama_cpp.llama_sampler_accept(self._pointer, token)

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of all tokens that may not come next to -inf, in place; shape (n_vocab,), float32."""
        if self._all is None:
            self._all = np.zeros(logits.size, _CANDIDATE)
        self._all["id"] = np.arange(logits.size, dtype=np.int32)
        self._all["logit"] = logits
        array = _array_over(self._all)
        llama_cpp.llama_sampler_apply(self._pointer, ctypes.byref(array))
        # Nothing in the chain is sorted, so each candidate still stands at its own index.
        logits[~np.isfinite(self._all["logit"])] = -np.inf

    def __del__(self, _free: Callable[[object], None] = llama_cpp.llama_sampler_free) -> None:
        # Bound early: when the interpreter ends, the module may be gone before the last grammar.
        pointer, self._pointer = getattr(self, "_pointer", None), None
        if pointer:
            _free(pointer)


def _array_over(candidates: np.ndarray) -> llama_cpp.llama_token_data_array:
    data = candidates.ctypes.data_as(llama_cpp.llama_token_data_p)
    return llama_cpp.llama_token_data_array(data=data, size=candidates.size, selected=-1, sorted=False)


def _parse(text: str, vocabulary: Vocabulary) -> llama_cpp.llama_sampler_p:
    check_gbnf(text)
    with log.recorded() as record:
        pointer = llama_cpp.llama_sampler_init_grammar(vocabulary.pointer, text.encode("utf-8"), ROOT.encode())
    if not pointer:
        reason = " ".join("".join(record).split()) or "no reason given"
        raise GrammarError(f"llama.cpp can't read the grammar: {reason}")
    return pointer
