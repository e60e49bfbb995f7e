"""The tree of a vocabulary's tokens: what it finds for all of them at once is what following each byte by byte finds."""

from __future__ import annotations

import numpy as np
import pytest

from local_react.decode.token_tree import DEAD, TokenTree
from local_react.llama.model import Model
from local_react.llama.vocabulary import Vocabulary

N_STATES = 7


def automaton(seed: int) -> np.ndarray:
    """A random table in which a third of all steps is dead."""
    source = np.random.default_rng(seed)
    table = source.integers(1, N_STATES, (N_STATES, 256), dtype=np.int32)
    table[source.random(table.shape) < 1 / 3] = DEAD
    table[DEAD] = DEAD
    return table


def follow(table: np.ndarray, state: int, piece: bytes) -> int:
    for byte in piece:
        state = int(table[state, byte])
    return state


@pytest.mark.parametrize("seed", range(5))
def test_every_token_is_followed_to_where_its_bytes_lead(tiny_model: Model, seed: int) -> None:
    vocabulary, table = tiny_model.vocabulary, automaton(seed)
    tree = TokenTree(vocabulary)
    for state in range(N_STATES):
        expected = [
            DEAD if vocabulary.is_end(token) else follow(table, state, vocabulary.piece(token))
            for token in range(vocabulary.n_tokens)
        ]
        assert tree.walk(table, state).tolist() == expected


def test_tokens_that_are_no_text_lead_nowhere(tiny_model: Model) -> None:
    vocabulary, table = tiny_model.vocabulary, np.ones((2, 256), np.int32)
    table[DEAD] = DEAD
    found = TokenTree(vocabulary).walk(table, 1)
    assert vocabulary.end_list and not found[vocabulary.end_list].any()
    assert (found == 1).sum() == vocabulary.n_tokens - len(vocabulary.end_list)


class Pieces(Vocabulary):
    """A vocabulary of given pieces; an end token is None."""

    def __init__(self, *pieces: bytes | None) -> None:
        self.given = pieces
        self.n_tokens = len(pieces)

    def piece(self, token: int) -> bytes:
        return self.given[token] or b""

    def is_end(self, token: int) -> bool:
        return self.given[token] is None


@pytest.mark.parametrize("pieces", [
    (), (None,), (b"",), (b"a",), (b"", b"a", b"", b"ab"), (b"\0", b"\0\0", b"", b"\0a"), (b"ab", b"ab", b"a", None, b"abc", b"b"),
    (b"a" * 300, b"a" * 299, b"\xff\xfe"),
])
def test_odd_vocabularies_have_a_tree(pieces: tuple[bytes | None, ...]) -> None:
    """Regression: a piece that ends in a zero byte is longer than the one without."""
    table = np.zeros((400, 256), np.int32)
    table[1:-1] = np.arange(2, 400, dtype=np.int32)[:, None]
    found = TokenTree(Pieces(*pieces)).walk(table, 1)
    assert found.tolist() == [1 + len(piece) if piece else DEAD for piece in pieces]
