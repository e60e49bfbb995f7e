"""The group of commands: help, start-up, and what errors become."""

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from local_react.cli import COMMANDS, main
from local_react.cli.options import SETTINGS
from local_react.version import VERSION
from tests.cli.terminal import FINISH, run_piped, write_script


def invoke(*args, **how):
    return CliRunner().invoke(main, list(args), **how)


def test_the_help_lists_every_command():
    result = invoke("--help")
    assert result.exit_code == 0
    assert all(re.search(rf"^  {name} ", result.stdout, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_of_a_command_is_the_first_line_of_its_long_one(name):
    command = main.get_command(click.Context(main), name)
    assert command.help.splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained_with_its_default(name):
    command = main.get_command(click.Context(main), name)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
    for option in options:
        line = " ".join(" ".join(option.get_help_record(click.Context(command))).split())
        assert option.help and "default" in line, line


def test_the_help_loads_no_heavy_package():
    code = "import sys; from local_react.cli import main; main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    modules = done.stdout.splitlines()[-1]
    assert "'click'" in modules
    assert not [name for name in ("llama_cpp", "numpy", "pydantic", "rich") if f"'{name}'" in modules]


def test_the_version():
    assert invoke("--version").stdout.strip() == f"local-react, version {VERSION}"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["bogus"], "No such command"),
        (["run"], "Missing argument"),
        (["run", "x", "--bogus"], "No such option"),
        (["run", "x", "--max-steps", "many"], "neither a number nor none"),
        (["run", "x", "--max-steps", "0"], "max_steps=0 makes no sense"),
        (["run", "x", "--temperature", "-1"], "temperature=-1.0"),
        (["run", "x", "--protocol", "bogus"], "Invalid value for '--protocol'"),
        (["run", "x", "--seed", "-1"], "seed=-1"),
        (["run", "", "--model", "SCRIPT"], "The question is empty"),
        (["run", "x", "--model", "missing.gguf"], "does not exist"),
        (["run", "x", "--model", "scripted:missing.json"], "can't be read"),
        (["run", "x", "--model", "SCRIPT", "--n-ctx", "20"], "Load the model with a larger n_ctx"),
        (["run", "x", "--model", "SCRIPT", "--trace", "/dev/null/x"], "can't be written"),
        (["run", "x", "--model", "SCRIPT", "--instructions", "@missing.txt"], "missing.txt can't be read"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(args, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = write_script(tmp_path / "script.json", FINISH)
    result = invoke(*(script if arg == "SCRIPT" else arg for arg in args))
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == "" and "Traceback" not in result.stderr


def test_an_error_message_can_not_act_on_the_terminal():
    result = invoke("run", "x", "--model", "\x1b[31m.gguf", color=True)
    assert result.exit_code == 2
    assert "\x1b" not in result.stderr and "␛[31m.gguf" in result.stderr


def test_with_the_debug_variable_an_error_is_raised(monkeypatch):
    monkeypatch.setenv("LOCAL_REACT_DEBUG", "1")
    assert type(invoke("run", "x", "--model", "missing.gguf").exception).__name__ == "ModelFileError"


def test_settings_have_the_names_of_their_options():
    assert all(setting.flags.split("/")[0] == f"--{name.replace('_', '-')}" for name, setting in SETTINGS.items())


def test_the_module_runs_as_the_command(tmp_path):
    done = run_piped("--version", cwd=tmp_path)
    assert done.stdout.decode().startswith("local-react, version")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("args", [["--help"], ["run", "--help"], ["--version"], ["trace", "show", "--help"]])
def test_a_full_disk_behind_a_help_text_is_one_line(args):
    """Regression: it was a traceback, and a second complaint when Python ended."""
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "local_react", *args], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["Error: stdout can't be written: No space left on device."]
