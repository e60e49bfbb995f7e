"""The record of an episode: one event a line, written as it happens, and the `Trace` that the events add up to.

Every event is a JSON object with `event` (its kind) and `t` (seconds since the start). The kinds, in the order of a run:

    start        version, question, model, settings, protocol, tools (names), toolbox (name, description, parameters as JSON
                 Schema and needs_approval of each), toolbox and prompt fingerprints, time
    prompt       parts (name, text, tokens of each), n_shared, n_evaluated (for the shared prefix)
    tokens       owner (program, model, observation), text, ids: what was appended to the transcript
    thinking     what the model wrote of its think block: the same fields as a completion, but for the step
    completion   step, text, reason, label, pieces, n_sampled, n_forced, n_evaluated, n_decode_calls, n_cut_bytes, seconds,
                 and where they say something: logprobs, n_masks, choices, is_answer (of a native message)
    action       step, kind (call, answer, malformed), its fields and notes, seen_in (the sources of grounded arguments)
    approval     step, decision (approved, edited, denied, refused: an edit that doesn't fit), arguments or error
    observation  step, kind, text as shown, is_error, full where it was cut, traceback, seconds
    notice       step, text: a notice that belongs to no action
    end          ending, answer, error, n_tokens, n_evaluated, n_sampled, n_forced, n_decode_calls

A trace in memory is made from the same events as one read from a file, so the two are equal. Secrets have no place in
it: it holds the question, what the model wrote and what the tools returned, and nothing of the environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import IO, Any, Literal

from local_react.errors import TraceError
from local_react.language.step import Action, Answer, Call, Malformed, Observation, Step

VERSION = 1

Event = Mapping[str, Any]

Ending = Literal[
    "answered",  # the only success
    "step_limit",
    "time_limit",
    "token_limit",
    "parse_failed",  # too many malformed steps running
    "stuck",  # the repeat guard fired too often
    "denied",  # the user denied a call
    "context_full",
    "error",
    "interrupted",
]
"""How an episode can end."""

_ACTIONS = {"call": Call, "answer": Answer, "malformed": Malformed}
_KINDS = {action: kind for kind, action in _ACTIONS.items()}
_NEEDED = {
    "start": (), "prompt": (), "tokens": ("ids",), "completion": ("n_sampled", "n_forced", "n_decode_calls"),
    "thinking": ("n_sampled", "n_forced", "n_decode_calls"),
    "action": ("kind",), "observation": ("kind", "text"), "notice": ("text",), "approval": ("decision",), "end": (),
}
_TYPES: dict[str, type] = {
    **dict.fromkeys(("question", "text", "kind", "name", "code", "message", "full", "decision"), str),
    **dict.fromkeys(("step", "n_sampled", "n_forced", "n_evaluated", "n_decode_calls"), int),
    **dict.fromkeys(("ending", "answer", "error"), str), **dict.fromkeys(("toolbox", "ids", "pieces"), list),
    **dict.fromkeys(("settings", "protocol", "arguments"), dict),
}
"""What readers of a trace rely on: the fields that an event must have, and what a field is where it is there."""


class Trace:
    """An episode, as far as its events go.

    `ending` is None while there is no `end` event: the run goes on, or its process was killed.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: list[Event] = list(events)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trace) and self.events == other.events

    def __repr__(self) -> str:
        return f"Trace(question={self.question!r}, ending={self.ending!r}, answer={self.answer!r}, steps={len(self.steps)})"

    @classmethod
    def read(cls, path: str | Path) -> Trace:
        """Read a trace file. A last line that was cut off is left out.

        Raises TraceError for a file that can't be read, is no trace, or is of a newer version.
        """
        try:
            lines = Path(path).read_bytes().split(b"\n")
        except (OSError, ValueError) as error:  # a ValueError for a path with a NUL character
            raise TraceError(f"{path} can't be read: {getattr(error, 'strerror', error)}.") from error
        events = []
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                event = json.loads(line)
            except (ValueError, RecursionError) as error:
                if number == len(lines):
                    break
                raise TraceError(f"{path}, line {number}, is no JSON: {error}. Is this a trace file?") from error
            if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                raise TraceError(f"{path}, line {number}, is no event of a trace. Is this a trace file?")
            events.append(event)
        if not events or events[0]["event"] != "start":
            raise TraceError(f"{path} doesn't begin with a start event. Is this a trace file?")
        if events[0].get("version") != VERSION:
            raise TraceError(
                f"{path} has version {events[0].get('version')!r}, and this program reads version {VERSION}. "
                "Use the version of local_react that wrote it."
            )
        for number, event in enumerate(events, 1):
            check_event(event, f"{path}, event {number}")
        return cls(events)

    def write(self, path: str | Path) -> None:
        """Write all events to a file. Raises TraceError where that fails."""
        with TraceFile(path) as file:
            for event in self.events:
                file.write(event)
            if file.error is not None:
                raise TraceError(file.error)

    @property
    def question(self) -> str:
        """The question that was asked."""
        return self._first("start").get("question", "")

    @property
    def ending(self) -> Ending | None:
        """How the run ended."""
        return self._first("end").get("ending")

    @property
    def answer(self) -> str | None:
        """The final answer; None unless the ending is "answered"."""
        return self._first("end").get("answer")

    @property
    def error(self) -> str | None:
        """Why the run ended without an answer, where the ending doesn't say it all."""
        return self._first("end").get("error")

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order, the last one perhaps without an observation."""
        steps: list[Step] = []
        for event in self.events:
            match event["event"]:
                case "action":
                    steps.append(Step(read_action(event)))
                case "observation" if steps:
                    steps[-1] = Step(steps[-1].action, _read_observation(event))
        return tuple(steps)

    @property
    def completions(self) -> tuple[Event, ...]:
        """The completion events in order."""
        return tuple(event for event in self.events if event["event"] == "completion")

    @property
    def generations(self) -> tuple[Event, ...]:
        """All that the model wrote: the events of its think block and of its completions, in order."""
        return tuple(event for event in self.events if event["event"] in ("thinking", "completion"))

    @property
    def ids(self) -> tuple[int, ...]:
        """The token ids of the whole transcript."""
        return tuple(id for event in self.events if event["event"] == "tokens" for id in event["ids"])

    @property
    def n_tokens(self) -> int:
        """How many tokens the transcript has."""
        return len(self.ids)

    @property
    def evaluated(self) -> int:
        """How many tokens were evaluated for this episode; at most `n_tokens`."""
        return sum(event.get("n_evaluated", 0) for event in (self._first("prompt"), *self.generations))

    @property
    def sampled(self) -> int:
        """How many tokens were sampled."""
        return sum(event["n_sampled"] for event in self.generations)

    @property
    def forced(self) -> int:
        """How many of the model's tokens were put in without being sampled."""
        return sum(event["n_forced"] for event in self.generations)

    @property
    def decode_calls(self) -> int:
        """In how many batches the episode took part."""
        return sum(event["n_decode_calls"] for event in self.generations)

    def _first(self, kind: str) -> Event:
        return next((event for event in self.events if event["event"] == kind), {})


