"""Names in a text that a vocabulary may have as tokens of their own though it doesn't call them control tokens.

Qwen's `<tool_response>` and `</think>` are such: llama.cpp turns their names into tokens in any text. In a text from outside
they would be frames of a conversation to the model, so whoever tokenizes one cuts it where this module says. Refuses to
take names of HTML and the like for markup, which some vocabularies have as tokens as well: they stand for themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from local_react.language.native.formats import FORMATS
from local_react.language.thinking import FAMILIES

_SHAPED = re.compile(r"(?=(<[^\s<>]{1,60}>|\[[^\s\[\]]{1,60}\]|◁[^\s◁▷]{1,60}▷))")
"""Seen ahead only, so that names which overlap are all found."""

_MARKUP = re.compile(r"<.*[|_:\uff5c].*>|\[/?[A-Z_]{4,}\]|◁.*▷")
"""What no plain text is spelled like: not `<table>`, not `<T>`, not `[0]`, which are usual tokens."""

_KNOWN = frozenset(
    name
    for names in (
        *((family.tags.opening, family.tags.closing) for family in FAMILIES),
        *((*format.markup, *format.results) for format in FORMATS.values()),
    )
    for name in names
)


def find_markup(text: str) -> Iterator[tuple[int, str]]:
    """Each place in a text where something stands that is spelled like markup of a conversation, and what."""
    for found in _SHAPED.finditer(text):
        if found[1] in _KNOWN or _MARKUP.fullmatch(found[1]) is not None:
            yield found.start(), found[1]
