"""Single calls: run once, gone on with, scored by the rules, reported. On a model of random weights, and own rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from local_react import Model, SettingsError
from local_react.bench.bfcl import Row
from local_react.bench.call_arm import CallArm
from local_react.bench.call_report import build_call_report
from local_react.bench.calls import (
    ARGUMENT_ARMS,
    CALL_ARMS,
    LEADERBOARD_ARMS,
    STEPS_BEYOND,
    call_key,
    call_pairs,
    compare_calls,
    find_call_arm,
    run_calls,
    score_calls,
)
from local_react.bench.document import render_html, render_markdown
from local_react.bench.results import Called, Results, open_results
from local_react.bench.statistics import mcnemar, share
from local_react.language.chat import CHATML
from tests.random_models import make_model

FUNCTION = {"name": "paint", "description": "Paint.", "parameters": {
    "type": "dict", "properties": {"times": {"type": "integer", "description": "How often."}}, "required": ["times"],
}}
ROWS = [
    Row(id=f"own_{n}", category="own", question=f"Paint it {n} times.", functions=(FUNCTION,), ground_truth={"paint": {"times": [n]}})
    for n in range(2, 5)
]
NAMES = ("free-keyword", "constrained-keyword", "constrained-narrowed")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf", add_bos_token=True, n_ctx_train=4096, n_embd=32, n_layer=1)
    with Model.load(path, n_threads=1) as model:
        yield model


def ask(model, folder, rows=ROWS, names=NAMES, **options):
    with open_results(folder) as writer:
        return run_calls(model, rows, [CALL_ARMS[name] for name in names], writer, clock=lambda: 0.0, **options)


def calls_of(folder) -> list[Called]:
    return [entry for entry in Results(folder) if isinstance(entry, Called)]


def asked(call: Called) -> dict:
    """All but where the model lay in memory."""
    return dict(call.values) | {"model": call.values["model"]["sha256"]}


@pytest.fixture(scope="module")
def folder(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("calls")
    with open_results(folder) as writer:
        writer.begin("local-react bench bfcl", {"cpu": "Some CPU"})
    progress = ask(model, folder)
    assert (progress.n_total, progress.n_done, progress.n_before, progress.n_missed) == (9, 9, 0, 0)
    return folder


def test_under_a_constraint_every_call_can_be_read_and_narrowed_ones_are_right(folder):
    scores = {score.arm: score for score in score_calls(calls_of(folder))}
    assert tuple(scores) == NAMES
    assert scores["constrained-keyword"].malformed.n_hits == scores["constrained-narrowed"].malformed.n_hits == 0
    assert scores["constrained-narrowed"].right == share(3, 3), "the question names one number only"
    assert scores["free-keyword"].right.n_hits == 0 and sum(scores["free-keyword"].reasons.values()) == 3


def test_what_is_done_is_not_asked_again(model, folder):
    before = list(Results(folder))
    assert ask(model, folder).n_before == 9
    assert list(Results(folder)) == before


def test_an_interrupted_run_goes_on_with_the_same_calls(model, folder, tmp_path):
    def interrupt(progress):
        if progress.n_done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(model, tmp_path, on_progress=interrupt)
    progress = ask(model, tmp_path)
    assert (progress.n_before, progress.n_done) == (4, 9)
    assert [asked(call) for call in calls_of(tmp_path)] == [asked(call) for call in calls_of(folder)]


def test_a_row_that_does_not_fit_is_recorded_and_the_rest_goes_on(model, tmp_path):
    long = replace(ROWS[0], id="long", question="Paint " * 5000)
    progress = ask(model, tmp_path, rows=[long, ROWS[0]], names=NAMES[:1])
    assert (progress.n_missed, progress.n_done) == (1, 1)
    assert "row long" in next(iter(Results(tmp_path))).what


def test_a_run_stops_where_it_is_told_to(model, tmp_path):
    assert ask(model, tmp_path, should_stop=lambda: True).n_done == 0


@pytest.mark.parametrize(
    "changes", [{"question": "Paint."}, {"functions": (FUNCTION | {"description": "Paint it."},)}, {"id": "other"}]
)
def test_a_changed_row_is_a_new_key(changes):
    described, arm = {"sha256": "x"}, CALL_ARMS["free-json"]
    assert call_key(described, arm, replace(ROWS[0], **changes), "gbnf") != call_key(described, arm, ROWS[0], "gbnf")
    assert call_key(described, replace(arm, name="renamed"), ROWS[0], "gbnf") == call_key(described, arm, ROWS[0], "gbnf")
    assert call_key(described, arm, ROWS[0], "llguidance") != call_key(described, arm, ROWS[0], "gbnf")


def test_arms_are_compared_on_the_rows_that_both_have(folder):
    tests = compare_calls(calls_of(folder), [("free-keyword", "constrained-narrowed"), ("free-keyword", "free-json")])
    assert list(tests.values()) == [mcnemar([False] * 3, [True] * 3)]


def test_the_report_shows_scores_reasons_and_examples(folder):
    results = Results(folder)
    report = build_call_report(
        list(results), title="Calls", question="Which?", pairs=[("free-keyword", "constrained-keyword")], n_damaged=0
    )
    for text in (render_html(report), render_markdown(report).replace("\\", "")):
        assert all(name in text for name in (*NAMES, "no call", "own_2", "local-react bench bfcl", "Some CPU", "McNemar"))
    data = json.loads(json.dumps(report.data))
    assert data["n_calls"] == 9 and [score["right"]["n"] for score in data["scores"]] == [3, 3, 3]


def test_an_empty_folder_has_a_report(tmp_path):
    with open_results(tmp_path):
        pass
    assert "0 calls" in render_markdown(build_call_report(list(Results(tmp_path)), title="x", question="y", pairs=[]))


def test_the_arms_cover_every_style_free_and_constrained_with_and_without_a_thought():
    assert len(ARGUMENT_ARMS) == 12 and set(LEADERBOARD_ARMS) <= set(CALL_ARMS)
    seen = {(CALL_ARMS[name].arguments, CALL_ARMS[name].constrained, CALL_ARMS[name].thinks) for name in ARGUMENT_ARMS}
    assert len(seen) == 12
    with pytest.raises(SettingsError, match="no arm of single calls called 'bogus'"):
        find_call_arm("bogus")


def test_what_differs_in_one_thing_is_compared():
    names = ["constrained-json", "free-json", "own", "constrained-narrowed-json", "free-positional"]
    assert call_pairs(names) == [("free-json", "constrained-json"), ("constrained-json", "constrained-narrowed-json")]
    assert {name for pair in STEPS_BEYOND for name in pair} <= set(CALL_ARMS)


def test_a_key_stays_what_it_was():
    """Or results that lie packed are not found again."""
    assert call_key({"sha256": "m"}, CALL_ARMS["constrained-json"], ROWS[0], "llguidance") == "075726b348a24800"


def test_an_arm_of_ones_own_goes_before_a_named_one():
    own = {"free-json": CallArm(name="free-json", n_exemplars=1), "mine": CallArm(name="mine")}
    assert find_call_arm("free-json", own) == own["free-json"] and find_call_arm("free-json") == CALL_ARMS["free-json"]
    assert find_call_arm("mine", own) == own["mine"] and find_call_arm("free-keyword", own) == CALL_ARMS["free-keyword"]
    with pytest.raises(SettingsError, match="'bogus'.* mine"):
        find_call_arm("bogus", own)


def test_an_arm_that_chats_is_asked_in_the_turns_of_the_model(tmp_path):
    path = make_model(tmp_path / "chat.gguf", chat_template=CHATML, n_ctx_train=4096, n_embd=32, n_layer=1)
    with Model.load(path, n_threads=1) as model:
        assert ask(model, tmp_path / "out", names=("constrained-keyword", "constrained-chat")).n_done == 6
    plain, chat = (
        [call.values for call in calls_of(tmp_path / "out") if call.values["arm"] == name]
        for name in ("constrained-keyword", "constrained-chat")
    )
    assert all(values["malformed"] is None for values in (*plain, *chat))
    assert {values["form"] for values in plain} == {"plain"} and {values["form"] for values in chat} == {"model"}
    assert all(one["n_prompt"] != other["n_prompt"] for one, other in zip(plain, chat))


def test_rows_with_the_same_exemplars_follow_each_other_where_exemplars_are_picked(model, tmp_path):
    note = {"name": "note", "description": "Note.", "parameters": {
        "type": "dict", "properties": {"text": {"type": "string", "description": "What."}}, "required": ["text"],
    }}
    pair = {"name": "pair", "description": "Pair.", "parameters": {
        "type": "dict", "properties": {name: {"type": "string", "description": "What."} for name in "ab"},
        "required": ["a", "b"],
    }}
    rows = [
        Row(id=f"{function['name']}_{n}", category="own", question="Do it.", functions=(function,), ground_truth=None)
        for n in range(3) for function in (note, pair)
    ]
    arms = [CallArm(name="picked", picks_exemplars=True), CallArm(name="fixed")]
    with open_results(tmp_path) as writer:
        run_calls(model, rows, arms, writer, clock=lambda: 0.0)
    order = {
        arm.name: [call.values["row"].split("_")[0] for call in calls_of(tmp_path) if call.values["arm"] == arm.name]
        for arm in arms
    }
    assert order["fixed"] == ["note", "pair"] * 3
    assert order["picked"] in (["note"] * 3 + ["pair"] * 3, ["pair"] * 3 + ["note"] * 3)


def test_arms_that_read_the_same_prompt_are_asked_one_after_the_other(model, tmp_path):
    rows = [Row(id=str(n), category="own", question=f"Add {n}.", functions=(FUNCTION,), ground_truth=None) for n in range(2)]
    arms = [CALL_ARMS[name] for name in ("free-keyword", "free-json", "constrained-keyword", "constrained-quick")]
    with open_results(tmp_path) as writer:
        run_calls(model, rows, arms, writer, clock=lambda: 0.0)
    keyword = ["free-keyword", "constrained-keyword", "constrained-quick"]
    assert [call.values["arm"] for call in calls_of(tmp_path)] == keyword * 2 + ["free-json"] * 2
