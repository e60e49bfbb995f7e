"""`local-react grammar`: the texts of the language, its random words, and what the parser makes of them."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner

from local_react.cli import grammar, main
from local_react.cli.tool_files import load_toolbox
from local_react.decode.gbnf import GbnfEngine
from local_react.decode.scripted import ScriptedModel
from local_react.language.derivative import accepts
from local_react.language.protocol import PRESETS, Protocol
from local_react.language.step import Malformed
from local_react.llama.gbnf_check import check_gbnf
from local_react.llama.model import Model
from local_react.steering import REACHES, Steering, held_language
from tests.cli.terminal import TOOLS, environment, run_on_terminal, run_piped


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)

    def go(*args, tools="tools.py"):
        return CliRunner().invoke(main, ["grammar", "--tools", tools, *args])

    return go


@pytest.mark.parametrize("protocol", PRESETS)
@pytest.mark.parametrize("reach", REACHES)
def test_the_text_is_that_of_the_language_that_a_run_is_held_to(invoke, protocol, reach):
    toolbox = load_toolbox(["demo"])
    vocabulary = ScriptedModel([]).vocabulary
    steering = Steering(
        protocol=Protocol.preset(protocol), tools=toolbox, engine=GbnfEngine(vocabulary), vocabulary=vocabulary, reach=reach
    )
    language = steering.language(number=1)
    result = invoke("--protocol", protocol, "--reach", reach, tools="demo")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == grammar.to_gbnf(language)
    check_gbnf(result.stdout)


@pytest.mark.parametrize(
    ("form", "beginning"), [(None, "root ::= "), ("gbnf", "root ::= "), ("lark", "start: TEXT\nTEXT: "), ("regex", " (?:")]
)
@pytest.mark.parametrize("tools", ["tools.py", "demo"])
def test_each_form_is_written_whole(invoke, form, beginning, tools):
    result = invoke(*(() if form is None else ("--as", form)), tools=tools)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(beginning)
    assert result.stdout.endswith("\n") and not result.stdout.endswith("\n\n")
    assert all(name in result.stdout for name in load_toolbox([tools]))


@pytest.mark.parametrize(("style", "written"), [("keyword", r"seconds="), ("json", r"\{\\x22seconds\\x22: ")])
def test_arguments_are_written_in_the_style_asked_for(invoke, style, written):
    assert re.search(rf'sleep\[{written}', invoke("--arguments", style).stdout)


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ([], 'behind "Action:"'),
        (["--protocol", "numbered"], 'behind "Action 1:"'),
        (["--protocol", "answer"], "on the line of its action"),
        (["--reach", "step"], 'behind "Thought:"'),
        (["--reach", "step", "--protocol", "act"], 'behind "Action:"'),
    ],
)
def test_stderr_says_where_the_model_writes_it(invoke, options, place):
    assert invoke(*options).stderr == f"What the model may write {place}\n"
    assert invoke(*options, "--sample", "1").stderr == f"Random words of what the model may write {place}\n"


@pytest.mark.parametrize("protocol", PRESETS)
@pytest.mark.parametrize("reach", REACHES)
def test_every_word_is_one_line_of_the_language_and_is_read(invoke, protocol, reach):
    result = invoke("--sample", "40", "--read", "--protocol", protocol, "--reach", reach)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.removesuffix("\n").split("\n")
    assert len(lines) == 80
    language = held_language(Protocol.preset(protocol), load_toolbox(["tools.py"]), reach)
    for word, reading in zip(lines[::2], lines[1::2]):
        assert accepts(language, word.replace("⏎", "\n")), word
        assert re.match(r"    (call \w+ \{|answer \")", reading), (word, reading)


def test_a_reading_shows_the_arguments_and_the_thought(invoke):
    options = ["--sample", "60", "--read", "--reach", "step"]
    calls = re.findall(r'    call sleep (\{.*\}), thought (".*")\n', invoke(*options).stdout)
    assert calls
    for arguments, thought in calls:
        assert set(json.loads(arguments)) <= {"seconds", "why"} and json.loads(thought)


def test_a_reading_says_what_is_malformed():
    tools = load_toolbox(["demo"])
    told = grammar.describe(" find_order[A100]", "Action:", Protocol(), tools, "utf-8")
    read = grammar.parse_step(" find_order[A100]", Protocol(), tools, strict=True, primed="Action:")
    assert isinstance(read, Malformed)
    assert told == f"malformed: {read.message}"


def test_the_same_seed_draws_the_same_words(invoke):
    first, again, other = (invoke("--sample", "20", "--seed", seed).stdout for seed in ("7", "7", "8"))
    assert first == again != other
    assert len(first.splitlines()) >= 20


def test_more_words_begin_with_the_same_ones(invoke):
    few, many = (invoke("--sample", n, "--seed", "3").stdout for n in ("5", "10"))
    assert many.startswith(few) and many != few


def test_without_tools_the_run_can_only_end(invoke):
    result = CliRunner().invoke(main, ["grammar", "--sample", "10"])
    assert all(line.startswith(" finish[") for line in result.stdout.splitlines())


def test_settings_come_from_the_file_and_the_environment(invoke, tmp_path, monkeypatch):
    (tmp_path / "local_react.toml").write_text('protocol = "numbered"\nseed = 7\n')
    assert 'behind "Action 1:"' in invoke().stderr
    assert invoke("--sample", "5").stdout == invoke("--sample", "5", "--seed", "7").stdout
    monkeypatch.setenv("LOCAL_REACT_PROTOCOL", "answer")
    assert "on the line of its action" in invoke().stderr


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--as", "gbnf", "--sample", "5"], "--as or --sample"),
        (["--read"], "--read needs --sample"),
        (["--sample", "0"], "Invalid value for '--sample'"),
        (["--as", "ebnf"], "Invalid value for '--as'"),
        (["--seed", "-1", "--sample", "1"], "Invalid value for '--seed'"),
        (["--tools", "missing.py"], "does not exist"),
    ],
)
def test_a_mistake_is_one_message_and_exit_code_2(invoke, args, message):
    result = invoke(*args)
    assert result.exit_code == 2
    assert message in result.stderr and "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_parameter_that_can_not_be_drawn_is_named(invoke, tmp_path):
    (tmp_path / "odd.py").write_text(
        "from local_react import Tool\n"
        'FIELDS = {"code": {"type": "string", "pattern": "^(a)\\\\1$"}, "n": {"type": "integer"}}\n'
        'SCHEMA = {"type": "object", "required": ["code", "n"], "properties": FIELDS}\n'
        'TOOLS = [Tool.from_schema("odd", "Odd.", SCHEMA, lambda **given: None)]\n'
    )
    result = invoke(tools="odd.py")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Tool odd, parameter code" in result.stderr


def test_what_a_tools_file_prints_is_no_part_of_the_text(invoke, tmp_path):
    plain = invoke().stdout
    (tmp_path / "tools.py").write_text(TOOLS + '\nprint("loaded")\n')
    assert invoke().stdout == plain


def test_no_model_is_loaded(invoke, monkeypatch):
    def refuse(*_args, **_options):
        raise AssertionError("a model was loaded")

    monkeypatch.setattr(Model, "load", refuse)
    monkeypatch.setenv("LOCAL_REACT_MODEL", "missing.gguf")
    assert invoke().exit_code == invoke("--sample", "3", "--read").exit_code == 0


ODD_NAME = 'from local_react import tool\n\n@tool\ndef größe(was: str) -> str:\n    """How large."""\n    return was\n'


def test_a_name_in_any_script_is_written_in_utf8(tmp_path):
    (tmp_path / "tools.py").write_text(ODD_NAME, encoding="utf-8")
    done = run_piped("grammar", "--tools", "tools.py", cwd=tmp_path)
    assert "größe[" in done.stdout.decode("utf-8")


def test_what_stdout_can_not_hold_is_said_and_not_replaced(tmp_path):
    (tmp_path / "tools.py").write_text(ODD_NAME, encoding="utf-8")
    done = run_piped("grammar", "--tools", "tools.py", cwd=tmp_path, env=environment(PYTHONIOENCODING="ascii"))
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"PYTHONUTF8=1" in done.stderr


def test_a_word_can_not_act_on_the_terminal(tmp_path):
    session = run_on_terminal("grammar", "--sample", "300", "--reach", "step", cwd=tmp_path)
    assert session.code == 0
    lines = session.output.split("\r\n")
    assert not re.search("[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", "\n".join(lines[1:]))
