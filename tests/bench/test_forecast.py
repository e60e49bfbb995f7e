"""Forecasts: from the first steps of an episode, beside what was counted."""

from __future__ import annotations

import pytest

from local_react import Guards, ScriptedModel, run
from local_react.bench.forecast import forecast, forecast_sections
from local_react.bench.ledger import keep_ledger
from tests.bench.colours import Colours, answer, look

WORLD = Colours()


def play(n_looks: int):
    task = WORLD.tasks(1)[0]
    script = [look(str(n)) for n in range(n_looks)] + [answer("red")]
    return run(task.question, model=ScriptedModel(script), tools=WORLD.toolbox(task), exemplars=WORLD.exemplars(),
               guards=Guards(max_steps=20, repeated_calls=False))


def test_steps_that_are_alike_are_foreseen():
    trace = play(8)
    found = forecast(trace)
    ledger = keep_ledger(trace)
    assert (found.n_steps, found.counted_here, found.counted_stateless) == (9, ledger.n_tokens, ledger.n_sent)
    assert found.here == pytest.approx(found.counted_here, rel=0.03)
    assert found.stateless == pytest.approx(found.counted_stateless, rel=0.03)


@pytest.mark.parametrize("n_looks", [0, 1])
def test_an_episode_that_is_over_by_then_has_no_forecast(n_looks):
    assert forecast(play(n_looks)) is None


def test_a_section_shows_the_ratios_by_arm():
    found = forecast(play(8))
    (section,) = forecast_sections({("tiny.gguf", "free"): [found, found], ("tiny.gguf", "none"): []})
    assert [row[:3] for row in section.tables[0].rows] == [("tiny", "free", "2")]
    assert section.tables[0].rows[0][3].startswith(("1.0", "0.9"))
    assert forecast_sections({}) == forecast_sections({("m", "a"): []}) == []
