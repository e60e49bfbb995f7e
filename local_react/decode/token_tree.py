"""The tokens of a vocabulary as a tree of bytes, so that an automaton over bytes answers for all of them in one go.

Tokens that begin alike share that beginning: each byte of it is followed once. Tokens that are no text (control and end
tokens, and those without a byte) lead nowhere from any state.
"""

from __future__ import annotations

import numpy as np

from local_react.llama.vocabulary import Vocabulary

DEAD = 0
"""The number of the state from which nothing goes on."""


class TokenTree:
    """One vocabulary's tree. It costs a few bytes for each distinct beginning of a token."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.n_tokens = vocabulary.n_tokens
        texts = sorted((vocabulary.piece(token), token) for token in range(self.n_tokens) if not vocabulary.is_end(token))
        pieces = [piece for piece, _ in texts if piece]
        tokens = np.array([token for piece, token in texts if piece], np.intp)
        lengths = np.array([len(piece) for piece in pieces], np.intp)
        rows = np.zeros((len(pieces), int(lengths.max(initial=0))), np.uint8)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = np.frombuffer(b"".join(pieces), np.uint8)
        n_common = _common_lengths(rows, lengths)
        self._levels: list[tuple[np.ndarray, np.ndarray]] = []
        # The node in which each token ends, counted over all levels from 1: at 0 stands what is no text.
        self._nodes = np.zeros(self.n_tokens, np.intp)
        n_before, above = 1, np.zeros(len(pieces), np.intp)
        for depth in range(rows.shape[1]):
            is_first = (lengths > depth) & (n_common <= depth)
            own = np.cumsum(is_first) - 1
            self._levels.append((above[is_first].astype(np.int32), rows[is_first, depth].astype(np.int32)))
            ends = lengths == depth + 1
            self._nodes[tokens[ends]] = n_before + own[ends]
            n_before, above = n_before + int(is_first.sum()), own
        self._n_nodes = n_before

    def walk(self, table: np.ndarray, state: int) -> np.ndarray:
        """The state behind each token from `state`, `DEAD` where it can't come; shape (n_tokens,).

        `table` has the state behind each state and byte, shape (n_states, 256), with `DEAD` leading to itself.
        """
        found = np.zeros(self._n_nodes, table.dtype)
        steps, states, start = table.reshape(-1), np.array([state], table.dtype), 1
        for parents, data in self._levels:
            states = steps[states[parents] * table.shape[1] + data]
            if not states.any():
                break
            found[start : start + states.size] = states
            start += states.size
        return found[self._nodes]


def _common_lengths(rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """How many bytes each row has in common with the row before it."""
    n_common = np.zeros(len(rows), np.intp)
    if len(rows) > 1:
        is_other = rows[1:] != rows[:-1]
        differs = np.where(is_other.any(axis=1), is_other.argmax(axis=1), rows.shape[1])
        n_common[1:] = np.minimum(differs, np.minimum(lengths[1:], lengths[:-1]))
    return n_common
