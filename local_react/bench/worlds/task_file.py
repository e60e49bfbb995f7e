"""Tasks from a file of the user's, one JSON object a line, and the rows of HotpotQA and FEVER through the same door.

Three kinds of lines are known by their fields: our own ({question, answers, …}), HotpotQA's ({question, answer, type}) and
FEVER's ({claim, label}). A file holds one kind. What is wrong with a line is an error that names it. The tools are the
user's: none come with a file, and the search over Wikipedia that the papers used is not part of this package. Without
tools these are tasks for reasoning alone, and what they measure is what the model remembers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from local_react.bench.task import Task
from local_react.errors import SettingsError
from local_react.language.arguments import Misfit, fit_arguments
from local_react.language.signature import Signatures
from local_react.language.step import Call
from local_react.tools.result import describe_validation

Rule = Literal["sentence", "exact"]
"""How answers are judged: a sentence may say the answer, or nothing but the answer counts."""

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
"""FEVER's labels."""


@dataclass(frozen=True, slots=True)
class GivenTasks:
    """The tasks of a file, the rule of each by its id, and where each comes from, e.g. "mine.jsonl, line 3"."""

    name: str
    tasks: tuple[Task, ...]
    rules: Mapping[str, Rule]
    places: Mapping[str, str]


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid", str_min_length=1)


class _Call(_Line):
    name: str
    arguments: dict[str, Any] = {}


class _Given(_Line):
    id: str | None = None
    kind: str = "given"
    question: str
    answers: list[str] = Field(min_length=1)
    path: list[_Call] = []
    forbidden: list[str] = []
    facts: list[str] = []
    match: Rule = "sentence"


class _Hotpot(_Line):
    id: str
    question: str
    answer: str
    type: str


class _Fever(_Line):
    id: str
    claim: str
    label: Literal["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]
    row: int | None = None


def read_tasks(path: str | Path) -> GivenTasks:
    """The tasks of a file. Raises SettingsError, with the line's number, for what is no task."""
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")  # and at no other sign: texts may hold U+2028
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} can't be read: {error}. Give a .jsonl file with a task on each line.") from error
    tasks: dict[str, Task] = {}
    rules: dict[str, Rule] = {}
    places: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        task, rule = _read_line(line, where, world=path.stem, number=number)
        if task.id in tasks:
            raise SettingsError(f"{where}: {places[task.id]} has the id {task.id!r} too. Give each task one of its own.")
        tasks[task.id], rules[task.id], places[task.id] = task, rule, where
    if not tasks:
        raise SettingsError(f"{path} holds no task. Give one on each line, such as {EXAMPLE}.")
    return GivenTasks(path.stem, tuple(tasks.values()), rules, places)


EXAMPLE = '{"question": "Where is order A100?", "answers": ["Lyon"]}'


def _read_line(line: str, where: str, *, world: str, number: int) -> tuple[Task, Rule]:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{where} is no JSON: {error}. Give an object such as {EXAMPLE}.") from error
    if not isinstance(fields, dict):
        raise SettingsError(f"{where} is no object. Give one such as {EXAMPLE}.")
    model = _Fever if "claim" in fields else _Hotpot if "answer" in fields and "answers" not in fields else _Given
    try:
        read = model.model_validate(fields, strict=True)
    except ValidationError as error:
        known = ", ".join(model.model_fields)
        raise SettingsError(f"{where}: {describe_validation(error)}. The fields are {known}.") from error
    match read:
        case _Given():
            return _own_task(read, world, number), read.match
        case _Hotpot():
            task = Task(id=read.id, world=world, kind=read.type, question=read.question.strip(), answers=(read.answer,))
            return task, "exact"
        case _Fever():
            question = f"Is this claim right? Answer {LABELS[0]}, {LABELS[1]} or {LABELS[2]}. Claim: {read.claim}"
            return Task(id=read.id, world=world, kind=read.label.lower(), question=question, answers=(read.label,)), "exact"


def _own_task(read: _Given, world: str, number: int) -> Task:
    return Task(
        id=read.id or f"{world}-{number}", world=world, kind=read.kind, question=read.question, answers=tuple(read.answers),
        path=tuple(Call(call.name, call.arguments) for call in read.path), forbidden=frozenset(read.forbidden),
        facts=tuple(read.facts),
    )


def check_tools(given: GivenTasks, tools: Signatures) -> None:
    """Raise SettingsError, with the line, where a task speaks of a tool that isn't there, or its path doesn't fit one."""
    for task in given.tasks:
        where = given.places[task.id]
        unknown = sorted(({call.name for call in task.path} | task.forbidden) - set(tools))
        if unknown:
            known = f"The tools are {', '.join(tools)}." if tools else "There are no tools."
            raise SettingsError(f"{where}: there is no tool {unknown[0]}. {known}")
        for call in task.path:
            fitted = fit_arguments(call.arguments, tools[call.name])
            if isinstance(fitted, Misfit):
                raise SettingsError(f"{where}: the path's call of {call.name} doesn't fit: {fitted.message} Correct it.")
