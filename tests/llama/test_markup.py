"""A vocabulary in which some control tokens are text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_react.llama.markup import MarkupVocabulary
from local_react.llama.model import Model
from tests.random_models import make_model

NAMES = ["<escape>", "<|call|>", "[NOT A TOKEN]", "<|call|>x"]


@pytest.fixture(scope="module", params=["bpe", "sentencepiece"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = make_model(
        tmp_path_factory.mktemp("markup") / "tiny.gguf", tokenizer=request.param, control=["<escape>", "<|call|>", "<|other|>"]
    )
    with Model.load(path, n_threads=1) as loaded:
        yield loaded


def test_only_names_that_are_control_tokens_are_markup(model: Model) -> None:
    assert set(MarkupVocabulary(model.vocabulary, NAMES).markup) == {b"<escape>", b"<|call|>"}


@pytest.mark.parametrize("text", ["", "a", "<escape>", "<escape>Ann<escape>", "a <|call|>\n日<|call|><escape>", "<esc", "<|other|>"])
def test_text_becomes_markup_and_comes_back(model: Model, text: str) -> None:
    vocabulary = MarkupVocabulary(model.vocabulary, NAMES)
    ids = vocabulary.tokenize(text)
    assert vocabulary.join(ids) == text.encode()
    for name, token in vocabulary.markup.items():
        assert ids.count(token) == text.encode().count(name)
    assert not any(vocabulary.is_control(id) for id in ids)


def test_markup_is_text_and_no_end_while_the_plain_vocabulary_stays_as_it_is(model: Model) -> None:
    plain = model.vocabulary
    vocabulary = MarkupVocabulary(plain, NAMES)
    (other,) = plain.tokenize("<|other|>", special=True)
    for token in vocabulary.markup.values():
        assert plain.is_control(token) and plain.is_end(token)
        assert not vocabulary.is_control(token) and not vocabulary.is_end(token)
    assert vocabulary.is_end(other) and vocabulary.is_control(other)
    assert set(plain.end_list) - set(vocabulary.end_list) == set(vocabulary.markup.values())
    assert plain.tokenize("<escape>") != vocabulary.tokenize("<escape>")


def test_longer_pieces_hold_the_markup(model: Model) -> None:
    vocabulary = MarkupVocabulary(model.vocabulary, NAMES)
    assert b"<escape>" in set(vocabulary.longer_pieces(b"<", range(256)))
    assert b"<escape>" not in set(vocabulary.longer_pieces(b"<", b"abc"))
    assert b"<escape>" not in set(model.vocabulary.longer_pieces(b"<", range(256)))
    assert b"<escape>" not in set(vocabulary.longer_pieces(b"<escape>", range(256)))


def test_without_markup_it_is_the_plain_one(model: Model) -> None:
    vocabulary = MarkupVocabulary(model.vocabulary, ["[NOT A TOKEN]"])
    text = "a<escape>b"
    assert vocabulary.tokenize(text) == model.vocabulary.tokenize(text)
    assert vocabulary.end_list == model.vocabulary.end_list
