"""A matcher that takes control tokens for the text of their names: those that are markup of a model's own calls.

An engine knows control tokens as such, and lets no text become one. Here the engine is told of plain tokens with the same
bytes instead. It may let markup through that its language refuses; whoever uses it follows the language by derivatives, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from local_react.decode.constraint import Matcher
from local_react.llama.markup import MarkupVocabulary


class MarkupMatcher:
    """The state of one sequence, for a vocabulary in which some control tokens are text."""

    def __init__(self, matcher: Matcher, vocabulary: MarkupVocabulary) -> None:
        self._matcher = matcher
        self._plain: Mapping[int, list[int]] = {
            token: vocabulary.plain.tokenize(name) for name, token in vocabulary.markup.items()
        }
        self._markup = list(self._plain)

    def allows(self, token: int) -> bool:
        """Whether the token may come next; of markup that is left to the language itself."""
        return token in self._plain or self._matcher.allows(token)

    def advance(self, ids: Sequence[int]) -> None:
        """These tokens came."""
        self._matcher.advance([plain for id in ids for plain in self._plain.get(id, (id,))])

    def mask(self, logits: np.ndarray) -> None:
        """Set the logits of what may not come next to -inf, in place."""
        kept = logits[self._markup]
        self._matcher.mask(logits)
        logits[self._markup] = kept
