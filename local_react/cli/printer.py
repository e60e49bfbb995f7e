"""A run on the terminal: what the model writes as it comes, calls, observations, notices.

One printer serves the live stream and the record of a run: both are events. Invariant: text from outside is shown, never
obeyed. It prints neither question nor answer; those belong to the command.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from local_react.cli.streams import Hint, say
from local_react.errors import TraceError
from local_react.language.native.formats import format_of
from local_react.language.observation import INDENT, indent
from local_react.language.protocol import Protocol
from local_react.trace import Event, Trace

THOUGHT, ACTION, OBSERVATION, ERROR, NOTICE = "dim", "bold", "cyan", "red", "yellow"
_MARKS = " \t*#`>_-"
"""What models put around a label."""


class Printer:
    """Prints the events of runs, one run after another. `hint` says what is going on while nothing can be printed."""

    def __init__(self, console: Console, hint: Hint) -> None:
        self._console = console
        self._hint = hint
        self._protocol = Protocol()
        self._step = 0
        self._line: _Line | None = None

    def show(self, event: Event) -> None:
        """Print one event, if there is something to see in it."""
        match event["event"]:
            case "start":
                self._protocol, self._step, self._line = Protocol(**event["protocol"]), 0, None
                self._hint.show("Reading the prompt …")
            case "think_delta":
                self._hint.clear()
                say(self._console, event["text"], THOUGHT, end="")
            case "thinking":
                say(self._console, "")
            case "delta":
                self._stream(event["step"], event["text"])
            case "completion":
                self._end_line(event["step"])
            case "action":
                self._show_action(event)
            case "approval":
                self._note(f"({event['decision']}: {event['error']})" if "error" in event else f"({event['decision']})")
            case "observation":
                self._show_observation(event["kind"], event["text"], event["step"], event.get("is_error", False))
            case "notice":
                self._show_observation("notice", event["text"], event["step"], False)
            case "trace_failed":
                self._note(event["error"], ERROR)
            case "end":
                self.leave_line()

    def leave_line(self) -> None:
        """The run is over, perhaps in the middle of a line."""
        self._hint.clear()
        if self._line is not None:
            self._end_line(self._step)

    def _stream(self, step: int, text: str) -> None:
        if self._line is None:
            self._open_line(step)
        for part, style in self._line.feed(text):
            say(self._console, part, style, end="")

    def _open_line(self, step: int) -> None:
        self._hint.clear()
        self._step = step
        if self._protocol.native is not None:
            self._line = _Line(self._protocol, THOUGHT)
            return
        opening = self._protocol.opening
        self._line = _Line(self._protocol, ACTION if opening == "action" else THOUGHT)
        say(self._console, self._protocol.label(opening, step), self._line.style, end="")

    def _end_line(self, step: int) -> None:
        if self._line is None:
            self._open_line(step)
        for part, style in self._line.flush():
            say(self._console, part, style, end="")
        if not self._line.is_fresh:
            say(self._console, "")
        self._line = None

    def _show_action(self, event: Event) -> None:
        if event["kind"] == "malformed":
            self._note(f"(malformed: {event['code']})")
        elif event.get("repairs"):
            self._note(f"(repaired: {', '.join(event['repairs'])})", THOUGHT)
        if event["kind"] == "call":
            self._hint.show(f"Calling {event['name']} …")

    def _show_observation(self, kind: Any, text: str, step: int, is_error: bool) -> None:
        self._hint.clear()
        style = NOTICE if kind == "notice" else ERROR if is_error else OBSERVATION
        shown = f"{self._protocol.label(kind, step)} {indent(text)}"
        say(self._console, INDENT + shown.replace("\n", f"\n{INDENT}"), style)

    def _note(self, text: str, style: str = NOTICE) -> None:
        self._hint.clear()
        say(self._console, INDENT + text, style)


class _Line:
    """Tells the lines of thought from those of an action while they are written.

    The beginning of a line is held back until it is decided. In a native format a call begins with its opener, and goes on to
    the end of the message.
    """

    def __init__(self, protocol: Protocol, style: str) -> None:
        words = (protocol.words.get("action"), protocol.words.get("answer"))
        self._words = [word.lower() for word in words if word]
        self._head: str | None = None
        self._is_native = protocol.native is not None
        if self._is_native:
            self._words, self._head = [format_of(protocol).opener.lower()], ""
        self.style = style
        self.is_fresh = False

    def feed(self, text: str) -> Iterator[tuple[str, str]]:
        for part in text.splitlines(keepends=True):
            yield from self._take(part)

    def flush(self) -> Iterator[tuple[str, str]]:
        if self._head:
            head, self._head = self._head, None
            self.is_fresh = False
            yield head, self.style

    def _take(self, part: str) -> Iterator[tuple[str, str]]:
        """Take a part of one line."""
        if self._head is not None:
            part = self._head + part
            bare = part.lstrip(_MARKS).lower()
            if not part.endswith("\n") and any(word.startswith(bare) and bare != word for word in self._words):
                self._head = part
                return
            self._head = None
            is_action = any(bare.startswith(word) for word in self._words) or self._is_native and self.style == ACTION
            self.style = ACTION if is_action else THOUGHT
        self.is_fresh = part.endswith("\n")
        if self.is_fresh:
            self._head = ""
        yield part, self.style


def events_to_show(trace: Trace) -> Iterator[Event]:
    """The events of a recorded run as they came, with the text of each completion in one piece."""
    for event in trace.events:
        if event["event"] == "thinking":
            yield {"event": "think_delta", "text": event["text"]}
        if event["event"] == "completion":
            yield {"event": "delta", "step": event["step"], "text": event["text"]}
        yield event


def show_trace(trace: Trace, printer: Printer) -> None:
    """Print a recorded run. Raises TraceError for events that aren't as they should be."""
    try:
        for event in events_to_show(trace):
            printer.show(event)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"An event can't be shown ({type(error).__name__}: {error}). Was the trace changed?") from error
    printer.leave_line()
