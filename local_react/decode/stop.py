"""Where a free generation ends: an incremental scanner over the bytes that the model writes.

Feed it the bytes of each token; it gives back what is certainly text and holds back what may still become a stop. It
works on bytes, since the same label is split into tokens differently in every vocabulary. Stops are labels: they fire
only at the start of a line and outside quoted arguments, so all that compete begin at the same byte, and the first that
is whole is the only one (none is the beginning of another, as each ends at its colon). It knows no token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from local_react.language.brackets import PAIRS, BracketScanner
from local_react.language.protocol import Stop


@dataclass(frozen=True, slots=True)
class Fired:
    """What ended the text: the label as the model wrote it, or "" at the end of the line of a complete call.

    `n_excess` of the bytes that were fed last lie behind the end.
    """

    label: str
    n_excess: int


class StopScanner:
    """Feeds on bytes, releases text, and says when a stop has fired.

    `action` is the label behind which a call stands; quotes open only in a call. With `ends_after_call`, the line end
    behind the first call whose brackets have closed ends the text too. `line` is what the program already wrote on the
    line that the model goes on with, so that a stop may lie across that border.
    """

    def __init__(
        self, stops: Sequence[Stop] = (), *, action: Stop | None = None, ends_after_call: bool = False,
        ends_with_line: bool = False, line: bytes = b"",
    ) -> None:
        self._stops = [_Label(stop) for stop in stops]
        self._action = None if action is None else _Label(action)
        self._ends_after_call = ends_after_call
        self._ends_with_line = ends_with_line
        self._head: bytes | None = b""  # the line so far while it may still be a label, None once it can't
        self._call = _CallTracker()
        self._n_primed = 0
        self.fired: Fired | None = None
        self.feed(line)
        self._n_primed = len(self._head or b"")

    @property
    def held(self) -> bytes:
        """What the model wrote of a label: of the one that has fired, or of one that may still come."""
        return (self._head or b"")[self._n_primed :]

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of the next token; returns the text that is released. Not to be called once a stop has fired."""
        released = bytearray()
        for index in range(len(data)):
            if self._ends_with(data[index : index + 1], released):
                self.fired = Fired((self._head or b"").decode("utf-8", "replace"), len(data) - index - 1)
                break
        primed, self._n_primed = (self._n_primed, 0) if released else (0, self._n_primed)
        return bytes(released[primed:])

    def flush(self) -> bytes:
        """The generation ended for another reason: what was held back is text after all."""
        held, self._head = self.held, None
        return held

    def _ends_with(self, byte: bytes, released: bytearray) -> bool:
        """Take one byte, release what can't be a label any more; True where the text ends."""
        if byte == b"\n" and not self._call.is_quoted:
            released += (self._head or b"") + byte
            self._head = b""
            self._call.follow(byte)
            return self._ends_with_line or (self._call.is_complete and self._ends_after_call)
        if self._head is None:
            released += byte
            self._call.follow(byte)
            return False
        self._head += byte
        if any(stop.is_whole(self._head) for stop in self._stops):
            return True
        if self._action is not None and self._action.is_whole(self._head):
            self._call.begin()
        elif any(label.may_become(self._head) for label in (*self._stops, *filter(None, [self._action]))):
            return False
        else:
            self._call.follow(self._head)
        released += self._head
        self._head = None
        return False


class _CallTracker:
    """Follows the first call from its label to the closing bracket; later ones don't matter."""

    def __init__(self) -> None:
        self._is_looking = False  # behind the label, no bracket yet
        self._brackets: BracketScanner | None = None
        self.is_complete = False

    @property
    def is_quoted(self) -> bool:
        return self._brackets is not None and self._brackets.in_quotes

    def begin(self) -> None:
        self._is_looking = not self.is_complete and self._brackets is None

    def follow(self, data: bytes) -> None:
        for character in data.decode("latin-1"):
            if self._is_looking and character in PAIRS:
                self._is_looking, self._brackets = False, BracketScanner(character)
            if self._brackets is not None:
                self._brackets.feed(character)
                if self._brackets.is_closed:
                    self._brackets, self.is_complete = None, True


class _Label:
    """A label's bytes: the word, perhaps a blank and a number, then the colon."""

    def __init__(self, stop: Stop) -> None:
        word = stop.label.encode("utf-8")
        if not word:
            raise ValueError("An empty stop would end every text at once.")
        self._word = word
        self._whole = re.compile(re.escape(word) + (rb"(?: \d+)?:" if stop.numbered else b":"))
        self._part = re.compile(re.escape(word) + (rb"(?: \d*)?" if stop.numbered else b""))

    def is_whole(self, line: bytes) -> bool:
        return self._whole.fullmatch(line) is not None

    def may_become(self, line: bytes) -> bool:
        return self._word.startswith(line) or self._part.fullmatch(line) is not None
