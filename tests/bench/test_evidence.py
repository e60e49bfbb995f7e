"""The evidence of a folder: everything is read, and runs with other settings are told apart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from local_react.bench.arms import FREE
from local_react.bench.evidence import N_EXAMPLES, ArmNames, gather
from local_react.bench.items import Item
from local_react.bench.results import Results
from tests.bench.colours import Colours
from tests.bench.test_execution import VALUES, execute

ITEM = Item(model={"name": "tiny.gguf", "sha256": "x", "n_ctx": 512}, arm=FREE, task=Colours().tasks(1)[0], seed=0,
            temperature=0.0, limits={"max_steps": 3})


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({}, "free"),
        ({"seed": 5, "temperature": 0.7}, "free"),
        ({"task": Colours().tasks(2)[1]}, "free"),
        ({"limits": {"max_steps": 4}}, "free [max_steps=4]"),
        ({"limits": {}}, "free [no max_steps]"),
        ({"arm": replace(FREE, strict=False)}, "free [strict=False]"),
        ({"arm": replace(FREE, guards=(("max_steps", 9),))}, "free [max_steps=9]"),
        ({"n_parallel": 2}, "free [n_parallel=2]"),
        ({"model": {"name": "tiny.gguf", "sha256": "y", "n_ctx": 512}}, "free [sha256=y]"),
        ({"model": {"name": "other.gguf", "sha256": "y"}}, "free"),
    ],
)
def test_an_arm_of_the_same_name_with_other_settings_has_a_name_of_its_own(changes, name):
    names = ArmNames()
    assert names.name(ITEM) == "free"
    assert names.name(replace(ITEM, **changes)) == name
    assert names.name(ITEM) == "free"


def test_runs_with_other_limits_in_one_folder_are_not_added_up(tmp_path):
    execute(tmp_path)
    execute(tmp_path, VALUES | {"limits": {"max_steps": 2}})
    evidence = gather(Results(tmp_path))
    counts = {arm: sum(grade.arm == arm for grade in evidence.grades) for arm in {grade.arm for grade in evidence.grades}}
    assert counts == {"free": 3, "lenient": 3, "free [max_steps=2]": 3, "lenient [max_steps=2]": 3}
    assert {arm for _, arm in evidence.ledgers} == set(counts)


def test_a_judge_goes_before_the_recorded_verdict(tmp_path):
    execute(tmp_path)
    assert not any(grade.is_right for grade in gather(Results(tmp_path), {"colours": lambda task, answer: False}).grades)
    assert any(grade.is_right for grade in gather(Results(tmp_path), {"other": lambda task, answer: False}).grades)


def test_several_folders_are_read_as_one_and_what_is_in_two_counts_once(tmp_path):
    execute(tmp_path / "one")
    execute(tmp_path / "other", VALUES | {"limits": {"max_steps": 2}})
    one, both = gather(Results(tmp_path / "one")), gather(Results(tmp_path / "one", tmp_path / "other", tmp_path / "one"))
    assert len(both.grades) == 2 * len(one.grades)
    assert {grade.arm for grade in both.grades} > {grade.arm for grade in one.grades}, "other settings are told apart"
    assert all(both.ledgers[key].n_tokens == ledger.n_tokens for key, ledger in one.ledgers.items())


def test_a_few_examples_of_each_failure_are_kept(tmp_path):
    execute(tmp_path, VALUES | {"n_tasks": 9})
    evidence = gather(Results(tmp_path))
    kinds = [(example.grade.arm, kind) for example in evidence.examples for kind in example.of]
    assert kinds and max(kinds.count(kind) for kind in kinds) == N_EXAMPLES
