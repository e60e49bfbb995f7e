"""Running a matrix: its items in a fixed order, those that are done left out, each recorded when it has ended.

Invariant: what an episode is given depends on its item alone, so a run that was interrupted and goes on does the same work as
one that wasn't. What the model writes may still differ in a token where two were nearly as likely: sums depend on the cells
of the KV cache in which tokens lie, and so on what was there before. (So do times, and how much of a prompt is evaluated:
whoever comes first pays for the prefix that all share.) All arms take turns on a few tasks at a time, so that one which is cut
short has compared them on the same tasks. Nothing is scored here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from local_react.bench.arms import Arm
from local_react.bench.items import Item
from local_react.bench.matrix import Matrix
from local_react.bench.results import ResultsWriter
from local_react.bench.spare_exemplars import spare_exemplars
from local_react.bench.task import World
from local_react.errors import LocalReactError
from local_react.language.keywords import GROUNDED_KEY
from local_react.language.protocol import Protocol
from local_react.llama.sampling import Sampling
from local_react.runs import AnyModel, run_many
from local_react.tools.toolbox import Toolbox
from local_react.trace import Trace

CHUNK = 20
"""So many tasks are run under one arm before the next one's turn. Arms with other prompts compute theirs once a turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is. `n_done` counts the episodes that were there before, `n_before`, too; `n_unanswered` of those that
    ran now ended without an answer, and `n_missed` couldn't be run."""

    n_total: int
    n_done: int = 0
    n_before: int = 0
    n_unanswered: int = 0
    n_missed: int = 0
    now: str = ""


OnProgress = Callable[[Progress], None]


