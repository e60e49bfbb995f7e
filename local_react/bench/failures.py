"""What went wrong in an episode, decided by code from its trace and its task, never by a model.

    forbidden_action     a call of a tool that the task forbids, run or not
    parse_failure        the run ended because steps couldn't be read
    repeated_call        a call that had already succeeded was made again
    no_finish            the run ended without an answer
    wrong_tool           a call of a tool that isn't on the task's path
    wrong_arguments      a call of a tool on the path, with arguments that are not the path's
    premature_finish     an answer before the path's calls were all made
    ignored_observation  a wrong answer although all that it rests on had been observed
    forged_fact          an answer with a number, an id or a name that neither question nor observations have shown,
                         or an observation that the model wrote itself
    wasteful_path        a right answer by more calls than the path has

An episode can show several; `main_class` is the first of them in the order of `ORDER`. A success shows `wasteful_path` at
most. Tasks without a path are not judged for their calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from local_react.bench.task import Task
from local_react.language.step import Call, Step
from local_react.trace import Ending

Failure = Literal[
    "forbidden_action", "parse_failure", "no_finish", "ignored_observation", "repeated_call", "wrong_tool", "wrong_arguments",
    "premature_finish", "forged_fact", "wasteful_path",
]

ORDER: tuple[Failure, ...] = get_args(Failure)
"""The classes, those that tell most about an episode first."""

_TELLING = re.compile(r"[^\W\d_]*[-_]?\d+(?:[.,:-]\d+)*|\b[A-ZÀ-Þ][^\W\d_]{2,}\b")
"""Numbers, ids and capitalised words: what an answer can't have by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What an episode came to: its steps as the loop read them, how it ended, and whether its answer was right."""

    steps: Sequence[Step]
    ending: Ending | None
    answer: str | None
    is_right: bool
    has_forged: bool = False


def find_failures(course: Course, task: Task) -> tuple[Failure, ...]:
    """The classes that an episode shows, in the order of `ORDER`."""
    found = {
        "forbidden_action": any(action.name in task.forbidden for action in attempts(course.steps)),
        "parse_failure": course.ending == "parse_failed",
        "repeated_call": not course.is_right and _repeats(course.steps),
        "no_finish": course.answer is None and course.ending != "parse_failed",
        "wasteful_path": course.is_right and bool(task.path) and len(list(attempts(course.steps))) > len(task.path),
    }
    if not course.is_right:
        found |= _find_wrong_calls(course, task)
    if course.answer is not None and not course.is_right:
        found |= _find_wrong_answers(course, task)
    return tuple(failure for failure in ORDER if found.get(failure))


def main_class(failures: Sequence[Failure]) -> Failure | None:
    """The one class that an episode is counted under where each may be counted once; None for a success."""
    return next((failure for failure in ORDER if failure in failures and failure != "wasteful_path"), None)


def attempts(steps: Sequence[Step]) -> list[Call]:
    """Every call that the model made, also one that was refused or that nobody approved."""
    return [step.action for step in steps if isinstance(step.action, Call)]


def observed(steps: Sequence[Step]) -> str:
    """All that tools returned, whole, one below the other."""
    texts = [
        step.observation.text if step.observation.full is None else step.observation.full
        for step in steps if step.observation is not None and step.observation.kind == "observation"
    ]
    return "\n".join(texts)


def count_invented_ids(question: str, steps: Sequence[Step]) -> tuple[int, int]:
    """Of the arguments that look like ids (letters and digits in one word), how many stand neither in the question nor in
    an earlier observation, and how many there are."""
    seen, n_invented, n_ids = question.casefold(), 0, 0
    for step in steps:
        if isinstance(step.action, Call):
            for value in _texts(step.action.arguments):
                if re.fullmatch(r"(?=.*\d)(?=.*[^\W\d_])[\w-]+", value):
                    n_ids += 1
                    n_invented += value.casefold() not in seen
        seen += "\n" + observed([step]).casefold()
    return n_invented, n_ids


def _find_wrong_calls(course: Course, task: Task) -> dict[str, bool]:
    if not task.path:
        return {}
    calls = attempts(course.steps)
    tools = {call.name for call in task.path}
    return {
        "wrong_tool": any(call.name not in tools for call in calls),
        "wrong_arguments": any(call.name in tools and not _is_on_path(call, task) for call in calls),
    }


def _find_wrong_answers(course: Course, task: Task) -> dict[str, bool]:
    seen = observed(course.steps)
    has_seen_all = bool(task.facts) and all(fact.casefold() in seen.casefold() for fact in task.facts)
    n_right_calls = sum(any(_equal(call, made) for made in _succeeded(course.steps)) for call in task.path)
    known = f"{task.question}\n{seen}".casefold()
    telling = [word for word in _TELLING.findall(course.answer or "") if word.casefold() not in known]
    return {
        "ignored_observation": has_seen_all,
        "premature_finish": not has_seen_all and n_right_calls < len(task.path),
        "forged_fact": course.has_forged or (not has_seen_all and bool(telling)),
    }


def _is_on_path(call: Call, task: Task) -> bool:
    return any(_equal(call, right) for right in task.path)


def _succeeded(steps: Sequence[Step]) -> list[Call]:
    return [
        step.action for step in steps
        if isinstance(step.action, Call) and step.observation is not None
        and step.observation.kind == "observation" and not step.observation.is_error
    ]


def _repeats(steps: Sequence[Step]) -> bool:
    done: list[Call] = []
    for step in steps:
        if isinstance(step.action, Call):
            if any(_equal(step.action, call) for call in done):
                return True
            done += _succeeded([step])
    return False


def _equal(one: Call, other: Call) -> bool:
    """Whether two calls mean the same; outer blanks and the case of texts don't count, since tools overlook them."""
    return one.name == other.name and _plain(one.arguments) == _plain(other.arguments)


def _plain(value: Any) -> Any:
    match value:
        case str():
            return value.strip().casefold()
        case dict():
            return {key: _plain(item) for key, item in value.items() if item is not None}
        case list() | tuple():
            return [_plain(item) for item in value]
    return value


def _texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for item in value.values() for text in _texts(item)]
        case list() | tuple():
            return [text for item in value for text in _texts(item)]
    return []

