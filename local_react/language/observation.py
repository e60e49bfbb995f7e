"""What an observation looks like in the prompt: no line of it can be taken for a label, and it fits its budget."""

from __future__ import annotations

from collections.abc import Sequence

INDENT = "  "
NOTHING_RUN = "(nothing was run)"
"""Stands behind an observation label that the model itself began, where the loop has a notice to give instead."""


def indent(text: str) -> str:
    """The text with every line after the first indented, so that none begins with a label (design, invariant 3).

    Everything that any reader may take for a line break counts as one, U+2028 and a lone CR too.
    """
    return ("\n" + INDENT).join(text.splitlines())


def cut(pieces: Sequence[bytes], budget: int) -> str:
    """The text of these tokens (their bytes, in order), cut to about `budget` tokens, head and tail kept.

    A marker tells how many tokens were left out; it is paid for out of the budget. Never cuts inside a character.
    """
    if len(pieces) <= budget:
        return b"".join(pieces).decode("utf-8", "replace")
    n_marker = 12
    n_kept = max(budget - n_marker, 2)
    n_head = (n_kept + 1) // 2
    n_tail = n_kept - n_head
    head = b"".join(pieces[:n_head]).decode("utf-8", "ignore")
    tail = b"".join(pieces[len(pieces) - n_tail :]).decode("utf-8", "ignore")
    return f"{head}… [{len(pieces) - n_kept:,} tokens left out] …{tail}"
