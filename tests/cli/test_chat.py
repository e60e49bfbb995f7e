"""`local-react chat` with questions from a pipe; tests on a terminal are in test_terminal.py."""

import json

import pytest

from local_react.trace import Trace
from tests.cli.terminal import FINISH, run_piped, write_script

RED = " x\nAction: finish[red]\n"


def chat(folder, *completions, input, options=()):
    return run_piped("chat", "--model", write_script(folder / "s.json", *completions), *options, cwd=folder, input=input)


def test_each_line_is_a_question_and_each_answer_a_line(tmp_path):
    done = chat(tmp_path, FINISH, RED, input=b"one\n\n  \ntwo")
    assert (done.returncode, done.stdout) == (0, b"blue\nred\n")


def test_each_question_is_an_episode_with_a_trace(tmp_path):
    chat(tmp_path, FINISH, RED, input=b"one\ntwo\n", options=["--trace", "t.jsonl", "--json"])
    assert [Trace.read(tmp_path / f"t-{number}.jsonl").answer for number in (1, 2)] == ["blue", "red"]


def test_json_is_a_line_for_each_question(tmp_path):
    done = chat(tmp_path, FINISH, RED, input=b"one\ntwo\n", options=["--json"])
    assert [json.loads(line)["question"] for line in done.stdout.splitlines()] == ["one", "two"]


def test_a_question_without_an_answer_does_not_end_the_chat(tmp_path):
    done = chat(tmp_path, " nothing", " nothing", " nothing", FINISH, input=b"one\ntwo\n")
    assert (done.returncode, done.stdout) == (1, b"blue\n")
    assert b"Not answered" in done.stderr


def test_a_trace_without_a_name_is_one_message(tmp_path):
    done = chat(tmp_path, FINISH, input=b"one\n", options=["--trace", "."])
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr and b". is a folder, and no name for the trace" in done.stderr


def test_a_question_that_does_not_fit_does_not_end_the_chat(tmp_path):
    done = chat(tmp_path, FINISH, input=b"word " * 500 + b"\ntwo\n", options=["--n-ctx", "400"])
    assert (done.returncode, done.stdout) == (1, b"blue\n")
    assert b"Load the model with a larger n_ctx" in done.stderr


@pytest.mark.parametrize("input", [b"", b"\n\n"])
def test_no_question_is_no_mistake(tmp_path, input):
    done = chat(tmp_path, input=input)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
