"""The constraint on the command line: options without one are refused, a grammar file turns it on, files may wait."""

import pytest
from click.testing import CliRunner

from local_react import Trace
from local_react.cli import main
from tests.cli.terminal import FINISH, write_script

GRAMMAR = 'root ::= "Action: " ("get_customer[cus_8812]" | "finish[" [a-z]{1,9} "]")\n'


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Runs a command in a folder of its own, with a script for a model and a grammar file."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_REACT_MODEL", write_script(tmp_path / "script.json", FINISH))
    (tmp_path / "own.gbnf").write_text(GRAMMAR, encoding="utf-8")
    return lambda *args, **options: CliRunner().invoke(main, args, **options)


@pytest.mark.parametrize("given", [
    ["--reach", "action"], ["--engine", "gbnf"], ["--ground"], ["--no-explain"], ["--compile-limit", "3"],
    ["--max-thought-tokens", "9"],
])
def test_an_option_of_a_constraint_that_is_not_there_is_a_usage_error(invoke, given):
    result = invoke("run", "x", *given)
    assert result.exit_code == 2
    option = given[0].replace("--no-", "--")
    assert f"{option} says something about the constraint, and there is none. Give --constrain, too." in result.stderr


def test_a_settings_file_and_the_environment_may_hold_them_until_there_is_one(invoke, tmp_path):
    (tmp_path / "local_react.toml").write_text('engine = "gbnf"\nground = true\nexplain = true\n', encoding="utf-8")
    result = invoke("run", "x", "--trace", "t.jsonl", env={"LOCAL_REACT_REACH": "step"})
    assert result.exit_code == 0, result.stderr
    assert Trace.read("t.jsonl").events[0]["settings"]["constrain"] is False


def test_a_grammar_turns_the_constraint_on(invoke, tmp_path):
    result = invoke("run", "x", "--grammar", "own.gbnf", "--engine", "gbnf")
    assert result.exit_code == 2
    assert "A scripted model can't be constrained" in result.stderr
    (tmp_path / "local_react.toml").write_text('grammar = "own.gbnf"\n', encoding="utf-8")
    assert "can't be constrained" in invoke("run", "x").stderr
    assert invoke("run", "x", "--no-constrain").exit_code == 0


@pytest.mark.parametrize(("args", "message"), [
    (["--no-constrain", "--grammar", "own.gbnf"], "--grammar says something about the constraint, which --no-constrain switches off"),
    (["--grammar", "none.gbnf"], "none.gbnf can't be read"),
    (["--grammar", "own.gbnf", "--reach", "step"], "doesn't describe a whole step"),
    (["--grammar", "own.gbnf", "--ground"], "Give `ground` or `grammar`, not both"),
])
def test_what_does_not_go_with_a_grammar_is_refused(invoke, args, message):
    result = invoke("run", "x", *args)
    assert result.exit_code == 2
    assert message in result.stderr


def test_check_says_what_a_file_describes(invoke):
    result = invoke("grammar", "--check", "own.gbnf")
    assert (result.exit_code, result.stdout) == (0, "own.gbnf describes the line of an action, from `Action:` on.\n")
    assert result.stderr == ""


def test_check_tells_line_and_rule_of_a_fault(invoke, tmp_path):
    (tmp_path / "own.gbnf").write_text('root ::= " a[" b "]"\nb ::= b "x" | "y"\n', encoding="utf-8")
    result = invoke("grammar", "--check", "own.gbnf")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "line 2, rule b: It begins with itself (b → b)" in result.stderr


def test_check_tells_what_looks_wrong(invoke, tmp_path):
    (tmp_path / "own.gbnf").write_text("root ::= [a-z]+\n", encoding="utf-8")
    result = invoke("grammar", "--check", "own.gbnf")
    assert result.exit_code == 0
    assert "None of 30 words drawn from the grammar own.gbnf can be read" in result.stderr


def test_check_draws_words_and_reads_them(invoke):
    result = invoke("grammar", "--tools", "demo", "--check", "own.gbnf", "--sample", "12", "--read", "--seed", "1")
    lines = result.stdout.splitlines()
    assert len(lines) == 24
    readings = dict(zip(lines[::2], lines[1::2]))
    assert readings["Action: get_customer[cus_8812]"] == '    call get_customer {"customer_id": "cus_8812"}'
    assert any(reading.startswith("    answer ") for reading in readings.values())
    assert result.stdout == invoke("grammar", "--tools", "demo", "--check", "own.gbnf", "--sample", "12", "--read", "--seed", "1").stdout


def test_check_and_as_exclude_each_other(invoke):
    result = invoke("grammar", "--check", "own.gbnf", "--as", "lark")
    assert result.exit_code == 2
    assert "--as or --check" in result.stderr
