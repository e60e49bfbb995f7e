"""The list tells what is here, what fits, and what is only guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from huggingface_hub import constants

from local_react.cli import main
from local_react.cli.models import list as listing
from local_react.cli.models.list import WINDOW, describe
from local_react.llama.files import judge_model_file
from local_react.llama.memory import estimate_memory
from local_react.llama.model import N_CTX
from local_react.llama.registry import Entry, user_registry_path
from tests.random_models import make_model


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """A registry with a model that is here, one that is damaged, and one that isn't here."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hf"))
    model = make_model(tmp_path / "x.gguf", n_embd=32, n_head=1, n_layer=1)
    (tmp_path / "cut.gguf").write_bytes(model.read_bytes()[:-100])
    path = user_registry_path()
    path.parent.mkdir(parents=True)
    path.write_text(
        f'[[model]]\nname = "mine"\nsource = "file:{model}"\nlicence = "[red]own[/red]\\u001b"\n'
        f'[[model]]\nname = "cut"\nsource = "file:{tmp_path / "cut.gguf"}"\nlicence = "MIT"\n'
        '[[model]]\nname = "absent"\nsource = "hf:no/such/f.gguf"\nlicence = "MIT"\nsize = 1000000\ngated = true\n'
        '[[model]]\nname = "unknown"\nsource = "hf:no/such/g.gguf"\nlicence = "MIT"\n'
    )
    return model


def run(*args: str, **env: str) -> str:
    result = CliRunner().invoke(main, ["models", "list", *args], env=env)
    assert result.exit_code == 0, result.output
    return result.stdout


def line(text: str, name: str) -> list[str]:
    """The cells of the row of that name."""
    [row] = [row for row in text.splitlines() if row.split()[:1] == [name]]
    return row.split()


def test_the_window_is_that_of_a_run():
    assert WINDOW == N_CTX


def test_what_is_here_is_reckoned_from_its_file_and_the_rest_is_about(own, monkeypatch):
    monkeypatch.setattr(listing, "available_memory", lambda: 10_000_000)
    text = run()
    assert "own" in text and "\x1b" not in text and "␛" in text and "[red]" in text
    assert line(text, "mine")[1] == "yes" and "about" not in line(text, "mine")
    assert "about" in line(text, "absent") and line(text, "absent")[-1] == "gated"
    assert "unusable: is cut short" in text
    assert line(text, "unknown")[1:4] == ["unknown", "unknown", "?"]
    assert line(text, "qwen3-4b")[1:].count("no") == 1
    assert text.splitlines()[-1] == "10 MB of memory is free. Memory is for a window of 4,096 tokens."


def test_where_the_system_tells_no_memory_nothing_is_said_to_fit(own, monkeypatch):
    monkeypatch.setattr(listing, "available_memory", lambda: None)
    rows = json.loads(run("--json"))["models"]
    assert {row["fits"] for row in rows} == {None}
    assert "An unknown amount of memory is free" in run()


def test_a_larger_window_needs_more(own):
    small, large = (
        {row["name"]: row["memory"] for row in json.loads(run("--json", "--n-ctx", window))["models"]} for window in ("256", "65536")
    )
    for name in ("mine", "absent", "smollm2"):
        assert small[name] < large[name]


def test_the_need_of_a_file_is_the_estimate_of_its_header(own):
    entry = Entry(name="a", source=f"file:{own}", licence="MIT")
    need = estimate_memory(judge_model_file(own), n_ctx=512).total
    row = describe(entry, 512, need)
    assert (row.memory, row.is_guess, row.fits, row.fault) == (need, False, True, None)
    assert describe(entry, 512, need - 1).fits is False


def test_only_what_is_here_when_that_is_asked(own):
    names = [row["name"] for row in json.loads(run("--json", "--here"))["models"]]
    assert set(names) >= {"smollm2", "mine", "cut"} and not {"absent", "qwen3-4b"} & set(names)


def test_json_says_all_that_the_registry_says(own):
    rows = {row["name"]: row for row in json.loads(run("--json"))["models"]}
    assert rows["absent"]["gated"] is True and rows["absent"]["sha256"] is None
    assert rows["qwen3-0.6b"]["source"].startswith("hf:Qwen/Qwen3-0.6B-GGUF/") and rows["smollm2"]["tried"] is True
    assert rows["cut"]["fault"].startswith("is cut short")


@pytest.mark.parametrize(("columns", "is_wide"), [("80", False), ("160", True)])
def test_a_narrow_terminal_leaves_the_licence_out(own, columns, is_wide):
    assert ("licence" in run(COLUMNS=columns)) == is_wide


@pytest.mark.parametrize("value", ["0", "-1", "many"])
def test_a_window_that_makes_no_sense_is_refused(value):
    assert CliRunner().invoke(main, ["models", "list", "--n-ctx", value]).exit_code == 2


def test_a_wrong_key_in_the_users_registry_is_one_message(own):
    user_registry_path().write_text('[[model]]\nname = "x"\nsource = "pypi:x"\nlicence = "MIT"\nbogus = 1\n')
    result = CliRunner().invoke(main, ["models", "list"])
    assert result.exit_code == 2 and "entry 'x': there is no key 'bogus'" in result.stderr
