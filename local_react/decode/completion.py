"""What one generation gives."""

from __future__ import annotations

from collections.abc import Sequence
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
    left to all allowed tokens together, and `wanted` the likeliest token of the model, with its probability.
    """

    token: int
    origin: Literal["sampled", "masked", "forced", "exit"]
    mass: float | None = None
    wanted: int | None = None
    wanted_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What one generation gave. `text` ends before the stop.

    `label` is what the model wrote of a label behind the text, whole or in part. It stays in the transcript, so whoever
    writes that label next writes only the rest. `pieces` are the bytes of each token kept; `n_cut_bytes` counts bytes of
    half a character that the end cut off. `n_sampled` tokens were drawn, `n_forced` were put in without being drawn, and
    `n_evaluated` ids were computed, in `n_decode_calls` batches. Under a constraint, `n_masks` masks were computed;
    `choices` are there where they were asked for.
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
    choices: tuple[TokenChoice, ...] = ()


def join_completions(parts: Sequence[Completion | str]) -> Completion:
    """The parts of one step as one completion: what the model wrote, and what the program wrote in between (texts).

    It ends as its last part does.
    """
    written = [part for part in parts if isinstance(part, Completion)]
    pieces = [_whole_pieces(part) if isinstance(part, Completion) else (part.encode(),) for part in parts if part]
    last = written[-1]
    return Completion(
        text="".join(part.text if isinstance(part, Completion) else part for part in parts),
        reason=last.reason,
        label=last.label,
        pieces=tuple(piece for each in pieces for piece in each),
        n_sampled=sum(part.n_sampled for part in written),
        n_forced=sum(part.n_forced for part in written),
        n_evaluated=sum(part.n_evaluated for part in written),
        n_decode_calls=sum(part.n_decode_calls for part in written),
        n_cut_bytes=sum(part.n_cut_bytes for part in written),
        logprobs=tuple(logprob for part in written for logprob in part.logprobs),
        n_masks=sum(part.n_masks for part in written),
        choices=tuple(choice for part in written for choice in part.choices),
    )


def _whole_pieces(part: Completion) -> tuple[bytes, ...]:
    """The pieces without the half character that the part's end cut off: what follows must not be read together with it."""
    *before, last = part.pieces or (b"",)
    if len(last) >= part.n_cut_bytes:
        return (*before, last[: len(last) - part.n_cut_bytes])
    data = b"".join(part.pieces)
    return (data[: len(data) - part.n_cut_bytes],)
