"""Beam search: what is found is in the language, wide beams find the likeliest texts, and nothing is left in the context."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.bfcl import row_toolbox
from local_react.bench.call_arm import CallArm
from local_react.bench.narrowing import WAYS
from local_react.bench.voices import N_SEQUENCES, Choir, Voice
from local_react.decode.constrained import ConstrainedGeneration, spell
from local_react.decode.engines import make_engine
from local_react.errors import DecodeError, SettingsError
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.derivative import Recogniser, accepts
from local_react.language.regular import characters, choice, literal, one_of_words, repeat, sequence
from local_react.language.step import Call
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling, logprobs
from tests.bench.test_bfcl_predict import ROW, predict

N_BEAMS = 16
WORDS = ("a red hall", "a red", "a reddish wall", "green", "blue and green", "blue", "b", "grey wall")
SHORT = sequence("<", one_of_words(f"{word}>" for word in WORDS))
LANGUAGES = {
    "words": SHORT,
    "two values": sequence("x=", one_of_words(f"{word}," for word in WORDS), " y=", one_of_words(f"{word};" for word in WORDS)),
    "letters": sequence(repeat(characters("abc"), 1, 3), "."),
    "one text": literal("no choice at all"),
    "long": choice(literal("x" * 90 + "1"), literal("x" * 90 + "2")),
}


class Searching:
    """A choir with beams on a model, and what it finds."""

    def __init__(self, model, context, n_beams=N_BEAMS, prompt="Once upon a time there was"):
        vocabulary = model.vocabulary
        ids = ([vocabulary.bos] if vocabulary.wants_bos else []) + vocabulary.tokenize(prompt)
        self.model, self.context, self.n_beams = model, context, n_beams
        self.voice = Voice(tuple(ids[:3]), tuple(ids[3:]))
        self.choir = Choir(context, vocabulary, 2 * n_beams)
        self.engine = make_engine("llguidance", vocabulary)

    def find(self, language, n_beams=None, max_tokens=120):
        (transcript,) = self.choir.open([self.voice])
        return self.choir.search(
            transcript, Recogniser(language), lambda: self.engine.match(language),
            n_beams=n_beams or self.n_beams, max_tokens=max_tokens,
        )

    def greedy(self, language):
        (transcript,) = self.choir.open([self.voice])
        generation = ConstrainedGeneration(
            transcript, self.context.sampler(Sampling()), Recogniser(language), self.engine.match(language), max_tokens=120,
            n_top_logprobs=0,
        )
        return self.choir.write(generation, [transcript], [1.0])


@pytest.fixture(scope="module")
def searching(tiny_model):
    with tiny_model.context(N_SEQUENCES + 2 * N_BEAMS) as context:
        yield Searching(tiny_model, context)


def total(completion):
    return sum(each.logprob for each in completion.logprobs)


def likeliest(searching, place, ids=(), logprob=0.0):
    """The best log-probability of chosen tokens of all ways to write a word, one after the other, without any engine."""
    vocabulary, context = searching.model.vocabulary, searching.context
    forced = spell(place, b"", place.forced(), vocabulary) if not ids else []
    ids, place = (*ids, *forced), place.feed(vocabulary.join(forced))
    if place.is_complete:
        return logprob
    sequence_number = context.n_parallel
    context.clear(sequence_number)
    whole = (*searching.voice.prefix, *searching.voice.own, *ids)
    (row,) = context.decode([Chunk(sequence_number, whole, 0, True)])
    logits = context.logits(row).copy()
    context.clear(sequence_number)
    best = float("-inf")
    for token in range(vocabulary.n_tokens):
        piece = vocabulary.piece(token)
        if piece and not vocabulary.is_control(token) and not place.feed(piece).is_dead:
            chosen = spell(place, piece, place.feed(piece).forced(), vocabulary) or [token]
            one = logprob + logprobs(logits, token, 0)[0]
            best = max(best, likeliest(searching, place.feed(vocabulary.join(chosen)), (*ids, *chosen), one))
    return best


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
@pytest.mark.parametrize("n_beams", [2, 5, N_BEAMS])
def test_what_is_found_are_different_words_of_the_language_the_likeliest_first(searching, language, n_beams):
    found = searching.find(language, n_beams)
    assert 1 <= len(found) <= n_beams and len({each.text for each in found}) == len(found)
    assert [total(each) for each in found] == sorted(map(total, found), reverse=True)
    for each in found:
        assert accepts(language, each.text) and each.reason == "constraint"
        assert b"".join(each.pieces) == each.text.encode()
        assert len(each.logprobs) == each.n_sampled == len(each.pieces) - each.n_forced


def test_wide_beams_find_all_words_and_the_likeliest_is_the_first(searching):
    found = searching.find(SHORT)
    assert {each.text for each in found} == {f"<{word}>" for word in WORDS}
    assert total(found[0]) == pytest.approx(likeliest(searching, Recogniser(SHORT)), abs=0.05)


@pytest.mark.parametrize("name", ["words", "two values", "letters"])
def test_what_wide_beams_find_is_no_less_likely_than_the_greedy_word(searching, name):
    found, greedy = searching.find(LANGUAGES[name])[0], searching.greedy(LANGUAGES[name])
    assert total(found) >= total(greedy) - 0.05, (found.text, greedy.text)


def test_the_same_search_finds_the_same_and_changes_no_greedy_text(searching):
    greedy = searching.greedy(SHORT).text
    first = searching.find(LANGUAGES["two values"])
    assert searching.find(SHORT)
    assert searching.find(LANGUAGES["two values"]) == first
    assert searching.greedy(SHORT).text == greedy


def test_where_all_is_forced_nothing_is_computed(searching):
    (found,) = searching.find(LANGUAGES["one text"])
    assert (found.text, found.n_sampled, found.n_decode_calls) == ("no choice at all", 0, 0)


def test_forced_text_longer_than_a_batch_is_computed_in_parts(tiny_model):
    with tiny_model.context(N_SEQUENCES + 4) as context:
        context.n_batch = 16
        found = Searching(tiny_model, context, 2).find(LANGUAGES["long"], max_tokens=200)
    assert [accepts(LANGUAGES["long"], each.text) for each in found] == [True, True] and found[0].n_decode_calls > 2


@pytest.mark.parametrize("name", ["long", "one text"])
def test_where_no_word_is_short_enough_none_is_found(searching, name):
    assert searching.find(LANGUAGES[name], max_tokens=3) == []


def test_a_search_that_fails_leaves_nothing_in_the_context(searching, monkeypatch):
    first = searching.find(LANGUAGES["two values"])
    (transcript,) = searching.choir.open([searching.voice])
    decode, n_left = searching.context.decode, iter(range(3))

    def fails(chunks):
        if next(n_left, None) is None:
            raise DecodeError("no room")
        return decode(chunks)

    cleared = []
    clear = searching.context.clear
    monkeypatch.setattr(searching.context, "decode", fails)
    monkeypatch.setattr(searching.context, "clear", lambda sequence: (cleared.append(sequence), clear(sequence)))
    with pytest.raises(DecodeError):
        searching.choir.search(
            transcript, Recogniser(LANGUAGES["two values"]), lambda: searching.engine.match(LANGUAGES["two values"]),
            n_beams=N_BEAMS, max_tokens=120,
        )
    assert set(cleared[-2 * N_BEAMS :]) == set(range(N_SEQUENCES + 1, N_SEQUENCES + 2 * N_BEAMS + 1))
    monkeypatch.undo()
    assert searching.find(LANGUAGES["two values"]) == first


def test_more_beams_than_there_is_room_for_are_refused(searching):
    with pytest.raises(SettingsError, match="room for 16 beams"):
        searching.find(SHORT, N_BEAMS + 1)


@pytest.mark.parametrize("changes", [{}, {"arguments": "json", "narrows": WAYS}, {"thinks": True}], ids=str)
def test_a_call_that_was_searched_for_has_the_shape_of_the_greedy_one_and_fits(tiny_model, changes):
    greedy, found = predict(tiny_model, [CallArm(name="x", **changes), CallArm(name="y", chooses=("beams",), **changes)])
    assert isinstance(found.action, Call)
    assert found.action.name == greedy.action.name and found.action.arguments.keys() == greedy.action.arguments.keys()
    assert not isinstance(fit_arguments(found.action.arguments, row_toolbox(ROW)[found.action.name]), Misfit)
    assert found.n_sampled > greedy.n_sampled and found.n_candidates > 1


def test_a_greedy_call_is_the_same_where_others_are_searched_for(tiny_model):
    plain = CallArm(name="x", arguments="json")
    (alone,) = predict(tiny_model, [plain])
    _, beside = predict(tiny_model, [replace(plain, chooses=("beams",)), plain])
    assert beside.text == alone.text


@pytest.mark.parametrize("wrong", [{"constrained": False}, {"guidance": 1.0}, {"n_orders": 2}])
def test_beams_that_can_not_be_are_refused(wrong):
    with pytest.raises(SettingsError):
        CallArm(**({"name": "x", "chooses": ("beams",)} | wrong))


def test_with_beams_alone_the_average_of_the_tokens_decides(tiny_model, monkeypatch):
    """By the sum of log-probabilities a short value wins: "Boston" before "Boston, MA"."""
    long, short = "a reddish wall", "b"
    row = replace(
        ROW, question=f"Is it {long} or {short}?",
        functions=({"name": "f", "description": "", "parameters": {"type": "dict", "properties": {
            "x": {"type": "string", "enum": [long, short], "description": ""}
        }, "required": ["x"]}},),
    )  # fmt: skip
    monkeypatch.setattr(Choir, "score", lambda self, transcripts, weights, ids: -10.0 - 0.1 * len(ids))
    beams, all_sources = predict(tiny_model, [CallArm(name="x", chooses=("beams",)), CallArm(name="y", chooses=("beams", "tools"))], [row])
    assert beams.n_candidates == all_sources.n_candidates == 2
    assert (beams.action.arguments["x"], all_sources.action.arguments["x"]) == (long, short)
