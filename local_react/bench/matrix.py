"""A matrix: which models run which arms on which tasks, from one TOML file or from flags.

    models = ["smollm2", "gemma3-270m"]
    arms = ["free", "constrained", "mine"]
    worlds = ["billing", "files"]
    n_tasks = 50
    temperatures = [0.0, 0.7]

    [limits]
    max_steps = 6

    [[arm]]
    name = "mine"
    like = "constrained"
    n_exemplars = 1

A limit of "none" is no limit.

Invariant: what is unknown or of a wrong type is one SettingsError that names the key; nothing is ignored in silence. It
loads no model and makes no tasks.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from local_react.bench.arms import Arm, find_arm
from local_react.errors import SettingsError
from local_react.guards import Guards
from local_react.llama.sampling import Sampling

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIMITS: Mapping[str, Any] = {"max_steps": 6, "max_step_tokens": 96, "max_thought_tokens": 48}
"""The guards that all arms have in common where a matrix says nothing: a small model gains nothing from more, and it
costs a laptop hours."""

Reach = Literal["action", "step", "repair"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class OwnArm(_Strict):
    """An arm of the matrix's own: another one with changes."""

    name: str = Field(min_length=1)
    like: str = "free"
    protocol: str | None = None
    arguments: Literal["keyword", "positional", "json"] | None = None
    template: str | None = None
    strict: bool | None = None
    constrain: bool | Reach | None = None
    engine: str | None = None
    ground: bool | None = None
    explain: bool | None = None
    n_exemplars: int | None = None
    has_recovery: bool | None = None
    instructions: str | None = None
    guards: dict[str, Any] = Field(default_factory=dict)

    @field_validator("guards")
    @classmethod
    def _read_guards(cls, guards: dict[str, Any]) -> dict[str, Any]:
        return _with_none(guards)

    def build(self, known: Mapping[str, Arm]) -> Arm:
        """The arm. Raises SettingsError where no run could be given it."""
        base = known[self.like] if self.like in known else find_arm(self.like)
        changes = self.model_dump(exclude={"name", "like", "guards"}, exclude_none=True)
        guards = dict(base.guards) | self.guards
        return replace(base, name=self.name, guards=tuple(sorted(guards.items())), **changes)


class ModelOptions(_Strict):
    """How models are loaded: options of `Model.load`, under the same names; None leaves the choice to it."""

    n_ctx: int | None = None
    n_threads: int | None = None
    n_batch: int | None = None
    n_gpu_layers: int | None = None
    flash_attention: bool | None = None
    type_k: str | None = None
    type_v: str | None = None


class Matrix(_Strict):
    """Everything that is to be run. `worlds` are names of worlds, or files with tasks; `n_tasks` are taken from each.

    At temperature 0 every seed gives the same run, so only the first one is run there.
    """

    models: tuple[str, ...] = Field(("smollm2",), min_length=1)
    arms: tuple[str, ...] = Field(("free", "constrained"), min_length=1)
    worlds: tuple[str, ...] = Field(("billing",), min_length=1)
    n_tasks: int = Field(20, ge=1)
    task_seed: int = 0
    seeds: tuple[int, ...] = Field((0,), min_length=1)
    temperatures: tuple[float, ...] = Field((0.0,), min_length=1)
    n_parallel: int = Field(1, ge=1)
    limits: dict[str, Any] = Field(default_factory=lambda: dict(LIMITS))
    load: ModelOptions = ModelOptions()
    arm: tuple[OwnArm, ...] = ()

    @field_validator("limits")
    @classmethod
    def _check_limits(cls, limits: dict[str, Any]) -> dict[str, Any]:
        known = asdict(Guards())
        if unknown := [name for name in limits if name not in known]:
            raise ValueError(f"there is no limit called {unknown[0]}")
        limits = dict(LIMITS) | _with_none(limits)
        try:
            Guards(**limits)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return limits

    @model_validator(mode="after")
    def _check_runs(self) -> Matrix:
        for name in ("models", "worlds", "seeds", "temperatures"):
            values = getattr(self, name)
            if twice := [value for value in values if values.count(value) > 1]:
                raise ValueError(f"{name}: {twice[0]} is there twice, and would be run twice. Name it once")
        if not all(map(str.strip, self.models)):
            raise ValueError("models: a name is empty")
        try:
            for temperature, seed in self.runs():
                Sampling(temperature=temperature, seed=seed)
        except SettingsError as error:
            raise ValueError(str(error)) from error
        return self

    def chosen_arms(self) -> tuple[Arm, ...]:
        """The arms in order: those of `arms`; where that isn't given, the matrix's own, if it has some. Raises SettingsError
        for an unknown one, and for two of one name."""
        own: dict[str, Arm] = {}
        for described in self.arm:
            if described.name in own:
                raise SettingsError(f"The arm {described.name} is described twice. Rename one of them.")
            own[described.name] = described.build(own)
        names = list(self.arms) if "arms" in self.model_fields_set or not own else list(own)
        if twice := [name for name in names if names.count(name) > 1]:
            raise SettingsError(f"The arm {twice[0]} is there twice. Name it once.")
        return tuple(own[name] if name in own else find_arm(name) for name in names)

    def load_options(self) -> dict[str, Any]:
        """The keyword arguments of `Model.load`."""
        return self.load.model_dump(exclude_none=True)

    def runs(self) -> list[tuple[float, int]]:
        """The temperatures and seeds with which each task is run."""
        return [
            (temperature, seed) for temperature in self.temperatures
            for seed in (self.seeds if temperature > 0 else self.seeds[:1])
        ]


def make_matrix(values: Mapping[str, Any], *, where: str = "The matrix") -> Matrix:
    """A matrix from plain values. Raises SettingsError that names the key which is unknown or wrong, after `where`."""
    try:
        matrix = Matrix.model_validate(_tupled(values))
    except ValidationError as error:
        raise SettingsError(f"{where}: {explain(error)}") from error
    matrix.chosen_arms()
    return matrix


def read_matrix(path: str | Path) -> Matrix:
    """The matrix in a TOML file. Raises SettingsError, naming file and key."""
    try:
        with open(path, "rb") as file:
            values = tomllib.load(file)
    except OSError as error:
        raise SettingsError(f"The matrix {path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"The matrix {path} is no TOML: {error}.") from error
    return make_matrix(values, where=str(path))


def _with_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values, "none" being no limit: TOML has no word for it."""
    return {name: None if value == "none" else value for name, value in values.items()}


def explain(error: ValidationError) -> str:
    """The first complaint of pydantic in one sentence, and how many more there are."""
    first, *others = error.errors()
    key = ".".join(str(part) for part in first["loc"]) or "the whole"
    match first["type"]:
        case "extra_forbidden":
            told = f"there is no key called {key}. Take it out, or correct its spelling"
        case "missing":
            told = f"{key} is missing. Add it"
        case _:
            told = f"{key}: {first['msg'].removeprefix('Value error, ').rstrip('.')}; it is {first['input']!r:.80}"
    return f"{told}{f' ({len(others)} more mistakes)' if others else ''}."


def _tupled(values: Any) -> Any:
    """Lists as tuples, all the way down: the matrix is a frozen value."""
    if isinstance(values, (list, tuple)):
        return tuple(_tupled(value) for value in values)
    return {key: _tupled(value) for key, value in values.items()} if isinstance(values, Mapping) else values
