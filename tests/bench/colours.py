"""A tiny world for the tests: things have colours, and a tool tells them."""

from __future__ import annotations

from collections.abc import Sequence

from local_react import Toolbox
from local_react.bench.task import Task
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step

COLOURS = ("red", "blue", "green", "white", "black", "brown")


class Colours:
    """Task n asks for the colour of thing n."""

    name = "colours"

    def tasks(self, n: int, seed: int = 0) -> list[Task]:
        return [
            Task(
                id=f"colours-{seed}-{i}", world=self.name, kind="even" if i % 2 == 0 else "odd",
                question=f"Which colour has thing {i}?", answers=(self.colour(i),), path=(Call("look", {"thing": str(i)}),),
                forbidden=frozenset({"paint"}), seed=seed, facts=(self.colour(i),),
            )
            for i in range(n)
        ]

    @staticmethod
    def colour(i: int) -> str:
        return COLOURS[i % len(COLOURS)]

    def toolbox(self, task: Task) -> Toolbox:
        def look(thing: str) -> str:
            """Look at a thing."""
            return self.colour(int(thing))

        def paint(thing: str, colour: str) -> str:
            """Paint a thing."""
            return "painted"

        return Toolbox([look, paint])

    def exemplars(self) -> Sequence[Exemplar]:
        return [Exemplar("Which colour has thing 99?", (
            Step(Call("look", {"thing": "99"}, "I look at it."), Observation("pink")), Step(Answer("pink", "I saw it.")),
        ))]

    def judge(self, task: Task, answer: str) -> bool:
        return answer.strip() in task.answers


def look(thing: str) -> str:
    """A step that looks at a thing."""
    return f" I look.\nAction: look[{thing}]\n"


def answer(text: str) -> str:
    """A step that answers."""
    return f" I know.\nAction: finish[{text}]\n"
