"""A generation under a constraint: every token keeps to the language, and the text always reaches an end of it.

Three rules (design, section 6). *Sample first*: a token is drawn from the model's own distribution and kept if the
constraint allows it; only a refused one costs a mask and a second draw, and the whole is exactly the masked distribution,
P(t) + P(refused)·P(t)/P(allowed) = P(t)/P(allowed). Samplers that truncate or look back would see another distribution,
so with them the mask comes first. *Append forced text*: where the language leaves one continuation, its canonical tokens
are appended; the token just drawn isn't evaluated yet, so it is spelled anew together with them. *Know the way out*: no
token is kept from which the shortest ending wouldn't fit the budget any more; that ending is taken instead.

The language is followed twice, by the engine and by derivatives. A token that the engine lets through and the reference
doesn't is banned and drawn again, so an engine may be wider than the language, never narrower.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import numpy as np

from local_react.decode.completion import TokenChoice
from local_react.decode.constraint import Matcher, check_mask
from local_react.decode.generate import ContextLike, Generation, SamplerLike
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.errors import ConstraintError, ContextOverflow
from local_react.language.derivative import Recogniser
from local_react.llama.vocabulary import Vocabulary

SLACK = 2
"""Tokens kept in reserve for the way out: spelled together with what stands before it, it may cost more than alone."""

MAX_BANS = 200
"""So many tokens in a row that the engine allows and the language doesn't mean that the engine follows another language."""


def exit_cost(place: Recogniser, vocabulary: Vocabulary) -> int:
    """How many tokens a budget must have left for the shortest ending from here."""
    return len(vocabulary.tokenize(place.shortest())) + SLACK


def spell(place: Recogniser, piece: bytes, forced: bytes, vocabulary: Vocabulary) -> list[int]:
    """The canonical ids of `piece`, which comes at `place`, and as much of the text forced behind it as is settled.

    None if that is no more than `piece`. The last token isn't settled while the text goes on and some longer token might
    stand there.
    """
    if not forced:
        return []
    ids = vocabulary.tokenize(piece + forced)
    last = vocabulary.piece(ids[-1])
    before = place.feed(vocabulary.join(ids[:-1]))
    behind = before.feed(last)
    following = [byte for byte in range(256) if behind.allows(byte)]
    if any(not before.feed(longer).is_dead for longer in vocabulary.longer_pieces(last, following)):
        ids.pop()
    return ids if sum(len(vocabulary.piece(id)) for id in ids) > len(piece) else []


