"""Scores add up what grades say, and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace

from local_react.bench.grading import Grade
from local_react.bench.scores import EPISODE_SHARES, STEP_SHARES, score_arm, score_arms
from local_react.bench.statistics import share

GRADE = Grade(
    key="k", model="m", arm="free", world="w", kind="look-up", task="t0", seed=0, temperature=0.0, ending="answered",
    answer="red", is_right=True, is_success=True, failures=(), main_class=None, n_steps=4, n_unparsed=1, n_unknown_tool=0,
    n_misfit=1, n_malformed=2, n_refused=1, n_forged=0, n_calls=1, n_path=1, has_right_start=True, n_ids=1, n_invented_ids=0,
    n_tokens=40, n_sampled=30, n_forced=10, n_evaluated=100, n_transcript=120, seconds=2.0,
    codes={"no_action_or_answer": 1, "bad_argument": 1},
)


def failing(**changes) -> Grade:
    values = {"is_right": False, "is_success": False, "answer": None, "ending": "step_limit", "failures": ("no_finish",),
              "main_class": "no_finish", "has_right_start": False, "n_steps": 6, "n_malformed": 0, "n_misfit": 0, "n_unparsed": 0,
              "codes": {}, "n_tokens": 60, "seconds": 4.0}
    return replace(GRADE, **values | changes)


def test_shares_and_means_of_an_arm():
    score = score_arm([GRADE, failing(task="t1")])
    assert (score.n_episodes, score.n_tasks, score.n_steps) == (2, 2, 10)
    assert score.shares["malformed"] == share(2, 10) and score.shares["wrong_arguments"] == share(1, 10)
    assert score.shares["success"] == share(1, 2) and score.shares["right_start"] == share(1, 2)
    assert score.clustered["malformed"].value == 0.2
    assert score.means["tokens"].value == 50 and score.means["seconds"].value == 3
    assert score.codes == {"no_action_or_answer": 1, "bad_argument": 1}
    assert score.classes == score.shown == {"no_finish": 1}
    assert score.endings == {"answered": 1, "step_limit": 1}
    assert score.kinds == {"w: look-up": share(1, 2)}
    assert set(score.shares) == set(STEP_SHARES) | set(EPISODE_SHARES)
    written = json.loads(json.dumps(score.write()))
    assert written["shares"]["success"]["value"] == 0.5


def test_tasks_without_a_path_say_nothing_about_the_first_call():
    score = score_arm([replace(GRADE, has_right_start=None)])
    assert score.shares["right_start"].n == 0


def test_pass_hat_needs_several_runs_of_each_task():
    runs = [replace(GRADE, seed=seed) for seed in range(3)] + [failing(task="t1", seed=seed) for seed in range(2)]
    assert score_arm(runs).pass_hat == {1: 0.5, 2: 0.5}
    assert score_arm([GRADE]).pass_hat == {}
    mixed = [GRADE, failing(seed=1)]
    assert score_arm(mixed).pass_hat == {1: 0.5, 2: 0.0}


def test_arms_models_and_temperatures_are_scored_apart():
    grades = [GRADE, replace(GRADE, arm="constrained"), replace(GRADE, temperature=0.7), replace(GRADE, model="n"), GRADE]
    assert [(score.model, score.arm, score.temperature, score.n_episodes) for score in score_arms(grades)] == [
        ("m", "free", 0.0, 2), ("m", "constrained", 0.0, 1), ("m", "free", 0.7, 1), ("n", "free", 0.0, 1),
    ]
