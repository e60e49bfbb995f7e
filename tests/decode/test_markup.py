"""Matchers that take control tokens for the text of their names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from local_react.decode.engines import make_engine
from local_react.decode.markup import MarkupMatcher
from local_react.errors import ConstraintError
from local_react.language.regular import characters, repeat, sequence
from local_react.llama.markup import MarkupVocabulary
from local_react.llama.model import Model
from tests.random_models import make_model

LANGUAGE = sequence("<call>", repeat(characters("ab"), 1, 9), "<end>")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    path = make_model(tmp_path_factory.mktemp("markup") / "tiny.gguf", control=["<call>", "<end>"])
    with Model.load(path, n_threads=1) as loaded:
        yield loaded


@pytest.mark.parametrize("engine", ["llguidance", "gbnf", "outlines"])
def test_an_engine_follows_markup_as_text(model: Model, engine: str) -> None:
    vocabulary = MarkupVocabulary(model.vocabulary, ["<call>", "<end>"])
    matcher = MarkupMatcher(make_engine(engine, model.vocabulary).match(LANGUAGE), vocabulary)
    call, end = (vocabulary.markup[name] for name in (b"<call>", b"<end>"))
    (letter,) = vocabulary.tokenize("a")
    assert matcher.allows(call)
    matcher.advance([call])
    assert matcher.allows(letter)
    logits = np.zeros(vocabulary.n_tokens, np.float32)
    matcher.mask(logits)
    # Which markup fits is left to the language; nothing else gets through that the engine refuses.
    assert logits[letter] == logits[end] == logits[call] == 0
    assert not np.isfinite(logits[vocabulary.tokenize("c")[0]])
    matcher.advance([letter, end])
    with pytest.raises(ConstraintError):
        matcher.advance([letter])
