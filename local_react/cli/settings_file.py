"""The TOML file with settings: found, checked, and handed to click as defaults.

Invariant: a key that is no setting, or a value of the wrong type, is a usage error that names key and file. Says nothing
about whether a value makes sense; the object that it sets does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from local_react.cli.options import LAYER_WORDS, PREFIX, SETTINGS, Layers, Limit, Setting

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path("local_react.toml")
SETTINGS_FILE = "local_react.settings_file"
"""The key in `Context.meta` under which the path of the file that was read stands."""


def with_settings_file(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option --config, whose settings become the defaults of its other options."""
    return click.option(
        "--config", metavar="FILE", envvar=f"{PREFIX}CONFIG", is_eager=True, expose_value=False, callback=_apply,
        help="A TOML file with settings.  [default: local_react.toml here, else local_react/config.toml in "
        "$XDG_CONFIG_HOME]",
    )(command)


def _apply(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    path = Path(value) if value else _find()
    if path is None:
        return
    settings = read_settings(path)
    context.meta[SETTINGS_FILE] = path
    known = {parameter.name for parameter in context.command.params}
    context.default_map = {name: value for name, value in settings.items() if name in known}


def _find() -> Path | None:
    """The settings file that is there without being asked for."""
    # A user without a home (a container's, by number) leaves the tilde where it is, and nothing is found there.
    folder = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return next((path for path in (HERE, Path(folder) / "local_react" / "config.toml") if path.is_file()), None)


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a TOML file. Raises UsageError, naming file and key."""
    try:
        with path.open("rb") as file:
            found = tomllib.load(file)
    except OSError as error:
        raise click.UsageError(f"{path} can't be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of thousands of digits, lists in lists
        raise click.UsageError(f"{path} is no TOML: {error}.") from error
    settings = {}
    for key, value in found.items():
        setting = SETTINGS.get(key)
        if setting is None:
            raise click.UsageError(f"{path}: there is no setting called {key!r}. The settings are {', '.join(_allowed())}.")
        if not setting.in_files:
            raise click.UsageError(f"{path}: {key} can only be given on the command line, as {setting.flags}.")
        if not _fits(value, setting):
            raise click.UsageError(f"{path}: {key} must be {_expected(setting)}, and {value!r} is not.")
        settings[key] = [value] if setting.is_repeatable and isinstance(value, str) else value
    return settings


def _allowed() -> list[str]:
    return [name for name, setting in SETTINGS.items() if setting.in_files]


def _fits(value: Any, setting: Setting) -> bool:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    match setting.type:
        case _ if setting.is_switch:
            return isinstance(value, bool)
        case _ if setting.is_repeatable:
            return isinstance(value, str) or isinstance(value, list) and all(isinstance(item, str) for item in value)
        case Limit(number=number):
            return value == "none" or is_integer or number is float and isinstance(value, float)
        case Layers():
            return is_integer or value in tuple(LAYER_WORDS)
        case click.Choice(choices=choices):
            return value in choices
        case click.types.IntParamType():
            return is_integer
        case click.types.FloatParamType():
            return is_integer or isinstance(value, float)
    return isinstance(value, str)


def _expected(setting: Setting) -> str:
    match setting.type:
        case _ if setting.is_switch:
            return "true or false"
        case _ if setting.is_repeatable:
            return "a text or a list of texts"
        case Limit(number=number):
            return "a whole number or \"none\"" if number is int else "a number of seconds or \"none\""
        case Layers():
            return f"a whole number, or one of {', '.join(LAYER_WORDS)}"
        case click.Choice(choices=choices):
            return f"one of {', '.join(choices)}"
        case click.types.IntParamType():
            return "a whole number"
        case click.types.FloatParamType():
            return "a number"
    return "a text"
