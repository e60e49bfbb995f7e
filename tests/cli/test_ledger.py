"""`local-react trace ledger`: the counts of a run as a table or as JSON."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from local_react import ScriptedModel, Trace, run, tool
from local_react.bench.ledger import keep_ledger
from local_react.cli import main

SCRIPT = [" I look.\nAction: colour[sky]\n", " nonsense", " Done.\nAction: finish[blue]\n"]


@tool
def colour(thing: str) -> str:
    """The colour of a thing."""
    return f"{thing} is blue"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.jsonl"
    run("What colour?", model=ScriptedModel(SCRIPT), tools=[colour], trace=path)
    return str(path)


def invoke(*args):
    return CliRunner().invoke(main, ["trace", "ledger", *args])


def test_the_table_names_every_part_and_predicts(file):
    result = invoke(file, "--steps", "3", "--steps", "30")
    ledger = keep_ledger(Trace.read(file))
    assert result.exit_code == 0, result.output
    for name in (*ledger.parts, *(purpose.capitalize() for purpose in ledger.purposes)):
        assert name in result.stdout
    assert f"{ledger.n_sent:,} tokens" in result.stdout
    rows = [line.split() for line in result.stdout.splitlines()[-2:]]
    assert [row[0] for row in rows] == ["3", "30"]
    assert int(rows[1][2].replace(",", "")) == ledger.predict(30).stateless


def test_the_counts_stand_in_one_column(file):
    """Long names of parts, which are set in by two blanks, once pushed their counts to the right."""
    counts, _, _ = invoke(file).stdout.partition("\n\n")
    assert len({len(line) for line in counts.splitlines()}) == 1


def test_as_json_it_is_one_line(file):
    result = invoke(file, "--json")
    assert json.loads(result.stdout) == keep_ledger(Trace.read(file)).write()
    assert result.stdout.count("\n") == 1


def test_several_traces_are_added_up(file):
    one, two = json.loads(invoke(file, "--json").stdout), json.loads(invoke(file, file, "--json").stdout)
    assert two["n_tokens"] == 2 * one["n_tokens"] and two["predictions"] == one["predictions"]


def test_a_file_that_is_no_trace_is_one_message(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("{}\n")
    result = invoke(str(path))
    assert result.exit_code == 2 and "Is this a trace file?" in result.stderr
