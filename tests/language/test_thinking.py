"""Think tags: found by template and name, and whether a text leaves a block open."""

from __future__ import annotations

import pytest

from local_react.language.thinking import FAMILIES, ThinkTags, find_family, is_open
from tests.language.templates import SHAPES

USUAL = ThinkTags()

FOUND = [
    ("qwen3", "Qwen3 0.6B", "<think>", False),
    ("qwen3", "Qwen3 4B Thinking 2507", "<think>", True),
    ("qwq", "QwQ-32B", "<think>", True),
    ("deepseek", "DeepSeek R1 Distill Qwen 1.5B", "<think>", True),
    ("deepseek", "DeepSeek-V3.1", "<think>", False),
    ("granite", "granite 3.3 2b instruct", "<think>", False),
    ("gpt_oss", "Gpt Oss 20b", "<|channel|>analysis<|message|>", True),
    ("gpt_oss", "something renamed", "<|channel|>analysis<|message|>", True),
    ("magistral", "Magistral Small 2509", "[THINK]", True),
    ("gemma3", "gemma 3 1b it", "<think>", False),
    (None, "Phi 4 mini reasoning", "<think>", True),
    (None, "some non-reasoning model", "<think>", False),
    (None, "SmolLM2 135M Instruct", "<think>", False),
    (None, "Seed_OSS 36B", "<seed:think>", True),
]


@pytest.mark.parametrize(("shape", "name", "opening", "always"), FOUND)
def test_a_family_is_known_by_its_template_or_its_name(shape: str | None, name: str, opening: str, always: bool) -> None:
    family = find_family(None if shape is None else SHAPES[shape].source, name)
    assert (family.tags.opening, family.always) == (opening, always)


OPEN = [
    ("<|im_start|>assistant\n", USUAL, None),
    ("<|im_start|>assistant\n<think>\n", USUAL, True),
    ("<|im_start|>assistant\n<think>\n\n</think>\n\n", USUAL, False),
    ("<｜Assistant｜></think>", USUAL, False),
    ("[INST] </think> [/INST]", USUAL, None),
    ("<|end|><|start|>assistant", FAMILIES[1].tags, None),
    ("<|end|><|start|>assistant<|channel|>analysis<|message|>", FAMILIES[1].tags, True),
    ("", USUAL, None),
]


@pytest.mark.parametrize(("text", "tags", "found"), OPEN)
def test_the_end_of_a_text_tells_whether_a_block_is_open(text: str, tags: ThinkTags, found: bool | None) -> None:
    assert is_open(text, tags) is found


@pytest.mark.parametrize("family", FAMILIES)
def test_an_empty_block_is_a_closed_one(family) -> None:
    assert is_open(f"x{family.tags.empty}", family.tags) is False
    assert family.tags.opening != family.tags.closing
