"""A series of questions, the kinds in turn and none twice: what all generated worlds have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from local_react.bench.task import Task
from local_react.bench.worlds.draws import Draws
from local_react.language.step import Call

MAX_REPEATS = 50
"""So many questions running that were there before mean that a kind holds no more."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A task before it has a number; the fields are those of `Task`."""

    question: str
    answers: tuple[str, ...]
    path: tuple[Call, ...]
    facts: tuple[str, ...]
    forbidden: frozenset[str] = frozenset()


def series(
    kinds: Mapping[str, Callable[[Draws], Draft | None]], n: int, draws: Draws
) -> Iterator[tuple[str, Draft]]:
    """Up to `n` drafts with their kinds, which take turns; a kind that has nothing new any more is left out.

    A maker may return None where what it drew makes no question.
    """
    left, seen, made = dict(kinds), set(), 0
    while left and made < n:
        for kind in list(left):
            if made >= n:
                return
            drafts = (left[kind](draws) for _ in range(MAX_REPEATS))
            draft = next((each for each in drafts if each is not None and each.question not in seen), None)
            if draft is None:
                del left[kind]
                continue
            seen.add(draft.question)
            made += 1
            yield kind, draft


def number_tasks(world: str, seed: int, drafts: Iterable[tuple[str, Draft]]) -> list[Task]:
    """The drafts as tasks, numbered in their order."""
    return [
        Task(
            id=f"{world}-{seed}-{number}", world=world, kind=kind, question=draft.question, answers=draft.answers,
            path=draft.path, forbidden=draft.forbidden, seed=seed, facts=draft.facts,
        )
        for number, (kind, draft) in enumerate(drafts)
    ]
