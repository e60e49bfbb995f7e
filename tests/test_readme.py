"""The README: its code runs, its commands parse and run, its tables, links, picture and recorded run are current."""

from __future__ import annotations

import inspect
import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from benchmarks import demo_questions
from local_react import Model, ScriptedModel, Trace
from local_react.cli import main
from local_react.language.step import Code
from local_react.replay import first_difference, replay
from tests.readme_tables import GENERATED, MALFORMED, README, ROOT, regenerate

TEXT = README.read_text(encoding="utf-8")
RECORDED = ROOT / "benchmarks/results/demo_run.jsonl"
PICTURE = RECORDED.with_suffix(".svg")

SCRIPT = [" I look it up.\nAction: get_charge[ch_4285]\n", " Now I know.\nAction: finish[It was 49.00.]\n"]
"""What the README's models write: it fits the tool that the README makes first."""


def blocks(language: str) -> list[str]:
    """The README's code blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def command_lines(program: str) -> list[list[str]]:
    """The words of every line of a shell block that begins with `program`, without it."""
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.split()[:1] == [program]]


COMMAND_LINES = command_lines("local-react")
every_command_line = pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README's commands name, and no others."""
    (tmp_path / "benchmarks/results").mkdir(parents=True)
    shutil.copy(RECORDED, tmp_path / "benchmarks/results")
    imports, tool_code = blocks("python")[0].split("\n\nmodel = ")[0], "\n"
    (tmp_path / "my_tools.py").write_text(imports + tool_code, encoding="utf-8")
    (tmp_path / "script.json").write_text(json.dumps([" I know it.\nAction: finish[Nantes]\n"]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOCAL_REACT_MODEL", "scripted:script.json")
    return tmp_path


def test_the_code_runs_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With a script in place of the models, loaded with options that `Model.load` really has."""
    signature = inspect.signature(Model.load)

    def load(*args: object, **options: object) -> ScriptedModel:
        signature.bind(*args, **options)
        return ScriptedModel([SCRIPT] * 20)

    monkeypatch.setattr(Model, "load", load)
    namespace: dict[str, object] = {"__name__": "readme"}
    outputs = []
    for number, block in enumerate(blocks("python"), 1):
        exec(compile(block, f"README.md, python block {number}", "exec"), namespace)
        outputs.append(capsys.readouterr().out)
    assert outputs[0].startswith("It was 49.00. answered\nI look it up. Call(")
    assert "['It was 49.00.', 'It was 49.00.']\n" in outputs
    assert "get_charge {'charge_id': 'ch_4285'} I look it up.\n" in outputs


@every_command_line
def test_the_commands_parse(words: list[str], folder: Path) -> None:
    command, rest = main, list(words)
    while isinstance(command, click.Group):
        command = command.get_command(click.Context(command), rest.pop(0))
    assert command is not None
    command.make_context("local-react", rest)


@every_command_line
def test_the_commands_run(words: list[str], folder: Path) -> None:
    words = [word.replace("model.gguf", "scripted:script.json") for word in words]
    result = CliRunner().invoke(main, words)
    assert (result.exit_code, result.exception) == (0, None), result.output
    for name in ("run.svg", "run.jsonl"):
        assert (folder / name).exists() == (name in words)


def test_every_command_has_an_example() -> None:
    used = {words[0] for words in COMMAND_LINES}
    assert used == set(main.list_commands(click.Context(main)))


def test_every_option_in_the_text_is_an_option() -> None:
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", TEXT))
    assert options and options <= set(_options(main))


def _options(command: click.Command) -> Iterator[str]:
    context = click.Context(command, help_option_names=["--help"])
    for parameter in command.get_params(context):
        yield from (*parameter.opts, *parameter.secondary_opts)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            yield from _options(command.get_command(context, name))


def test_two_commands_do_the_set_up() -> None:
    assert command_lines("make") == [["run"], ["test"]]


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_the_two_commands_begin_from_nothing(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    planned = {target: _plan(target, tmp_path) for target in ("run", "test")}
    for plan in planned.values():
        assert [line for line in plan if "-m venv .venv" in line]
        assert [line for line in plan if "pip install" in line and "smollm2" in line]
    assert planned["run"][-1] == f'.venv/bin/local-react run --model smollm2 --tools demo "{Trace.read(RECORDED).question}"'
    assert planned["test"][-1] == ".venv/bin/python -m pytest"
    assert _plan("run", tmp_path, "QUESTION=Why?")[-1].endswith('"Why?"')


def _plan(target: str, folder: Path, *settings: str) -> list[str]:
    """What `make TARGET` would do, also where it was `make test` that started the tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(
        ["make", "-n", target, *settings], cwd=folder, env=environment, capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_tables_are_made_from_the_code() -> None:
    assert regenerate(TEXT) == TEXT, "run: python -m tests.readme_tables --write"


def test_every_table_is_in_the_readme() -> None:
    assert re.findall(r"<!-- generated: (\w+) -->", TEXT) == list(GENERATED)
    assert TEXT.count("<!-- end -->") == len(GENERATED)


def test_every_way_to_be_malformed_has_an_example() -> None:
    assert list(MALFORMED) == list(get_args(Code))


def test_the_links_lead_to_files() -> None:
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", TEXT) if "://" not in link]
    headings = {f"#{heading.lower().replace(' ', '-')}" for heading in re.findall(r"^#+ (.+)$", TEXT, re.MULTILINE)}
    assert links
    assert [link for link in links if link not in headings and not (ROOT / link).is_file()] == []


def test_the_measured_answers_are_those_to_the_questions_and_judged_as_now() -> None:
    measured = json.loads(demo_questions.RESULTS.read_text(encoding="utf-8"))["questions"]
    assert [result["question"] for result in measured] == list(demo_questions.QUESTIONS)
    for result in measured:
        assert result["is_right"] == demo_questions.is_right(result["question"], result["answer"])


def test_the_recorded_run_is_answered_and_replays_without_a_difference() -> None:
    recorded = Trace.read(RECORDED)
    assert recorded.ending == "answered" and "Nantes" in str(recorded.answer)
    assert first_difference(recorded, replay(recorded)) is None


def test_the_recorded_run_names_no_place_on_a_machine() -> None:
    for path in (RECORDED, PICTURE, README):
        assert not re.search(r"(?<![\w.:/])/(home|root|Users|tmp|work|usr|opt|var|mnt)/", path.read_text(encoding="utf-8"))


def test_the_picture_is_that_of_the_recorded_run(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["trace", "show", str(RECORDED), "--svg", str(tmp_path / "run.svg")])
    assert result.exit_code == 0
    assert _words(tmp_path / "run.svg") == _words(PICTURE)


def _words(picture: Path) -> str:
    """The text in an SVG file. Its layout may differ between versions of rich."""
    parts = ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")
    return re.sub(r"\s+", "", "".join(part.text or "" for part in parts))


def test_no_committed_result_tells_where_it_was_made() -> None:
    """Regression: a recorded traceback held the folders of the machine that recorded it."""
    for path in sorted(path for path in (ROOT / "benchmarks" / "results").rglob("*") if path.is_file()):
        data = path.read_bytes()
        text = (lzma.decompress(data) if path.suffix == ".xz" else data).decode("utf-8")
        assert str(ROOT) not in text and "/tmp/" not in text, path.name