class Execution:
    """One run of a matrix into a results folder.

    `load` gives a model by its name in the matrix, `worlds` are by theirs; `should_stop` is asked before each batch.
    """

    def __init__(
        self, matrix: Matrix, worlds: Mapping[str, World], writer: ResultsWriter, *, load: Callable[[str], AnyModel],
        on_progress: OnProgress | None = None, should_stop: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._matrix = matrix
        self._worlds = worlds
        self._writer = writer
        self._load = load
        self._on_progress = on_progress
        self._should_stop = should_stop
        self._clock = clock
        self._arms = matrix.chosen_arms()
        self._tasks = {name: worlds[name].tasks(matrix.n_tasks, matrix.task_seed) for name in matrix.worlds}
        for name in matrix.worlds:
            for arm in self._arms:
                options_in(worlds[name], arm, matrix.limits)
        n_each = sum(len(tasks) for tasks in self._tasks.values()) * len(self._arms) * len(matrix.runs())
        self._n_each = n_each
        self._progress = Progress(n_total=n_each * len(matrix.models))

    def run(self) -> Progress:
        """Run what isn't done yet; returns how it went. Raises what breaks off a run: KeyboardInterrupt, TraceError for a
        full disk. What was finished by then is recorded."""
        self._tell()
        for name in self._matrix.models:
            try:
                model = self._load(name)
            except LocalReactError as error:
                self._writer.miss(f"model {name}", str(error))
                self._tell(n_missed=self._progress.n_missed + self._n_each)
                continue
            with closing(model) if hasattr(model, "close") else _NoContext():
                for world, batch in self._batches(model):
                    if self._should_stop():
                        return self._progress
                    self._run_batch(model, world, batch)
        return self._progress

    def _batches(self, model: AnyModel) -> Iterator[tuple[World, list[Item]]]:
        """The items of a model that aren't done, in batches that can be run at once, each with its world."""
        matrix, described = self._matrix, model.describe()
        for name in matrix.worlds:
            tasks = self._tasks[name]
            for temperature, seed in matrix.runs():
                for start in range(0, len(tasks), CHUNK):
                    for arm in self._arms:
                        items = [
                            Item(model=described, arm=arm, task=task, seed=seed, temperature=temperature,
                                 limits=matrix.limits, n_parallel=matrix.n_parallel)
                            for task in tasks[start : start + CHUNK]
                        ]
                        for batch in self._split(self._worlds[name], items):
                            yield self._worlds[name], batch

    def _split(self, world: World, items: Sequence[Item]) -> Iterator[list[Item]]:
        """The batches in which something is left to do. They are the same whatever was done before: a batch of another size
        computes other sums."""
        batches: list[list[Item]] = []
        for item in items:
            if not batches or len(batches[-1]) == item.n_parallel or not _fits(world, batches[-1][0], item):
                batches.append([])
            batches[-1].append(item)
        for batch in batches:
            n_before = sum(item.key in self._writer.done for item in batch)
            if n_before:
                progress = self._progress
                self._tell(n_done=progress.n_done + n_before, n_before=progress.n_before + n_before)
            if n_before < len(batch):
                yield batch

    def _run_batch(self, model: AnyModel, world: World, items: Sequence[Item]) -> None:
        first = items[0]
        self._tell(now=f"{first.model_name} · {first.arm.name} · {first.task.id}")
        try:
            traces = run_items(model, world, items, clock=self._clock)
        except LocalReactError as error:
            left = [item for item in items if item.key not in self._writer.done]
            for item in left:
                self._writer.miss(f"{item.model_name}, arm {item.arm.name}, task {item.task.id}", str(error))
            self._tell(n_missed=self._progress.n_missed + len(left))
            return
        for item, trace in zip(items, traces):
            if item.key in self._writer.done:
                continue
            self._writer.add(item, trace, None if trace.answer is None else world.judge(item.task, trace.answer))
            progress = self._progress
            self._tell(n_done=progress.n_done + 1, n_unanswered=progress.n_unanswered + (trace.answer is None))

    def _tell(self, **changes: Any) -> None:
        self._progress = replace(self._progress, **changes)
        if self._on_progress is not None:
            self._on_progress(self._progress)


def _fits(world: World, one: Item, other: Item) -> bool:
    """Whether two items have the same prompt but for the question."""
    return world.toolbox(one.task).fingerprint == world.toolbox(other.task).fingerprint


def run_items(
    model: AnyModel, world: World, items: Sequence[Item], *, clock: Callable[[], float] = time.time
) -> list[Trace]:
    """Run items that differ in task and seed only, in the same batches, each with a toolbox of its own."""
    first = items[0]
    arm: Arm = first.arm
    has_tools = Protocol.preset(arm.protocol).has_tools
    toolboxes = [world.toolbox(item.task) if has_tools else Toolbox() for item in items]
    if not arm.ground:
        toolboxes = [without_grounding(toolbox) for toolbox in toolboxes]
    return run_many(
        [item.task.question for item in items], model=model, tools=toolboxes[0], toolboxes=toolboxes,
        seeds=[item.seed for item in items], n_parallel=first.n_parallel, clock=clock,
        sampling=Sampling(temperature=first.temperature),  # whole: what a model's author recommends would differ by model
        **options_in(world, arm, first.limits),
    )


def without_grounding(toolbox: Toolbox) -> Toolbox:
    """The same tools, whose texts may be anything: what a world's tools mark as grounded is grounded in arms that say so."""
    return Toolbox(
        replace(
            tool, parameters=tuple(replace(parameter, grounding=None) for parameter in tool.parameters),
            schema=_without_marks(tool.schema),
        )
        for tool in toolbox.values()
    )


def _without_marks(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = {
        name: {key: value for key, value in told.items() if key != GROUNDED_KEY} if isinstance(told, Mapping) else told
        for name, told in schema.get("properties", {}).items()
    }
    return dict(schema) | ({"properties": properties} if properties else {})


def options_in(world: World, arm: Arm, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments of `run` for an arm in a world. Raises SettingsError where the world can't serve it."""
    return arm.options(world.exemplars(), limits, spare_exemplars(world))


class _NoContext:
    def __enter__(self) -> None: ...

    def __exit__(self, *error: object) -> None: ...
