"""Items: the single episodes that a matrix comes to, each with a key of its own.

Invariant: the key depends on all that can change what comes out (the model's hash and options, the arm's settings, the task,
the seed, temperature and limits) and on nothing else: not on names, nor on the order of the work. So an item that is done is
done, and a changed setting is new work.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_react.bench.arms import Arm
from local_react.bench.task import Task
from local_react.language.step import Call

MODEL_KEYS = ("sha256", "n_ctx", "n_batch", "n_threads", "n_gpu_layers", "flash_attention", "type_k", "type_v")
"""What of a model's description changes the numbers that it computes. A scripted model has a name only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One episode to run: a model (as `Model.describe` tells it) and an arm on a task, with a seed and a temperature.

    `limits` are the guards that all arms have in common, `n_parallel` how many episodes share a batch: the sums in a batch
    depend on its size, and so may a token.
    """

    model: Mapping[str, Any]
    arm: Arm
    task: Task
    seed: int
    temperature: float
    limits: Mapping[str, Any]
    n_parallel: int = 1

    @property
    def model_name(self) -> str:
        """The file name of the model."""
        return str(self.model.get("name"))

    @property
    def key(self) -> str:
        """The first 16 hexadecimal digits of a SHA-256 over all that can change what comes out."""
        model = {name: self.model[name] for name in MODEL_KEYS if name in self.model} or {"name": self.model_name}
        told = [
            model, self.arm.settings(), write_task(self.task), self.seed, self.temperature, dict(sorted(self.limits.items())),
            self.n_parallel,
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]

    def write(self) -> dict[str, Any]:
        """The item as JSON values, its key among them."""
        return {
            "key": self.key, "model": dict(self.model), "arm": {"name": self.arm.name} | self.arm.settings(),
            "task": write_task(self.task), "seed": self.seed, "temperature": self.temperature, "limits": dict(self.limits),
            "n_parallel": self.n_parallel,
        }


def read_item(values: Mapping[str, Any]) -> Item:
    """The inverse of `Item.write`. Raises KeyError, TypeError, ValueError or SettingsError for what is no item."""
    arm = dict(values["arm"])
    check_kinds(values, {"seed": int, "temperature": (int, float), "limits": dict, "n_parallel": int, "model": dict})
    check_kinds(arm, {"name": str})
    return Item(
        model=values["model"], arm=Arm(**arm | {"guards": tuple(sorted(arm["guards"].items()))}),
        task=read_task(values["task"]), seed=values["seed"], temperature=values["temperature"], limits=values["limits"],
        n_parallel=values["n_parallel"],
    )


def write_task(task: Task) -> dict[str, Any]:
    """A task as JSON values."""
    return {
        "id": task.id, "world": task.world, "kind": task.kind, "question": task.question, "answers": list(task.answers),
        "path": [[call.name, dict(call.arguments)] for call in task.path], "forbidden": sorted(task.forbidden),
        "seed": task.seed, "facts": list(task.facts),
    }


def read_task(values: Mapping[str, Any]) -> Task:
    """The inverse of `write_task`. Raises KeyError, TypeError or ValueError for what is no task."""
    check_kinds(values, {name: str for name in ("id", "world", "kind", "question")} | {"seed": int})
    for told in (*values["answers"], *values["forbidden"], *values["facts"]):
        if not isinstance(told, str):
            raise TypeError(f"{told!r} is no text")
    for name, arguments in values["path"]:
        check_kinds({"name": name, "arguments": arguments}, {"name": str, "arguments": dict})
    return Task(
        id=values["id"], world=values["world"], kind=values["kind"], question=values["question"],
        answers=tuple(values["answers"]), path=tuple(Call(name, arguments) for name, arguments in values["path"]),
        forbidden=frozenset(values["forbidden"]), seed=values["seed"], facts=tuple(values["facts"]),
    )


def check_kinds(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raise TypeError unless the values are of these kinds; a line that was changed by hand may hold anything."""
    for name, kind in kinds.items():
        if not isinstance(values[name], kind):
            raise TypeError(f"{name} is {values[name]!r}")
