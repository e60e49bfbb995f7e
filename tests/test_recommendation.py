"""Where the sampling of a run comes from, and that the trace says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local_react import Model, Sampling, ScriptedModel, SettingsError, run
from local_react.recommendation import NAMES, choose_sampling
from tests.random_models import make_model

AUTHORS = {"general.sampling.temp": 0.6, "general.sampling.top_k": 20, "general.sampling.top_p": 0.95}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    path = make_model(tmp_path_factory.mktemp("recommended") / "m.gguf", changes=AUTHORS)
    with Model.load(path, n_threads=1) as model:
        yield model


CHOSEN: list[tuple[Any, dict[str, Any], dict[str, Any], set[str], set[str]]] = [
    (None, {}, {"temperature": 0.6, "top_k": 20, "top_p": 0.95}, set(), {"temperature", "top_k", "top_p"}),
    ({}, {"seed": 7}, {"temperature": 0.6, "top_k": 20, "top_p": 0.95, "seed": 7}, {"seed"}, {"temperature", "top_k", "top_p"}),
    ({"top_k": 5}, {"temperature": 1}, {"temperature": 1, "top_k": 5, "top_p": 0.95}, {"temperature", "top_k"}, {"top_p"}),
    ({"temperature": 1}, {"temperature": 0}, {"top_k": 20, "top_p": 0.95}, {"temperature"}, {"top_k", "top_p"}),
    (Sampling(), {}, {}, set(NAMES), set()),
    (Sampling(top_k=3), {"seed": 1}, {"top_k": 3, "seed": 1}, set(NAMES), set()),
]


@pytest.mark.parametrize(("given", "further", "values", "callers", "authors"), CHOSEN, ids=range(len(CHOSEN)))
def test_what_the_caller_leaves_out_is_the_authors_else_greedy(model, given, further, values, callers, authors) -> None:
    sampling, sources = choose_sampling(given, model, further)
    expected = Sampling(**values)
    for name in NAMES:
        assert getattr(sampling, name) == pytest.approx(getattr(expected, name), abs=1e-6)
    assert {name for name, source in sources.items() if source == "caller"} == callers
    assert {name for name, source in sources.items() if source == "author"} == authors
    assert set(sources) == set(NAMES)


def test_a_script_has_no_author() -> None:
    sampling, sources = choose_sampling(None, ScriptedModel([]), {})
    assert sampling == Sampling() and set(sources.values()) == {"default"}


@pytest.mark.parametrize("key, value", [("temp", -1.0), ("top_k", "many"), ("top_p", 7.0), ("temp", float("nan"))])
def test_a_recommendation_that_makes_no_sense_is_left_out(tmp_path: Path, key: str, value: Any) -> None:
    path = make_model(tmp_path / "m.gguf", changes={f"general.sampling.{key}": value, "general.sampling.min_p": 0.25})
    with Model.load(path, n_threads=1) as model:
        sampling, sources = choose_sampling(None, model, {})
    assert sampling == Sampling(min_p=0.25)
    assert [name for name, source in sources.items() if source == "author"] == ["min_p"]


@pytest.mark.parametrize("given", [{"temprature": 1}, {"temperature": -1}, {"top_k": "x"}])
def test_a_wrong_field_is_refused_by_name(model, given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=next(iter(given))):
        choose_sampling(given, model, {})


def test_the_trace_says_where_each_value_comes_from(model) -> None:
    trace = run("Why?", model=model, max_steps=1, max_step_tokens=2, sampling={"top_k": 4})
    recorded = trace.events[0]["settings"]
    assert recorded["temperature"] == pytest.approx(0.6) and recorded["top_k"] == 4
    assert [recorded["sampling_from"][name] for name in ("temperature", "top_k", "seed")] == ["author", "caller", "default"]
