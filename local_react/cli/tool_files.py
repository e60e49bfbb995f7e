"""Tools from a Python file, from a module, or those of the demo.

Invariant: what is wrong with a tools file is one ToolError that says where. Loading runs the file's own code, as running
it would; nothing else is run.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from local_react.errors import LocalReactError, ToolError
from local_react.tools.demo import NEEDS_APPROVAL, demo_tools
from local_react.tools.result import describe_error
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

DEMO = "demo"
LISTS = ("TOOLS", "tools")
"""The names of the list that a tools file may have."""

_HOW = "Mark functions with @local_react.tool, or give a list called TOOLS."


def load_toolbox(sources: Sequence[str]) -> Toolbox:
    """All tools of these sources, each a Python file, `module:name` or "demo". Raises ToolError."""
    return Toolbox(tool for source in sources for tool in load_tools(source))


def load_tools(source: str) -> list[Tool]:
    """The tools of one source. Raises ToolError."""
    if source == DEMO:
        return [Tool.from_function(tool, needs_approval=tool.__name__ in NEEDS_APPROVAL) for tool in demo_tools()]
    if source.endswith(".py") or Path(source).is_file():
        return _find_tools(_run_file(Path(source)), source)
    module, colon, name = source.partition(":")
    if not (colon and module and name):
        raise ToolError(f"--tools {source!r} is neither a Python file, nor module:name, nor {DEMO}.")
    return _named_tools(_import(module), name, source)


def _run_file(path: Path) -> ModuleType:
    """Run a file as a module; its own folder can be imported from."""
    if not path.is_file():
        raise ToolError(f"{path} {'is a folder' if path.is_dir() else 'does not exist'}. Give a Python file with tools.")
    _make_importable(path.parent)
    # A name of its own, so that no module that is there already is replaced.
    name = f"local_react_tools_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ToolError(f"{path} is no Python file: its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and type hints look their module up there
    _guard(lambda: spec.loader.exec_module(module), path)
    return module


def _import(name: str) -> ModuleType:
    _make_importable(Path())
    return _guard(lambda: import_module(name), name)


def _make_importable(folder: Path) -> None:
    try:
        place = str(folder.resolve())
    except OSError:
        return  # the working folder has been deleted: nothing can be imported from there
    if place not in sys.path:
        sys.path.insert(0, place)


def _guard(load: Callable[[], Any], source: object) -> Any:
    """Run code of the user's, and say in one line what went wrong and where."""
    try:
        return load()
    except SyntaxError as error:
        where = source if error.filename is None else f"{error.filename}, line {error.lineno}"
        raise ToolError(f"{where}: {error.msg}.") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit, and what test frameworks raise to get past `except Exception`
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(source)]
        where = f"{source}, line {frames[-1].lineno}" if frames else str(source)
        if isinstance(error, LocalReactError):
            raise ToolError(f"{where}: {error}") from error
        raise ToolError(f"{where}: {describe_error(error)}. Its tools can't be loaded.") from error


def _find_tools(module: ModuleType, source: str) -> list[Tool]:
    """The tools in the module's list, else every `Tool` that it has, in the order of definition."""
    listed = next((value for name in LISTS if _is_list(value := vars(module).get(name))), None)
    if listed is not None:
        return _checked(listed, source)
    # By identity: two tools that are described alike are equal. By its type: a stand-in (a proxy, a mock) may raise when it
    # is asked for its class.
    found = {id(value): value for value in vars(module).values() if issubclass(type(value), Tool)}
    return _checked(found.values(), source)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple, Toolbox))


def _named_tools(module: ModuleType, name: str, source: str) -> list[Tool]:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            raise ToolError(f"{source}: {module.__name__} has no {name}.")
        value = getattr(value, part)
    return _checked(value if _is_list(value) else [value], source)


def _checked(tools: Iterable[Any], source: str) -> list[Tool]:
    """As a list of tools. Raises ToolError for none, and for two of one name."""
    given = list(tools.values()) if isinstance(tools, Toolbox) else list(tools)
    if not given:
        raise ToolError(f"{source} has no tools. {_HOW}")
    try:
        return list(Toolbox(given).values())
    except ToolError as error:
        raise ToolError(f"{source}: {error}") from error
