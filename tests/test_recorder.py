"""Where events go: into the trace, the file and to the listener, in order, whatever becomes of the file."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from local_react import ScriptedModel, Trace, TraceError, run
from local_react.recorder import Recorder
from local_react.trace import Event, TraceFile


def ticking() -> Recorder:
    return Recorder(clock=map(float, count(100)).__next__)


def test_events_carry_their_kind_and_the_seconds_since_the_start() -> None:
    recorder = ticking()
    recorder.start(version=1, question="q")
    recorder.record("notice", step=1, text="x")
    assert recorder.trace.events == [
        {"event": "start", "t": 1.0, "time": 100.0, "version": 1, "question": "q"},
        {"event": "notice", "t": 2.0, "step": 1, "text": "x"},
    ]


def test_an_event_may_have_a_field_called_kind() -> None:
    recorder = ticking()
    recorder.record("action", kind="call", name="x")
    assert recorder.trace.events[0]["kind"] == "call"


def test_the_record_equals_its_file_and_nobody_can_change_it_afterwards(tmp_path: Path) -> None:
    """A tuple in an event stayed one in memory once, and was a list in the file."""
    recorder = Recorder(clock=lambda: 0.0, file=TraceFile(tmp_path / "run.jsonl"))
    recorder.start(version=1, protocol={"aliases": {}})
    arguments = {"a": [1, 2]}
    logprobs = [{"token": 1, "top": ((1, -0.5), (2, -1.5))}]
    recorder.record("approval", step=1, decision="edited", arguments=arguments, logprobs=logprobs)
    arguments["a"].append(3)
    assert Trace.read(tmp_path / "run.jsonl") == recorder.trace
    assert recorder.trace.events[1]["arguments"] == {"a": [1, 2]}


def test_an_event_is_recorded_and_written_before_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[tuple[int, int]] = []

    def listen(event: Event) -> None:
        seen.append((len(recorder.trace.events), len(Trace.read(path).events)))

    recorder = Recorder(clock=lambda: 0.0, file=TraceFile(path), on_event=listen)
    recorder.start(version=1)
    recorder.record("notice", step=1, text="x")
    assert seen == [(1, 1), (2, 2)]


def test_what_is_streamed_is_told_and_not_kept() -> None:
    events: list[Event] = []
    recorder = Recorder(clock=lambda: 0.0, on_event=events.append)
    recorder.stream("delta", step=1, text="x")
    assert events == [{"event": "delta", "step": 1, "text": "x"}]
    assert recorder.trace.events == []
    ticking().stream("delta", step=1, text="nobody listens")


def test_the_end_sums_up_and_comes_once(tmp_path: Path) -> None:
    recorder = Recorder(clock=lambda: 0.0, file=TraceFile(tmp_path / "run.jsonl"))
    recorder.start(version=1)
    recorder.record("prompt", n_evaluated=3)
    recorder.record("tokens", owner="program", text="x", ids=[1, 2, 3, 4])
    recorder.record("completion", n_sampled=5, n_forced=2, n_evaluated=6, n_decode_calls=7)
    recorder.end("answered", answer="")
    recorder.end("error", error="too late")
    assert recorder.trace.events[-1] == {
        "event": "end", "t": 0.0, "ending": "answered", "answer": "", "n_tokens": 4, "n_evaluated": 9, "n_sampled": 5,
        "n_forced": 2, "n_decode_calls": 7,
    }
    assert (recorder.trace.ending, recorder.trace.answer, recorder.trace.error) == ("answered", "", None)
    assert Trace.read(tmp_path / "run.jsonl") == recorder.trace


needs_full_disk = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")


@needs_full_disk
def test_a_file_that_fails_is_told_once_and_the_trace_goes_on() -> None:
    events: list[Event] = []
    recorder = Recorder(clock=lambda: 0.0, file=TraceFile("/dev/full"), on_event=events.append)
    recorder.start(version=1)
    recorder.record("notice", step=1, text="x")
    recorder.end("answered", answer="a")
    assert [event["event"] for event in events] == ["trace_failed", "start", "notice", "end"]
    assert "No space left on device" in events[0]["error"]
    assert [event["event"] for event in recorder.trace.events] == ["start", "notice", "end"]


@needs_full_disk
def test_a_run_on_a_full_disk_gives_its_answer() -> None:
    events: list[Event] = []
    trace = run("q", model=ScriptedModel([" t\nAction: finish[it]"]), trace="/dev/full", on_event=events.append)
    assert trace.answer == "it"
    assert sum(event["event"] == "trace_failed" for event in events) == 1


def test_a_place_that_cannot_be_written_is_told_before_anything_runs(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="Choose another place"):
        run("q", model=ScriptedModel([" t\nAction: finish[it]"]), trace=tmp_path)
