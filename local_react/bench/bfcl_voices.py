"""The voices that ask for a row's call: one for each order of the exemplars, and one that doesn't see the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from local_react.bench.bfcl import Row
from local_react.bench.bfcl_exemplars import CallExemplar, choose_exemplars
from local_react.bench.bfcl_prompt import SHARED, call_prompt
from local_react.bench.call_arm import CallArm
from local_react.bench.voices import Voice
from local_react.errors import SettingsError
from local_react.form import Form, encode, encode_pieces
from local_react.language.prompt import Prompt
from local_react.language.signature import Signatures
from local_react.llama.vocabulary import Vocabulary

EMPTY_QUESTION = "(none)"
"""What stands for the question in the voice that doesn't see it."""


def row_voices(row: Row, tools: Signatures, arm: CallArm, vocabulary: Vocabulary, form: Form | None) -> list[Voice]:
    """The prompts of a row in tokens, each cut behind what all rows share; the first one leads.

    Raises SettingsError for an arm that chats where no form is given.
    """
    if arm.chats and form is None:
        raise SettingsError(f"Arm {arm.name} chats, and no form of prompts was given. Give one from `choose_form`.")
    prompts = ((form.dress(prompt) if arm.chats and form else prompt, weight) for prompt, weight in _prompts(row, tools, arm))
    return [_voice(prompt, weight, vocabulary) for prompt, weight in prompts]


def _voice(prompt: Prompt, weight: float, vocabulary: Vocabulary) -> Voice:
    ids = encode(prompt, vocabulary).ids
    n_pieces = next((n for n, piece in enumerate(prompt.pieces, 1) if piece.part == SHARED), 0)
    shared = encode_pieces(prompt.pieces[:n_pieces], vocabulary)[0]
    start = len(ids) - len(encode_pieces(prompt.pieces, vocabulary)[0])
    n_shared = next((n for n, (one, other) in enumerate(zip(ids[start:], shared)) if one != other), len(shared)) + start
    return Voice(ids[:n_shared], ids[n_shared:], weight)


def _prompts(row: Row, tools: Signatures, arm: CallArm) -> Iterator[tuple[Prompt, float]]:
    exemplars = choose_exemplars(arm.n_exemplars, tools if arm.picks_exemplars else None, arm.arguments)
    for order in range(arm.n_orders):
        shown = _turned(exemplars, order, arm.n_orders)
        yield _prompt(row.question, tools, arm, shown), (1 + arm.guidance) / arm.n_orders
    if arm.guidance:
        yield _prompt(EMPTY_QUESTION, tools, arm, exemplars), -arm.guidance


def _prompt(question: str, tools: Signatures, arm: CallArm, exemplars: Sequence[CallExemplar]) -> Prompt:
    return call_prompt(
        question, tools, arm.protocol, exemplars, instructions=arm.instructions, description=arm.description
    )


def _turned(exemplars: Sequence[CallExemplar], order: int, n_orders: int) -> Sequence[CallExemplar]:
    """The exemplars in order `order` of `n_orders`: turned by that share of their number."""
    start = order * len(exemplars) // n_orders
    return (*exemplars[start:], *exemplars[:start])
