"""The record of an episode: what is written is read back, cut files are read as far as they go, others are refused."""

from __future__ import annotations

import json
import math
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from local_react import Answer, Call, Malformed, Observation, ScriptedModel, Step, Trace, TraceError, run, tool
from local_react.trace import TraceFile, encode, read_action, read_pieces, spell_pieces, write_action


@tool
def search(query: str) -> str:
    """Look something up."""
    if query == "fail":
        raise KeyError("INV-9")
    return "ä\u2028日🙂 \x00\n" * (500 if query == "long" else 1)


SCRIPT = [
    " t\nAction: search[x]\n", " **t**\n**Action**: search(long)\n", " t\nAction: search[fail]\n", " prose 🙂",
    " t\nAction: serch[x]", " so\nAction: finish[it is 日本]",
]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run("Was ist\u2028das, \ud800?", model=ScriptedModel(SCRIPT), tools=[search], max_steps=6)


def test_a_run_is_read_back_as_it_was(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "run.jsonl"
    trace.write(path)
    read = Trace.read(path)
    assert read == trace
    assert read.events == trace.events
    assert (read.question, read.answer, read.ending, read.steps) == (trace.question, "it is 日本", "answered", trace.steps)
    assert [event["event"] for event in trace.events[:3]] == ["start", "prompt", "tokens"]
    assert trace.events[-1]["event"] == "end"


def test_the_file_of_a_run_is_what_the_run_returned(tmp_path: Path) -> None:
    returned = run("q", model=ScriptedModel(SCRIPT), tools=[search], max_steps=6, trace=tmp_path / "a.jsonl")
    assert Trace.read(tmp_path / "a.jsonl") == returned
    assert Trace.read(str(tmp_path / "a.jsonl")) == returned


def test_a_line_is_utf_8_without_raw_line_breaks(trace: Trace) -> None:
    for event in trace.events:
        line = encode(event)
        assert line.endswith(b"\n") and line.count(b"\n") == 1
        assert json.loads(line.decode("utf-8")) == event
    assert "日本".encode() in b"".join(map(encode, trace.events)), "people read these files"


def test_steps_join_actions_and_observations(trace: Trace) -> None:
    steps = trace.steps
    assert steps[0] == Step(Call("search", {"query": "x"}, "t"), Observation("ä\u2028日🙂 \x00\n"))
    assert steps[1].action.repairs
    assert steps[1].observation.full == "ä\u2028日🙂 \x00\n" * 500
    assert len(steps[1].observation.text) < len(steps[1].observation.full)
    assert steps[2].observation == Observation("Error: KeyError: 'INV-9'", is_error=True)
    assert [steps[n].observation.kind for n in (3, 4)] == ["notice", "notice"]
    assert (steps[3].action.code, steps[4].action.code) == ("no_action_or_answer", "unknown_tool")
    assert steps[4].action.suggestion == "search"
    assert steps[5] == Step(Answer("it is 日本", "so"))


def test_counts_are_those_of_the_events(trace: Trace) -> None:
    tokens = [event for event in trace.events if event["event"] == "tokens"]
    assert trace.n_tokens == len(trace.ids) == sum(len(event["ids"]) for event in tokens)
    assert {event["owner"] for event in tokens} == {"program", "model", "observation"}
    assert 0 < trace.sampled == sum(event["n_sampled"] for event in trace.completions)
    assert trace.evaluated <= trace.n_tokens
    end = trace.events[-1]
    assert [end[name] for name in ("n_tokens", "n_evaluated", "n_sampled", "n_forced", "n_decode_calls")] == [
        trace.n_tokens, trace.evaluated, trace.sampled, trace.forced, trace.decode_calls
    ]


def test_an_empty_trace_has_no_ending() -> None:
    trace = Trace()
    assert (trace.question, trace.ending, trace.answer, trace.error) == ("", None, None, None)
    assert (trace.steps, trace.n_tokens) == ((), 0)
    assert (trace.evaluated, trace.sampled, trace.forced, trace.decode_calls) == (0, 0, 0, 0)
    assert "steps=0" in repr(trace)
    assert trace != "trace"


def test_a_file_cut_anywhere_in_its_last_line_is_read_up_to_there(trace: Trace, tmp_path: Path) -> None:
    start = encode({"event": "start", "version": 1, "question": "q"})
    last = encode({"event": "notice", "step": 1, "text": "日🙂\u2028\\ \"x\""})
    path = tmp_path / "cut.jsonl"
    for length in range(len(last) + 1):
        path.write_bytes(start + last[:length])
        assert len(Trace.read(path).events) == (2 if length >= len(last) - 1 else 1)


def test_a_run_that_was_killed_is_read_up_to_there(trace: Trace, tmp_path: Path) -> None:
    data = b"".join(map(encode, trace.events))
    path = tmp_path / "cut.jsonl"
    first = len(encode(trace.events[0]))
    for length in range(first, len(data), max((len(data) - first) // 150, 1)):
        path.write_bytes(data[:length])
        read = Trace.read(path)
        assert read.events == trace.events[: len(read.events)]
        assert len(read.events) in (data[:length].count(b"\n"), data[:length].count(b"\n") + 1)
        assert read.steps == trace.steps[: len(read.steps)] or read.steps[-1].observation is None
        assert read.ending is None


START = b'{"event": "start", "version": 1}\n'
WRONG = {
    "empty": (b"", "doesn't begin with a start event"),
    "blank": (b"\n \n", "doesn't begin with a start event"),
    "html": (b"<!DOCTYPE html>\n<html></html>\n", "line 1, is no JSON"),
    "one line of html": (b"<html></html>", "doesn't begin with a start event"),
    "binary": (bytes(range(256)) * 4, "is no JSON"),
    "gguf": (b"GGUF\x03\x00\x00\x00\n\xff\xfe\n\x00", "line 1, is no JSON"),
    "list": (b"[1, 2]\n", "line 1, is no event"),
    "number": (b"42", "line 1, is no event"),
    "text": (b'"start"\n', "line 1, is no event"),
    "event that is no text": (b'{"event": 1}\n', "line 1, is no event"),
    "json document": (b'{\n  "event": "start"\n}\n', "line 1, is no JSON"),
    "other events first": (b'{"event": "end"}\n' + START, "doesn't begin with a start event"),
    "newer": (b'{"event": "start", "version": 2}\n', "version 2, and this program reads version 1"),
    "no version": (b'{"event": "start"}\n', "version None"),
    "version as text": (b'{"event": "start", "version": "1"}\n', "version '1'"),
    "damaged in the middle": (START + b'{"event": "tok\n' + START, "line 2, is no JSON"),
    "latin-1 in the middle": (START + b'{"event": "\xe4"}\n' + START, "line 2, is no JSON"),
    "deep": (START + b"[" * 100_000 + b"\n" + START, "line 2, is no JSON"),
    "ids that are none": (START + b'{"event": "tokens", "ids": 5}\n', "event 2: the tokens event has the ids 5"),
    "no count": (START + b'{"event": "completion"}\n', "event 2: the completion event has no n_sampled"),
    "an unknown action": (START + b'{"event": "action", "kind": "x"}\n', "event 2: the action can't be read"),
    "half an action": (START + b'{"event": "action", "kind": "call"}\n', "event 2: the action can't be read"),
    "huge number": (START + b'{"event": "x", "n": ' + b"9" * 5000 + b"}\n" + START, "line 2, is no JSON"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_what_is_no_trace_is_refused_with_the_reason(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_bytes(data)
    with pytest.raises(TraceError, match=message) as caught:
        Trace.read(path)
    assert str(path) in str(caught.value)


def test_what_is_no_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="missing.jsonl can't be read: No such file"):
        Trace.read(tmp_path / "missing.jsonl")
    with pytest.raises(TraceError, match="can't be read: Is a directory"):
        Trace.read(tmp_path)
    with pytest.raises(TraceError, match="can't be read: embedded null byte"):
        Trace.read("a\0b")
    with pytest.raises(TraceError, match="can't be written: embedded null byte. Choose another place"):
        TraceFile("a\0b")
    with pytest.raises(TraceError, match="can't be written: Is a directory. Choose another place"):
        TraceFile(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(TraceError, match="can't be written"):
        Trace().write(tmp_path / "file" / "below.jsonl")


def test_each_event_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    file = TraceFile(path)
    file.write({"event": "start", "version": 1})
    assert len(Trace.read(path).events) == 1
    file.write({"event": "notice", "step": 1, "text": "x"})
    assert len(Trace.read(path).events) == 2
    file.close()
    file.close()
    file.write({"event": "end"})
    assert len(Trace.read(path).events) == 2
    assert file.error is None


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_is_told_once_and_not_raised() -> None:
    with TraceFile("/dev/full") as file:
        file.write({"event": "start"})
        assert file.error is not None and "No space left on device" in file.error
        error = file.error
        file.write({"event": "end"})
    assert file.error == error
    with pytest.raises(TraceError, match="No space left on device"):
        Trace([{"event": "start"}]).write("/dev/full")


TEXTS = st.text(st.one_of(st.characters(), st.sampled_from("\x00\ud800\udfff\u2028\\\"\n🙂")), max_size=8).filter(
    # A high surrogate before a low one is one character in JSON.
    lambda text: text == json.loads(json.dumps(text))
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6,
)
NOTES = {
    "repairs": st.lists(TEXTS, max_size=2).map(tuple), "extra_steps": st.integers(0, 9), "answer_after_action": st.booleans(),
    "forged_observation": st.booleans(), "thinking": st.none() | TEXTS,
}
MAYBE = st.none() | TEXTS
ACTIONS = st.one_of(
    st.builds(Call, TEXTS, st.dictionaries(TEXTS, JSON, max_size=3), MAYBE, **NOTES),
    st.builds(Answer, TEXTS, MAYBE, **NOTES),
    st.builds(Malformed, st.sampled_from(["unknown_tool", "null_action"]), TEXTS, MAYBE, tool=MAYBE, parameter=MAYBE,
              expected=MAYBE, value=MAYBE, suggestion=MAYBE, **NOTES),
)


@settings(max_examples=300, deadline=None)
@given(ACTIONS)
def test_an_action_comes_back_from_its_line_with_all_its_notes(action: Any) -> None:
    event = {"event": "action", "step": 1} | write_action(action)
    for given_event in (event, json.loads(encode(event))):
        read = read_action(given_event)
        assert read == action
        for field in fields(action):  # notes take no part in ==
            assert getattr(read, field.name) == getattr(action, field.name)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.dictionaries(TEXTS, JSON, max_size=3), max_size=4))
def test_any_event_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, values: list[dict[str, Any]]) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    trace = Trace([{"event": "start", "version": 1}, *(value | {"event": "x"} for value in values)])
    trace.write(path)
    assert Trace.read(path) == trace


def test_numbers_that_are_none_are_kept() -> None:
    """A log-probability may be infinite; Python's JSON has a word for that."""
    low, undefined = json.loads(encode({"event": "x", "logprobs": [-math.inf, math.nan]}))["logprobs"]
    assert low == -math.inf and math.isnan(undefined)


def test_what_json_does_not_know_is_written_as_text() -> None:
    assert json.loads(encode({"event": "x", "path": Path("a") / "b"}))["path"] == str(Path("a") / "b")


@given(st.lists(st.binary(max_size=6)))
def test_token_bytes_are_spelled_without_loss(pieces: list[bytes]) -> None:
    assert read_pieces(spell_pieces(pieces)) == pieces
    assert json.loads(encode({"event": "x", "pieces": spell_pieces(pieces)}))["pieces"] == spell_pieces(pieces)
