"""The outlines engine: its index over bytes, its time limit, and what it says it can't do before a run."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

from local_react import ConstraintError, GrammarError, Model
from local_react.decode import outlines
from local_react.decode.outlines import MARKS, N_KEPT, OutlinesEngine, build_index, find_mark
from local_react.errors import ConstraintCompileTimeout
from local_react.language.derivative import Recogniser
from local_react.language.grammar import action_language
from local_react.language.protocol import PRESETS
from local_react.language.regular import (
    Regular,
    any_character,
    characters,
    choice,
    literal,
    one_of_words,
    optional,
    repeat,
    sequence,
)
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Text

LETTERS = characters([(0x20, 0x7E), (0xA1, 0x10FFFF)])
EXPLODING = r"(?:a|b)*a(?:a|b){22}"
"""What it takes a deterministic automaton 2^23 states to tell: where an "a" was, 22 letters ago."""


@pytest.fixture
def engine(tiny_model: Model) -> OutlinesEngine:
    return OutlinesEngine(tiny_model.vocabulary)


def spell(model: Model, word: bytes) -> list[int]:
    """The word in single bytes, which both small vocabularies can."""
    return [token for byte in word for token in model.vocabulary.tokenize(bytes((byte,)))]


@pytest.mark.parametrize("language", [
    sequence("a", optional("bc")), sequence(repeat(characters("ab"), 1), optional("!")), choice("a", "ab", "abcd"),
    sequence("x", repeat(sequence(" ", repeat(characters("ab"), 1)))),
])
def test_what_goes_on_behind_a_whole_word_is_not_lost(tiny_model: Model, engine: OutlinesEngine, language: Regular) -> None:
    """Regression: outlines-core leaves `b` out behind the `a` of `a(bc)?`, for `ab` is no word and `a` was one (0.2.14)."""
    for word in (b"a", b"ab", b"abc", b"abcd", b"ab!", b"x ab b", b"x  ", b"abx"):
        matcher, place = engine.match(language), Recogniser(language)
        for token in spell(tiny_model, word):
            place = place.feed(tiny_model.vocabulary.piece(token))
            assert matcher.allows(token) != place.is_dead, word
            if place.is_dead:
                break
            matcher.advance([token])


def test_a_mask_leaves_what_may_come_and_nothing_else(tiny_model: Model, engine: OutlinesEngine) -> None:
    vocabulary = tiny_model.vocabulary
    language = sequence(" [", choice("日本", "é", repeat(LETTERS, 2, 4), one_of_words(["search", "lookup"])), "]")
    matcher, place = engine.match(language), Recogniser(language)
    for token in spell(tiny_model, " [日本]".encode()):
        row = np.zeros(vocabulary.n_tokens, np.float32)
        matcher.mask(row)
        expected = [not vocabulary.is_end(t) and not place.feed(vocabulary.piece(t)).is_dead for t in range(vocabulary.n_tokens)]
        assert (row == 0).tolist() == expected
        assert [matcher.allows(t) for t in range(vocabulary.n_tokens)] == expected
        matcher.advance([token])
        place = place.feed(vocabulary.piece(token))
    assert place.accepts


def test_a_token_that_may_not_come_is_an_error_and_changes_nothing(tiny_model: Model, engine: OutlinesEngine) -> None:
    matcher = engine.match(literal("ab"))
    (right,), (wrong,) = spell(tiny_model, b"a"), spell(tiny_model, b"b")
    for refused in (wrong, *tiny_model.vocabulary.end_list):
        with pytest.raises(ConstraintError, match="doesn't allow"):
            matcher.advance([refused])
    matcher.advance([right, wrong])
    assert not any(matcher.allows(token) for token in range(tiny_model.vocabulary.n_tokens))


def test_the_mark_is_in_no_word_and_never_comes(tiny_model: Model, engine: OutlinesEngine) -> None:
    language = sequence(repeat(characters([(1, 0x1F)]), 0, 3), optional(characters("\x7f")), "a")
    assert find_mark(language) == 0
    matcher = engine.match(language)
    assert not matcher.allows(*spell(tiny_model, b"\0"))
    assert all(matcher.allows(*spell(tiny_model, bytes((byte,)))) for byte in (1, 9, 10, 31, 127))
    assert find_mark(sequence("\x00\x01", characters("\x02\x04"))) == 3


def test_a_language_of_every_character_is_refused_by_name(engine: OutlinesEngine) -> None:
    for language in (repeat(any_character(), 1, 5), characters([(mark, mark) for mark in (*MARKS, 0x41)])):
        with pytest.raises(GrammarError, match="one control character for itself.*llguidance and gbnf can"):
            engine.match(language)


def test_a_language_that_is_too_long_as_one_expression_is_refused(engine: OutlinesEngine) -> None:
    with pytest.raises(GrammarError, match="outlines can't hold to this language.*characters.*llguidance and gbnf can"):
        engine.match(sequence("x", *(optional(choice("a", LETTERS, f"{n}" * 200)) for n in range(10_000))))


def test_what_would_take_hours_is_stopped_in_time() -> None:
    """Regression: outlines-core can't be interrupted, so a process would hang until its memory is used up."""
    started = time.monotonic()
    with pytest.raises(ConstraintCompileTimeout, match="outlines takes more than 0.2 s"):
        build_index(EXPLODING, 0.2)
    assert time.monotonic() - started < 2


