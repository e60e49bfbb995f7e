"""A vocabulary in which some control tokens are text: those that a model writes as part of its messages.

Only what the model itself writes is read so. For everything else the plain vocabulary stays in use, in which no text becomes
a control token. Invariant: `join(tokenize(text)) == text`, as for the plain one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property

from local_react.llama.vocabulary import Vocabulary


class MarkupVocabulary:
    """A vocabulary with the control tokens called `names` as text; names that are no control tokens change nothing."""

    def __init__(self, vocabulary: Vocabulary, names: Iterable[str]) -> None:
        self.plain = vocabulary
        self.n_tokens = vocabulary.n_tokens
        self.bos, self.wants_bos = vocabulary.bos, vocabulary.wants_bos
        self.markup: dict[bytes, int] = {}
        for name in names:
            ids = vocabulary.tokenize(name, special=True)
            if len(ids) == 1 and vocabulary.is_control(ids[0]):
                self.markup[name.encode()] = ids[0]
        self._names = frozenset(self.markup.values())
        by_length = sorted(self.markup, key=len, reverse=True)
        self._pattern = re.compile(b"(" + b"|".join(map(re.escape, by_length)) + b")") if by_length else None

    def tokenize(self, text: str | bytes, *, special: bool = False) -> list[int]:
        """The canonical ids; the names become their tokens."""
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        if self._pattern is None:
            return self.plain.tokenize(data, special=special)
        ids: list[int] = []
        for part in self._pattern.split(data):
            ids += [self.markup[part]] if part in self.markup else self.plain.tokenize(part, special=special)
        return ids

    def piece(self, token: int) -> bytes:
        """The bytes that a token stands for."""
        return self.plain.piece(token)

    def join(self, ids: Iterable[int]) -> bytes:
        """The bytes of a run of tokens."""
        return self.plain.join(ids)

    def longer_pieces(self, prefix: bytes, following: Collection[int]) -> Iterator[bytes]:
        """The bytes of every token that goes on behind `prefix` with one of the `following` bytes; names come last."""
        yield from self.plain.longer_pieces(prefix, following)
        n = len(prefix)
        yield from (name for name in self.markup if name.startswith(prefix) and len(name) > n and name[n] in following)

    def is_end(self, token: int) -> bool:
        """Whether the token ends a generation."""
        return token not in self._names and self.plain.is_end(token)

    def is_control(self, token: int) -> bool:
        """Whether the token is a control token that isn't text here."""
        return token not in self._names and self.plain.is_control(token)

    @cached_property
    def end_list(self) -> list[int]:
        """The end tokens as an index into a row of logits."""
        return [token for token in self.plain.end_list if token not in self._names]
