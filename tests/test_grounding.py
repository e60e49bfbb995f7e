"""What an episode has shown: which values of a text are candidates, from where, and how many are kept."""

from __future__ import annotations

from typing import Annotated

import pytest

from local_react.grounding import MAX_CANDIDATES, MAX_WORDS, Sightings
from local_react.language.step import Call
from local_react.tools.grounded import Grounded
from local_react.tools.tool import Tool


def sightings(pattern: str, *texts: str) -> Sightings:
    """What these texts show of the one parameter of a tool."""

    def look(thing: Annotated[str, Grounded(pattern)]) -> str:
        """Look something up."""
        return thing

    seen = Sightings({"look": Tool.from_function(look)})
    for number, text in enumerate(texts):
        seen.add("question" if not number else f"observation {number}", text)
    return seen


def found(pattern: str, *texts: str) -> tuple[str, ...]:
    """The candidates for that parameter."""
    return (sightings(pattern, *texts).candidates() or {})["look", "thing"]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (r"A\d+", "A1, (A22) BA3 A4x A_5 and A66", ("A1", "A22", "A66")),
        (r"^A\d+$", "is it A1 or A22?", ("A1", "A22")),
        (r"\d+\$", "it costs 45$ or 7$.", ("45$", "7$")),
        (r"^\d+\\$", "the folder 7\\ is there", ("7\\",)),
        (r"(?i)^inv-\d+$", "inv-1 and INV-2", ("inv-1", "INV-2")),
        (r"(?im)a|b$", "A c b", ("A", "b")),
        (r"x*", "nothing here", ()),
        (r"A\d+", "", ()),
    ],
)
def test_the_matches_that_are_whole_words_are_candidates(pattern: str, text: str, expected: tuple[str, ...]) -> None:
    """Regression: an escaped dollar at the end was taken for an anchor, and flags were moved from the beginning."""
    assert found(pattern, text) == expected


def test_without_a_pattern_the_runs_of_words_of_a_line_are_candidates() -> None:
    assert found("", 'say "big cup"\nnow') == ("say", 'say "big', 'say "big cup', "big", "big cup", "cup", "now")


def test_runs_of_words_are_kept_within_limits() -> None:
    runs = found("", " ".join(map(str, range(MAX_CANDIDATES))))
    assert len(runs) == MAX_CANDIDATES
    assert runs[-1] == str(MAX_CANDIDATES - 1), "the latest are kept"
    assert max(len(run.split()) for run in runs) == MAX_WORDS


def test_a_value_comes_from_where_it_was_seen_first() -> None:
    seen = sightings(r"A\d+", "A1?", "A1 A2", "A2 A3")
    sources = {value: seen.source("look", "thing", value) for value in ("A1", "A2", "A3", "A4")}
    assert sources == {"A1": "question", "A2": "observation 1", "A3": "observation 2", "A4": None}
    assert seen.source("look", "other", "A1") is None
    assert seen.source("look", "thing", 1) is None


def test_the_call_just_made_leaves_its_value_out() -> None:
    seen = sightings(r"A\d+", "A1 or A2?")
    assert seen.candidates(but=Call("look", {"thing": "A1"})) == {("look", "thing"): ("A2",)}
    assert seen.candidates(but=Call("other", {"thing": "A1"})) == {("look", "thing"): ("A1", "A2")}


def test_without_a_grounded_parameter_there_are_no_candidates() -> None:
    seen = Sightings({})
    seen.add("question", "A1")
    assert seen.candidates() is None
