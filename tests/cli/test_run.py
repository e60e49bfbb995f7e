"""`local-react run`: the answer alone on stdout, the run on stderr, the exit code."""

import json
import os
import subprocess

import pytest
from click.testing import CliRunner

from local_react.cli import main
from local_react.trace import Trace
from tests.cli.terminal import COMMAND, FINISH, TOOLS, environment, run_piped, write_script
from tests.random_models import make_model

CALL = " I look.\nAction: colour[sky]\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


def run_scripted(folder, *completions, question="What colour?", options=(), **how):
    model = write_script(folder / "script.json", *completions)
    return run_piped("run", question, "--model", model, "--tools", "tools.py", *options, cwd=folder, **how)


def test_the_answer_alone_is_on_stdout(folder):
    done = run_scripted(folder, CALL, FINISH)
    assert done.returncode == 0
    assert done.stdout == b"blue\n"


def test_the_run_is_on_stderr_without_escapes(folder):
    log = run_scripted(folder, CALL, FINISH).stderr.decode()
    assert log.splitlines() == [
        "Thought: I look.", "Action: colour[sky]", "printed by the tool", "  Observation: sky is blue",
        "Thought: I know it.", "Action: finish[blue]",
    ]


def test_quiet_leaves_only_what_tools_print(folder):
    assert run_scripted(folder, CALL, FINISH, options=["--quiet"]).stderr == b"printed by the tool\n"
    assert run_scripted(folder, FINISH, options=["--quiet"]).stderr == b""


def test_json_is_one_line_with_the_whole_run(folder):
    done = run_scripted(folder, CALL, FINISH, options=["--json"])
    assert done.stdout.count(b"\n") == 1
    document = json.loads(done.stdout)
    assert (document["question"], document["answer"], document["ending"]) == ("What colour?", "blue", "answered")
    assert [step["action"]["kind"] for step in document["steps"]] == ["call", "answer"]
    assert document["steps"][0]["observation"]["text"] == "sky is blue"
    assert document["error"] is None and document["counts"]["sampled"] > 0


def test_json_survives_half_surrogates_and_escapes(folder):
    done = run_scripted(folder, ' x\nAction: finish["\\u001b[31m"]\n', question="a \udcff", options=["--json"])
    assert b"\x1b" not in done.stdout
    document = json.loads(done.stdout)
    assert (document["question"], document["answer"]) == ("a \udcff", "\x1b[31m")


def test_json_loses_nothing_where_stdout_is_not_unicode(folder):
    """Characters that the encoding lacks were replaced by question marks."""
    env = environment(PYTHONIOENCODING="latin-1")
    done = run_scripted(folder, FINISH, question="Wö ist 日本?", options=["--json"], env=env)
    assert json.loads(done.stdout.decode("latin-1"))["question"] == "Wö ist 日本?"


def test_escapes_in_the_answer_are_shown_and_do_nothing(folder):
    assert run_scripted(folder, ' x\nAction: finish["\\u001b[31m"]\n').stdout.decode() == "␛[31m\n"


def test_the_question_may_come_from_stdin(folder):
    done = run_scripted(folder, FINISH, question="-", options=["--json"], input="Wöher?\xff".encode("latin-1"))
    assert json.loads(done.stdout)["question"] == "W\ufffdher?\ufffd"


@pytest.mark.parametrize("input", [b"", b" \n"])
def test_an_empty_stdin_is_an_empty_question(folder, input):
    done = run_scripted(folder, FINISH, question="-", input=input)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"The question is empty" in done.stderr


# Not answered

