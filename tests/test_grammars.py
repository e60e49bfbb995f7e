"""The hand-written grammars: they load in llama.cpp, have the labels of the protocol, and take what is drawn from it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from local_react.language.derivative import random_word
from local_react.language.grammar import step_language
from local_react.language.protocol import PRESETS
from local_react.llama.grammar import NativeGrammar
from local_react.llama.model import Model
from tests.random_models import make_model
from tests.toolboxes import FLAT, RAW

FOLDER = Path(__file__).parents[1] / "grammars"


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory):
    with Model.load(make_model(tmp_path_factory.mktemp("bytes") / "bytes.gguf"), n_threads=1) as model:
        yield model.vocabulary


def test_there_is_one_for_each_preset() -> None:
    assert {path.stem for path in FOLDER.glob("*.gbnf")} == set(PRESETS)


@pytest.mark.parametrize("name", PRESETS)
def test_its_labels_are_those_of_the_protocol(name: str) -> None:
    text, protocol = (FOLDER / f"{name}.gbnf").read_text(encoding="utf-8"), PRESETS[name]
    for kind in ("thought", "action", "answer"):
        word = protocol.words.get(kind)  # type: ignore[call-overload]
        label = word and f'"{word} ' if protocol.numbered and word else f'"{word}: '
        assert (label in text) == (word is not None), label


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("tools", [RAW, FLAT], ids=["raw", "keyword"])
def test_every_step_drawn_from_the_tools_is_one_of_its_steps(name: str, tools: tuple, vocabulary) -> None:
    grammar = NativeGrammar((FOLDER / f"{name}.gbnf").read_text(encoding="utf-8"), vocabulary)
    protocol, source = PRESETS[name], random.Random(name)
    language = step_language(protocol, {tool.name: tool for tool in tools}, number=12)
    tokens = {vocabulary.piece(token): token for token in range(vocabulary.n_tokens)}
    end = next(token for token in range(vocabulary.n_tokens) if vocabulary.is_end(token))
    for _ in range(40):
        word = protocol.label(protocol.opening, 12).encode() + random_word(language, source)
        state = grammar.copy()
        for place in range(len(word)):
            assert state.allows(tokens[word[place : place + 1]]), (word[:place], word[place:])
            state.accept(tokens[word[place : place + 1]])
        assert state.allows(end), word


def test_no_line_and_no_bracket_is_left_open(vocabulary) -> None:
    grammar = NativeGrammar((FOLDER / "act.gbnf").read_text(encoding="utf-8"), vocabulary)
    for text, is_whole in [
        ("Action: a[b]", True), ("Action: a[[b]", False), ("Action: a[\n", False), ("Action: a[b]]", False),
        ('Action: a["]"]', True), ('Action: a["]', False), ("Action: a b[c]", False), ("action: a[b]", False),
        ("Action: a[<|end|>]", False), ('Action: a["<|end|>"]', True),
    ]:
        state, ids = grammar.copy(), vocabulary.tokenize(text)
        taken = all(state.allows(token) and state.accept(token) is None for token in ids)
        ends = [token for token in range(vocabulary.n_tokens) if vocabulary.is_end(token)]
        assert (taken and state.allows(ends[0])) == is_whole, text
