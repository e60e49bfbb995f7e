"""The report of real small runs: every form says the same, the page fits a phone, and nothing in it runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest

from local_react import ScriptedModel
from local_react.bench.document import render_html, render_markdown
from local_react.bench.evidence import N_EXAMPLES, Evidence, gather
from local_react.bench.report import build_report
from local_react.bench.results import Results, open_results
from local_react.llama.model import Model
from tests.bench.colours import answer, look
from tests.bench.test_execution import VALUES, execute
from tests.random_models import make_model

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
EVIL = "<script>document.title = 'hacked'</script>"
SCRIPT = [
    look("0"), answer("red"),  # smooth
    look("1"), answer(EVIL),  # seen, and answered with something else
    "no step", look("2"), answer("green"),
    look("0"), look("0"), answer("no"),
    ' t\nAction: paint[thing="1", colour="red"]\n', answer("red"),
    " t\nAction: look[0]\nObservation: x\n", answer("blue"),
]


@pytest.fixture(scope="module")
def evidence(tmp_path_factory) -> Evidence:
    folder = tmp_path_factory.mktemp("report")
    with open_results(folder / "scripted") as writer:
        writer.begin("local-react bench run --model scripted", {"cpu": "Some CPU", "load": [0.1, 0.2]})
        writer.miss("model x", EVIL)
    execute(folder / "scripted", load=lambda name: ScriptedModel(SCRIPT))
    model = make_model(folder / "random.gguf", add_bos_token=True)
    values = VALUES | {"arms": ["free", "explained"], "temperatures": [1.0], "seeds": [1, 2],
                       "limits": {"max_steps": 3, "max_step_tokens": 40, "max_thought_tokens": 4}}
    execute(folder / "random", values, lambda name: Model.load(model, n_threads=1))
    return gather(Results(folder / "scripted", folder / "random"))


@pytest.fixture(scope="module")
def report(evidence):
    return build_report(evidence, title="Small run", question="Does it hold?")


def test_the_numbers_of_the_report_are_those_of_the_grades(evidence, report):
    data = json.loads(json.dumps(report.data))
    assert data["n_episodes"] == len(evidence.grades) == sum(score["n_episodes"] for score in data["scores"])
    for score in data["scores"]:
        own = [g for g in evidence.grades if (g.model, g.arm, g.temperature) == (score["model"], score["arm"], score["temperature"])]
        assert score["shares"]["malformed"]["n_hits"] == sum(grade.n_malformed for grade in own)
        assert score["shares"]["success"]["n_hits"] == sum(grade.is_success for grade in own)
    assert data["missed"][0] == ["model x", EVIL]
    assert data["commands"] == ["local-react bench run --model scripted"]
    assert data["microscope"]["n"] == len(evidence.places) > 0
    assert {ledger["model"] for ledger in data["ledgers"]} == {"scripted", "random.gguf"}


def test_every_form_shows_every_arm_and_how_to_repeat_it(report):
    html, markdown = render_html(report), render_markdown(report)
    for text in ("free", "lenient", "explained", "local-react bench run --model scripted", "Some CPU", "McNemar", "Wilson"):
        assert text in html and text in markdown
    assert html.count("<svg") == 6


def test_every_failure_has_an_example_that_opens(evidence, report):
    of = [kind for example in evidence.examples for kind in example.of]
    assert {"ignored_observation", "forbidden_action", "repeated_call", "no_action_or_answer"} <= set(of)
    assert all(of.count(name) <= N_EXAMPLES * 4 for name in of)
    html = render_html(report)
    assert html.count("<details>") == len(evidence.examples) == html.count("</details>")
    assert EVIL not in html and "&lt;script&gt;" in html


def test_the_same_evidence_gives_the_same_report(evidence, report):
    again = build_report(evidence, title="Small run", question="Does it hold?")
    assert render_html(again) == render_html(report)


def test_ids_in_the_page_are_its_own(report):
    ids = re.findall(r'\bid="([^"]+)"', render_html(report))
    assert len(ids) == len(set(ids)) > 10


def test_an_empty_folder_has_a_report(tmp_path):
    with open_results(tmp_path):
        pass
    report = build_report(gather(Results(tmp_path)), title="Empty")
    assert "no episode" in render_html(report)
    assert "no episode" in render_markdown(report)


FRAME = """<body><iframe style="width: {width}px; height: 800px; border: 0" srcdoc="{html}"></iframe><script>
onload = () => {{
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement;
  const tall = [...page.querySelectorAll("figure svg")].filter(svg => svg.getBoundingClientRect().height > 50);
  const opened = [...page.querySelectorAll("details")].filter(details => {{
    const closed = details.offsetHeight; details.open = true; return details.offsetHeight > closed + 20;
  }});
  document.body.dataset.seen = [root.clientWidth, root.scrollWidth, page.title, tall.length, opened.length].join("|");
}};
</script></body>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width", [390, 1200])
def test_in_a_browser_it_fits_the_width_and_nothing_runs(report, tmp_path: Path, width: int):
    page = tmp_path / "frame.html"
    # In a frame, since a window has a least width that is more than a phone's.
    page.write_text(FRAME.format(width=width, html=escape(render_html(report))), encoding="utf-8")
    done = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
         "--window-size=1400,900", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=60,
    )
    found = re.search(r'data-seen="([^"]*)"', done.stdout)
    assert found, done.stderr[-500:]
    inner, scrolled, title, n_pictures, n_opened = found[1].split("|")
    assert (title, int(n_pictures)) == ("Small run", 6)
    assert 0.9 * width < int(inner) <= width and int(scrolled) <= int(inner)
    assert int(n_opened) > 3