ENDINGS = {
    "step_limit": ([CALL], ["--max-steps", "1"]),
    "parse_failed": ([" nothing"] * 3, []),
    "token_limit": ([CALL, FINISH], ["--max-tokens", "8"]),
    "stuck": ([CALL] * 4, []),
    "denied": ([" x\nAction: remove[name=cup]\n"], []),
    "time_limit": ([" x\nAction: sleep[seconds=30]\n"], ["--time-limit", "0.3"]),
    "error": ([CALL], []),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_no_answer_is_exit_code_1_and_one_line_even_if_quiet(folder, ending):
    completions, options = ENDINGS[ending]
    done = run_scripted(folder, *completions, options=["--quiet", *options], start_new_session=True)
    last = done.stderr.decode().splitlines()[-1]
    assert (done.returncode, done.stdout) == (1, b"")
    assert last.startswith("Not answered, ") and f"({ending})" in last
    assert b"Traceback" not in done.stderr


def test_a_call_that_needs_approval_is_refused_where_there_is_no_terminal(folder):
    done = run_scripted(folder, " x\nAction: remove[name=cup]\n", start_new_session=True)
    assert b"Nobody is there to approve the call of remove." in done.stderr


def test_json_is_written_for_a_run_without_an_answer_too(folder):
    done = run_scripted(folder, *[" nothing"] * 3, options=["--json"])
    assert done.returncode == 1
    assert json.loads(done.stdout)["ending"] == "parse_failed"


# What others write to stdout

NOISY = '''
import ctypes, os, subprocess, sys
from local_react import tool
print("at import")

@tool
def noise(how: str) -> str:
    """Make noise."""
    print("print")
    sys.stdout.write("write")
    sys.__stdout__.write("dunder")
    os.write(1, b"descriptor")
    subprocess.run([sys.executable, "-c", "print('child')"])
    ctypes.CDLL(None).printf(b"from C")
    return "done"
'''


@pytest.mark.parametrize("as_file", [True, False])
def test_nothing_that_a_tool_prints_reaches_stdout(folder, as_file):
    (folder / "noisy.py").write_text(NOISY)
    model = write_script(folder / "script.json", " x\nAction: noise[x]\n", FINISH)
    args = [*COMMAND, "run", "x", "--model", model, "--tools", "noisy.py"]
    with (folder / "stdout").open("wb") as file:
        target = file if as_file else subprocess.PIPE
        done = subprocess.run(args, cwd=folder, stdout=target, stderr=subprocess.PIPE, env=environment(), timeout=60)
    assert done.returncode == 0
    assert ((folder / "stdout").read_bytes() if as_file else done.stdout) == b"blue\n"
    for noise in (b"at import", b"print", b"write", b"dunder", b"descriptor", b"child", b"from C"):
        assert noise in done.stderr


# stdout and stderr that can't be written


def test_a_reader_that_has_gone_is_no_traceback(folder):
    model = write_script(folder / "script.json", FINISH)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*COMMAND, "run", "x", "--model", model], cwd=folder, stdout=writing, stderr=subprocess.PIPE, env=environment()
    )
    os.close(writing)
    assert done.returncode == 1
    assert done.stderr.decode().splitlines()[-1] == "Error: stdout can't be written: Broken pipe."


@pytest.mark.parametrize(("closed", "code"), [(">&-", 1), ("2>&-", 0), (">&- 2>&-", 1), ("<&-", 0), (">/dev/full", 1)])
def test_closed_streams_are_no_traceback(folder, closed, code):
    model = write_script(folder / "script.json", CALL, FINISH)
    line = f'exec "$@" {closed}'
    args = ["sh", "-c", line, "sh", *COMMAND, "run", "x", "--model", model, "--tools", "tools.py", "--trace", "t.jsonl"]
    done = subprocess.run(args, cwd=folder, capture_output=True, env=environment(), timeout=60)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    assert Trace.read(folder / "t.jsonl").answer == "blue"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_log_that_nobody_reads_costs_neither_answer_nor_exit_code(folder, unbuffered):
    """Without PYTHONUNBUFFERED, Python tried the rest of the log again at its exit, and ended with 120."""
    model = write_script(folder / "script.json", CALL, FINISH)
    reading, writing = os.pipe()
    os.close(reading)
    args = [*COMMAND, "run", "x", "--model", model, "--tools", "tools.py"]
    (folder / "tools.py").write_text(TOOLS.replace('print("printed by the tool")', "pass"))
    env = environment(PYTHONUNBUFFERED=unbuffered)
    done = subprocess.run(args, cwd=folder, stdout=subprocess.PIPE, stderr=writing, env=env, timeout=60)
    os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"blue\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_log_on_a_full_disk_costs_neither_answer_nor_exit_code(folder, unbuffered):
    """With PYTHONUNBUFFERED it was a traceback, and the answer was lost."""
    model = write_script(folder / "script.json", FINISH)
    env = environment(PYTHONUNBUFFERED=unbuffered)
    with open("/dev/full", "w") as full:
        args = [*COMMAND, "run", "x", "--model", model]
        done = subprocess.run(args, cwd=folder, stdout=subprocess.PIPE, stderr=full, env=env, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"blue\n")


