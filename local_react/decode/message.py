"""Where a message in a native format ends: an incremental scanner over the bytes that the model writes.

It has the interface of `stop.StopScanner`. A message ends where the model begins a result, which only the program may write;
behind its first complete call; or, for a message that is held to its calls, where the first call begins, since what follows is
generated under a constraint. Nothing in a think block at the start ends a message.
"""

from __future__ import annotations

from local_react.decode.stop import Fired
from local_react.language.native.formats import PYTHON_TAG, NativeFormat
from local_react.language.native.read import call_end
from local_react.language.protocol import THINK_TAGS


class MessageScanner:
    """Feeds on bytes, releases text, and says when the message has ended.

    With `stops_at_call` it ends where a call begins, and `fired.label` is the opener; with `ends_after_call`, behind the first
    complete call. With `stops_at_result`, what begins a result ends it too; that stays text, for the reader to see.
    """

    def __init__(
        self, format: NativeFormat, *, stops_at_call: bool = False, ends_after_call: bool = False, stops_at_result: bool = True
    ) -> None:
        self._format = format
        self._opener = format.opener.encode()
        self._stops_at_call = stops_at_call
        self._ends_after_call = ends_after_call
        results = format.results if stops_at_result else ()
        self._marks = [mark.encode() for mark in (*results, *([format.opener] if stops_at_call else []))]
        self._last = (format.closer or format.tail)[-1:].encode()
        self._text = bytearray()
        self._start = 0  # behind the think block, if there is one
        self._thinks: bool | None = None  # None while the text may still begin with one
        self._n_released = 0
        self.fired: Fired | None = None

    @property
    def held(self) -> bytes:
        """What the model wrote of a mark: of the one that has fired, or of one that may still come."""
        return bytes(self._text[self._n_released :])

    def feed(self, data: bytes) -> bytes:
        """Take the bytes of the next token; returns the text that is released. Not to be called once it has fired."""
        start = self._n_released
        for index in range(len(data)):
            self._text += data[index : index + 1]
            if self._is_over(data[index : index + 1]):
                self.fired = Fired(self.held.decode("utf-8", "replace"), len(data) - index - 1)
                break
        return bytes(self._text[start : self._n_released])

    def flush(self) -> bytes:
        """The generation ended for another reason: what was held back is text after all."""
        held, self._n_released = self.held, len(self._text)
        return held

    def _is_over(self, byte: bytes) -> bool:
        """Whether the text ends behind its last byte; releases what is no mark and can't become one."""
        if self._is_in_thought():
            self._n_released = len(self._text)
            return False
        for mark in self._marks:
            if self._text.endswith(mark) and self._may_begin(len(self._text) - len(mark), mark):
                self._n_released = len(self._text) - (len(mark) if mark == self._opener else 0)
                return True
        n_held = max((self._size_begun(mark) for mark in self._marks), default=0)
        self._n_released = max(self._n_released, len(self._text) - n_held)
        if self._ends_after_call and byte == self._last and self._has_call():
            self._n_released = len(self._text)
            return True
        return False

    def _size_begun(self, mark: bytes) -> int:
        """How many bytes at the end of the text may be the beginning of a mark."""
        for size in range(min(len(mark) - 1, len(self._text) - self._n_released), 0, -1):
            if self._text.endswith(mark[:size]) and self._may_begin(len(self._text) - size, mark):
                return size
        return 0

    def _may_begin(self, start: int, mark: bytes) -> bool:
        """Whether the mark may stand there: an opener without markup of its own begins a line."""
        if mark != self._opener or self._format.opens == "anywhere":
            return True
        before = self._text[self._start : start].replace(PYTHON_TAG.encode(), b"")
        return not before.rpartition(b"\n")[2].strip()

    def _has_call(self) -> bool:
        return call_end(self._text[self._start :].decode("utf-8", "replace"), self._format) is not None

    def _is_in_thought(self) -> bool:
        """Whether the last byte belongs to a think block at the start."""
        opening, closing = (tag.encode() for tag in THINK_TAGS)
        if self._thinks is None:
            begun = self._text.lstrip()
            self._thinks = True if begun.startswith(opening) else None if opening.startswith(begun) else False
        elif self._thinks and self._text.endswith(closing):
            self._thinks, self._start = False, len(self._text)
            return True
        return bool(self._thinks)
