"""The comparison of readers, in small: what each adapter hands on, and how readings are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import parsers
from benchmarks.parsers import OUTCOMES, PEERS, Sample, judge, load_readers, measure, ours, published_steps, reported_cases
from benchmarks.peers.reading import REFUSED, Reading
from local_react.language.protocol import Protocol

TOOLS = {"search": "query"}
CALL = Reading("call", "search", "a [b] c")


def sample(text: str = "", expected: Reading = CALL, **changes) -> Sample:
    return Sample("own", text, expected, TOOLS, Protocol.preset("finish"), **{"thought": "I go on."} | changes)


@pytest.mark.parametrize(
    ("reading", "expected", "meant", "outcome"),
    [
        (CALL, CALL, None, "right"),
        (REFUSED, CALL, None, "refused"),
        (Reading("call", "search", "a [b"), CALL, None, "wrong"),
        (Reading("call", "look", "a [b] c"), CALL, None, "wrong"),
        (Reading("answer", None, "a [b] c"), CALL, None, "wrong"),
        (Reading("call", "search", '"a [b] c" '), CALL, None, "right"),
        (REFUSED, REFUSED, CALL, "right"),
        (CALL, REFUSED, CALL, "repaired"),
        (CALL, REFUSED, None, "wrong"),
        (Reading("call", "search", {"query": "x"}), CALL, None, "wrong"),
    ],
)
def test_readings_are_judged(reading, expected, meant, outcome):
    assert judge(reading, sample(expected=expected, meant=meant)) == outcome
    assert outcome in OUTCOMES


def test_every_reader_reads_its_own_layout():
    readers, skipped = load_readers()
    assert set(readers) | set(skipped) == {"local_react, strict", "local_react, lenient", *(peer.NAME for peer in PEERS)}
    plain = Reading("call", "search", "plain words")
    for name, (read, write) in readers.items():
        for expected in (plain, Reading("answer", None, "forty-two")):
            one = sample(expected=expected)
            assert judge(read(write(one), one), one) == "right", name


def test_a_package_that_is_not_installed_is_skipped_with_the_reason():
    _, skipped = load_readers()
    for name, reason in skipped.items():
        package = next(peer.PACKAGE for peer in PEERS if peer.NAME == name)
        assert package in reason and "requirements.txt" in reason


@pytest.mark.parametrize(
    ("text", "line", "anywhere"),
    [
        ("Action: search[a [b] c]", CALL, Reading("call", "search", "a [b")),
        ("Action 1: search[x]", REFUSED, Reading("call", "search", "x")),
        ("I could use Action: search[x]", REFUSED, Reading("call", "search", "x")),
        ("Action: fly[x]", REFUSED, REFUSED),
        ("Action: finish[x]", Reading("answer", None, "x"), Reading("answer", None, "x")),
        ("nothing", REFUSED, REFUSED),
    ],
)
def test_what_the_introductions_expressions_make_of_a_text(text, line, anywhere):
    readers, _ = load_readers()
    for name, expected in (("introduction, one line", line), ("introduction, anywhere", anywhere)):
        assert readers[name][0](text, sample()) == expected


def test_counts_add_up_and_no_text_is_kept():
    samples = [sample("Action: search[a [b] c]"), sample("x", REFUSED, thought=None), sample("Action 1: search[a [b] c]")]
    figures = measure(samples, load_readers()[0])
    for regimes in figures.values():
        for found in regimes.values():
            assert sum(found[name] for name in OUTCOMES) == found["n"]
    assert figures["introduction, anywhere"]["as_written"]["wrong_ids"] == ["own", "own"]
    assert "a [b] c" not in json.dumps(figures)


def test_on_the_published_steps_the_strict_reading_is_never_wrong(shared):
    steps = list(published_steps(shared / "data" / "react_steps.jsonl"))
    cases = list(reported_cases(shared / "cases" / "parser_cases.jsonl"))
    assert len(steps) == 4737 and len(cases) > 60
    found = measure([*steps[::10], *cases], {"ours": (ours(strict=True), parsers.write_ours)})["ours"]
    assert found["as_written"]["wrong"] == found["own_layout"]["wrong"] == 0


def test_the_committed_results_hold_every_reader_and_no_text():
    document = json.loads(parsers.RESULTS.read_text(encoding="utf-8"))
    assert set(document["steps"]) == {"local_react, strict", "local_react, lenient", *(peer.NAME for peer in PEERS)}
    assert document["skipped"] == {} and document["steps"]["local_react, strict"]["as_written"]["wrong"] == 0


def test_the_command_prints_tables_and_ends_with_one_document(shared, tmp_path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join((shared / "cases" / "parser_cases.jsonl").read_text().splitlines(keepends=True)[:9]))
    steps = tmp_path / "steps.jsonl"
    steps.write_text("".join((shared / "data" / "react_steps.jsonl").read_text().splitlines(keepends=True)[:9]))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.parsers", "--steps", steps, "--cases", cases, "--output", tmp_path / "out.json"],
        capture_output=True, text=True, timeout=60, cwd=Path(__file__).parents[1],
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == json.loads((tmp_path / "out.json").read_text())


def test_texts_that_are_not_here_are_asked_for_in_one_message(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["parsers", "--steps", str(tmp_path / "steps.jsonl")])
    with pytest.raises(SystemExit):
        parsers.main()
    assert "Give --steps FILE" in capsys.readouterr().err
