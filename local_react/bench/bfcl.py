"""The rows of the Berkeley Function-Calling Leaderboard, as its public files hold them, and their functions as tools.

A row is one question, the functions offered with it, and the one call that is wanted (none in the irrelevance category).
The functions are descriptions only: nothing stands behind them, and a call of one raises. Files are read one JSON object a
line, in the joined form {id, question, functions, ground_truth, system}; what is wrong with a line is an error that names
it. Nothing here is sent anywhere or downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_react.bench.bfcl_score import Verdict, judge_calls
from local_react.errors import SettingsError
from local_react.language.protocol import RESERVED_NAMES
from local_react.language.step import Action, Call
from local_react.tools.result import describe_validation
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question of the leaderboard. `ground_truth` is {function: {parameter: acceptable values}}, None for no call.

    `category` is the name of the file without its ending, such as "simple" or "live_multiple".
    """

    id: str
    category: str
    question: str
    functions: tuple[Mapping[str, Any], ...]
    ground_truth: Mapping[str, Mapping[str, Sequence[Any]]] | None
    system: str | None = None


class _Function(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    description: str = ""
    parameters: dict[str, Any]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    question: str
    functions: list[_Function] = Field(min_length=1)
    ground_truth: list[dict[str, dict[str, list[Any]]]] | None = Field(min_length=1, max_length=1)
    system: str | None = None


def read_rows(path: str | Path) -> list[Row]:
    """All rows of a file. Raises SettingsError, with the line's number, for what is no row."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # and at no other sign: texts may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {error}. Give a .jsonl file with the leaderboard's rows.") from error
    return [_read_row(line, f"{path}, line {number}", path.stem) for number, line in enumerate(lines, 1) if line.strip()]


def _read_row(line: str, where: str, category: str) -> Row:
    try:
        read = _Line.model_validate_json(line)
    except ValidationError as error:
        remedy = "A row is {id, question, functions, ground_truth}"
        raise SettingsError(f"{where}: {describe_validation(error)}. {remedy}.") from error
    functions = tuple(function.model_dump() for function in read.functions)
    truth = None if read.ground_truth is None else read.ground_truth[0]
    if truth is not None and (len(truth) != 1 or next(iter(truth)) not in {function["name"] for function in functions}):
        raise SettingsError(f"{where}: the ground truth must call one of the functions. Correct the row.")
    return Row(
        id=read.id, category=category, question=read.question, functions=functions, ground_truth=truth, system=read.system
    )


def row_toolbox(row: Row, *, open_objects: bool = False) -> Toolbox:
    """The row's functions as tools, in their order and under their names, dots included.

    A name that is reserved in the step language gets a `_` behind it, and `judge_row` knows it by both. An object takes the
    keys that its schema names; with `open_objects` others too, as JSON Schema has it, and as one row of live_multiple wants
    it. Raises ToolError for a function that can't be a tool.
    """
    return Toolbox(
        Tool.from_schema(
            _tool_name(function["name"]), function["description"],
            _opened(function["parameters"], is_top=True) if open_objects else function["parameters"], _refuse,
        )
        for function in row.functions
    )


def _opened(schema: Any, *, is_top: bool = False) -> Any:
    """The schema with every object below the top open to further keys."""
    if isinstance(schema, list):
        return [_opened(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: _opened(value) for key, value in schema.items() if key != "properties"}
    if isinstance(schema.get("properties"), dict):
        parts["properties"] = {name: _opened(value) for name, value in schema["properties"].items()}
        if not is_top:
            parts.setdefault("additionalProperties", True)
    return parts


def _tool_name(name: str) -> str:
    return f"{name}_" if name.casefold() in RESERVED_NAMES else name


def _refuse(**arguments: Any) -> NoReturn:
    raise NotImplementedError("the functions of the leaderboard are descriptions only")


def judge_row(row: Row, action: Action) -> Verdict:
    """Judge what was read from a prediction: a Call, or anything else for no call."""
    names = {_tool_name(function["name"]): function["name"] for function in row.functions}
    calls = [{names.get(action.name, action.name): action.arguments}] if isinstance(action, Call) else []
    return judge_calls(calls, row.functions, row.ground_truth)
