"""Series of questions: the kinds take turns, nothing comes twice, and an exhausted kind is left out."""

from __future__ import annotations

from collections import Counter

import pytest

from local_react.bench.worlds.draws import Draws
from local_react.bench.worlds.series import Draft, number_tasks, series


def draft(question):
    return Draft(question, ("a",), (), ())


def of(n):
    """A kind with `n` different questions."""
    return lambda draws: draft(f"{n} {draws.whole(1, n)}")


def test_kinds_take_turns_and_exhausted_ones_are_left_out():
    made = list(series({"few": of(2), "many": of(10_000)}, 50, Draws("test", 0)))
    assert [kind for kind, _ in made][:4] == ["few", "many", "few", "many"]
    assert Counter(kind for kind, _ in made) == {"few": 2, "many": 48}
    assert len({each.question for _, each in made}) == 50


def test_a_world_that_holds_no_more_gives_fewer():
    assert len(list(series({"few": of(3)}, 100, Draws("test", 0)))) == 3
    assert list(series({}, 5, Draws("test", 0))) == []
    assert list(series({"none": lambda draws: None}, 5, Draws("test", 0))) == []


def test_a_kind_may_pass():
    made = list(series({"odd": lambda draws: draft(str(n)) if (n := draws.whole(1, 1000)) % 2 else None}, 30, Draws("t", 0)))
    assert len(made) == 30
    assert all(int(each.question) % 2 for _, each in made)


def test_tasks_are_numbered_in_their_order():
    tasks = number_tasks("w", 7, [("k", draft("one?")), ("l", draft("two?"))])
    assert [(task.id, task.kind, task.question, task.world, task.seed) for task in tasks] == [
        ("w-7-0", "k", "one?", "w", 7), ("w-7-1", "l", "two?", "w", 7),
    ]


def test_draws_are_the_same_for_a_name_and_a_seed_only():
    def numbers(name, seed):
        draws = Draws(name, seed)
        return [draws.whole(0, 10**9) for _ in range(5)]

    assert numbers("a", 1) == numbers("a", 1)
    assert len({tuple(numbers(name, seed)) for name in "ab" for seed in range(20)}) == 40
    assert numbers("a", 0) == [800891219, 433231842, 649653804, 747812161, 489062357]


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 6), (-3, 3)])
def test_whole_numbers_keep_to_their_limits_and_reach_them(low, high):
    draws = Draws("limits", 0)
    assert {draws.whole(low, high) for _ in range(500)} == set(range(low, high + 1))


def test_some_items_are_all_different():
    draws = Draws("some", 0)
    for _ in range(50):
        drawn = draws.some("abcdef", 4)
        assert len(set(drawn)) == 4 and set(drawn) <= set("abcdef")
    assert sorted(draws.some("abc", 9)) == ["a", "b", "c"]


@pytest.mark.parametrize(("probability", "low", "high"), [(0, 0, 0), (1, 1000, 1000), (0.3, 230, 370)])
def test_chances_come_out_as_often_as_they_should(probability, low, high):
    draws = Draws("chance", 0)
    assert low <= sum(draws.chance(probability) for _ in range(1000)) <= high
