"""What all engines share: the checks that keep a constraint closed, and the search for the tool that takes too long."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from local_react import ConstraintError, GrammarError, Guards, Model, SettingsError, Tool, run
from local_react.decode.constraint import check_compile_time, check_ids, check_mask, check_row, find_slowest
from local_react.errors import ConstraintCompileTimeout
from local_react.language.regular import Regular, literal
from local_react.language.signature import Parameter
from local_react.language.types import Text


def test_a_mask_that_leaves_nothing_is_an_error(tiny_model: Model) -> None:
    row = np.full(tiny_model.vocabulary.n_tokens, -np.inf, np.float32)
    with pytest.raises(ConstraintError, match="allows none of the"):
        check_mask(row, tiny_model.vocabulary)
    row[3] = -50
    check_mask(row, tiny_model.vocabulary)


@pytest.mark.parametrize("change", [-1, 1, 1000])
def test_the_logits_of_another_vocabulary_are_refused(tiny_model: Model, change: int) -> None:
    n_tokens = tiny_model.vocabulary.n_tokens
    check_row(np.zeros(n_tokens, np.float32), tiny_model.vocabulary)
    with pytest.raises(ConstraintError, match=f"compiled for a vocabulary of {n_tokens:,} tokens"):
        check_row(np.zeros(n_tokens + change, np.float32), tiny_model.vocabulary)


def test_ids_that_the_vocabulary_does_not_have_are_refused(tiny_model: Model) -> None:
    n_tokens = tiny_model.vocabulary.n_tokens
    check_ids([0, n_tokens - 1], tiny_model.vocabulary)
    for wrong in (-1, n_tokens, 10**9):
        with pytest.raises(ConstraintError, match=f"no token {wrong} in"):
            check_ids([0, wrong], tiny_model.vocabulary)


def test_the_time_of_compiling_is_looked_at_only_where_it_is_limited() -> None:
    long_ago = time.monotonic() - 10
    check_compile_time(long_ago, None, "gbnf")
    check_compile_time(long_ago, 60, "gbnf")
    with pytest.raises(ConstraintCompileTimeout, match="gbnf takes more than 2 s .*compile_limit_s"):
        check_compile_time(long_ago, 2, "gbnf")


class Slow:
    """An engine that takes a given time for each language, as far as the limit lets it, or can't compile it (None)."""

    name = "slow"

    def __init__(self, seconds: dict[str, float | None]) -> None:
        self.languages = {name: literal(name) for name in seconds}
        self._seconds = {literal(name): taken for name, taken in seconds.items()}
        self.n_asked = 0

    def match(self, language: Regular, *, limit_s: float) -> None:
        self.n_asked += 1
        seconds = self._seconds[language]
        if seconds is None:
            raise GrammarError("never")
        time.sleep(min(seconds, limit_s))
        if seconds > limit_s:
            raise ConstraintCompileTimeout(self.name, limit_s)


@pytest.mark.parametrize(("seconds", "limit_s", "slowest", "n_asked"), [
    ({"a": 0, "bad": 99, "c": 99}, 0.1, "bad", 2),
    ({"a": 0.02, "b": 0.04, "c": None, "d": 0.03}, 0.1, "b", 4),
    ({"a": 0, "b": 0, "c": None}, 1, None, 3),
    ({}, 1, None, 0),
])
def test_the_slowest_language_is_found(seconds: dict[str, float | None], limit_s: float, slowest: str | None, n_asked: int) -> None:
    engine = Slow(seconds)
    assert find_slowest(engine, engine.languages.items(), limit_s) == slowest
    assert engine.n_asked == n_asked


def test_the_search_for_the_slowest_ends_in_time() -> None:
    engine = Slow({f"tool {n}": 0.04 for n in range(1000)})
    started = time.monotonic()
    assert find_slowest(engine, engine.languages.items(), 0.1) is not None
    assert time.monotonic() - started < 0.4


EXPLODING = "^(a|b)*a(a|b){22}$"


def tools() -> Iterator[Tool]:
    for name, pattern in {"first": None, "odd-one": EXPLODING, "last": "^[a-z]+$"}.items():
        parameters = (Parameter("text", Text(pattern=pattern)),)
        yield Tool(name, "Do it.", parameters, call=lambda arguments: "ok", function=lambda: "ok")


def test_the_tool_to_blame_is_named_before_anything_is_decoded(tiny_model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("the run has begun")

    monkeypatch.setattr(Model, "context", refuse)
    started = time.monotonic()
    with pytest.raises(ConstraintCompileTimeout) as caught:
        run("What?", model=tiny_model, tools=list(tools()), constrain=True, engine="outlines", guards=Guards(compile_limit_s=0.4))
    assert caught.value.tool == "odd-one" and caught.value.limit_s == 0.4
    assert "the tool odd-one takes most of it" in str(caught.value) and "Take another engine" in str(caught.value)
    assert time.monotonic() - started < 20, "it would take minutes"


@pytest.mark.parametrize("engine", ["llguidance", "gbnf"])
def test_the_engines_that_are_told_to_be_taken_can_do_it(tiny_model: Model, engine: str) -> None:
    guards = Guards(compile_limit_s=2, max_steps=2, min_calls=1, max_step_tokens=120, max_thought_tokens=4)
    trace = run("What?", model=tiny_model, tools=list(tools())[1:2], constrain=True, engine=engine, exemplars=(), guards=guards)
    assert trace.steps[0].action.name == "odd-one"


def test_a_limit_that_makes_no_sense_is_refused() -> None:
    for wrong in (-1, "soon", True):
        with pytest.raises(SettingsError, match="compile_limit_s"):
            Guards(compile_limit_s=wrong)  # type: ignore[arg-type]
    assert Guards(compile_limit_s=None).compile_limit_s is None
