"""Runs of the leaderboard's rows: they go on where they stopped, and are scored again without a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.bfcl_predict import CallArm
from local_react.bench.bfcl_run import prediction_key, read_scored, rescore, run_rows, select, tally, vote
from local_react.bench.bfcl_score import Verdict
from local_react.errors import SettingsError
from local_react.language.step import Call, Malformed
from tests.bench.test_bfcl_predict import ROW

ROWS = [replace(ROW, id=f"test_{n}", question=f"{ROW.question} And {n}?") for n in range(3)]
PLAIN = CallArm(name="plain", n_exemplars=0, description="usage", instructions="")

ARM_WITHOUT_ROWS = replace(PLAIN, guidance=2.0)


def clock():
    return iter(range(10**6)).__next__


def run(model, path, rows=ROWS, arms=(PLAIN,)):
    done = []
    run_rows(model, rows, list(arms), path, clock=clock(), on_done=lambda row, arm, verdict: done.append((row.id, arm.name)))
    return done


def test_a_run_that_stopped_goes_on_and_a_changed_setting_is_new_work(tiny_model, tmp_path):
    path = tmp_path / "calls.jsonl"
    assert run(tiny_model, path, ROWS[:1]) == [("test_0", "plain")]
    assert run(tiny_model, path) == [("test_1", "plain"), ("test_2", "plain")]
    assert run(tiny_model, path) == []
    assert run(tiny_model, path, ROWS[:1], [replace(PLAIN, name="renamed")]) == []
    assert run(tiny_model, path, ROWS[:1], [replace(PLAIN, narrows=("numbers",))]) == [("test_0", "plain")]
    assert run(tiny_model, path, [replace(ROWS[0], question="Another one?")]) == [("test_0", "plain")]


def test_what_was_recorded_is_read_back_and_scored_the_same(tiny_model, tmp_path):
    path = tmp_path / "calls.jsonl"
    run(tiny_model, path)
    scored, n_damaged = read_scored(path)
    assert n_damaged == 0 and len(scored) == 3
    assert all(isinstance(each.action, Call) and each.logprob < 0 and each.n_sampled for each in scored)
    assert rescore(scored, ROWS) == scored
    changed = [replace(row, ground_truth={"finish": {"how": ["x"]}}) for row in ROWS]
    assert all(not each.verdict.is_right for each in rescore(scored, changed))
    assert rescore(scored, []) == []


def test_damaged_lines_are_skipped_counted_and_run_again(tiny_model, tmp_path):
    path = tmp_path / "calls.jsonl"
    run(tiny_model, path)
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([lines[0], lines[1][:50], b"3", b'{"key": "x"}', b"\xff", lines[2]]) + b"\n")
    scored, n_damaged = read_scored(path)
    assert [each.row_id for each in scored] == ["test_0", "test_2"] and n_damaged == 4
    assert run(tiny_model, path) == [("test_1", "plain")]


def test_a_prompt_too_long_for_the_window_is_no_call(tiny_model, tmp_path):
    path = tmp_path / "calls.jsonl"
    run(tiny_model, path, [replace(ROW, question="word " * 5000)])
    ((each,), _) = read_scored(path)
    assert isinstance(each.action, Malformed) and each.verdict == Verdict("no_call")


def test_a_file_that_cant_be_written_is_refused(tiny_model, tmp_path):
    with pytest.raises(SettingsError, match="can't be written"):
        run(tiny_model, tmp_path / "missing" / "calls.jsonl", ROWS[:1])


def test_no_file_holds_no_predictions(tmp_path):
    assert read_scored(tmp_path / "none.jsonl") == ([], 0)


def scored_of(template, arm, row_id, action, verdict="wrong_value"):
    return replace(template, key=f"{arm} {row_id}", arm=arm, row_id=row_id, action=action, verdict=Verdict(verdict))


@pytest.fixture
def template(tiny_model, tmp_path):
    run(tiny_model, tmp_path / "calls.jsonl", ROWS[:1])
    return read_scored(tmp_path / "calls.jsonl")[0][0]


RIGHT = Call("geo.distance", {"start": "Lyon", "end": "Ghent", "wheels": 2})
WRONG = Call("geo.distance", {"start": "Ghent", "end": "Lyon", "wheels": 2})
NOTHING = Malformed("no_action_or_answer", "nothing")


@pytest.mark.parametrize(
    ("actions", "chosen"),
    [
        ([RIGHT, WRONG, RIGHT], RIGHT),
        ([WRONG, RIGHT, RIGHT], RIGHT),
        ([WRONG, RIGHT, NOTHING], WRONG),
        ([NOTHING, NOTHING, RIGHT], RIGHT),
        ([NOTHING, NOTHING, NOTHING], NOTHING),
    ],
)
def test_the_call_of_most_arms_wins_and_the_first_of_equals(template, actions, chosen):
    scored = [scored_of(template, arm, "test_0", action) for arm, action in zip("abc", actions)]
    (elected,) = vote(scored, ["a", "b", "c"], ROWS)
    assert elected.action == chosen and elected.arm == "vote"
    assert elected.verdict.is_right == (chosen is RIGHT)
    assert elected.seconds == pytest.approx(3 * template.seconds)


def test_a_row_that_an_arm_lacks_is_not_voted_on(template):
    assert list(vote([scored_of(template, "a", "test_0", RIGHT)], ["a", "b"], ROWS)) == []


def test_a_tally_counts_each_rule_and_has_an_interval(template):
    scored = [scored_of(template, "a", f"test_{n}", RIGHT, "right" if n else "wrong_type") for n in range(3)]
    (counted,) = tally(scored)
    assert counted.reasons == {"wrong_type": 1, "right": 2}
    assert (counted.right.n_hits, counted.right.n) == (2, 3)


def test_keys_differ_by_model_setting_and_row():
    keys = {
        prediction_key(model, arm, row)
        for model in ("a", "b") for row in ROWS for arm in (PLAIN, replace(PLAIN, guidance=0.5), replace(PLAIN, n_orders=2))
    }
    assert len(keys) == 18


def test_predictions_are_found_by_their_settings_under_any_name(tiny_model, tmp_path):
    path = tmp_path / "calls.jsonl"
    run(tiny_model, path)
    scored, model_hash = read_scored(path)[0], tiny_model.describe()["sha256"]
    renamed = select(scored, model_hash, [replace(PLAIN, name="new")], ROWS[:2])
    assert [(each.arm, each.row_id) for each in renamed] == [("new", "test_0"), ("new", "test_1")]
    assert select(scored, "another model", [PLAIN], ROWS) == select(scored, model_hash, [ARM_WITHOUT_ROWS], ROWS) == []