def test_a_counted_text_does_not_explode(engine: OutlinesEngine) -> None:
    """Regression: with an index over tokens, 80 characters took 67 s."""
    language = sequence("search[", repeat(LETTERS, 1, 80), "]")
    started = time.monotonic()
    matcher = engine.match(language, limit_s=30)
    assert time.monotonic() - started < 5
    assert any(matcher.allows(token) for token in range(engine._vocabulary.n_tokens))


@pytest.mark.parametrize("regex", ["[", "(", r"\x{110000}", r"a(?=b)"])
def test_an_expression_that_outlines_can_not_read_is_refused(regex: str) -> None:
    with pytest.raises(GrammarError, match="outlines-core can't compile the language: .*llguidance and gbnf can"):
        build_index(regex)


def test_where_no_process_can_start_another_engine_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no-python"))
    with pytest.raises(ConstraintError, match="No process can start.*llguidance and gbnf can"):
        build_index("a")


def test_the_process_finds_its_modules_from_any_folder(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    assert build_index("ab").get_transitions()


def test_compiled_languages_are_kept_but_not_all(monkeypatch: pytest.MonkeyPatch, engine: OutlinesEngine) -> None:
    """Regression: grounded steps have a language each, and a long run would keep a table of megabytes for each."""
    built = []

    def count(regex: str, limit_s: float | None = None):
        built.append(regex)
        return build_index(regex, limit_s)

    monkeypatch.setattr(outlines, "build_index", count)
    languages = [literal(f"word {n}") for n in range(N_KEPT + 1)]
    engine.match(languages[0])
    engine.match(languages[0])
    assert len(built) == 1
    for language in languages[1:-1]:
        engine.match(language)
    engine.match(languages[0])
    assert len(built) == N_KEPT
    engine.match(languages[-1])
    engine.match(languages[0])
    engine.match(languages[1])
    assert len(built) == N_KEPT + 2, "the one that was used least recently is compiled again, and no other"


@pytest.mark.parametrize("preset", ["finish", "think"])
def test_its_bounds_keep_texts_without_limit_small(engine: OutlinesEngine, preset: str) -> None:
    tools = {"note": Signature("note", "", (Parameter("text", Text()), Parameter("title", Text(), required=False)))}
    language = action_language(PRESETS[preset], tools, bounds=engine.bounds)
    started = time.monotonic()
    assert engine.match(language, limit_s=20).allows(engine._vocabulary.tokenize(" ")[0])
    assert time.monotonic() - started < 2
