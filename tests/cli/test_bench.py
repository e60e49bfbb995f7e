"""`local-react bench`: small runs of every benchmark, gone on with, scored, compared and reported from files alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from local_react import Trace
from local_react.bench import plots
from local_react.bench.arms import ARMS
from local_react.bench.calls import CALL_ARMS
from local_react.bench.catalogue import BENCHMARKS
from local_react.bench.results import Results
from local_react.cli import main
from local_react.cli.bench_calls import CALL_BENCHMARKS
from tests.bench.colours import answer, look
from tests.cli.terminal import COMMAND, environment, run_on_terminal
from tests.random_models import make_model

TASKS = [{"question": f"Which colour has thing {n}?", "answers": ["red"], "path": [{"name": "look", "arguments": {"thing": str(n)}}]}
         for n in range(3)]
EXEMPLARS = [
    {"question": f"Which colour has thing {n}?", "steps": [
        {"thought": "I look.", "action": {"name": "look", "arguments": {"thing": str(n)}},
         "observation": "pink" if n < 104 else "Error: ValueError: no thing"},
        {"thought": "So.", "action": {"answer": "pink"}},
    ]}
    for n in range(100, 105)
]
TOOLS = '''
from local_react import tool

@tool
def look(thing: str) -> str:
    """Look at a thing."""
    return "red"
'''
SCRIPT = [look("0"), answer("red"), look("1"), answer("blue"), "no step", look("2"), answer("red")] * 4


@pytest.fixture(scope="module")
def random_model(tmp_path_factory) -> str:
    path = make_model(tmp_path_factory.mktemp("tiny") / "random.gguf", add_bos_token=True, n_ctx_train=16_384, n_embd=32, n_layer=1)
    return str(path)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS))
    (tmp_path / "tools.py").write_text(TOOLS)
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT))
    return tmp_path


def invoke(*args: str):
    return CliRunner().invoke(main, ["bench", *args])


MINE = ("--model", "scripted:script.json", "--tasks", "mine.jsonl", "--tools", "tools.py")


def document(result) -> dict:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_small_run_of_every_benchmark(name, random_model, folder, monkeypatch):
    """On a model of random weights, and on tasks with a short prompt: each token of it is a byte."""
    monkeypatch.setattr(plots, "_to_svg", lambda figure, name: "<svg/>")  # pictures have tests of their own, and take long
    (folder / "exemplars.json").write_text(json.dumps(EXEMPLARS))
    result = invoke(name, "--small", "-n", "1", "--model", random_model, "--tasks", "mine.jsonl", "--tools", "tools.py",
                    "--exemplars", "exemplars.json", "--max-steps", "2", "--max-step-tokens", "64", "--threads", "1",
                    "--output", "out")
    found = document(result)
    assert found["missed"] == []
    assert {score["arm"] for score in found["scores"]} == set(BENCHMARKS[name].arms)
    for score in found["scores"]:
        assert score["n_episodes"] == 1
        if ARMS[score["arm"]].constrain not in (False, "repair"):
            assert score["shares"]["malformed"]["n_hits"] == 0 < score["n_steps"]
    assert json.loads((folder / "out" / "report.json").read_text()) == found
    assert found["benchmark"] == name and len(found["commands"]) == 1
    assert document(invoke("report", "out", "--benchmark", name)) == found, "the report needs no model"
    for form in ("report.md", "report.html"):
        assert f"Benchmark {name}" in (folder / "out" / form).read_text()


ROW = {"id": "own_0", "question": "Paint it 3 times.", "ground_truth": [{"paint": {"times": [3]}}], "functions": [
    {"name": "paint", "description": "Paint.", "parameters": {
        "type": "dict", "properties": {"times": {"type": "integer"}}, "required": ["times"]}},
]}


@pytest.mark.parametrize("name", CALL_BENCHMARKS)
def test_a_small_run_of_every_benchmark_of_single_calls(name, random_model, folder):
    (folder / "own.jsonl").write_text(json.dumps(ROW) + "\n")
    found = document(invoke(name, "--small", "--rows", "own.jsonl", "--model", random_model, "--threads", "1", "--n-ctx", "8192",
                            "--output", "out"))
    assert found["missed"] == [] and tuple(score["arm"] for score in found["scores"]) == CALL_BENCHMARKS[name][1]
    for score in found["scores"]:
        if score["arm"].startswith("constrained"):
            assert score["malformed"]["n_hits"] == 0 < score["malformed"]["n"]
    assert json.loads((folder / "out" / "report.json").read_text()) == found


def test_a_small_run_of_the_speed_benchmark(random_model, folder):
    found = document(invoke("speed", "--small", "--model", random_model, "--threads", "1", "--output", "out"))
    assert found["speeds"][0]["decode"]["value"] > 0
    assert json.loads((folder / "out" / "report.json").read_text()) == found


def test_a_matrix_runs_once_and_goes_on(folder):
    args = ("run", *MINE, "--arm", "free", "--arm", "lenient", "--output", "out")
    first, again = document(invoke(*args)), document(invoke(*args))
    assert (first["n_total"], first["n_done"], first["n_before"], first["n_missed"]) == (6, 6, 0, 0)
    assert (again["n_done"], again["n_before"]) == (6, 6)
    (folder / "matrix.toml").write_text('models = ["scripted:script.json"]\nworlds = ["mine.jsonl"]\narms = ["free", "lenient"]\n')
    third = document(invoke("run", "--matrix", "matrix.toml", "--tools", "tools.py", "--output", "out"))
    assert third["n_before"] == 6
    more = document(invoke("run", "--matrix", "matrix.toml", "--tools", "tools.py", "--output", "out", "--max-steps", "2"))
    assert more["n_before"] == 0


def test_scores_comparisons_reports_and_traces_need_no_model(folder):
    document(invoke("run", *MINE, "--arm", "free", "--arm", "lenient", "--output", "out"))
    (folder / "script.json").unlink()
    scores = document(invoke("score", "out"))["scores"]
    assert [score["n_episodes"] for score in scores] == [3, 3]
    (compared,) = document(invoke("compare", "out:free", "out:lenient"))["comparisons"]
    assert (compared["n"], compared["first"]) == (3, "out:free")
    assert document(invoke("report", "out", "--title", "Mine"))["title"] == "Mine"
    assert [score["arm"] for score in document(invoke("report", "out", "--arm", "lenient"))["scores"]] == ["lenient"]
    assert (folder / "out" / "report.html").read_text().startswith("<!doctype html>")
    for args, said in ((("--arm", "repair"), "nothing of the arm 'repair'"), (("--benchmark", "bfcl"), "is not of the benchmark bfcl")):
        refused = invoke("report", "out", *args)
        assert refused.exit_code == 2 and said in refused.stderr
    assert invoke("pack", "out", "--output", "packed").stdout.strip() == "packed"
    assert document(invoke("report", "packed", "--title", "out")) == document(invoke("report", "out"))
    key = next(Results(folder / "out").episodes()).item.key
    refused = invoke("trace", "out", key, "--output", "out/episodes.jsonl")
    assert refused.exit_code == 2 and "where nothing else belongs" in refused.stderr
    assert invoke("trace", "out", key[:8]).stdout.strip() == f"{key}.jsonl"
    assert Trace.read(folder / f"{key}.jsonl") == next(Results(folder / "out").episodes()).trace


def test_two_folders_are_compared_arm_by_arm(folder):
    for output in ("one", "two"):
        document(invoke("run", *MINE, "--arm", "free", "--output", output))
    (compared,) = document(invoke("compare", "one", "two"))["comparisons"]
    assert compared["n"] == 3 and compared["tests"]["success"]["p_value"] == 1.0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bogus"], "No such command"),
        (["run", "--output", "out", "--arm", "bogus"], "no arm called 'bogus'"),
        (["run", "--output", "out", "--world", "bogus"], "no world called 'bogus'"),
        (["run", "--output", "out", "--tasks", "absent.jsonl"], "absent.jsonl"),
        (["run", "--output", "out", "--matrix", "absent.toml"], "can't be read"),
        (["run"], "Missing option '--output'"),
        (["bfcl"], "Missing option '--rows'"),
        (["bfcl", "--rows", "absent.jsonl"], "no file absent.jsonl"),
        (["bfcl", "--rows", "a", "--rows", "a"], "--rows a and --rows a are the same"),
        (["bfcl", "--rows", "a", "--arm", "constrained-keyword", "--arm", "constrained-keyword"], "are the same"),
        (["run", "--output", "out", "--model", ""], "models: a name is empty"),
        (["run", "--output", "out", "--model", "m", "--model", "m"], "m is there twice"),
        (["run", "--output", "out", "--temperature", "nan"], "temperature"),
        (["run", "--output", "out", "--seed", "9" * 30], "seed"),
        (["speed", "--model", "scripted:script.json"], "has no speed"),
        (["score", "absent"], "no folder with results"),
        (["report", "absent"], "no folder with results"),
        (["compare", "a:free", "b"], "Name an arm on both sides"),
        (["trace", "absent", "x"], "no folder with results"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(folder, args, message):
    result = invoke(*args)
    assert result.exit_code == 2 and message in result.stderr
    assert result.stdout == "" and "Traceback" not in result.stderr


def test_runs_without_a_common_case_can_not_be_compared(folder):
    document(invoke("run", *MINE, "--arm", "free", "--output", "one"))
    document(invoke("run", *MINE, "--arm", "lenient", "--output", "two"))
    result = invoke("compare", "one", "two")
    assert result.exit_code == 2 and "no case in common" in result.stderr


def test_a_model_that_does_not_load_is_told_and_the_rest_runs(folder):
    result = invoke("run", *MINE, "--model", "absent.gguf", "--arm", "free", "--output", "out")
    found = document(result)
    assert (found["n_done"], found["n_missed"]) == (3, 3)
    assert "3 of 6 episodes couldn't be run. model absent.gguf: " in result.stderr


def test_where_nothing_could_be_run_the_exit_code_is_1(folder):
    result = invoke("run", "--model", "absent.gguf", "--tasks", "mine.jsonl", "--tools", "tools.py", "--output", "out")
    assert result.exit_code == 1
    assert json.loads(result.stdout.splitlines()[-1])["n_missed"] == 6


def test_the_list_names_every_benchmark_world_and_arm():
    output = invoke("list", "--arms").stdout
    for name in (*BENCHMARKS, *CALL_BENCHMARKS, *ARMS, *CALL_ARMS, "speed", "billing"):
        assert name in output


def test_a_file_that_is_read_in_a_time_limit_of_zero_runs_nothing(folder):
    assert document(invoke("run", *MINE, "--arm", "free", "--output", "out", "--minutes", "0"))["n_done"] == 0


SLOW = TOOLS + """
import time
_look = TOOLS = None
from local_react import tool
@tool(name="look")
def slow(thing: str) -> str:
    '''Look at a thing.'''
    time.sleep(0.5)
    return "red"
