"""The texts of a question that may be values."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from local_react.bench.spans import MAX_SPANS, MAX_WORDS, spans, words_of


@pytest.mark.parametrize(
    ("question", "within", "without"),
    [
        ("What is the weather in Chennai, Tamil Nadu?", {"Chennai, Tamil Nadu", "Chennai"}, {"What", "the", "in Chennai", "is"}),
        ("Send 'hello, you.' to Ada", {"hello, you.", "Ada"}, {"hello, you.' to Ada", "to Ada"}),
        ("It's Ada's book. Read it's pages", {"Ada's book", "pages"}, {"s Ada", "book. Read"}),
        ('Play "The Wall" now', {"The Wall", "now"}, {"The"}),
        ("on April 5th, 2023 or 7 Mar 2024", {"2023-04-05", "2024-03-07", "April 5th, 2023"}, {"2023-04-07"}),
        ("the 2nd of march 2023", {"2023-03-02"}, {"of march"}),
        ("id 7890\nname Bo", {"7890", "id 7890", "name Bo"}, {"7890 name"}),
        ("Find get_user_info", {"get_user_info"}, {"Find"}),
        ("", set(), {""}),
        ("the US team in May with Will Smith and The Beatles", {"US team", "May", "Will Smith", "The Beatles"}, {"the US", "in May"}),
        ("solve sin(x) at (555) 123-4567 (now)", {"sin(x)", "(555) 123-4567", "now"}, {"sin(x", "(now)", "555) 123-4567"}),
        ("Fly to St. Louis with Dr. Smith. Then rest", {"St. Louis", "Dr. Smith"}, {"Smith. Then", "Dr. Smith. Then rest"}),
        ("Replace ' ' with +", {" ", "+"}, {""}),
        ("on February 31, 2023 and Sept 5, 2023", {"2023-09-05"}, {"2023-02-31"}),
    ],
)
def test_spans_stand_for_themselves(question, within, without):
    found = set(spans(question))
    assert within <= found and not without & found


def test_names_at_hand_are_no_spans_unless_something_else_is_with_them():
    found = spans("current weather in weather station Oslo", ("getCurrentWeather", "station_id"))
    assert "weather station Oslo" in found and "Oslo" in found
    assert not {"current weather", "weather", "weather station", "current"} & set(found)


def test_where_nothing_is_left_all_runs_are_spans():
    assert spans("What is it?") == ("What", "What is", "What is it", "is", "is it", "it")


def test_words_of_names():
    assert words_of("getUserName") == words_of("get_user.name") == ["get", "user", "name"]


def test_there_are_not_more_than_a_grammar_holds():
    found = spans(" ".join(f"word{n}" for n in range(300)))
    assert len(found) == MAX_SPANS and "word299" in found, "the end of a long question isn't lost"


@given(st.text(alphabet="ab '\"‘’“”.,?\n1The", max_size=60))
def test_a_span_is_a_part_of_the_question_and_short_unless_it_is_quoted(question):
    for span in spans(question):
        assert span and (span in " ".join(question.split()) or span in question)
        assert len(span.split()) <= MAX_WORDS or any(mark in question for mark in "'\"‘“`")