class ConstrainedGeneration(Generation):
    """One completion in a language, from `place` on; `matcher` is the engine's state there.

    `max_tokens` counts all tokens, forced ones too; `begin` raises ContextOverflow where the shortest word doesn't fit.
    With `masks_first` every token is drawn behind a mask: needed unless the sampling is plain. With `explains`, the
    completion tells how each token came about.
    """

    def __init__(
        self, transcript: Transcript, sampler: SamplerLike, place: Recogniser, matcher: Matcher, *, max_tokens: int,
        masks_first: bool = False, explains: bool = False, n_top_logprobs: int | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> None:
        super().__init__(
            transcript, sampler, StopScanner(), max_tokens=max_tokens, n_top_logprobs=n_top_logprobs, on_text=on_text
        )
        self._place = place
        self._matcher = matcher
        self._masks_first = masks_first
        self._explains = explains
        self._n_left = 0

    def begin(self, vocabulary: Vocabulary, window: int) -> None:
        """Append what the language forces from its start; it may leave nothing to draw at all."""
        self.sampler.begin()
        room = window - len(self.transcript)
        self._n_left = min(self.max_tokens, room)
        needed = exit_cost(self._place, vocabulary)
        if needed > self._n_left:
            raise ContextOverflow("The shortest call", needed=needed, available=self._n_left, window=window)
        forced = self._place.forced()
        if forced:
            self._append(spell(self._place, b"", forced, vocabulary), [], "forced", vocabulary)

    def advance(self, row: int, context: ContextLike, vocabulary: Vocabulary) -> None:
        """Draw a token that the language allows, and append it with the text that it forces; or take the way out."""
        drawn = self._draw(row, context, vocabulary)
        if vocabulary.is_end(drawn.token):
            self._finish("constraint")
            return
        piece = vocabulary.piece(drawn.token)
        place = self._place.feed(piece)
        if not self._is_out_of_reach(place, vocabulary):
            ids = spell(self._place, piece, place.forced(), vocabulary) or [drawn.token]
            self._append(ids, [replace(drawn, token=ids[0])], "forced", vocabulary)
        elif self._place.accepts:
            self._finish("constraint")
        else:
            self._append(vocabulary.tokenize(self._place.shortest()), [], "exit", vocabulary)

    def _is_out_of_reach(self, place: Recogniser, vocabulary: Vocabulary) -> bool:
        """Whether the budget would end before the shortest ending from `place`, with one token spent on getting there."""
        n_left = self._n_left - 1
        # A token holds at least a byte, so most of the time nothing has to be tokenized.
        return len(place.shortest()) + SLACK > n_left and exit_cost(place, vocabulary) > n_left

    def _append(
        self, ids: list[int], drawn: list[TokenChoice], origin: Literal["forced", "exit"], vocabulary: Vocabulary
    ) -> None:
        """Append ids, of which the first stands for the token that was drawn, if one was."""
        if not ids:
            return
        self._matcher.advance(ids)
        pieces = [vocabulary.piece(id) for id in ids]
        data = b"".join(pieces)
        self._place = self._place.feed(data)
        self.transcript.append(ids)
        self._pieces += pieces
        self._n_left -= len(ids)
        self.n_forced += len(ids) - len(drawn)
        if self._explains:
            self._choices += [*drawn, *(TokenChoice(id, origin) for id in ids[len(drawn) :])]
        self._release(data)
        if self._place.is_complete:
            self._finish("constraint")
        elif self._place.is_dead or self._n_left < 0:
            raise ConstraintError(f"The text {self._place!r} left its language or its budget. Please report this.")

    def _draw(self, row: int, context: ContextLike, vocabulary: Vocabulary) -> TokenChoice:
        """A token that the language allows, drawn from the masked distribution."""
        view = self._look_at(context.logits(row), vocabulary) if self._explains else None
        unmasked = None if self.n_top_logprobs is None else context.logits(row).copy()
        origin: Literal["sampled", "masked"] = "sampled"
        if self._masks_first:
            self._mask(context.logits(row), vocabulary)
        token = self.sampler.sample(row)
        if not self._masks_first and not self._allows(token, vocabulary):
            origin = "masked"
            self._mask(context.logits(row), vocabulary)
            token = self.sampler.sample(row)
        for _ in range(MAX_BANS):
            if self._keeps_to_language(token, vocabulary):
                break
            origin = "masked"
            context.logits(row)[token] = -np.inf
            check_mask(context.logits(row), vocabulary)
            token = self.sampler.sample(row)
        else:
            raise ConstraintError(f"The engine allows token after token that its language doesn't, as {token} here.")
        self._note_draw(token, unmasked)
        return TokenChoice(token, origin) if view is None else view.tell(token, origin, vocabulary)

    def _keeps_to_language(self, token: int, vocabulary: Vocabulary) -> bool:
        if vocabulary.is_end(token):
            return self._place.accepts
        return not self._place.feed(vocabulary.piece(token)).is_dead

    def _allows(self, token: int, vocabulary: Vocabulary) -> bool:
        return self._place.accepts if vocabulary.is_end(token) else self._matcher.allows(token)

    def _mask(self, logits: np.ndarray, vocabulary: Vocabulary) -> None:
        self._n_masks += 1
        self._keep_allowed(logits, vocabulary)
        check_mask(logits, vocabulary)

    def _keep_allowed(self, logits: np.ndarray, vocabulary: Vocabulary) -> None:
        """Mask what the engine refuses, and the end tokens where the language has no end."""
        ends = logits[vocabulary.end_list]
        self._matcher.mask(logits)
        logits[vocabulary.end_list] = ends if self._place.accepts else -np.inf

    def _look_at(self, logits: np.ndarray, vocabulary: Vocabulary) -> _Explained:
        allowed = logits.copy()
        self._keep_allowed(allowed, vocabulary)
        return _Explained(logits, allowed)


class _Explained:
    """What the model would have had it, before anything is masked."""

    def __init__(self, logits: np.ndarray, allowed: np.ndarray) -> None:
        row = logits.astype(np.float64)
        row = np.exp(row - row.max())
        row /= row.sum()
        self._mass = float(row[np.isfinite(allowed)].sum())
        self._wanted = int(row.argmax())
        self._probability = float(row[self._wanted])

    def tell(self, token: int, origin: Literal["sampled", "masked"], vocabulary: Vocabulary) -> TokenChoice:
        text = vocabulary.piece(self._wanted).decode("utf-8", "surrogateescape")
        return TokenChoice(token, origin, self._mass, self._wanted, self._probability, text)