TOOLS = [slow]
"""


def test_ctrl_c_keeps_what_is_done_and_the_same_command_goes_on(folder):
    (folder / "tools.py").write_text(SLOW)
    args = [*COMMAND, "bench", "run", *MINE, "--arm", "free", "--output", "out"]
    process = subprocess.Popen(args, cwd=folder, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    deadline = time.monotonic() + 30
    episodes = folder / "out" / "episodes.jsonl"
    while not (episodes.exists() and b'"item"' in episodes.read_bytes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and b"Interrupted" in errors and b"Traceback" not in errors
    n_kept = len(list(Results(folder / "out").episodes()))
    assert 1 <= n_kept < 3
    (folder / "tools.py").write_text(TOOLS)
    found = document(invoke(*args[len(COMMAND) + 1 :]))
    assert (found["n_before"], found["n_done"]) == (n_kept, 3)


def test_on_a_terminal_there_is_a_bar(folder):
    session = run_on_terminal("bench", "run", *MINE, "--arm", "free", "--output", "out", cwd=folder)
    assert session.code == 0 and "3/3" in session.output


def test_without_the_packages_of_the_extra_the_message_names_them(folder):
    code = ("import sys; sys.modules['scipy'] = None\nfrom local_react.cli import main\nmain(['bench', 'list'])")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment(), cwd=folder, timeout=60)
    assert done.returncode == 2 and "scipy" in done.stderr and "local_react[bench]" in done.stderr


def test_a_report_of_single_calls_needs_no_model_either(random_model, folder):
    (folder / "own.jsonl").write_text(json.dumps(ROW) + "\n")
    asked = document(invoke("bfcl", "--rows", "own.jsonl", "--model", random_model, "--threads", "1", "--n-ctx", "8192",
                            "--output", "out"))
    assert document(invoke("report", "out", "--benchmark", "bfcl")) == asked
    with open(folder / "out" / "episodes.jsonl", "a") as file:
        file.write("{half a line\n")
    assert document(invoke("report", "out"))["n_damaged"] == 1 and document(invoke("report", "out", "out"))["n_calls"] == 7
    some = document(invoke("report", "out", "--arm", "free-json", "--arm", "constrained-json"))
    assert [score["arm"] for score in some["scores"]] == ["free-json", "constrained-json"]
    assert some["scores"] == [score for score in asked["scores"] if score["arm"] in ("free-json", "constrained-json")]
    assert document(invoke("score", "out"))["calls"] == asked["scores"]


def test_single_calls_of_chosen_rows_under_arms_of_ones_own(random_model, folder):
    (folder / "own.jsonl").write_text("".join(json.dumps(ROW | {"id": f"own_{n}"}) + "\n" for n in range(5)))
    (folder / "other.jsonl").write_text(json.dumps(ROW) + "\n")
    (folder / "arms.toml").write_text('[[arm]]\nname = "mine"\nn_exemplars = 0\n[[arm]]\nname = "json"\narguments = "json"\n')
    args = ["bfcl", "--rows", ".", "--category", "own", "--every", "2", "-n", "2", "--arms", "arms.toml", "--model", random_model]
    for name in ("mine.jsonl", "script.json"):
        (folder / name).unlink()
    found = document(invoke(*args, "--threads", "1", "--output", "out"))
    assert [(score["arm"], score["right"]["n"]) for score in found["scores"]] == [("mine", 2), ("json", 2)]
    found = document(invoke(*args, "--threads", "1", "--output", "more", "--arm", "mine", "--arm", "constrained-quick"))
    assert [score["arm"] for score in found["scores"]] == ["mine", "constrained-quick"]
