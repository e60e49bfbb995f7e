"""The commands with --protocol native: a run, its trace, the prompt, the language."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from local_react.cli import main
from local_react.language.native.formats import FORMATS
from tests.language.native.templates import LLAMA, QWEN
from tests.random_models import make_model

SCRIPT = ['<tool_call>\n{"name": "lookup_order", "arguments": {"order_id": "A100"}}\n</tool_call>', "It has shipped."]


def invoke(*words: str) -> Result:
    return CliRunner().invoke(main, [*words, "--protocol", "native"])


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.json").write_text(json.dumps(SCRIPT), encoding="utf-8")
    return f"scripted:{tmp_path / 'script.json'}"


def test_a_native_run_answers_and_its_trace_replays(script: str, tmp_path: Path) -> None:
    trace = str(tmp_path / "run.jsonl")
    result = invoke("run", "--tools", "demo", "--model", script, "--trace", trace, "Has order A100 shipped?")
    assert (result.exit_code, result.stdout.strip()) == (0, "It has shipped."), result.output
    for words in (["trace", "replay", trace], ["trace", "replay", trace, "--tools", "demo"], ["trace", "show", trace]):
        result = CliRunner().invoke(main, words)
        assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[1:4] == SCRIPT[0].splitlines() and lines[4].startswith("  Observation: {")
    assert lines[5:7] == ["It has shipped."] * 2


def test_the_prompt_is_that_of_the_template_with_the_tools_in_it(tmp_path: Path) -> None:
    model = str(make_model(tmp_path / "tiny.gguf", chat_template=LLAMA))
    result = invoke("prompt", "--tools", "demo", "--model", model, "Why?")
    assert result.exit_code == 0, result.output
    assert '"parameters": dictionary}' in result.stdout and "lookup_order" in result.stdout
    assert "Why?⟦<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n⟧" in result.stdout
    lock = str(tmp_path / "lock.json")
    assert invoke("prompt", "--tools", "demo", "--model", model, "--lock", lock).exit_code == 0
    assert invoke("prompt", "--tools", "demo", "--model", model, "--check", lock).exit_code == 0


def test_a_template_from_a_file_goes_before_the_models_own(tmp_path: Path) -> None:
    model = str(make_model(tmp_path / "tiny.gguf", chat_template=LLAMA))
    (tmp_path / "qwen.jinja").write_text(QWEN, encoding="utf-8")
    result = invoke("prompt", "--tools", "demo", "--model", model, "--template", str(tmp_path / "qwen.jinja"), "--text", "Why?")
    assert result.exit_code == 0 and result.stdout.endswith("<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n\n")


def test_a_model_without_a_template_is_a_mistake_that_says_what_to_do(tmp_path: Path) -> None:
    model = str(make_model(tmp_path / "tiny.gguf"))
    for command in ("run", "prompt"):
        result = invoke(command, "--tools", "demo", "--model", model, "Why?")
        assert result.exit_code == 2 and "--template FILE" in result.output and "hermes, llama" in result.output


@pytest.mark.parametrize("name", FORMATS)
def test_the_language_is_shown_behind_the_opener_and_read(name: str) -> None:
    result = invoke("grammar", "--tools", "demo", "--native-format", name, "--sample", "5", "--read")
    assert result.exit_code == 0, result.output
    assert f'behind "{FORMATS[name].opener}"' in result.stderr
    assert sum(line.startswith("    call ") for line in result.stdout.splitlines()) == 5
    result = invoke("grammar", "--tools", "demo", "--native-format", name, "--reach", "step", "--sample", "20", "--read")
    assert "malformed" not in result.stdout and "as its message" in result.stderr
    assert invoke("grammar", "--tools", "demo", "--native-format", name).stdout.startswith("root ::= ")


def test_a_format_for_another_protocol_is_a_mistake(script: str) -> None:
    result = CliRunner().invoke(main, ["run", "--model", script, "--native-format", "llama", "Why?"])
    assert result.exit_code == 2 and "Give it, too" in result.output
    result = CliRunner().invoke(main, ["run", "--model", script, "Why?"], env={"LOCAL_REACT_NATIVE_FORMAT": "llama"})
    assert result.exit_code == 1


def test_a_language_without_a_format_is_a_mistake() -> None:
    result = invoke("grammar", "--tools", "demo")
    assert result.exit_code == 2 and "--native-format" in result.output
