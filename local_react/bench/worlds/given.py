"""A world of tasks that somebody has written: the tasks come from a file, the tools from the user.

The tasks of a file come in its order, whatever the seed. Each episode gets a toolbox made anew; what state the user's tools
have beyond that is the user's affair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from local_react.bench.answers import is_exact, is_match
from local_react.bench.task import Task
from local_react.bench.worlds.task_file import GivenTasks, check_tools
from local_react.language.exemplars import default_exemplars
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Step
from local_react.tools.toolbox import Toolbox


class GivenWorld:
    """The tasks of a file. `make_toolbox` makes the tools of one episode; without it there are none.

    Raises SettingsError where a task speaks of a tool that isn't there.
    """

    def __init__(
        self, given: GivenTasks, make_toolbox: Callable[[], Toolbox] = Toolbox, *,
        exemplars: Sequence[Exemplar] | None = None,
    ) -> None:
        self.name = given.name
        self._given = given
        self._make_toolbox = make_toolbox
        toolbox = make_toolbox()
        check_tools(given, toolbox)
        harmless = {name: tool for name, tool in toolbox.items() if not tool.needs_approval}
        self._exemplars = exemplars if exemplars is not None else default_exemplars(harmless) if toolbox else WITHOUT_TOOLS

    def tasks(self, n: int, seed: int = 0) -> list[Task]:
        """The first `n` tasks of the file; fewer, where it holds no more."""
        return list(self._given.tasks[:n])

    def toolbox(self, task: Task) -> Toolbox:
        """The user's tools, made anew."""
        return self._make_toolbox()

    def exemplars(self) -> Sequence[Exemplar]:
        """Those that were given; else made-up calls of the tools, or, where there are none, two thoughts with answers."""
        return self._exemplars

    def judge(self, task: Task, answer: str) -> bool:
        """Whether the answer is acceptable, by the rule that the task's line asks for."""
        if self._given.rules[task.id] == "exact":
            return is_exact(answer, task.answers)
        return is_match(answer, task.answers, question=task.question)


WITHOUT_TOOLS = (
    Exemplar(
        "Which of the two is older, a person born in 1911 or one born in 1908?",
        (Step(Answer("the one born in 1908", "1908 is before 1911, so the second one is older.")),),
    ),
    Exemplar(
        "Is this claim right? Answer SUPPORTS, REFUTES or NOT ENOUGH INFO. Claim: A week has eight days.",
        (Step(Answer("REFUTES", "A week has seven days, so the claim is wrong.")),),
    ),
)
"""Two worked examples for tasks without tools."""
