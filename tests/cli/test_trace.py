"""`local-react trace`: showing and replaying."""

import json
import subprocess
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from local_react import ScriptedModel, Trace, run, tool
from local_react.cli import main
from tests.cli.terminal import COMMAND, environment

SVG = "{http://www.w3.org/2000/svg}"


@tool
def colour(thing: str) -> str:
    """The colour of a thing."""
    return f"{thing} is blue"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "t.jsonl"
    script = [" I look.\nAction: colour[sky]\n", " nonsense", " Done.\nAction: finish[blue]\n"]
    run("What colour?", model=ScriptedModel(script), tools=[colour], trace=path)
    return path


def invoke(*args, **how):
    return CliRunner().invoke(main, ["trace", *map(str, args)], **how)


def test_a_run_is_shown_as_it_looked(file):
    lines = invoke("show", file).stdout.splitlines()
    assert lines[:4] == ["What colour?", "Thought: I look.", "Action: colour[sky]", "  Observation: sky is blue"]
    assert "  (malformed: no_action_or_answer)" in lines
    assert lines[-2] == "blue" and lines[-1].startswith(f"{len(Trace.read(file).steps)} steps, ")


def test_a_run_that_was_cut_off_anywhere_is_shown(file):
    data = file.read_bytes()
    for size in range(data.index(b"\n") + 1, len(data), 97):
        file.write_bytes(data[:size])
        result = invoke("show", file)
        assert result.exit_code == 0, result.stderr
        assert "What colour?" in result.stdout
        assert result.stdout.splitlines()[-2] == "Not answered, the trace breaks off before the run's end."


def test_escapes_in_a_trace_do_nothing(file):
    file.write_bytes(file.read_bytes().replace(b"sky is blue", rb"\u001b[2Jsky [red]is[/red]"))
    output = invoke("show", file, color=True).stdout
    assert "\x1b" not in output and "␛[2Jsky [red]is[/red]" in output


def test_half_surrogates_in_a_trace_are_shown(file):
    file.write_bytes(file.read_bytes().replace(b"sky is blue", rb"\ud800"))
    assert "\ufffd" in invoke("show", file).stdout


NO_TRACES = [b"", b"nonsense", b'{"event": "start", "version": 99}\n', b'{"event": "end"}\n', b"[]\n{}\n"]


@pytest.mark.parametrize("command", ["show", "replay"])
@pytest.mark.parametrize("content", NO_TRACES)
def test_what_is_no_trace_is_one_message(tmp_path, command, content):
    (tmp_path / "t.jsonl").write_bytes(content)
    result = invoke(command, tmp_path / "t.jsonl")
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ") and result.stdout == ""


@pytest.mark.parametrize("command", ["show", "replay"])
def test_a_missing_file_is_one_message(tmp_path, command):
    result = invoke(command, tmp_path / "missing.jsonl")
    assert result.exit_code == 2 and "can't be read" in result.stderr


def test_events_without_their_fields_are_one_message(file):
    start = file.read_bytes().splitlines(keepends=True)[0]
    file.write_bytes(start + b'{"event": "observation"}\n')
    assert invoke("show", file).exit_code == 2


@pytest.mark.parametrize("value", [None, 5, "x", ["x"], {"x": 1}])
def test_no_event_with_a_wrong_field_or_without_one_is_a_traceback(file, value):
    """Each field of each event in turn, damaged by `value` or left out: shown, replayed, or refused in one message."""
    events = [json.loads(line) for line in file.read_text().splitlines()]
    for number, event in enumerate(events):
        for field in event:
            damaged = {**event, field: value} if value is not None else {key: event[key] for key in event if key != field}
            lines = [*events[:number], damaged, *events[number + 1 :]]
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            for result in (invoke("show", file), invoke("replay", file)):
                assert isinstance(result.exception, (SystemExit, type(None))), (damaged, result.exception)


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_run_that_cannot_be_shown_to_its_end_is_one_message(file, unbuffered):
    """It was a traceback, or Python's own complaint at its exit, with the code 120."""
    env = environment(PYTHONUNBUFFERED=unbuffered)
    with open("/dev/full", "w") as full:
        args = [*COMMAND, "trace", "show", str(file)]
        done = subprocess.run(args, stdout=full, stderr=subprocess.PIPE, env=env, timeout=60)
    assert (done.returncode, done.stderr) == (1, b"Error: stdout can't be written to its end.\n")


def test_a_replay_of_the_same_program_is_the_same(file):
    result = invoke("replay", file)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("The same: ")


def test_a_replay_that_differs_names_the_step_and_both_values(file):
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for event in lines:
        if event["event"] == "action" and event["kind"] == "call":
            event["arguments"] = {"thing": "sea"}
    file.write_text("".join(json.dumps(event) + "\n" for event in lines))
    result = invoke("replay", file)
    assert result.exit_code == 1
    assert "Step 1 differs in its action." in result.stdout
    assert "'sea'" in result.stdout and "'sky'" in result.stdout


def test_a_replay_with_real_tools_runs_them(file, tmp_path):
    source = 'from local_react import tool\n@tool\ndef colour(thing: str) -> str:\n    "A colour."\n    return "green"\n'
    (tmp_path / "tools.py").write_text(source)
    result = invoke("replay", file, "--tools", tmp_path / "tools.py")
    assert result.exit_code == 1
    assert "Step 1 differs in its observation." in result.stdout and "'green'" in result.stdout


def test_a_run_is_drawn_as_it_is_shown(file, tmp_path):
    picture = tmp_path / "run.svg"
    result = invoke("show", file, "--svg", picture)
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    texts = [text.text.replace("\xa0", " ") for text in ElementTree.parse(picture).iter(f"{SVG}text")]
    question, *shown = invoke("show", file).stdout.splitlines()
    assert texts[0] == question
    assert "\n".join(texts[1:]).replace(" ", "").replace("\n", "") == "".join(shown).replace(" ", "")


def test_a_question_that_is_too_long_for_a_title_is_in_the_picture(tmp_path):
    file, picture, question = tmp_path / "t.jsonl", tmp_path / "run.svg", "Why? " * 40
    run(question, model=ScriptedModel([" Done.\nAction: finish[so]\n"]), trace=file)
    invoke("show", file, "--svg", picture)
    assert picture.read_text(encoding="utf-8").count("Why?") > 40


def test_a_picture_that_cannot_be_written_is_one_message(file, tmp_path):
    result = invoke("show", file, "--svg", tmp_path)
    assert result.exit_code == 2 and "can't be written" in result.stderr
