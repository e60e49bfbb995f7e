"""Exemplars from a file: read, or refused with the place of the mistake."""

import json

import pytest
from click.testing import CliRunner

from local_react.cli import main
from local_react.cli.exemplar_file import read_exemplars
from local_react.errors import PromptError
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step
from tests.cli.terminal import FINISH, TOOLS, write_script

STEP = {"thought": "Look.", "action": {"name": "colour", "arguments": {"thing": "sea"}}, "observation": "blue"}
LAST = {"thought": "Done.", "action": {"answer": "blue"}}


def write(tmp_path, value):
    path = tmp_path / "e.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_exemplars_are_read(tmp_path):
    path = write(tmp_path, [{"question": "What?", "steps": [STEP, LAST]}])
    call = Call("colour", {"thing": "sea"}, "Look.")
    assert read_exemplars(path) == (Exemplar("What?", (Step(call, Observation("blue")), Step(Answer("blue", "Done.")))),)


def test_an_observation_that_is_no_text_is_json(tmp_path):
    path = write(tmp_path, [{"question": "q", "steps": [STEP | {"observation": {"é": [1]}}, LAST]}])
    assert read_exemplars(path)[0].steps[0].observation.text == '{"é": [1]}'


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("nonsense", "is no JSON"), ({}, "list of exemplars"), ([3], "exemplar 1 must be an object"),
        ([{"steps": []}], "exemplar 1 has no question"), ([{"question": 3, "steps": []}], "question must be a text"),
        ([{"question": "q", "steps": 3}], "steps must be a list"),
        ([{"question": "q", "steps": [], "extra": 1}], "unknown key 'extra'"),
        ([{"question": "q", "steps": [LAST, {}]}], "step 2 has no action"),
        ([{"question": "q", "steps": [{"action": {"name": 1}}]}], "name must be a text"),
        ([{"question": "q", "steps": [{"action": {"name": "f", "arguments": []}}]}], "arguments must be an object"),
        ([{"question": "q", "steps": [{"action": {"answer": None}}]}], "answer must be a text, and is null"),
        ([{"question": "q", "steps": [{"action": {"answer": "a", "name": "b"}}]}], "unknown key 'name'"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path, value, message):
    with pytest.raises(PromptError, match="e.json") as caught:
        read_exemplars(write(tmp_path, value))
    assert message in str(caught.value)


def test_lists_without_an_end_are_no_json(tmp_path):
    with pytest.raises(PromptError, match="e.json is no JSON"):
        read_exemplars(write(tmp_path, "[" * 100_000))


def test_a_missing_file_is_named():
    with pytest.raises(PromptError, match="missing.json can't be read"):
        read_exemplars("missing.json")


@pytest.mark.parametrize(("arguments", "code"), [({"thing": "sea"}, 0), ({"bogus": 1}, 2)])
def test_exemplars_are_checked_against_the_tools(tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)
    step = STEP | {"action": {"name": "colour", "arguments": arguments}}
    path = write(tmp_path, [{"question": "What of the sea?", "steps": [step, LAST]}])
    model = write_script(tmp_path / "s.json", FINISH)
    result = CliRunner().invoke(main, ["prompt", "--model", model, "--tools", "tools.py", "--exemplars", path])
    assert result.exit_code == code
    assert "What of the sea?" in (result.stdout if code == 0 else result.stderr)
