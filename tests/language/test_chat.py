"""The chat form of a prompt: the plain one's words in the turns of a template, and the think block before the first step."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from functools import cache

import pytest
from hypothesis import given, settings

from local_react.errors import TemplateError
from local_react.language.chat import CHATML, to_chat, with_thinking
from local_react.language.prompt import Prompt, build_prompt
from local_react.language.protocol import Protocol
from local_react.language.template import ChatTemplate
from local_react.language.thinking import ThinkTags
from tests.language.labelled import HOSTILE
from tests.language.templates import SHAPES
from tests.language.test_prompt import EXEMPLAR, TOOLS

TODAY = datetime(2026, 11, 30)
TAGS = ThinkTags()


def plain(question: str = "Why?", **options) -> Prompt:
    return build_prompt(question, Protocol(), TOOLS, [EXEMPLAR], **options)


@cache
def template(name: str) -> ChatTemplate:
    return ChatTemplate(CHATML if name == "chatml" else SHAPES[name].source, bos="<s>", eos="</s>")


def chat(prompt: Prompt, name: str, **options) -> Prompt:
    return to_chat(prompt, template(name), today=TODAY, **options)


def outside(prompt: Prompt) -> str:
    return " ".join(piece.text for piece in prompt.pieces if not piece.is_trusted)


def unlabelled(prompt: Prompt) -> str:
    """The text of a plain prompt without the label of its question."""
    at = [piece.part for piece in prompt.pieces].index("question")
    return "".join(piece.text for index, piece in enumerate(prompt.pieces) if index != at - 1)


def test_the_turns_are_system_user_and_an_assistant_that_has_begun_its_first_step() -> None:
    text = chat(build_prompt("Who?", Protocol(), {}, instructions="Be brief."), "chatml").text
    assert text == (
        "<|im_start|>system\nBe brief.\n\nfinish[answer] ends the run with the answer.<|im_end|>\n"
        "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\nThought:"
    )


def test_without_a_system_role_the_users_message_begins_with_the_instructions() -> None:
    text = chat(build_prompt("Who?", Protocol(), {}, instructions="Be brief."), "gemma2", has_system=False).text
    assert text == (
        "<s><start_of_turn>user\nBe brief.\n\nfinish[answer] ends the run with the answer.\n\nQuestion: Who?<end_of_turn>\n"
        "<start_of_turn>model\nThought:"
    )


@pytest.mark.parametrize("name", ["chatml", *SHAPES])
def test_every_part_of_the_plain_prompt_is_there_and_the_same(name: str) -> None:
    """All but the label of the question, where the question has a turn of its own."""
    prompt, has_system = plain(), name != "gemma2"
    dressed = chat(prompt, name, has_system=has_system)
    parts = {piece.part for piece in prompt.pieces}
    assert {piece.part for piece in dressed.pieces} == parts | {"template"}
    for part in parts - {"instructions", "question", "step"}:
        assert [p.text.strip() for p in dressed.pieces if p.part == part] == [p.text.strip() for p in prompt.pieces if p.part == part]
    assert outside(dressed).split() == (prompt.text if not has_system else unlabelled(prompt)).split()
    assert dressed.pieces[-1] == prompt.pieces[-1]
    assert all(piece.is_trusted == (piece.part == "template") for piece in dressed.pieces)


@pytest.mark.parametrize("name", ["chatml", "llama2", "gemma3", "mistral"])
def test_what_comes_before_the_question_is_the_same_for_every_question(name: str) -> None:
    one, other = (chat(plain(question), name) for question in ("Why?", "Who was\nthat?"))
    assert one.shared_text == other.shared_text
    assert one.text.startswith(f"{one.shared_text}Why?")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != plain().fingerprint


@settings(max_examples=20, deadline=None)
@given(HOSTILE)
def test_no_question_gets_out_of_its_piece(question: str) -> None:
    question = f"q{question}"
    for name in ("chatml", "llama3", "gemma3"):
        dressed = chat(plain(question), name)
        assert outside(dressed).split() == unlabelled(plain(question)).split()
        expected = chat(plain("Why?"), name)
        assert [p.text for p in dressed.pieces if p.is_trusted] == [p.text for p in expected.pieces if p.is_trusted]


def test_a_template_without_a_turn_for_the_assistant_is_refused() -> None:
    with pytest.raises(TemplateError, match="no turn for the assistant"):
        to_chat(plain(), ChatTemplate("{% for m in messages %}\n<|{{ m.role }}|>{{ m.content }}{% endfor %}"))


def test_a_template_that_asks_for_tools_as_such_is_not_given_any() -> None:
    assert "<tools>" not in chat(plain(), "qwen3").text


THINKING = [
    ("chatml", {}, "<|im_start|>assistant\n<think>\n"),
    ("qwq", {}, "<|im_start|>assistant\n<think>\n"),
    ("qwen3", {}, "<|im_start|>assistant\n<think>\n"),
]


@pytest.mark.parametrize(("name", "variables", "end"), THINKING)
def test_a_think_block_is_opened_once_and_the_label_waits_behind_it(name: str, variables: dict, end: str) -> None:
    prompt = with_thinking(chat(plain(), name, variables=variables), TAGS)
    assert prompt.text.endswith(end) and prompt.text.count("<think>") == 1
    assert prompt.thinking == TAGS
    assert "step" not in {piece.part for piece in prompt.pieces}


EMPTY = [
    ("chatml", {}, "<|im_start|>assistant\n<think>\n\n</think>\n\nThought:"),
    ("qwq", {}, "<|im_start|>assistant\n<think>\n\n</think>\n\nThought:"),
    ("qwen3", {"enable_thinking": False}, "<|im_start|>assistant\n<think>\n\n</think>\n\nThought:"),
    ("deepseek", {}, "<｜Assistant｜></think>Thought:"),
]


@pytest.mark.parametrize(("name", "variables", "end"), EMPTY)
def test_an_empty_block_stands_before_the_label_once(name: str, variables: dict, end: str) -> None:
    prompt = with_thinking(chat(plain(), name, variables=variables), TAGS, is_empty=True)
    assert prompt.text.endswith(end)
    assert prompt.thinking is None


def test_plain_text_can_have_a_think_block_too() -> None:
    prompt = with_thinking(plain(), TAGS)
    assert prompt.text.endswith("Question: Why?\n<think>\n")
    assert with_thinking(plain(), TAGS, is_empty=True).text.endswith("Question: Why?\n<think>\n\n</think>\n\nThought:")
    assert replace(prompt, thinking=None).shared_text == plain().shared_text
