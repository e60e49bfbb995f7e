"""Asking one question: the run on stderr, the answer on stdout, and what became of it as an exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from local_react.cli.printer import Printer
from local_react.cli.streams import Answers, Hint, say
from local_react.cli.text import make_visible, write_json
from local_react.errors import LocalReactError, TraceError
from local_react.recorder import STREAMED
from local_react.runs import run
from local_react.trace import Event, Trace, write_action

ANSWERED, UNANSWERED, INTERRUPTED = 0, 1, 130
"""Exit codes."""

_ENDINGS = {
    "step_limit": "the steps are used up",
    "time_limit": "the time is up",
    "token_limit": "the tokens are used up",
    "parse_failed": "the model wrote too many malformed steps",
    "stuck": "the model repeated itself",
    "denied": "a call was not approved",
    "context_full": "the window is full",
    "error": "something failed",
    "interrupted": "interrupted",
}


@dataclass(frozen=True, slots=True)
class Desk:
    """What several questions of one command share. `log` takes the run, `errors` what must be said even if it is quiet."""

    answers: Answers
    log: Console
    errors: Console
    hint: Hint
    options: Mapping[str, Any]  # the keyword arguments of `run`
    as_json: bool
    said: set[str] = field(default_factory=set)


def ask(desk: Desk, question: str, trace_file: Path | None) -> int:
    """Run one question and report it; returns the exit code.

    Raises LocalReactError and KeyboardInterrupt only where the run hadn't begun.
    """
    events: list[Event] = []
    printer = Printer(desk.log, desk.hint)

    def listen(event: Event) -> None:
        if event["event"] == "trace_failed":
            say(desk.errors, f"Error: {event['error']}")
            return
        if event["event"] == "note":
            _say_once(desk, event["text"])
        if event["event"] not in STREAMED:
            events.append(event)
        printer.show(event)

    try:
        trace = run(question, **desk.options, trace=trace_file, on_event=listen)
    except (KeyboardInterrupt, LocalReactError):
        printer.leave_line()
        if not events:
            raise
        trace = Trace(events)
    return report(desk, trace)


def _say_once(desk: Desk, text: str) -> None:
    if text not in desk.said:
        desk.said.add(text)
        say(desk.log, text, "dim")


def report(desk: Desk, trace: Trace) -> int:
    """Write the answer, or say why there is none; returns the exit code."""
    if desk.as_json:
        desk.answers.write(write_json(summarise(trace), desk.answers.encoding))
    elif trace.answer is not None:
        desk.answers.write(make_visible(trace.answer))
    if trace.ending == "answered":
        return ANSWERED
    say(desk.errors, f"Not answered, {describe_ending(trace)}")
    return INTERRUPTED if trace.ending == "interrupted" else UNANSWERED


def describe_ending(trace: Trace) -> str:
    """One line on how a run ended without an answer."""
    if trace.ending is None:
        return "the trace breaks off before the run's end."
    detail = f": {trace.error}" if trace.error and trace.ending != "interrupted" else "."
    return f"{_ENDINGS.get(trace.ending, 'in a way that this program does not know')} ({trace.ending}){detail}"


def summarise(trace: Trace) -> dict[str, Any]:
    """The run as one JSON object."""
    return {
        "question": trace.question, "answer": trace.answer, "ending": trace.ending, "error": trace.error,
        "steps": [
            {
                "thought": step.thought, "action": write_action(step.action),
                "observation": None if step.observation is None else asdict(step.observation),
            }
            for step in trace.steps
        ],
        "counts": {
            "tokens": trace.n_tokens, "evaluated": trace.evaluated, "sampled": trace.sampled, "forced": trace.forced,
            "decode_calls": trace.decode_calls,
        },
    }


def number_trace_file(path: str | None, number: int) -> Path | None:
    """The trace file of the question `number`: run.jsonl becomes run-1.jsonl and so on.

    Raises TraceError for a path without a name.
    """
    if path is None:
        return None
    file = Path(path)
    if not file.name:
        raise TraceError(f"{path} is a folder, and no name for the trace. Give a file.")
    return file.with_name(f"{file.stem}-{number}{file.suffix}")
