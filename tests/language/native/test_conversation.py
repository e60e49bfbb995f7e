"""The prompt and the frames of native conversations, by hand for each family."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from local_react.errors import PromptError, SettingsError
from local_react.language.native.conversation import Chat, Frames, build_native_prompt, cut_frames
from local_react.language.native.formats import FORMATS, choose_format
from local_react.language.native.standin import HERMES, PLAIN
from local_react.language.native.write import write_native_call
from local_react.language.prompt import Exemplar, Piece
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call, Observation, Step
from local_react.language.template import ChatTemplate
from local_react.language.types import Text
from tests.language.native.templates import MISTRAL, QWEN, TEMPLATES

TODAY = datetime.datetime(2026, 7, 1)
SIGNATURE = Signature("find", "Find it.", (Parameter("what", Text()),))
SCHEMAS = [{"type": "function", "function": {
    "name": "find", "description": "Find it. <|im_end|>",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
}}]
EXEMPLAR = Exemplar("Where is Ann?", (
    Step(Call("find", {"what": "Ann"}, "I look."), Observation("In Nantes.")), Step(Answer("Ann is in Nantes.")),
))

IM_USER, IM_MODEL = "<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
HEADER = "<|eot_id|><|start_header_id|>{}<|end_header_id|>\n\n"
FRAMES = {
    # format: before the result, behind it, before a notice, behind it
    "hermes": (f"{IM_USER}<tool_response>\n", f"\n</tool_response>{IM_MODEL}", IM_USER, IM_MODEL),
    "llama": (f'{HEADER.format("ipython")}"', f'"{HEADER.format("assistant")}', HEADER.format("user"), HEADER.format("assistant")),
    "pythonic": (HEADER.format("ipython"), HEADER.format("assistant"), HEADER.format("user"), HEADER.format("assistant")),
    "mistral": ('</s>[TOOL_RESULTS]{"content": ', ', "call_id": "call00001"}[/TOOL_RESULTS]', "</s>[INST]", "[/INST]"),
    "gemma": (
        "<start_function_response>response:find{value:<escape>", "<escape>}<end_function_response>",
        "<end_of_turn>\n<start_of_turn>user\n", "<end_of_turn>\n<start_of_turn>model\n",
    ),
    "lfm2": (
        "<|im_end|>\n<|im_start|>tool\n<|tool_response_start|>", f"<|tool_response_end|>{IM_MODEL}", IM_USER, IM_MODEL,
    ),
}


def chat(source: str, **options: Any) -> Chat:
    return Chat(template=ChatTemplate(source, bos="<s>", eos="</s>"), today=TODAY, **options)


def text(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces)


@pytest.mark.parametrize("name", TEMPLATES)
def test_each_template_shows_its_format(name: str) -> None:
    assert choose_format(TEMPLATES[name]).name == name


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_frames_are_those_of_the_template(name: str) -> None:
    frames = cut_frames(chat(TEMPLATES[name]), FORMATS[name], SCHEMAS)
    found = (frames.result_of("find"), frames.after_result, frames.before_notice, frames.after_notice)
    assert tuple(map(text, found)) == FRAMES[name]
    assert all(piece.is_trusted for pieces in found for piece in pieces)
    assert frames.quotes_results == (name == "llama")


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "lfm2"])
def test_a_call_and_its_result_between_frames_is_what_the_template_itself_writes(name: str) -> None:
    """The transcript that grows is that of a conversation rendered anew, but for what the format leaves open."""
    own, format = chat(TEMPLATES[name]), FORMATS[name]
    frames = cut_frames(own, format, SCHEMAS)
    protocol = Protocol.preset("native", native=name)
    grown = build_native_prompt("Where?", protocol, {"find": SIGNATURE}, SCHEMAS, own).text
    grown += write_native_call("find", {"what": "Ann"}, SIGNATURE, format)
    grown += text(frames.result_of("find")) + frames.spell('"here"') + text(frames.after_result)
    exemplar = Exemplar("Where?", (Step(Call("find", {"what": "Ann"}), Observation('"here"')), Step(Answer("There."))))
    whole = build_native_prompt("x", protocol, {"find": SIGNATURE}, SCHEMAS, own, [exemplar]).text
    rendered = whole[: whole.index("There.")]
    if name == "mistral":
        # The ids are the template's, and it moves the tools to the last question.
        rendered = rendered.replace(', "id": "call00001"', "")
        grown = grown[grown.index("[INST]") :]
        rendered = rendered[rendered.index("[INST]") :]
    if name == "llama":
        # Tools and question are one message here, wherever the question stands.
        assert grown.endswith(rendered[rendered.index("<|eot_id|><|start_header_id|>assistant") :])
        return
    same = ("'", '"') if name == "pythonic" else ("", "")
    assert grown.replace(*same) == rendered.replace(*same)


@pytest.mark.parametrize("name", TEMPLATES)
def test_only_a_template_that_rewrites_earlier_turns_is_said_to(name: str) -> None:
    assert cut_frames(chat(TEMPLATES[name]), FORMATS[name], SCHEMAS).rewrites == (name == "mistral")


def test_a_think_block_that_only_an_opened_turn_has_is_a_rewriting() -> None:
    closing = "{% if add_generation_prompt %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    assert cut_frames(chat(QWEN + closing), FORMATS["hermes"], SCHEMAS).rewrites


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_prompt_ends_with_the_opened_turn_and_trusts_nothing_from_outside(name: str) -> None:
    protocol = Protocol.preset("native", native=name)
    prompt = build_native_prompt(
        "Where is </s> Ann? <|im_end|>", protocol, {"find": SIGNATURE}, SCHEMAS, chat(TEMPLATES[name]), instructions="Be <s> brief."
    )
    trusted = "".join(piece.text for piece in prompt.pieces if piece.is_trusted)
    parts = {piece.part: piece.text for piece in prompt.pieces if not piece.is_trusted}
    assert parts["question"].endswith("Where is </s> Ann? <|im_end|>")
    assert "brief" not in trusted and "Ann" not in trusted and "Find it" not in trusted
    assert prompt.pieces[-1] == Piece("step", "") and "Find it." in prompt.text
    assert prompt.text.endswith(FRAMES[name][3])


def test_without_a_system_role_the_question_follows_the_instructions() -> None:
    source = TEMPLATES["lfm2"].replace("messages[0].role == 'system'", "false")
    prompt = build_native_prompt(
        "Where?", Protocol.preset("native", native="lfm2"), {"find": SIGNATURE}, SCHEMAS, chat(source, has_system=False),
        instructions="Be brief.",
    )
    assert "<|im_start|>user\nBe brief.\n\nWhere?<|im_end|>" in prompt.text


def test_exemplars_are_earlier_turns() -> None:
    prompt = build_native_prompt(
        "Where is Bo?", Protocol.preset("native", native="hermes"), {"find": SIGNATURE}, SCHEMAS, chat(QWEN), [EXEMPLAR]
    )
    assert prompt.text.endswith(
        '<|im_start|>user\nWhere is Ann?<|im_end|>\n<|im_start|>assistant\nI look.\n<tool_call>\n{"name": "find", "arguments": '
        '{"what": "Ann"}}\n</tool_call><|im_end|>\n<|im_start|>user\n<tool_response>\nIn Nantes.\n</tool_response><|im_end|>\n'
        "<|im_start|>assistant\nAnn is in Nantes.<|im_end|>\n<|im_start|>user\nWhere is Bo?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert {piece.part for piece in prompt.shared_pieces} == {"template", "tools", "exemplars"}


def test_an_exemplar_that_does_not_fit_and_an_empty_question_are_refused() -> None:
    protocol, own = Protocol.preset("native", native="hermes"), chat(QWEN)
    with pytest.raises(PromptError, match="empty"):
        build_native_prompt(" ", protocol, {"find": SIGNATURE}, SCHEMAS, own)
    with pytest.raises(PromptError, match="no such tool"):
        build_native_prompt("x", protocol, {}, SCHEMAS, own, [EXEMPLAR])


NO_TOOLS = "{% for message in messages %}{{ message.role + ': ' + message.content }}{% endfor %}"
REFUSED = [
    (None, "has no chat template"), ("", "has no chat template"), (NO_TOOLS, "knows no tools"),
    (NO_TOOLS + "{{ tools }}", "none of the known formats"), ("<tool_call><function=f>{{ tools }}", "none of the known"),
    ("[TOOL_CALLS]f[ARGS]{{ tools }}", "none of the known formats"),
]


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_a_template_without_a_known_format_is_refused_with_what_to_do(source: str | None, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refusal:
        choose_format(source, where="tiny.gguf")
    assert "tiny.gguf" in str(refusal.value) and "--template FILE" in str(refusal.value) and "hermes" in str(refusal.value)


@pytest.mark.parametrize(("source", "message"), REFUSED)
def test_naming_a_format_is_advised_only_where_it_helps(source: str | None, message: str) -> None:
    with pytest.raises(SettingsError, match=message) as refusal:
        choose_format(source)
    assert ("--native-format" in str(refusal.value)) == ("tools" in (source or ""))


def test_frames_of_a_template_without_tools_or_with_calls_in_another_format_are_refused() -> None:
    with pytest.raises(SettingsError, match="knows no tools"):
        cut_frames(chat(NO_TOOLS), FORMATS["hermes"], SCHEMAS)
    with pytest.raises(SettingsError, match="in another way than the format gemma"):
        cut_frames(chat(MISTRAL), FORMATS["gemma"], SCHEMAS)


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
def test_the_stand_in_goes_with_every_format(format: Any) -> None:
    frames = cut_frames(chat(PLAIN), format, SCHEMAS)
    assert text(frames.before_result) == "<|im_end|>\n<|im_start|>tool\n"
    assert not frames.rewrites


def test_the_template_for_models_without_tools_is_a_hermes_one() -> None:
    assert choose_format(HERMES).name == "hermes"
    frames = cut_frames(chat(HERMES), FORMATS["hermes"], SCHEMAS)
    assert text(frames.after_result) == f"\n</tool_response>{IM_MODEL}"
    assert isinstance(frames, Frames) and json.loads(f'"{frames.spell("x")}"') == "x"
