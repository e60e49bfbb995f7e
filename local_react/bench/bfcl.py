"""The rows of the Berkeley Function-Calling Leaderboard, as its public files hold them, and their functions as tools.

A row is one question, the functions offered with it, and the one call that is wanted (none in the irrelevance category).
The functions are descriptions only: nothing stands behind them, and a call of one raises. Files are read one JSON object a
line, in two forms: as published (`BFCL_v4_simple_python.json` with its answers in the folder `possible_answer` beside it), or
joined, {id, question, functions, ground_truth, system}. What is wrong with a line is an error that names it. Only single turns
with one wanted call are read. Nothing here is sent anywhere or downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_react.bench.bfcl_score import Verdict, find_fault, judge_calls
from local_react.errors import SettingsError
from local_react.language.protocol import RESERVED_NAMES
from local_react.language.step import Action, Call
from local_react.tools.result import describe_validation
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question of the leaderboard. `ground_truth` is {function: {parameter: acceptable values}}, None for no call.

    `category` is the name of the file, such as "simple" or "live_multiple".
    """

    id: str
    category: str
    question: str
    functions: tuple[Mapping[str, Any], ...]
    ground_truth: Mapping[str, Mapping[str, Sequence[Any]]] | None
    system: str | None = None


_Model = TypeVar("_Model", bound=BaseModel)


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


class _Message(BaseModel):
    role: Literal["system", "user"]
    content: str


class _Published(BaseModel):
    id: str
    question: list[list[_Message]] = Field(min_length=1, max_length=1)
    function: list[_Function] = Field(min_length=1)


class _Answer(BaseModel):
    id: str
    ground_truth: list[dict[str, dict[str, list[Any]]]] = Field(min_length=1, max_length=1)


def read_rows(path: str | Path) -> list[Row]:
    """All rows of a file. Raises SettingsError, with the line's number, for what is no row."""
    path = Path(path)
    lines = _lines(path, "Give a file with the leaderboard's rows.")
    if any('"function":' in line for _, line in lines[:1]):
        return _read_published(path, lines)
    return [_read_row(line, where, path.stem) for where, line in lines]


def _lines(path: Path, remedy: str) -> list[tuple[str, str]]:
    """The lines that aren't blank, each with where it stands."""
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # and at no other sign: texts may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {error}. {remedy}") from error
    return [(f"{path}, line {number}", line) for number, line in enumerate(lines, 1) if line.strip()]


def _validate(model: type[_Model], line: str, where: str) -> _Model:
    try:
        return model.model_validate_json(line)
    except ValidationError as error:
        known = ", ".join(model.model_fields)
        raise SettingsError(f"{where}: {describe_validation(error)}. The fields are {known}.") from error


def _read_row(line: str, where: str, category: str) -> Row:
    read = _validate(_Line, line, where)
    return _row(read.id, category, read.question, read.functions, read.ground_truth, read.system, where)


def _read_published(path: Path, lines: Sequence[tuple[str, str]]) -> list[Row]:
    """Rows as published. The category is the name without "BFCL_v4_"; in those of irrelevance no call is wanted."""
    category = re.sub(r"^BFCL_v\d+_", "", path.stem)
    answers: dict[str, _Answer] | None = None
    if "irrelevance" not in category:
        file = path.parent / "possible_answer" / path.name
        found = [_validate(_Answer, line, where) for where, line in _lines(file, "The answers belong there, as published.")]
        answers = {answer.id: answer for answer in found}
    rows = []
    for where, line in lines:
        read = _validate(_Published, line, where)
        texts = {message.role: message.content for message in read.question[0]}
        if "user" not in texts or len(texts) != len(read.question[0]):
            raise SettingsError(f"{where}: only rows of one user message can be read. Take a single-turn category.")
        if answers is not None and read.id not in answers:
            raise SettingsError(f"{where}: the answers have no {read.id}. Take both files from one version.")
        truth = None if answers is None else answers[read.id].ground_truth
        rows.append(_row(read.id, category, texts["user"], read.function, truth, texts.get("system"), where))
    return rows


def _row(
    id: str, category: str, question: str, functions: Sequence[_Function], truths: Sequence[dict[str, Any]] | None,
    system: str | None, where: str,
) -> Row:
    truth = None if truths is None else truths[0]
    if truth is not None and (len(truth) != 1 or next(iter(truth)) not in {function.name for function in functions}):
        raise SettingsError(f"{where}: the ground truth must call one of the functions. Correct the row.")
    if truth is not None:
        wanted, acceptable = next(iter(truth.items()))
        fault = find_fault(next(function.parameters for function in functions if function.name == wanted), acceptable)
        if fault is not None:
            raise SettingsError(f"{where}: {wanted} can't be judged: {fault}. Correct the row.")
    described = tuple(function.model_dump() for function in functions)
    return Row(id=id, category=category, question=question, functions=described, ground_truth=truth, system=system)


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
