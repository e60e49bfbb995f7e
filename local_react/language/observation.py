"""What an observation looks like in the prompt: no line of it can be taken for a label, and it fits its budget."""

from __future__ import annotations

from collections.abc import Sequence

INDENT = "  "
NOTHING_RUN = "(nothing was run)"
"""Stands behind an observation label that the model itself began, where the loop has a notice to give instead."""

_N_MARKER = 12
"""About how many tokens the marker of a cut has."""


def indent(text: str) -> str:
    """The text with every line after the first indented, so that none begins with a label (design, invariant 3).

    Everything that any reader may take for a line break counts as one, U+2028 and a lone CR too.
    """
    return ("\n" + INDENT).join(text.splitlines())


def cut(pieces: Sequence[bytes], budget: int) -> str:
    """The text of these tokens (their bytes, in order), cut to about `budget` tokens, head and tail kept.

    A marker tells how many tokens were left out; it is paid for out of the budget. Never cuts inside a character. What is
    no longer than the marker and one token on each side of it stays whole, since a cut would make it longer.
    """
    if len(pieces) <= max(budget, _N_MARKER + 2):
        return b"".join(pieces).decode("utf-8", "replace")
    n_kept = max(budget - _N_MARKER, 2)
    start = _character_border(pieces, (n_kept + 1) // 2, -1)
    end = _character_border(pieces, len(pieces) - n_kept // 2, +1)
    head = b"".join(pieces[:start]).decode("utf-8", "replace")
    tail = b"".join(pieces[end:]).decode("utf-8", "replace")
    return f"{head}… [{end - start:,} tokens left out] …{tail}"


def _character_border(pieces: Sequence[bytes], position: int, direction: int) -> int:
    """The nearest position in that direction where a token begins with the first byte of a character."""
    while 0 < position < len(pieces) and b"\x80" <= pieces[position][:1] < b"\xc0":
        position += direction
    return position
