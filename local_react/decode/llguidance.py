"""The llguidance engine: masks in microseconds, on any vocabulary.

llguidance never raises for what goes wrong with a grammar or a token; its matcher enters a lasting error state instead, so
every answer of it is checked (llguidance 1.9.1).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np
from llguidance import LLMatcher, LLParserLimits, LLTokenizer

from local_react.decode.constraint import check_compile_time, check_ids, check_row
from local_react.errors import ConstraintError, GrammarError
from local_react.language.emit import to_lark
from local_react.language.grammar import BOUNDS
from local_react.language.regular import Regular
from local_react.llama.vocabulary import Vocabulary

LIMITS = LLParserLimits(step_max_items=5_000_000)
"""The usual limit of 50,000 is too low for one mask of a recursive grammar over 262,144 tokens (llguidance 1.9.1)."""

_CONTROL_MARK = b"\xff"
"""What stands before the name of a special token: no text has that byte."""

_TOKENIZERS: WeakKeyDictionary[Vocabulary, LLTokenizer] = WeakKeyDictionary()


class LlguidanceEngine:
    """Compiles languages through llguidance."""

    name = "llguidance"
    bounds = BOUNDS

    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary not in _TOKENIZERS:
            # Takes 0.2 to 2 seconds, so once for each vocabulary.
            _TOKENIZERS[vocabulary] = _build_tokenizer(vocabulary)
        self._vocabulary = vocabulary
        self._tokenizer = _TOKENIZERS[vocabulary]
        self._compiled: dict[Regular, LLMatcher] = {}

    def match(self, language: Regular, *, limit_s: float | None = None) -> LlguidanceMatcher:
        """A matcher at the beginning of the language. llguidance can't be interrupted: the time is looked at behind it."""
        if language not in self._compiled:
            started = time.monotonic()
            matcher = LLMatcher(self._tokenizer, to_lark(language), log_level=0, limits=LIMITS)
            if matcher.is_error():
                raise GrammarError(f"llguidance can't compile the grammar: {_first_line(matcher.get_error())}")
            check_compile_time(started, limit_s, self.name)
            self._compiled[language] = matcher
        return LlguidanceMatcher(self._compiled[language].deep_copy(), self._vocabulary)


class LlguidanceMatcher:
    """The state of one sequence."""

    def __init__(self, matcher: LLMatcher, vocabulary: Vocabulary) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._bits: np.ndarray | None = None

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""
        is_allowed = self._matcher.validate_tokens([token]) == 1
        self._check()
        return is_allowed

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came."""
        check_ids(ids, self._vocabulary)
        self._matcher.consume_tokens(list(ids))
        self._check()

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of what may not come next to -inf, in place."""
        check_row(logits, self._vocabulary)
        if self._bits is None:
            self._bits = np.empty((logits.size + 31) // 32, dtype=np.int32)
        self._matcher.unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check()
        is_allowed = np.unpackbits(self._bits.view(np.uint8), bitorder="little", count=logits.size)
        logits[is_allowed == 0] = -np.inf

    def _check(self) -> None:
        if self._matcher.is_error():
            raise ConstraintError(f"llguidance can't go on: {_first_line(self._matcher.get_error())}")


def _build_tokenizer(vocabulary: Vocabulary) -> LLTokenizer:
    """What llguidance knows of a vocabulary: the bytes of each token, with a mark of its own before control tokens.

    `llguidance.llamacpp.lltokenizer_from_vocab` marks user-defined tokens in angle brackets, too. Those are text, and
    canonical text has them: the `<tool_call>` of Qwen, for one.
    """
    tokens = [
        _CONTROL_MARK * vocabulary.is_control(token) + vocabulary.piece(token) for token in range(vocabulary.n_tokens)
    ]
    return LLTokenizer.from_llamacpp(
        tokens=tokens, vocab_ptr=vocabulary.pointer, tokenize_fptr=vocabulary.function, eos_token=vocabulary.end_list,
    )


def _first_line(error: str) -> str:
    """What happened, without the state and the grammar that llguidance prints below it."""
    return error.partition("\n")[0]
