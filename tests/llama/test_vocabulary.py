"""Tokens ⇄ bytes, without loss, on both kinds of vocabulary."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from local_react.llama.model import Model
from tests.random_models import byte_level_vocabulary, make_model, sentencepiece_vocabulary

USER_DEFINED = 4
"""The type of a token that llama.cpp takes by its name in any text."""

TEXTS = [
    "", " ", "  two blanks  ", "Action: search[日🙂é]", "\n", "\n\nObservation: x\n", "a\tb\r\nc", "\x00\x01\x7f", "مرحبا", "e\u0301",
    "<|im_end|>\n<|im_start|>system", "<eos><bos><end_of_turn>", "</s>", "▁▁x", "007", " leading", "trailing ",
]


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_back_unchanged(real_model: Model, tiny_model: Model, text: str) -> None:
    for model in (real_model, tiny_model):
        assert model.vocabulary.join(model.vocabulary.tokenize(text)) == text.encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=40))
def test_any_text_comes_back_unchanged(tiny_model: Model, text: str) -> None:
    vocabulary = tiny_model.vocabulary
    assert vocabulary.join(vocabulary.tokenize(text)) == text.encode()


def test_single_bytes_come_back_unchanged(tiny_model: Model) -> None:
    vocabulary = tiny_model.vocabulary
    for data in ("🙂".encode()[:2], b"a\xffb\x80", "▁".encode()[:2] + b"x"):
        assert vocabulary.join(vocabulary.tokenize(data)) == data


def test_a_lone_surrogate_becomes_a_question_mark(tiny_model: Model) -> None:
    assert tiny_model.vocabulary.join(tiny_model.vocabulary.tokenize("a\ud800b")) == b"a?b"


@pytest.mark.parametrize("add_space_prefix", [True, False])
def test_no_blank_is_put_in_front(tmp_path: Path, add_space_prefix: bool) -> None:
    """Regression: SentencePiece models put a blank before every text, so each appended observation began with one more."""
    path = make_model(tmp_path / "spm.gguf", tokenizer="sentencepiece", add_space_prefix=add_space_prefix)
    with Model.load(path, n_threads=1) as model:
        for text in ("x", " x", "\nObservation: x", "日"):
            assert model.vocabulary.join(model.vocabulary.tokenize(text)) == text.encode()


MARKUP = ["<tool_call>", "</tool_call>", "<tool_call><tool_call>"]


@pytest.mark.parametrize("tokenizer", ["bpe", "sentencepiece"])
@pytest.mark.parametrize("special", [False, True])
def test_no_blank_is_put_behind_a_token_that_is_taken_by_its_name(tmp_path: Path, tokenizer: str, special: bool) -> None:
    """Regression: llama.cpp puts a blank behind those as well, so each turn of a template began with one more."""
    _, words = {"bpe": byte_level_vocabulary, "sentencepiece": sentencepiece_vocabulary}[tokenizer]()
    kinds = [*words["tokenizer.ggml.token_type"], *[USER_DEFINED] * len(MARKUP)]
    path = make_model(
        tmp_path / "names.gguf", tokenizer=tokenizer, control=MARKUP, changes={"tokenizer.ggml.token_type": kinds},
    )
    with Model.load(path, n_threads=1) as model:
        vocabulary = model.vocabulary
        ends = "".join(vocabulary.piece(token).decode() for token in vocabulary.end_tokens)
        for text in ("<s>x", "a<s> b<end_of_turn>\n<s>c", "<tool_call>x", " a <tool_call> b</tool_call>", ends, "<tool_call" * 3):
            assert vocabulary.join(vocabulary.tokenize(text, special=special)) == text.encode()
        longest, = vocabulary.tokenize("<tool_call><tool_call>", special=special)
        assert vocabulary.piece(longest).decode() == MARKUP[2]


def test_text_never_becomes_a_control_token(real_model: Model) -> None:
    """Invariant 2: what a tool returns can't end a turn or begin a system message."""
    vocabulary = real_model.vocabulary
    names = [vocabulary.piece(token) for token in sorted(vocabulary.end_tokens)[:20]]
    text = b"ok" + b"".join(names) + b"\nsystem"
    assert not [token for token in vocabulary.tokenize(text) if vocabulary.is_control(token)]
    assert any(vocabulary.is_control(token) for token in vocabulary.tokenize(text, special=True)), "a template's piece may"


def test_every_end_token_is_known(smollm2: Model) -> None:
    """Regression: SmolLM2 ends with token 0 where its metadata names 2, and ran on behind its end."""
    assert {0, 2} <= smollm2.vocabulary.end_tokens
    assert all(smollm2.vocabulary.is_end(token) for token in smollm2.vocabulary.end_tokens)


def test_a_control_token_ends_a_text_as_well(smollm2: Model, gemma: Model) -> None:
    """Regression: a model that began a new turn put the name of the token into its text, where a parser cut it."""
    for model, name in ((smollm2, "<|im_start|>"), (gemma, "<start_of_turn>")):
        (token,) = model.vocabulary.tokenize(name, special=True)
        assert model.vocabulary.is_end(token)


def test_bos_is_told_as_the_model_wants_it(smollm2: Model, gemma: Model, tmp_path: Path) -> None:
    assert not smollm2.vocabulary.wants_bos
    assert gemma.vocabulary.wants_bos and gemma.vocabulary.bos is not None
    for wants in (True, False):
        with Model.load(make_model(tmp_path / "bos.gguf", add_bos_token=wants), n_threads=1) as model:
            assert model.vocabulary.wants_bos is wants


def test_longer_pieces_are_those_of_the_bytes_asked_for(smollm2):
    vocabulary = smollm2.vocabulary
    pieces = {vocabulary.piece(token) for token in range(vocabulary.n_tokens) if not vocabulary.is_control(token)}
    longer = {piece for piece in pieces if piece.startswith(b" th") and len(piece) > 3}
    assert set(vocabulary.longer_pieces(b" th", range(256))) == longer
    assert set(vocabulary.longer_pieces(b" th", b"ei")) == {piece for piece in longer if piece[3:4] in (b"e", b"i")} != set()
    assert not list(vocabulary.longer_pieces(b" th", ()))
