"""The machine's memory: one llama_context that holds n sequences over a unified KV cache, and the only llama_decode.

A sequence is a number; what it holds is known by the caller, who says at which position each chunk begins. A context is
used by one thread at a time (llama.cpp crashes otherwise); whoever holds it takes care of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import llama_cpp
import numpy as np

from local_react.errors import DecodeError, ModelError
from local_react.llama import log
from local_react.llama.memory import KV_TYPES
from local_react.llama.placement import read_placement
from local_react.llama.sampling import Sampler, Sampling, view_logits


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextOptions:
    """How a context is made. `n_ctx` is the window of one sequence, in tokens."""

    n_ctx: int
    n_batch: int
    n_threads: int
    flash_attention: bool | None
    type_k: str
    type_v: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens to evaluate in one sequence, from `position` on; `wants_logits` asks for the row of the last one."""

    sequence: int
    ids: Sequence[int]
    position: int
    wants_logits: bool


class Context:
    """A llama_context for `n_parallel` episodes, each in a sequence of its own, numbered from 1.

    It has room for `capacity` of them, and may be lent for fewer. Sequence 0 holds the prefix that they share; `prefix`
    are its token ids. `window` is the number of tokens that one sequence can hold, as llama.cpp granted it; `placement` is
    what its log says about that and the memory taken.
    `n_evaluated` and `n_decode_calls` count everything computed here.
    """

    def __init__(self, model: llama_cpp.llama_model_p, n_vocab: int, options: ContextOptions, n_parallel: int) -> None:
        self.n_parallel = self.capacity = n_parallel
        self.prefix: tuple[int, ...] = ()
        self.n_batch = options.n_batch
        self.n_evaluated = 0
        self.n_decode_calls = 0
        self._n_vocab = n_vocab
        self._pointer = None
        self._batch = None
        with log.recorded() as record:
            self._pointer = llama_cpp.llama_init_from_model(model, _parameters(options, n_parallel))
        if not self._pointer:
            lines = [line.strip() for line in record if "fail" in line or "error" in line] or [line.strip() for line in record]
            reason = "; ".join(lines[-3:]) or "it gave no reason"
            raise ModelError(
                f"llama.cpp can't make a context of {options.n_ctx:,} tokens for {n_parallel} parallel episodes: "
                f"{reason}. Try a smaller n_ctx, fewer parallel episodes, or other KV types."
            )
        granted = llama_cpp.llama_n_ctx(self._pointer)
        self.window: int = min(options.n_ctx, granted)
        self.placement = read_placement("".join(record))
        self._memory = llama_cpp.llama_get_memory(self._pointer)
        self._batch = llama_cpp.llama_batch_init(options.n_batch, 0, 1)

    def decode(self, chunks: Sequence[Chunk]) -> list[int]:
        """Evaluate the chunks in one call, at most `n_batch` tokens in all.

        Returns, for each chunk that wants logits, the row to sample from. Raises DecodeError where llama.cpp refuses.
        """
        batch, rows, n = self._batch, [], 0
        for chunk in chunks:
            for offset, token in enumerate(chunk.ids):
                batch.token[n] = token
                batch.pos[n] = chunk.position + offset
                batch.n_seq_id[n] = 1
                batch.seq_id[n][0] = chunk.sequence
                batch.logits[n] = 0
                n += 1
            if chunk.wants_logits:
                batch.logits[n - 1] = 1
                rows.append(n - 1)
        batch.n_tokens = n
        status = llama_cpp.llama_decode(self._pointer, batch)
        if status != 0:
            raise DecodeError(_explain(status))
        self.n_evaluated += n
        self.n_decode_calls += 1
        return rows

    def logits(self, row: int) -> np.ndarray:
        """The logits of a row, shape (n_vocab,), float32: a view that the next `decode` overwrites."""
        return view_logits(self._pointer, row, self._n_vocab)

    def sampler(self, settings: Sampling) -> Sampler:
        """A new sampler chain on this context."""
        return Sampler(settings, self._pointer, self._n_vocab)

    def copy(self, source: int, target: int, n_tokens: int) -> None:
        """Let `target`, which must be empty, begin with the first `n_tokens` of `source`. Nothing is computed.

        `source` must hold exactly `n_tokens`, since a recurrent state can only be copied whole.
        """
        llama_cpp.llama_memory_seq_cp(self._memory, source, target, 0, n_tokens)

    def clear(self, sequence: int) -> None:
        """Forget everything about a sequence. (Removing a whole sequence never fails, says llama.h.)

        Does nothing on a closed context: an interrupted episode is cleared up after its context is gone.
        """
        if self._pointer is None:
            return
        llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)

    def close(self) -> None:
        """Free the context; closing twice does nothing."""
        batch, self._batch = self._batch, None
        if batch is not None:
            llama_cpp.llama_batch_free(batch)
        pointer, self._pointer = self._pointer, None
        if pointer:
            llama_cpp.llama_free(pointer)

    def __del__(self) -> None:
        self.close()


def _parameters(options: ContextOptions, n_parallel: int) -> llama_cpp.llama_context_params:
    parameters = llama_cpp.llama_context_default_params()
    # The cells are shared, so each episode gets its whole window only when there are enough for all. The prefix needs
    # none of its own: its cells belong to every sequence that begins with it.
    parameters.n_ctx = options.n_ctx * n_parallel
    parameters.n_batch = parameters.n_ubatch = options.n_batch
    parameters.n_seq_max = n_parallel + 1
    # One row of logits a sequence is all that is ever read; the default reserves n_batch rows of the vocabulary.
    parameters.n_outputs_max = n_parallel + 1
    parameters.n_threads = parameters.n_threads_batch = options.n_threads
    parameters.flash_attn_type = {None: -1, False: 0, True: 1}[options.flash_attention]
    parameters.type_k = KV_TYPES[options.type_k]
    parameters.type_v = KV_TYPES[options.type_v]
    parameters.kv_unified = True
    # A sliding-window cache of full size keeps the prefix of every sequence.
    parameters.swa_full = True
    parameters.no_perf = True
    return parameters


def _explain(status: int) -> str:
    reason = {1: "there is no room left in the KV cache", 2: "the computation was aborted"}.get(status, log.recent())
    return f"llama_decode returned {status}: {reason}. Load the model with a larger n_ctx, or run fewer episodes at once."
