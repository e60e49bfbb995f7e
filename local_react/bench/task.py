"""Tasks, and the worlds that pose them.

A task is a question whose acceptable answers are known beforehand, computed by code and not by a model. A world makes as
many tasks as are wanted from a seed, gives each episode a fresh toolbox, and judges answers. Invariant: the same world,
number and seed give the same tasks, and the calls of a task's `path`, made in a fresh toolbox, show all of its `facts`.
Nothing here runs a model or reads a trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol as Interface

from local_react.language.prompt import Exemplar
from local_react.language.step import Call
from local_react.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A question with its acceptable answers.

    `path` is a shortest sequence of calls that shows all that the answer rests on; it is empty where nothing has to be
    called, or where nobody said how. `facts` are texts that stand in the observations of that path and that the answer
    rests on. A call of a tool in `forbidden` is wrong in itself, whatever the answer. `kind` names the sort of question,
    and is what results are broken down by.
    """

    id: str
    world: str
    kind: str
    question: str
    answers: tuple[str, ...]
    path: tuple[Call, ...] = ()
    forbidden: frozenset[str] = frozenset()
    seed: int = 0
    facts: tuple[str, ...] = ()


class World(Interface):
    """Where tasks come from and are carried out."""

    name: str

    def tasks(self, n: int, seed: int = 0) -> list[Task]:
        """The first `n` tasks of a seed; fewer, where the world holds no more. All ids differ."""

    def toolbox(self, task: Task) -> Toolbox:
        """The tools for one episode on a task, in a fresh state: nothing that another episode did can be seen."""

    def exemplars(self) -> Sequence[Exemplar]:
        """Worked examples on this world's tools. They share no question and no fact with any task."""

    def judge(self, task: Task, answer: str) -> bool:
        """Whether the answer is one of the acceptable ones, by the rule of the task's kind."""
