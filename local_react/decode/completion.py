"""What one generation gives."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from typing import Literal

Reason = Literal["stop", "end", "length", "window", "constraint"]
"""Why a completion ended: a stop fired; the model gave an end token; its token budget is spent; the window is full; the
language that it was held to has ended."""


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A sampled token with its natural log-probability, and the likeliest tokens with theirs."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class TokenChoice:
    """How one token of a constrained completion came about.

    `origin` is "sampled", "masked" (drawn again behind a mask), "forced" (the language left no other text) or "exit" (the
    shortest way out, taken because the budget is spent). For drawn tokens, `mass` is the probability that the constraint
    left to all allowed tokens together, and `wanted` the likeliest token of the model, with its probability and
    its text (bytes that are no UTF-8 by themselves are lone surrogates there), since a trace has no vocabulary.
    """

    token: int
    origin: Literal["sampled", "masked", "forced", "exit"]
    mass: float | None = None
    wanted: int | None = None
    wanted_probability: float | None = None
    wanted_text: str | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What one generation gave. `text` ends before the stop.

    `label` is what the model wrote of a label behind the text, whole or in part. It stays in the transcript, so whoever
    writes that label next writes only the rest. `pieces` are the bytes of each token kept; `n_cut_bytes` counts bytes of
    half a character that the end cut off. `n_sampled` tokens were drawn, `n_forced` were put in without being drawn, and
    `n_evaluated` ids were computed, in `n_decode_calls` batches. Under a constraint, `n_masks` masks were computed;
    `choices` are there where they were asked for. `n_thought_pieces` tells how many pieces are a free thought: the next one
    is the program's label, and the rest the action, which alone may be read as one. With `is_answer` the whole text is an
    answer, whatever it looks like.
    """

    text: str
    reason: Reason
    label: str
    pieces: tuple[bytes, ...]
    n_sampled: int
    n_forced: int
    n_evaluated: int
    n_decode_calls: int
    n_cut_bytes: int = 0
    logprobs: tuple[TokenLogprob, ...] = ()
    n_masks: int = 0
    n_thought_pieces: int | None = None
    choices: tuple[TokenChoice, ...] = ()
    is_answer: bool = False


def join_step(thought: Completion, label: str, action: Completion) -> Completion:
    """A free thought, the label that the program wrote behind it, and the action in its language, as one completion."""
    pieces = _whole_pieces(thought)
    return Completion(
        text=f"{thought.text}{label}{action.text}",
        reason=action.reason,
        label=action.label,
        pieces=(*pieces, label.encode(), *action.pieces),
        n_sampled=thought.n_sampled + action.n_sampled,
        n_forced=thought.n_forced + action.n_forced,
        n_evaluated=thought.n_evaluated + action.n_evaluated,
        n_decode_calls=thought.n_decode_calls + action.n_decode_calls,
        n_cut_bytes=thought.n_cut_bytes + action.n_cut_bytes,
        logprobs=thought.logprobs + action.logprobs,
        n_masks=action.n_masks,
        n_thought_pieces=len(pieces),
        choices=action.choices,
    )


def _whole_pieces(part: Completion) -> tuple[bytes, ...]:
    """The pieces without the half character that the part's end cut off: what follows must not be read together with it.

    Where the byte before that begins a character too, it is cut as well, so that a replay, which sees what is left, cuts
    nothing more.
    """
    kept = list(part.pieces)
    n_left = part.n_cut_bytes
    while n_left and kept:
        n_cut = min(n_left, len(kept[-1]))
        kept[-1] = kept[-1][: len(kept[-1]) - n_cut]
        n_left -= n_cut
        if not kept[-1]:
            kept.pop()
        if not n_left:
            n_left = _n_unfinished(b"".join(kept))
    return tuple(kept)


def _n_unfinished(data: bytes) -> int:
    """How many bytes at the end are the beginning of a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(data)
    return len(decoder.getstate()[0])
