"""llama.cpp's log: kept in memory, silent by default, quoted in our exceptions.

llama.cpp gives the reason for a failure only to its log callback. One callback for the whole process keeps the last
lines; `recent()` returns them. Importing `llama_cpp` installs that binding's own callback, which prints errors to
stderr, so ours is set right after the import, here, and every other file of this package imports this one first.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import llama_cpp

N_LINES = 400
DEBUG = 1
"""ggml's level of lines that would push all others out of the memory."""

_lines: deque[str] = deque(maxlen=N_LINES)
_records: list[tuple[int, list[str]]] = []


@llama_cpp.llama_log_callback
def _keep(level: int, text: bytes, user_data: object) -> None:
    # An exception in here would be swallowed by ctypes, so nothing may raise.
    line = text.decode("utf-8", "replace")
    if level != DEBUG:
        _lines.append(line)
    thread = threading.get_ident()
    for owner, record in _records:
        if owner == thread:
            record.append(line)


llama_cpp.llama_log_set(_keep, ctypes.c_void_p(0))


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Collect what llama.cpp logs in this thread inside the `with` block, as pieces of text in order."""
    record: list[str] = []
    _records.append((threading.get_ident(), record))
    try:
        yield record
    finally:
        # By identity: two records with the same lines are equal.
        _records[:] = [other for other in _records if other[1] is not record]


def recent(n_lines: int = 3) -> str:
    """The last lines of the log, joined by "; ", for an exception's message."""
    lines = [line.strip() for line in "".join(_lines).splitlines() if line.strip(" .\n")]
    return "; ".join(lines[-n_lines:]) or "llama.cpp gave no reason"
