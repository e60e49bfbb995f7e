"""Where brackets close and quotes are open: the one scanner that parser, stop scanner and argument reader share.

Only the bracket kind that opened is counted, so a stray ")" in raw text is text. A quote counts only where a value
begins, which keeps apostrophes in prose harmless (protocol, section 4).
"""

from __future__ import annotations

PAIRS = {"[": "]", "(": ")", "{": "}", "【": "】", "［": "］", "（": "）"}
"""Opening brackets and their partners; the last three are the full-width and lenticular ones of lenient reading."""

VALUE_OPENERS = frozenset("[({,=:【［（")
"""A value begins behind one of these (and blanks)."""

VALUE_CLOSERS = frozenset("])},:】］）")
"""What may stand behind a quoted value (after blanks)."""


class BracketScanner:
    """Reads the characters from an opening bracket on; knows whether a double quote is open and whether all has closed.

    `feed` takes one character. Bytes above 127 may be fed as Latin-1 characters: no structural one is among them.
    Single quotes are left to `closing_bracket`, which can look ahead.
    """

    __slots__ = ("_opening", "_closing", "_depth", "_escaped", "value_begins", "in_quotes")

    def __init__(self, opening: str = "[") -> None:
        self._opening, self._closing = opening, PAIRS[opening]
        self._depth = 0
        self._escaped = False
        self.value_begins = False
        self.in_quotes = False

    @property
    def is_closed(self) -> bool:
        """Whether as many brackets have closed as were opened."""
        return self._depth == 0

    def feed(self, character: str) -> None:
        """Take the next character; the first one must be the opening bracket."""
        if self.in_quotes:
            if self._escaped:
                self._escaped = False
            elif character == "\\":
                self._escaped = True
            elif character == '"':
                self.in_quotes = False
            return
        if character == '"' and self.value_begins:
            self.in_quotes = True
        elif character == self._opening:
            self._depth += 1
        elif character == self._closing:
            self._depth -= 1
        if character not in " \t\n":
            self.value_begins = character in VALUE_OPENERS


def closing_bracket(text: str, start: int) -> int | None:
    """The index of the partner of the bracket at `text[start]`, or None where it never closes."""
    scanner = BracketScanner(text[start])
    position = start
    while position < len(text):
        if text[position] == "'" and scanner.value_begins and not scanner.in_quotes:
            position = _single_quoted_end(text, position)
        scanner.feed(text[position])
        if scanner.is_closed:
            return position
        position += 1
    return None


def _single_quoted_end(text: str, start: int) -> int:
    """The index of the single quote that ends the value begun at `start`; `start` itself where it is an apostrophe."""
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 1
        elif text[position] == "'" and text[position + 1 :].lstrip(" \t\n")[:1] in VALUE_CLOSERS:
            return position
        position += 1
    return start