def test_a_tool_that_closes_stderr_does_not_cost_the_answer(folder):
    """The console kept the closed file, and its ValueError ended the process with "lost sys.stderr"."""
    (folder / "tools.py").write_text(f"import sys\nsys.stderr.close()\n{TOOLS}")
    done = run_scripted(folder, FINISH)
    assert (done.returncode, done.stdout) == (0, b"blue\n")


def test_a_full_disk_under_the_trace_is_told_and_costs_no_answer(folder):
    done = run_scripted(folder, FINISH, options=["--trace", "/dev/full", "--quiet"])
    assert (done.returncode, done.stdout) == (0, b"blue\n")
    assert b"/dev/full couldn't be written to its end" in done.stderr


# Models


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.gguf", b"", "is empty"),
        ("page.gguf", b"<!DOCTYPE html><html>", "web page"),
        ("pointer.gguf", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "git-lfs"),
        ("noise.gguf", b"\x00\x01\x02\x03" * 50, "GGUF"),
    ],
)
def test_a_file_that_is_no_model_is_refused_with_its_reason(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    result = CliRunner().invoke(main, ["run", "x", "--model", str(tmp_path / name)])
    assert result.exit_code == 2
    assert message.lower() in result.stderr.lower() and name in result.stderr


def test_a_folder_and_half_a_file_are_refused(tmp_path):
    model = make_model(tmp_path / "tiny.gguf")
    model.write_bytes(model.read_bytes()[: model.stat().st_size // 2])
    for path, message in ((tmp_path, "is a directory"), (model, "is cut short")):
        result = CliRunner().invoke(main, ["run", "x", "--model", str(path)])
        assert result.exit_code == 2 and message in result.stderr


def test_a_real_file_runs_with_every_model_option(tmp_path):
    model = make_model(tmp_path / "tiny.gguf")
    options = ["--n-ctx", "512", "--threads", "1", "--batch", "64", "--gpu-layers", "0", "--no-flash-attention"]
    options += ["--type-k", "f32", "--temperature", "0.7", "--top-k", "5", "--seed", "3"]
    options += ["--max-steps", "1", "--max-step-tokens", "8"]
    trace = tmp_path / "t.jsonl"
    result = CliRunner().invoke(
        main, ["run", "x", "--model", str(model), *options, "--logprobs", "2", "--trace", str(trace), "--protocol", "think"]
    )
    start = Trace.read(trace).events[0]
    assert result.exit_code == 1
    given = {"n_ctx": 512, "n_batch": 64, "n_threads": 1, "flash_attention": False, "type_k": "f32"}
    assert given.items() <= start["model"].items()
    assert {"temperature": 0.7, "top_k": 5, "seed": 3, "max_steps": 1}.items() <= start["settings"].items()
    assert len(Trace.read(trace).completions[0]["logprobs"][0]["top"]) == 2


@pytest.mark.parametrize("content", ["{}", "[1]", "nonsense", '"text"', "[" * 100_000])
def test_a_script_that_is_no_list_of_texts_is_refused(tmp_path, content):
    (tmp_path / "s.json").write_text(content)
    result = CliRunner().invoke(main, ["run", "x", "--model", f"scripted:{tmp_path / 's.json'}"])
    assert result.exit_code == 2 and "s.json" in result.stderr
