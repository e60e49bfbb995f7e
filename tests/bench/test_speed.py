"""The speed benchmark, in small: its counts are right and its report is whole. No time is judged here."""

from __future__ import annotations

import itertools
import json

import pytest

from local_react import Model
from local_react.bench.document import render_html, render_markdown
from local_react.bench.speed import measure_speed, speed_document, spread
from local_react.decode.engines import ENGINES
from tests.random_models import make_model


@pytest.fixture(scope="module")
def speed(tmp_path_factory):
    """By a clock that ticks once a millisecond each time that it is asked."""
    ticks = itertools.count()
    with Model.load(make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf"), n_threads=1) as model:
        return measure_speed(model, n_prompt=40, n_tokens=5, n_words=2, n_rounds=3, clock=lambda: next(ticks) / 1000)


def test_the_figures_are_those_of_the_clock(speed):
    assert (speed.first_token.value, speed.first_token.n) == (pytest.approx(0.001), 3)
    assert speed.prefill.value == pytest.approx(40 / 0.001)
    assert speed.decode.value == pytest.approx(1000)
    assert 0 < speed.forced_share < 1


def test_every_engine_is_timed_on_the_same_tokens(speed):
    assert [engine.engine for engine in speed.engines] == list(ENGINES)
    for engine in speed.engines:
        assert engine.error is None and engine.n > 10
        assert engine.mask_ms == engine.allows_ms == pytest.approx({"p50": 1.0, "p95": 1.0, "p99": 1.0})
    counts = {engine.engine: engine.n for engine in speed.engines}
    assert counts["llguidance"] == counts["gbnf"] >= counts["outlines"]


def test_an_engine_that_can_not_be_had_says_why(tmp_path, monkeypatch):
    monkeypatch.setitem(ENGINES, "absent", ("AbsentEngine", "absent_package"))
    with Model.load(make_model(tmp_path / "tiny.gguf"), n_threads=1) as model:
        found = measure_speed(model, n_prompt=10, n_tokens=2, n_words=1, n_rounds=1, engines=["absent"])
    assert "absent_package" in found.engines[0].error
    assert "absent_package" in render_markdown(speed_document([found], command="x", environment={})).replace("\\", "")


def test_the_report_shows_every_engine_and_how_to_repeat_it(speed):
    document = speed_document([speed], command="local-react bench speed", environment={"cpu": "Some CPU"})
    for text in (render_html(document), render_markdown(document)):
        assert all(name in text for name in (*ENGINES, "local-react bench speed", "Some CPU"))
    assert json.loads(json.dumps(document.data))["speeds"][0]["n_prompt"] == 40


def test_a_spread_keeps_the_extremes():
    found = spread([3.0, 1.0, 2.0])
    assert (found.value, found.lowest, found.highest, found.n) == (2.0, 1.0, 3.0, 3)
