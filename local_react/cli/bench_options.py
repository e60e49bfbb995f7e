"""The options of `local-react bench` that say what to run, and how they become the keys of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from local_react.bench.matrix import Matrix, ModelOptions
from local_react.bench.task import World
from local_react.bench.worlds.catalogue import make_world
from local_react.cli.exemplar_file import read_exemplars
from local_react.cli.options import MODEL
from local_react.cli.setup import load_model
from local_react.cli.streams import Hint
from local_react.cli.tool_files import load_toolbox
from local_react.errors import SettingsError
from local_react.runs import AnyModel

_REPEATED = ("models", "arms", "worlds", "seeds", "temperatures")

MINUTES = click.option("--minutes", type=click.FloatRange(min=0),
                       help="Begin nothing new after so many minutes.  [default: no limit]")

LOAD_OPTIONS = (
    click.option("--n-ctx", type=click.IntRange(min=1),
                 help="The window in tokens.  [default: 4096, or what the model was trained on if that is less]"),
    click.option("--threads", "n_threads", type=click.IntRange(min=1),
                 help="Threads to compute with.  [default: all cores up to 4, else half of them]"),
    click.option("--gpu-layers", "n_gpu_layers", type=int, help="Layers on the GPU.  [default: all, where llama.cpp can]"),
)
"""How a model is loaded, where it is measured."""

OPTIONS = (
    click.option("--model", "models", multiple=True, metavar="PATH|NAME",
                 help="A model; may be given several times.  [default: smollm2]"),
    click.option("--arm", "arms", multiple=True, metavar="NAME",
                 help="An arm; may be given several times.  [default: those of the benchmark]"),
    click.option("--world", "worlds", multiple=True, metavar="NAME",
                 help="A world; may be given several times.  [default: those of the benchmark]"),
    click.option("--tasks", "task_files", multiple=True, metavar="FILE.jsonl",
                 help="Tasks of your own in place of a world; may be given several times.  [default: none]"),
    click.option("--tools", multiple=True, metavar="FILE.py|MODULE:NAME|demo",
                 help="The tools that go with --tasks.  [default: none]"),
    click.option("--exemplars", metavar="FILE.json", help="The worked examples that go with --tasks.  [default: made up]"),
    click.option("-n", "--n-tasks", type=click.IntRange(min=1), metavar="N",
                 help="Tasks of each world.  [default: those of the benchmark]"),
    click.option("--task-seed", type=int, help="The seed of the tasks.  [default: 0]"),
    click.option("--seed", "seeds", multiple=True, type=click.IntRange(min=0),
                 help="A seed of the sampler; each one is a run of every task.  [default: those of the benchmark]"),
    click.option("--temperature", "temperatures", multiple=True, type=click.FloatRange(min=0),
                 help="A temperature; may be given several times.  [default: those of the benchmark]"),
    click.option("--max-steps", type=click.IntRange(min=1), help="Steps of an episode, at most.  [default: 6]"),
    click.option("--max-step-tokens", type=click.IntRange(min=1), help="Tokens of a step, at most.  [default: 96]"),
    click.option("--parallel", "n_parallel", type=click.IntRange(min=1),
                 help="Episodes in one batch; results depend on it, and so do keys.  [default: 1]"),
    *LOAD_OPTIONS,
)
"""What any run can be given; what isn't given is left to the benchmark or the matrix file."""


def with_options(options: Sequence[Callable[..., Any]]) -> Callable[..., Any]:
    """A decorator that gives a command these options, in this order."""
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def matrix_keys(given: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a matrix that were given as options."""
    keys: dict[str, Any] = {name: given[name] for name in _REPEATED if given[name]}
    if given["task_files"]:
        keys["worlds"] = (*given["task_files"], *given["worlds"])
    keys |= {name: given[name] for name in ("n_tasks", "task_seed", "n_parallel") if given[name] is not None}
    limits = {name: given[name] for name in ("max_steps", "max_step_tokens") if given[name] is not None}
    load = {name: given[name] for name in ("n_ctx", "n_threads", "n_gpu_layers") if given[name] is not None}
    return keys | ({"limits": limits} if limits else {}) | ({"load": load} if load else {})


def make_worlds(matrix: Matrix, given: Mapping[str, Any]) -> dict[str, World]:
    """The worlds of a matrix by their names in it. Raises SettingsError and ToolError."""
    tools, exemplars = tuple(given.get("tools") or ()), given.get("exemplars")
    worlds: dict[str, World] = {}
    for name in matrix.worlds:
        if name.endswith(".jsonl") or Path(name).is_file():
            worlds[name] = make_world(
                name, make_toolbox=(lambda: load_toolbox(tools)) if tools else None,
                exemplars=read_exemplars(exemplars) if exemplars else None,
            )
        else:
            worlds[name] = make_world(name)
    names = [world.name for world in worlds.values()]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SettingsError(f"Two worlds are called {twice[0]}, so their results couldn't be told apart. Rename one file.")
    return worlds


def load_named(name: str, options: ModelOptions, hint: Hint) -> AnyModel:
    """The model of that name, loaded as the matrix says. Raises SettingsError for an empty name."""
    if not name.strip():
        raise SettingsError("The name of a model is empty. Give a path, or a name that `local-react models list` shows.")
    return load_model({setting.name: setting.default for setting in MODEL} | {
        "model": name, "n_ctx": options.n_ctx, "threads": options.n_threads, "batch": options.n_batch,
        "gpu_layers": options.n_gpu_layers, "flash_attention": options.flash_attention,
        "type_k": options.type_k or "f16", "type_v": options.type_v or "f16",
    }, hint)
