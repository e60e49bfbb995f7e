"""Where a think block ends: an incremental scanner for one tag, anywhere in the bytes that the model writes.

It has the same moves as the scanner for stops, but a tag counts wherever it stands: in a think block there are no lines,
labels or quotes that mean anything.
"""

from __future__ import annotations

from local_react.decode.stop import Fired


class TagScanner:
    """Feeds on bytes, releases text, and says when the tag is there. What may still become the tag is held back."""

    def __init__(self, tag: str) -> None:
        self._tag = tag.encode()
        self._held = b""
        self.fired: Fired | None = None

    @property
    def held(self) -> bytes:
        """The beginning of the tag that the text ends with, or the whole tag once it has fired."""
        return self._held

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of the next token; returns the text that is released. Not to be called once the tag is there."""
        text = self._held + data
        at = text.find(self._tag)
        if at >= 0:
            self._held = self._tag
            self.fired = Fired(self._tag.decode(), len(text) - at - len(self._tag))
            return text[:at]
        n_held = next(n for n in range(min(len(self._tag) - 1, len(text)), -1, -1) if text.endswith(self._tag[:n]))
        self._held = text[len(text) - n_held :]
        return text[: len(text) - n_held]

    def flush(self) -> bytes:
        """The generation ended for another reason: what was held back is text after all."""
        held, self._held = self._held, b""
        return held
