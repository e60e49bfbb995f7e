"""The outlines engine: the language as one regular expression, which outlines-core compiles to an index.

The index is over the 256 bytes, and a token is followed byte by byte. An index over a model's own tokens holds every
pair of state and token: for the demo's tools 7.5 s of work with 49,152 tokens, and 36 s and 5 GB with 262,144
(outlines-core 0.2.14). Over bytes it takes 0.1 s, tokens that split a character are tokens like all others, and which
tokens may come in a state is found when a sequence gets there, and kept.

What it can't do is said before anything is decoded: a language that no regular expression spells, and one whose index
takes longer than the limit; the index is built in a process of its own, which can be stopped.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from outlines_core import Index

from local_react.decode.constraint import REGEX_BOUNDS, check_ids, check_row
from local_react.decode.outlines_child import N_BYTES
from local_react.decode.token_tree import DEAD, TokenTree
from local_react.errors import ConstraintCompileTimeout, ConstraintError, GrammarError
from local_react.language.emit import to_regex
from local_react.language.regular import Characters, Choice, Literal, Regular, Repeat, Sequence as Parts
from local_react.llama.vocabulary import Vocabulary

CHILD = "local_react.decode.outlines_child"
"""The program that builds an index."""

OTHERS = "The engines llguidance and gbnf can."

MARKS = (*range(0x20), 0x7F)
"""The characters of which one stands round every word: those that a language hardly ever holds."""

N_KEPT = 16
"""So many compiled languages are kept: a table takes 4 MB for the demo's tools, and grounded steps have one each."""


class OutlinesEngine:
    """Compiles languages through outlines-core."""

    name = "outlines"
    bounds = REGEX_BOUNDS

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._compiled: dict[Regular, _Automaton] = {}

    @cached_property
    def _tree(self) -> TokenTree:
        # Takes 0.3 to 2 seconds, so once for each vocabulary.
        return TokenTree(self._vocabulary)

    def match(self, language: Regular, *, limit_s: float | None = None) -> OutlinesMatcher:
        """A matcher at the beginning of the language."""
        automaton = self._compiled.pop(language, None)
        if automaton is None:
            mark = find_mark(language)
            index = build_index(f"\\x{{{mark:X}}}{_spell(language)}\\x{{{mark:X}}}", limit_s)
            automaton = _Automaton(*read_index(index, mark), self._vocabulary, self._tree)
        self._compiled[language] = automaton
        if len(self._compiled) > N_KEPT:
            del self._compiled[next(iter(self._compiled))]
        return OutlinesMatcher(automaton)


class OutlinesMatcher:
    """The state of one sequence."""

    def __init__(self, automaton: _Automaton) -> None:
        self._automaton = automaton
        self._state = automaton.start

    def allows(self, token: int) -> bool:
        """Whether the token may come next."""
        return self._automaton.step(self._state, token) != DEAD

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came."""
        check_ids(ids, self._automaton.vocabulary)
        for token in ids:
            state = self._automaton.step(self._state, token)
            if state == DEAD:
                piece = self._automaton.vocabulary.piece(token)
                raise ConstraintError(f"The language doesn't allow the token {token} ({piece!r}) here.")
            self._state = state

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of what may not come next to -inf, in place."""
        check_row(logits, self._automaton.vocabulary)
        np.copyto(logits, -np.inf, where=self._automaton.refused(self._state))


class _Automaton:
    """A compiled language on a vocabulary: sequences share it, and what it has found out about its states."""

    def __init__(self, table: np.ndarray, start: int, vocabulary: Vocabulary, tree: TokenTree) -> None:
        self.start = start
        self.vocabulary = vocabulary
        self._table = table
        self._tree = tree
        self._refused: dict[int, np.ndarray] = {}

    def step(self, state: int, token: int) -> int:
        """The state behind a token, `DEAD` where it may not come. No text becomes a control token."""
        if self.vocabulary.is_end(token):
            return DEAD
        piece = self.vocabulary.piece(token)
        if not piece:
            return DEAD
        for byte in piece:
            state = self._table.item(state, byte)
            if state == DEAD:
                break
        return state

    def refused(self, state: int) -> np.ndarray:
        """Which tokens may not come in a state; bool, shape (n_vocab,)."""
        packed = self._refused.get(state)
        if packed is None:
            packed = self._refused[state] = np.packbits(self._tree.walk(self._table, state) == DEAD)
        return np.unpackbits(packed, count=self._tree.n_tokens).view(bool)


def find_mark(language: Regular) -> int:
    """A character that no word of the language holds, to stand before and behind each.

    outlines-core compiles for a search too, which may begin anywhere: with the mark in front that costs nothing, without it
    5 s for the demo's tools. And its index leaves out what goes on behind a word that is the beginning of another; with the
    mark behind, none is.
    """
    used, seen, stack = set(), {language}, [language]
    while stack:
        match stack.pop():
            case Literal(data):
                used.update(data)
                continue
            case Characters(ranges):
                used.update(mark for mark in MARKS if any(low <= mark <= high for low, high in ranges))
                continue
            case Parts(head, tail):
                parts = (head, tail)
            case Choice(options):
                parts = options
            case Repeat(item, _, _):
                parts = (item,)
            case _:
                continue
        stack += (part for part in parts if part not in seen)
        seen.update(parts)
    free = [mark for mark in MARKS if mark not in used]
    if not free:
        raise GrammarError(f"outlines needs one control character for itself, and the language holds all. {OTHERS}")
    return free[0]


def _spell(language: Regular) -> str:
    try:
        return f"(?:{to_regex(language)})"
    except GrammarError as error:
        raise GrammarError(f"outlines can't hold to this language. {error} {OTHERS}") from error


def build_index(regex: str, limit_s: float | None = None) -> Index:
    """The index of a regular expression over bytes, built in a process of its own within `limit_s` seconds.

    Raises ConstraintCompileTimeout, and GrammarError for an expression that outlines-core can't read.
    """
    # The same modules must be found there as here, whatever has been put on the path since the start.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", CHILD] + ([] if limit_s is None else [str(limit_s + 1)])
    try:
        done = subprocess.run(
            command, input=regex.encode("utf-8"), capture_output=True, timeout=limit_s, env=environment
        )
    except subprocess.TimeoutExpired as error:
        raise ConstraintCompileTimeout("outlines", error.timeout) from error
    except OSError as error:
        raise ConstraintError(f"No process can start in which outlines would build its index: {error}. {OTHERS}") from error
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split()) or f"it ended with {done.returncode}"
        raise GrammarError(f"outlines-core can't compile the language: {reason}. {OTHERS}")
    return pickle.loads(done.stdout)


def read_index(index: Index, mark: int) -> tuple[np.ndarray, int]:
    """The state behind each state and byte, shape (n_states, 256), without the marks; and the state of the beginning."""
    transitions = index.get_transitions()
    numbers = np.zeros(1 + max(map(max, (transitions, *(row.values() for row in transitions.values() if row)))), np.int32)
    numbers[list(transitions)] = np.arange(1, len(transitions) + 1)
    table = np.zeros((len(transitions) + 1, N_BYTES), np.int32)
    for number, row in enumerate(transitions.values(), 1):
        data, states = (np.fromiter(part, np.intp, len(row)) for part in (row, row.values()))
        is_byte = data < N_BYTES
        table[number, data[is_byte]] = numbers[states[is_byte]]
    start = int(table[numbers[index.get_initial_state()], mark])
    table[:, mark] = DEAD
    return table, start
