"""The commands that take a name or a file: where, verify, inspect, remove."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from huggingface_hub import constants

from local_react.cli import main
from local_react.cli.models import COMMANDS, models_command
from local_react.cli.models.named import find_entry, find_file, in_megabytes
from local_react.errors import ModelFileError
from local_react.llama.registry import user_registry_path
from tests.random_models import make_model


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """A model of the user's own, called "mine" in their registry."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    monkeypatch.chdir(tmp_path)
    model = make_model(tmp_path / "x.gguf", n_embd=32, n_head=1, n_layer=1, chat_template="{{ 'a\x1b' }}", changes={
        "general.name": "two\nlines\x1b", "general.sampling.temp": 0.5})
    path = user_registry_path()
    path.parent.mkdir(parents=True)
    path.write_text(f'[[model]]\nname = "mine"\naliases = ["my-own"]\nsource = "file:{model}"\nlicence = "own"\n')
    return model


def invoke(*args: str, **how):
    return CliRunner().invoke(main, ["models", *args], **how)


def test_every_command_is_there_and_explains_its_options():
    context = click.Context(models_command)
    assert models_command.list_commands(context) == list(COMMANDS)
    assert models_command.get_command(context, "bogus") is None
    for name in COMMANDS:
        command = models_command.get_command(context, name)
        assert command.name == name and command.help.splitlines()[0].endswith(".")
        options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]
        for option in options:
            assert "default" in " ".join(option.get_help_record(click.Context(command))), option.name


def test_a_name_an_alias_and_a_path_lead_to_one_file(own):
    for name in ("mine", "MINE", "my-own", "x.gguf", str(own)):
        path, entry = find_file(name)
        assert path.resolve() == own
        assert (entry is not None) == (name.lower() in ("mine", "my-own"))
    assert invoke("where", "mine").stdout == f"{own}\n"


def test_only_names_are_entries(own):
    assert find_entry("my-own").name == "mine"
    with pytest.raises(ModelFileError, match="is not in the registry"):
        find_entry("x.gguf")
    with pytest.raises(ModelFileError, match="Perhaps you mean qwen3-0.6b"):
        find_entry("qwen3")


@pytest.mark.parametrize("command", ["where", "verify", "inspect", "pull", "remove"])
def test_an_unknown_name_is_one_message_and_exit_code_2(own, command):
    result = invoke(command, "no-such-model")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no-such-model" in result.stderr and "models list" in result.stderr


def test_verifying_tells_sound_from_damaged(own):
    first = invoke("verify", "mine")
    assert first.exit_code == 0 and "it is remembered from now on" in first.stdout
    assert "as recorded by an earlier reading" in invoke("verify", "x.gguf").stdout
    data = bytearray(own.read_bytes())
    data[-50] ^= 1
    own.write_bytes(data)
    for name in ("mine", str(own)):
        result = invoke("verify", name)
        assert result.exit_code == 1 and result.stdout.startswith(f"BAD  {name}: its SHA-256 is")
    assert "Get the file again" in invoke("verify", str(own)).stderr


def test_inspecting_prints_a_list_or_json_or_a_template(own):
    text = invoke("inspect", "mine").stdout
    assert "architecture    llama" in text and "two lines␛" in text and "\x1b" not in text
    assert "default  10 characters" in text and "temp  0.5" in text
    found = json.loads(invoke("inspect", "x.gguf", "--json").stdout)
    assert found["chat_templates"] == {"default": "{{ 'a\x1b' }}"} and found["sampling"] == {"temp": 0.5}
    assert invoke("inspect", "mine", "--template", "default").stdout == "{{ 'a\x1b' }}\n", "a pipe gets it exactly"
    missing = invoke("inspect", "mine", "--template", "tools")
    assert missing.exit_code == 2 and "It has: default." in missing.stderr


def test_a_pull_of_what_needs_no_hub_only_checks_it(own):
    result = invoke("pull", "mine")
    assert result.exit_code == 0 and result.stdout == f"{own}\n" and "was here already" in result.stderr
    own.write_bytes(b"GGUF")
    assert invoke("pull", "mine").exit_code == 2


def test_removing_asks_and_keeps_what_is_not_ours(own):
    asked = invoke("remove", "mine", input="n\n")
    assert asked.exit_code == 130 and f"Remove {own}" in asked.stderr and own.exists()
    refused = invoke("remove", "mine", "--yes")
    assert refused.exit_code == 2 and "Remove it yourself" in refused.stderr and own.exists()


@pytest.mark.parametrize(("n_bytes", "text"), [(98_362_432, "98 MB"), (999_999, "1 MB"), (2_491_874_272, "2.49 GB")])
def test_sizes_are_counted_in_thousands(n_bytes, text):
    assert in_megabytes(n_bytes) == text


def test_run_finds_models_by_the_names_of_the_registry(own):
    result = CliRunner().invoke(main, ["run", "x", "--model", "qwen3-4b"])
    assert result.exit_code == 2 and "`local-react models pull qwen3-4b`" in result.stderr
