"""Where the events of an episode go: into its trace, its file, and to whoever listens."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

from local_react.trace import Ending, Event, Trace, TraceFile, encode

OnEvent = Callable[[Event], None]
"""Called with each event of a run, and with those of `STREAMED`: {"event": "delta", "step": …, "text": …} as the model
writes, {"event": "think_delta", "text": …} as it writes its think block, {"event": "note", "text": …} once, where another
form than its own chat template is used, and {"event": "trace_failed", "error": …} once, where the trace file can't be
written any more."""

STREAMED = frozenset({"delta", "think_delta", "note", "trace_failed"})
"""The events that are told to listeners only, and not kept in the trace."""


class Recorder:
    """Records the events of one episode.

    `clock` gives seconds (`time.time`, or a fake one where a trace must come out equal).
    """

    def __init__(self, *, clock: Callable[[], float], file: TraceFile | None = None, on_event: OnEvent | None = None) -> None:
        self.trace = Trace()
        self._clock = clock
        self._file = file
        self._on_event = on_event
        self._started = clock()

    def elapsed(self) -> float:
        """Seconds since the episode began."""
        return self._clock() - self._started

    def start(self, **values: Any) -> None:
        """The first event."""
        self.record("start", time=self._started, **values)

    def record(self, kind: str, /, **values: Any) -> None:
        """Record an event: it is in the trace and in the file when this returns."""
        # As it comes back from its line, so that the trace in memory equals the one that is read from the file.
        event = json.loads(encode({"event": kind, "t": round(self.elapsed(), 6)} | values))
        self.trace.events.append(event)
        if self._file is not None:
            self._write(self._file, event)
        if self._on_event is not None:
            self._on_event(event)

    def _write(self, file: TraceFile, event: Event) -> None:
        was_whole = file.error is None
        file.write(event)
        if was_whole and file.error is not None:
            self.stream("trace_failed", error=file.error)
            if self._on_event is None:
                warnings.warn(f"{file.error} The run goes on.", stacklevel=3)

    def stream(self, kind: str, /, **values: Any) -> None:
        """Tell the listener something that the trace doesn't keep."""
        if self._on_event is not None:
            self._on_event({"event": kind} | values)

    def warn(self, text: str) -> None:
        """Tell the listener what looks wrong, or warn where nobody listens."""
        self.stream("note", text=text)
        if self._on_event is None:
            warnings.warn(text, stacklevel=2)

    def end(self, ending: Ending, *, answer: str | None = None, error: str | None = None) -> None:
        """The last event; an episode that has ended can't end again."""
        if self.trace.ending is not None:
            return
        trace = self.trace
        values = {"ending": ending, "answer": answer, "error": error}
        self.record(
            "end", **{name: value for name, value in values.items() if value is not None},
            n_tokens=trace.n_tokens, n_evaluated=trace.evaluated, n_sampled=trace.sampled, n_forced=trace.forced,
            n_decode_calls=trace.decode_calls,
        )
        if self._file is not None:
            self._file.close()
