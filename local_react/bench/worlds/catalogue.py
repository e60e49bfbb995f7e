"""The worlds by name, and the one door to them: a name, or a file with tasks."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

from local_react.bench.task import World
from local_react.bench.worlds.arithmetic import ArithmeticWorld
from local_react.bench.worlds.billing import BillingWorld
from local_react.bench.worlds.files import FilesWorld
from local_react.bench.worlds.given import GivenWorld
from local_react.bench.worlds.task_file import read_tasks
from local_react.errors import SettingsError
from local_react.language.prompt import Exemplar
from local_react.tools.toolbox import Toolbox

WORLDS: dict[str, Callable[[], World]] = {
    "billing": BillingWorld,
    "files": FilesWorld,
    "arithmetic": ArithmeticWorld,
}
"""What makes each world that has a name; the first one is the default."""


def make_world(
    name_or_file: str, *, make_toolbox: Callable[[], Toolbox] | None = None, exemplars: Sequence[Exemplar] | None = None
) -> World:
    """The world of that name, or that of a .jsonl file with tasks.

    `make_toolbox` (the tools of one episode) and `exemplars` go with a file; without tools its tasks are for reasoning alone.
    Raises SettingsError for an unknown name, a file that can't be used, and tools for a world that has its own.
    """
    if name_or_file.endswith(".jsonl") or Path(name_or_file).is_file():
        return GivenWorld(read_tasks(name_or_file), make_toolbox or Toolbox, exemplars=exemplars)
    if name_or_file not in WORLDS:
        close = difflib.get_close_matches(name_or_file, WORLDS, n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        known = ", ".join(WORLDS)
        raise SettingsError(f"There is no world called {name_or_file!r}.{hint} Take {known}, or a .jsonl file with tasks.")
    if make_toolbox is not None or exemplars is not None:
        raise SettingsError(f"The world {name_or_file} has tools and exemplars of its own. Give yours with a file of tasks.")
    return WORLDS[name_or_file]()
