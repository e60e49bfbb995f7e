"""Where brackets close and quotes are open: the one scanner that parser, stop scanner and argument reader share.

Only the bracket kind that opened is counted, so a stray ")" in raw text is text. A quote counts only where a value
begins, which keeps apostrophes in prose harmless (protocol, section 4).
"""

from __future__ import annotations

from collections.abc import Iterable

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


def closing_bracket(text: str, start: int, breaks: Iterable[int] = ()) -> int | None:
    """The index of the partner of the bracket at `text[start]`, or None where it never closes.

    `breaks` are indices, rising, that end the text unless they stand inside a quoted value (labels, control tokens).
    """
    scanner = BracketScanner(text[start])
    apostrophes_until = start
    ahead = iter(breaks)
    stop = next(ahead, None)
    has_crossed = False
    position = start
    while position < len(text):
        while stop is not None and stop <= position:
            if not scanner.in_quotes:
                return None
            has_crossed, stop = True, next(ahead, None)
        was_quoted = scanner.in_quotes
        if text[position] == "'" and scanner.value_begins and not was_quoted and position >= apostrophes_until:
            end = single_quoted_end(text, position)
            if end is None:
                apostrophes_until = _line_end(text, position)
            else:
                position = end
                while stop is not None and stop <= position:
                    stop = next(ahead, None)
        scanner.feed(text[position])
        if was_quoted and not scanner.in_quotes:
            # A quote that opens by mistake must not hide a label: such a value has to end like one.
            if has_crossed and not _ends_value(text, position + 1):
                return None
            has_crossed = False
        if scanner.is_closed:
            return position
        position += 1
    return None


def single_quoted_end(text: str, start: int) -> int | None:
    """The index of the single quote that ends the value begun at `start`; None where that one is an apostrophe.

    The value ends on its own line. Where the search fails it fails for the rest of the line as well.
    """
    position, end = start + 1, _line_end(text, start)
    while position < end:
        if text[position] == "\\":
            position += 1
        elif text[position] == "'" and _ends_value(text, position + 1):
            return position
        position += 1
    return None


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def _ends_value(text: str, position: int) -> bool:
    while position < len(text) and text[position] in " \t\n":
        position += 1
    return position < len(text) and text[position] in VALUE_CLOSERS