def check_event(event: Event, where: str) -> None:
    """Raise TraceError, beginning with `where`, for an event that lacks a field or has a wrong one."""
    kind = event["event"]
    if kind not in _NEEDED:
        return
    if missing := [name for name in _NEEDED[kind] if name not in event]:
        raise TraceError(f"{where}: the {kind} event has no {missing[0]}.")
    if wrong := [name for name, type in _TYPES.items() if name in event and not isinstance(event[name], type)]:
        raise TraceError(f"{where}: the {kind} event has the {wrong[0]} {event[wrong[0]]!r:.100}, which can't be.")
    if kind == "action":
        try:
            read_action(event)
        except (KeyError, TypeError) as error:
            raise TraceError(f"{where}: the action can't be read ({error}).") from error


class TraceFile:
    """A trace file that is being written: each event is one line, flushed at once.

    Where writing fails (a full disk), nothing more is written and `error` says why; the run goes on, since its answer is
    worth more than its record.
    """

    def __init__(self, path: str | Path) -> None:
        self.error: str | None = None
        self._path = Path(path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] | None = open(self._path, "wb")
        except (OSError, ValueError) as error:
            raise TraceError(f"{path} can't be written: {getattr(error, 'strerror', error)}. Choose another place.") from error

    def write(self, event: Event) -> None:
        """Add an event."""
        if self._file is None:
            return
        try:
            self._file.write(encode(event))
            self._file.flush()
        except OSError as error:
            self.error = f"{self._path} couldn't be written to its end: {error.strerror}."
            self.close()

    def close(self) -> None:
        """Close the file; closing twice does nothing. Where that fails, `error` says so."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:
            self.error = self.error or f"{self._path} couldn't be written to its end: {error.strerror}."

    def __enter__(self) -> TraceFile:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def encode(event: Event) -> bytes:
    """An event as a line of UTF-8. Lone surrogates, which UTF-8 can't hold, are written as JSON escapes."""
    try:
        line = json.dumps(event, ensure_ascii=False, default=str).encode("utf-8")
    except UnicodeEncodeError:
        line = json.dumps(event, default=str).encode("ascii")
    return line + b"\n"


def write_action(action: Action) -> dict[str, Any]:
    """An action as the fields of an event; notes that say nothing are left out."""
    values = {name: value for name, value in asdict(action).items() if value not in (None, (), 0, False)}
    if isinstance(action, Call):
        values["arguments"] = dict(action.arguments)
    if "repairs" in values:
        values["repairs"] = list(values["repairs"])
    return {"kind": _KINDS[type(action)]} | values


def read_action(event: Event) -> Action:
    """The action that `write_action` wrote."""
    action = _ACTIONS[event["kind"]]
    names = {field.name for field in fields(action)}
    values = {name: value for name, value in event.items() if name in names}
    if "repairs" in values:
        values["repairs"] = tuple(values["repairs"])
    return action(**values)


def _read_observation(event: Event) -> Observation:
    return Observation(event["text"], event["kind"], event.get("is_error", False), event.get("full"))


def spell_pieces(pieces: Iterable[bytes]) -> list[str]:
    """Token bytes as text; bytes that are no UTF-8 by themselves become lone surrogates, without loss."""
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]


def read_pieces(pieces: Iterable[str]) -> list[bytes]:
    """The inverse of `spell_pieces`."""
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]
