"""All engines and the recogniser agree on every token: in the model's own tokens, and in other splits of the same bytes."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Iterator

import numpy as np
import pytest

from local_react import ConstraintError, Model, Protocol, ScriptedModel, SettingsError
from local_react.decode.constraint import REGEX_BOUNDS, Engine, check_mask
from local_react.decode.engines import ENGINES, make_engine
from local_react.language.derivative import Recogniser, random_word
from local_react.language.grammar import action_language, line_language
from local_react.language.regular import Regular, characters, repeat, sequence
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Boolean, Choice, Integer, Text
from local_react.llama.files import find_model
from local_react.llama.vocabulary import Vocabulary
from tests.random_models import make_model

TOOLS = {
    signature.name: signature
    for signature in (
        Signature("search", "", (Parameter("query", Text()),)),
        Signature("ünï", "", (Parameter("größe", Integer(0, 120)), Parameter("safe", Boolean(), required=False))),
        Signature("resolve-library-id", "", (Parameter("name", Text(1, 12)), Parameter("kind", Choice(("日本", 'a"b', "x]y"))))),
    )
}
LANGUAGE = action_language(Protocol(), TOOLS, bounds=REGEX_BOUNDS)
GOOD = (
    " search[日🙂é]", " search[שלום עולם]", ' search["[x]"]', " ünï[größe=120]", " ünï[größe=7, safe=true]",
    ' resolve-library-id[name=react, kind=日本]', ' resolve-library-id[name="a, b", kind="x]y"]', " finish[e\u0301 ▁ 42]",
)
BAD = (
    "search[x]", "  search[x]", " search[]", " search[x]]", " Search[x]", " ünï[größe=121]", " ünï[größe=07]", " ünï[safe=true]",
    " uni[größe=1]", ' resolve-library-id[name=react, kind=日本"]', " finish[ x]", " search[a\nb]", " search(x)", " none[]",
)


@pytest.fixture(scope="module", params=["smollm2", "gemma3-270m"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """Each real vocabulary, on a model of random weights that is as small as can be."""
    path = tmp_path_factory.mktemp("real") / "vocabulary.gguf"
    make_model(path, vocabulary=find_model(request.param), n_embd=16, n_head=1, n_layer=1)
    with Model.load(path, n_threads=1) as model:
        yield model


@pytest.fixture(scope="module")
def pieces(model: Model) -> dict[bytes, int]:
    """The tokens that are text, by their bytes."""
    vocabulary = model.vocabulary
    return {vocabulary.piece(token): token for token in range(vocabulary.n_tokens) if not vocabulary.is_end(token)}


def splits(word: bytes, vocabulary: Vocabulary, pieces: dict[bytes, int], source: random.Random) -> Iterator[list[int]]:
    """The word in the model's own tokens, in single bytes, in single characters, and in tokens chosen at random.

    SmolLM2 has no tokens for some bytes, so there are words that it can't spell.
    """
    if vocabulary.join(vocabulary.tokenize(word)) != word:
        return
    yield vocabulary.tokenize(word)
    if all(bytes((byte,)) in pieces for byte in word):
        yield [pieces[bytes((byte,))] for byte in word]
    text = word.decode("utf-8", "ignore")
    if text.encode() == word:
        yield [token for character in text for token in vocabulary.tokenize(character)]
    found, place = [], 0
    while place < len(word):
        ends = [end for end in range(place + 1, min(len(word), place + 12) + 1) if word[place:end] in pieces]
        if not ends:
            return
        found.append(pieces[word[place : (end := source.choice(ends))]])
        place = end
    yield found


def compare(engine: Engine, language: Regular, ids: Iterable[int], vocabulary: Vocabulary) -> bool:
    """Feed tokens until one is refused, by engine and recogniser alike; whether they are a word."""
    matcher, place = engine.match(language), Recogniser(language)
    for token in ids:
        place = place.feed(vocabulary.piece(token))
        if engine.name == "gbnf" and place.is_dead and not is_utf8(vocabulary.piece(token)):
            # llama.cpp takes some bytes that are no UTF-8; those are banned by the recogniser.
            return False
        assert matcher.allows(token) != place.is_dead, (engine.name, token, vocabulary.piece(token))
        if place.is_dead:
            return False
        matcher.advance([token])
    return place.accepts


def is_utf8(piece: bytes) -> bool:
    return piece.decode("utf-8", "ignore").encode() == piece


@pytest.mark.parametrize("name", ENGINES)
def test_every_engine_takes_what_must_pass_and_refuses_what_must_fail(model: Model, pieces: dict[bytes, int], name: str) -> None:
    engine, source = make_engine(name, model.vocabulary), random.Random(name)
    for words, is_good in ((GOOD, True), (BAD, False)):
        for word in words:
            readings = [
                compare(engine, LANGUAGE, ids, model.vocabulary)
                for ids in splits(word.encode(), model.vocabulary, pieces, source)
            ]
            assert len(readings) >= 2 and set(readings) == {is_good}, word


def mutate(word: bytes, source: random.Random) -> bytes:
    """The word with one byte changed, left out, put in or doubled."""
    place = source.randrange(len(word))
    byte = bytes((source.choice(b'"\\[],{}= :a0<\xe6\x97\xff'),))
    return word[:place] + source.choice((byte, b"", byte + word[place : place + 1], word[place : place + 1] * 2)) + word[place + 1 :]


@pytest.mark.parametrize("n_drawn", [20, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ENGINES)
def test_random_words_and_their_mutations_are_taken_and_refused_alike(
    model: Model, pieces: dict[bytes, int], name: str, n_drawn: int
) -> None:
    engine, source = make_engine(name, model.vocabulary), random.Random(f"words {name}")
    n_words = n_refused = 0
    for _ in range(n_drawn):
        word = random_word(LANGUAGE, source)
        for ids in splits(word, model.vocabulary, pieces, source):
            assert compare(engine, LANGUAGE, ids, model.vocabulary), word
            n_words += 1
        for ids in splits(mutate(word, source), model.vocabulary, pieces, source):
            n_refused += not compare(engine, LANGUAGE, ids, model.vocabulary)
    assert n_words >= 2 * n_drawn and n_refused >= n_drawn


@pytest.mark.parametrize("name", ENGINES)
def test_a_mask_leaves_the_same_tokens_that_are_allowed_one_by_one(model: Model, name: str) -> None:
    vocabulary, source = model.vocabulary, random.Random(name)
    matcher = make_engine(name, vocabulary).match(LANGUAGE)
    for token in vocabulary.tokenize(" search[日🙂"):
        matcher.advance([token])
    row = np.zeros(vocabulary.n_tokens, np.float32)
    matcher.mask(row)
    for token in source.sample(range(vocabulary.n_tokens), 2000):
        if not vocabulary.is_end(token):
            assert (row[token] == 0) == matcher.allows(token), vocabulary.piece(token)
    assert (row == 0).sum() > vocabulary.n_tokens / 2, "almost any text may come here"


@pytest.mark.parametrize("name", ENGINES)
def test_words_that_others_begin_with_hold_in_every_engine(tiny_model: Model, name: str) -> None:
    """An answer on a line of its own may end, and may go on."""
    vocabulary, source = tiny_model.vocabulary, random.Random(name)
    language = line_language(Protocol.preset("answer"), TOOLS, bounds=REGEX_BOUNDS)
    engine = make_engine(name, vocabulary)
    for _ in range(100):
        word = random_word(language, source)
        assert compare(engine, language, vocabulary.tokenize(word), vocabulary), word


@pytest.mark.parametrize("name", ENGINES)
def test_two_sequences_use_one_compiled_language_at_once(tiny_model: Model, name: str) -> None:
    engine, vocabulary = make_engine(name, tiny_model.vocabulary), tiny_model.vocabulary
    words = [vocabulary.tokenize(word) for word in (" search[abc]", ' ünï[größe=12]', " search[日本]")]
    matchers, places = [engine.match(LANGUAGE) for _ in words], [Recogniser(LANGUAGE) for _ in words]
    for index in range(max(map(len, words))):
        for number, word in enumerate(words):
            if index < len(word):
                assert matchers[number].allows(word[index])
                matchers[number].advance([word[index]])
                places[number] = places[number].feed(vocabulary.piece(word[index]))
    assert all(place.is_complete for place in places)


@pytest.mark.parametrize("name", ENGINES)
def test_behind_a_whole_word_a_mask_leaves_no_text_at_all(tiny_model: Model, name: str) -> None:
    """Regression: in other runtimes a mask that allows nothing ends the text as if all were well."""
    vocabulary = tiny_model.vocabulary
    matcher = make_engine(name, vocabulary).match(LANGUAGE)
    matcher.advance(vocabulary.tokenize(" finish[x]"))
    row = np.zeros(vocabulary.n_tokens, np.float32)
    matcher.mask(row)
    row[vocabulary.end_list] = -np.inf
    with pytest.raises(ConstraintError, match="allows none"):
        check_mask(row, vocabulary)


@pytest.mark.parametrize("name", ENGINES)
def test_a_refused_token_is_an_error_and_never_taken(tiny_model: Model, name: str) -> None:
    """Regression: llguidance goes into an error state without a word, and llama.cpp ends the process."""
    vocabulary = tiny_model.vocabulary
    matcher = make_engine(name, vocabulary).match(LANGUAGE)
    with pytest.raises(ConstraintError):
        matcher.advance(vocabulary.tokenize(" search[x]]"))


@pytest.mark.parametrize("name", ENGINES)
def test_a_constraint_for_another_vocabulary_is_refused(tiny_model: Model, name: str) -> None:
    vocabulary = tiny_model.vocabulary
    matcher = make_engine(name, vocabulary).match(LANGUAGE)
    for size in (vocabulary.n_tokens + 32, vocabulary.n_tokens - 32):
        with pytest.raises(ConstraintError, match="compiled for a vocabulary"):
            matcher.mask(np.zeros(size, np.float32))
    for token in (vocabulary.n_tokens, 49_000, -1):
        with pytest.raises(ConstraintError, match="no token"):
            matcher.advance([token])


@pytest.mark.parametrize("name", ENGINES)
def test_an_enum_of_ten_thousand_values_works(tiny_model: Model, name: str) -> None:
    values = tuple(f'value "{n}" [x]' for n in range(9_998)) + ("a\nb", "日本")
    tools = {"pick": Signature("pick", "", (Parameter("v", Choice(values)), Parameter("n", Integer(0, 9))))}
    engine, vocabulary = make_engine(name, tiny_model.vocabulary), tiny_model.vocabulary
    language = action_language(Protocol(), tools, bounds=engine.bounds)
    started = time.monotonic()
    engine.match(language, limit_s=5)
    assert time.monotonic() - started < 3
    for word, is_good in ((r' pick[v="value \"4711\" [x]", n=3]', True), (" pick[v=日本, n=3]", True), (r' pick[v="a\nb", n=1]', True),
                          (r' pick[v="value \"9998\" [x]", n=3]', False)):
        assert compare(engine, language, vocabulary.tokenize(word), vocabulary) == is_good


@pytest.mark.parametrize("name", ENGINES)
def test_a_long_counted_text_compiles_in_time(tiny_model: Model, name: str) -> None:
    engine = make_engine(name, tiny_model.vocabulary)
    language = sequence("x[", repeat(characters([(0x20, 0x5C), (0x5E, 0x10FFFF)]), 1, 120), "]")
    assert compare(engine, language, tiny_model.vocabulary.tokenize("x[" + "é" * 120 + "]"), tiny_model.vocabulary)
    assert not compare(engine, language, tiny_model.vocabulary.tokenize("x[" + "é" * 121), tiny_model.vocabulary)


@pytest.mark.parametrize("name", ENGINES)
def test_what_was_compiled_is_kept(tiny_model: Model, name: str) -> None:
    engine = make_engine(name, tiny_model.vocabulary)
    assert make_engine(name, tiny_model.vocabulary) is engine
    assert engine.name == name
    engine.match(LANGUAGE)
    engine.match(LANGUAGE, limit_s=0)


@pytest.mark.parametrize(("name", "package"), [("llguidance", "llguidance"), ("outlines", "outlines_core")])
def test_an_engine_that_is_not_installed_names_its_package(
    tiny_model: Model, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for module in [module for module in sys.modules if module.startswith(f"local_react.decode.{name}")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr("local_react.decode.engines._MADE", {})
    with pytest.raises(ConstraintError, match=f"{name} needs the package {package}, which isn't installed"):
        make_engine(name, tiny_model.vocabulary)


def test_a_script_and_an_unknown_name_are_refused(tiny_model: Model) -> None:
    with pytest.raises(SettingsError, match="scripted model can't be constrained"):
        make_engine("gbnf", ScriptedModel([]).vocabulary)
    with pytest.raises(KeyError):
        make_engine("magic", tiny_model.vocabulary)
