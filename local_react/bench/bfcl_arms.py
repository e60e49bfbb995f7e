"""Arms of single calls from a TOML file, so that a way of asking is tried without a change to the program.

    [[arm]]
    name = "narrow"
    arguments = "json"
    n_exemplars = 8
    narrows = ["numbers", "choices"]

The keys are the fields of `CallArm`; an unknown one is an error, as is a value of the wrong type.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from local_react.bench.call_arm import CallArm
from local_react.errors import SettingsError
from local_react.tools.result import describe_validation

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def read_arms(path: str | Path) -> dict[str, CallArm]:
    """The arms in a TOML file, by name. Raises SettingsError for what can't be used."""
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {error}. Give a TOML file with arms.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise SettingsError(f"{path} is no TOML: {error}.") from error
    given = values.get("arm")
    if not isinstance(given, list) or not given or set(values) != {"arm"}:
        raise SettingsError(f"{path} must hold [[arm]] tables and nothing else.")
    arms: dict[str, CallArm] = {}
    for number, each in enumerate(given, 1):
        arm = _read_arm(each, f"{path}, arm {number}")
        if arm.name in arms:
            raise SettingsError(f"{path}, arm {number}: the name {arm.name!r} was given before. Each arm needs its own.")
        arms[arm.name] = arm
    return arms


def _read_arm(values: Any, where: str) -> CallArm:
    known = [field.name for field in fields(CallArm)]
    unknown = sorted(set(values) - set(known)) if isinstance(values, dict) else []
    if unknown:
        raise SettingsError(f"{where}: there is no setting {unknown[0]!r}. The settings are {', '.join(known)}.")
    try:
        return TypeAdapter(CallArm).validate_python(values)
    except ValidationError as error:
        raise SettingsError(f"{where}: {describe_validation(error)}.") from error
