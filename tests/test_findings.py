"""The page of what was found: its figures are those of the committed reports, and its links lead somewhere."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from benchmarks.findings import HERE, MODELS, PAGE, RESULTS, Reports, counted, draw, percent, probability, render, shown
from local_react.bench.results import MARK
from local_react.bench.statistics import share
from local_react.cli import main

SMOL, GEMMA = MODELS.values()


def score(model: str, arm: str, temperature: float, n_hits: int, n: int) -> dict:
    return {
        "model": model, "arm": arm, "temperature": temperature, "n_episodes": n, "n_steps": 2 * n,
        "shares": {"malformed": {"n_hits": n_hits, "n": n}}, "invented_ids": {"n_hits": 1, "n": 4},
        "means": {"tokens": {"value": 10.0 * n_hits}},
    }


@pytest.fixture
def reports(tmp_path: Path) -> Reports:
    (tmp_path / "parse").mkdir()
    (tmp_path / "bfcl").mkdir()
    scores = [score(SMOL, "free", 0.0, 3, 10), score(SMOL, "free", 0.7, 6, 20), score(GEMMA, "free", 0.0, 0, 10)]
    compared = {"model": SMOL, "first": "free", "second": "lenient", "adjusted": {"success": 0.25}}
    (tmp_path / "parse" / "report.json").write_text(json.dumps({"scores": scores, "comparisons": [compared]}))
    calls = [{"model": SMOL, "category": "simple", "arm": "free", "right": {"n_hits": 2, "n": 8}}]
    compared = {"model": SMOL, "first": "free", "second": "constrained", "adjusted": 0.5}
    (tmp_path / "bfcl" / "report.json").write_text(json.dumps({"scores": calls, "comparisons": [compared]}))
    return Reports(tmp_path)


def test_figures_are_added_over_temperatures_or_taken_at_one(reports: Reports) -> None:
    assert reports.part("parse", "SmolLM2", "free") == share(9, 30)
    assert reports.part("parse", "SmolLM2", "free", temperature=0.7) == share(6, 20)
    assert reports.part("parse", "SmolLM2", "free", "invented_ids") == share(2, 8)
    assert reports.mean("parse", "SmolLM2", "free", "tokens") == pytest.approx((30 * 10 + 60 * 20) / 30)
    assert (reports.n_steps("parse", "SmolLM2", "free"), reports.n_steps("parse", "Gemma", "free")) == (60, 20)


def test_single_calls_and_comparisons_are_found_by_name(reports: Reports) -> None:
    assert reports.names == ("bfcl", "parse") and reports.arms("parse", "SmolLM2") == ("free",)
    assert reports.calls("bfcl", "SmolLM2", "simple", "free") == share(2, 8)
    assert reports.calls("bfcl", "SmolLM2", "multiple", "free") is None
    assert reports.p_value("parse", "SmolLM2", "free", "lenient", "success") == 0.25
    assert reports.p_value("bfcl", "SmolLM2", "free", "constrained") == 0.5


def test_what_was_not_measured_has_no_figure(reports: Reports) -> None:
    with pytest.raises(KeyError, match="no arm lenient"):
        reports.part("parse", "SmolLM2", "lenient")
    with pytest.raises(KeyError, match="doesn't compare"):
        reports.p_value("parse", "Gemma", "free", "lenient")
    assert {shown(None), counted(None), percent(None), percent(share(0, 0))} == {"–"}


def test_figures_are_written_for_people() -> None:
    assert (counted(share(36, 60)), percent(share(36, 60))) == ("36 of 60", "60.0 %")
    assert [probability(value) for value in (0.0001, 0.031234, 1.0)] == ["p < 0.001", "p = 0.031", "p = 1"]


def test_the_page_is_what_the_reports_give() -> None:
    assert PAGE.read_text(encoding="utf-8") == render(Reports(RESULTS)), "run python -m benchmarks.findings --write"


def words(picture: str) -> list[str]:
    """The texts of a picture, and how many marks it has: its bytes depend on matplotlib's version."""
    root = ElementTree.fromstring(picture)
    texts = [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]
    return [*texts, str(sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}use")))]


def test_the_links_of_the_page_lead_somewhere_and_its_pictures_are_pictures() -> None:
    places = re.findall(r"\]\(([^)#]+)\)", PAGE.read_text(encoding="utf-8"))
    assert places
    for place in places:
        assert (HERE / place).exists(), place
        if place.endswith(".svg"):
            shown_figures = words(draw(Reports(RESULTS))[Path(place).name])
            assert words((HERE / place).read_text(encoding="utf-8")) == shown_figures, "run python -m benchmarks.findings --write"


def test_no_constrained_step_or_call_of_any_report_is_malformed() -> None:
    reports, n_steps = Reports(RESULTS), 0
    for name in reports.names:
        for one in reports.report(name)["scores"]:
            if "constrained" in one["arm"] or one["arm"] in ("grounded", "explained"):
                malformed = one["shares"]["malformed"] if "shares" in one else one["malformed"]
                assert malformed["n_hits"] == 0, (name, one["model"], one["arm"])
                n_steps += malformed["n"]
    assert n_steps > 3000


def counts(document: dict) -> list:
    """What was counted in a report, arm by arm: everything but what is drawn or computed from it."""
    kept = ("model", "category", "arm", "temperature", "n_episodes", "n_steps", "codes", "classes", "reasons", "n_sampled")
    return [
        [score.get(name) for name in kept]
        + [(name, found["n_hits"], found["n"]) for name, found in (score.get("shares") or {"right": score.get("right")}).items()]
        for score in document["scores"]
    ]


PACKED = [name for name in Reports(RESULTS).names if (RESULTS / name / MARK).is_file()]


def test_every_report_has_its_episodes() -> None:
    assert set(PACKED) == set(Reports(RESULTS).names) >= {"parse", "fabrication", "arguments", "bfcl", "tasks", "guards"}


@pytest.mark.parametrize("name", PACKED)
def test_a_report_is_what_its_packed_episodes_give(name: str, tmp_path: Path) -> None:
    committed = Reports(RESULTS).report(name)
    arms = [word for score in committed["scores"] for word in ("--arm", score["arm"].partition(" ")[0])]
    made = CliRunner().invoke(main, ["bench", "report", str(RESULTS / name), *arms, "--output", str(tmp_path)])
    assert made.exit_code == 0, made.output
    assert counts(json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))) == counts(dict(committed))
