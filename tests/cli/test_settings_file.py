"""Settings: options before environment before file, and mistakes that name key and file."""

import click
import pytest
from click.testing import CliRunner

from local_react import Trace
from local_react.cli import main
from local_react.cli.options import SETTINGS
from local_react.cli.settings_file import read_settings
from tests.cli.terminal import FINISH, write_script


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Runs a scripted question in a folder of its own, and returns its start event."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    model = write_script(tmp_path / "script.json", FINISH)

    def go(*options, env=None):
        args = ["run", "x", "--model", model, "--trace", "t.jsonl", *options]
        result = CliRunner().invoke(main, args, env=env)
        assert result.exit_code == 0, result.stderr
        return Trace.read("t.jsonl").events[0]["settings"]

    return go


def test_options_come_before_environment_before_file_before_default(start, tmp_path):
    assert start()["temperature"] == 0.0
    (tmp_path / "local_react.toml").write_text("temperature = 0.1\nseed = 7\n")
    environment = {"LOCAL_REACT_TEMPERATURE": "0.2"}
    assert start()["temperature"] == 0.1
    assert start(env=environment)["temperature"] == 0.2
    assert start("--temperature", "0.3", env=environment)["temperature"] == 0.3
    assert start(env=environment)["seed"] == 7


def test_the_file_is_the_given_one_then_the_one_here_then_the_users(start, tmp_path):
    folder = tmp_path / "config" / "local_react"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("seed = 1")
    assert start()["seed"] == 1
    (tmp_path / "local_react.toml").write_text("seed = 2")
    assert start()["seed"] == 2
    (tmp_path / "other.toml").write_text("seed = 3")
    assert start("--config", "other.toml")["seed"] == 3
    assert start(env={"LOCAL_REACT_CONFIG": "other.toml"})["seed"] == 3


def test_limits_and_switches_can_be_set_everywhere(start, tmp_path):
    (tmp_path / "local_react.toml").write_text('max_steps = "none"\none_action = false\ntime_limit = 3\n')
    settings = start(env={"LOCAL_REACT_FINAL_ANSWER": "0"})
    assert (settings["max_steps"], settings["one_action"], settings["final_answer"]) == (None, False, False)
    assert settings["time_limit_s"] == 3


def test_a_setting_of_another_command_is_no_mistake(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "local_react.toml").write_text("temperature = 0.1")
    model = write_script(tmp_path / "script.json", FINISH)
    assert CliRunner().invoke(main, ["prompt", "--model", model]).exit_code == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tempratur = 1", ["tempratur"]), ("temperature = 'hot'", ["temperature", "a number"]),
        ("temperature = true", ["temperature"]), ("max_steps = 1.5", ["max_steps", "whole number"]),
        ("max_steps = 'some'", ["max_steps"]), ("seed = 'a'", ["seed"]), ("one_action = 1", ["one_action", "true or false"]),
        ("tools = [1]", ["tools", "list of texts"]), ("protocol = 'bogus'", ["protocol", "finish"]), ("model = 3", ["model"]),
        ("yes = true", ["yes"]), ("approval = false", ["approval", "command line"]), ("[model]\na = 1", ["model"]),
        ("= 3", ["no TOML"]), ("seed = 1\nseed = 2", ["no TOML"]),
        ("seed = " + "[" * 5000, ["no TOML"]), ("seed = " + "9" * 5000, ["no TOML"]),
    ],
)
def test_a_mistake_names_the_key_and_the_file(tmp_path, text, words):
    path = tmp_path / "local_react.toml"
    path.write_text(text)
    with pytest.raises(click.UsageError) as caught:
        read_settings(path)
    assert all(word in caught.value.message for word in [str(path), *words])


def test_bytes_that_are_no_text_and_a_missing_file_are_mistakes(tmp_path):
    (tmp_path / "a.toml").write_bytes(b"\xff\xfe")
    for path in (tmp_path / "a.toml", tmp_path / "missing.toml", tmp_path):
        with pytest.raises(click.UsageError, match=str(path)):
            read_settings(path)


def test_a_user_without_a_home_has_no_file(start, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # what it does where there is no home
    assert start()["temperature"] == 0.0


def test_every_setting_but_approval_can_stand_in_a_file(tmp_path):
    assert [name for name, setting in SETTINGS.items() if not setting.in_files] == ["approval"]


def test_nothing_but_the_command_line_can_switch_approval_off(start, monkeypatch):
    monkeypatch.setenv("LOCAL_REACT_APPROVAL", "0")
    monkeypatch.setenv("LOCAL_REACT_YES", "1")
    assert start()["approval"] is True
    assert start("--no-approval")["approval"] is False


@pytest.mark.parametrize(("line", "is_taken"), [
    ("gpu_layers = 3", True), ("gpu_layers = [3]", False), ('gpu_layers = "auto"', True), ('gpu_layers = "many"', False), ("gpu_layers = true", False),
    ('tensor_split = "3,1"', True), ("tensor_split = 3", False), ("force_memory = true", True),
])  # fmt: skip
def test_what_goes_on_a_gpu_can_stand_in_a_file(tmp_path, line, is_taken):
    path = tmp_path / "settings.toml"
    path.write_text(line)
    if is_taken:
        assert read_settings(path)
        return
    with pytest.raises(click.UsageError, match=line.split()[0]):
        read_settings(path)
