"""Exemplars from a JSON file: a list of {question, steps: [{thought, action, observation}]}.

An action is {name, arguments} or {answer}; an observation is what the tool returned, JSON where it is no text. Whether
the calls fit the tools is checked when the prompt is built.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from local_react.errors import PromptError
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step


def read_exemplars(path: str) -> tuple[Exemplar, ...]:
    """The exemplars in a file. Raises PromptError, which says where something is wrong."""
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise PromptError(f"{path} can't be read: {error.strerror}. Give a JSON file, default or none.") from error
    except (ValueError, RecursionError) as error:
        raise PromptError(f"{path} is no JSON: {error}.") from error
    if not isinstance(found, list):
        raise PromptError(f"{path} must hold a list of exemplars, and holds {_kind(found)}.")
    return tuple(_read_exemplar(item, f"{path}, exemplar {number}") for number, item in enumerate(found, 1))


def _read_exemplar(item: Any, where: str) -> Exemplar:
    _check_keys(item, {"question", "steps"}, {"question", "steps"}, where)
    if not isinstance(item["steps"], list):
        raise PromptError(f"{where}: steps must be a list, and is {_kind(item['steps'])}.")
    steps = tuple(_read_step(step, f"{where}, step {number}") for number, step in enumerate(item["steps"], 1))
    return Exemplar(_text(item["question"], f"{where}: question"), steps)


def _read_step(item: Any, where: str) -> Step:
    _check_keys(item, {"action"}, {"thought", "action", "observation"}, where)
    thought = None if item.get("thought") is None else _text(item["thought"], f"{where}: thought")
    action = _read_action(item["action"], thought, where)
    if item.get("observation") is None:
        return Step(action)
    given = item["observation"]
    return Step(action, Observation(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)))


def _read_action(item: Any, thought: str | None, where: str) -> Call | Answer:
    if isinstance(item, dict) and "answer" in item:
        _check_keys(item, {"answer"}, {"answer"}, f"{where}, action")
        return Answer(_text(item["answer"], f"{where}: answer"), thought)
    _check_keys(item, {"name"}, {"name", "arguments"}, f"{where}, action")
    arguments = item.get("arguments", {})
    if not isinstance(arguments, dict):
        raise PromptError(f"{where}: arguments must be an object, and are {_kind(arguments)}.")
    return Call(_text(item["name"], f"{where}: name"), arguments, thought)


def _check_keys(item: Any, needed: set[str], known: set[str], where: str) -> None:
    if not isinstance(item, dict):
        raise PromptError(f"{where} must be an object, and is {_kind(item)}.")
    if missing := sorted(needed - item.keys()):
        raise PromptError(f"{where} has no {missing[0]}.")
    if unknown := sorted(item.keys() - known):
        raise PromptError(f"{where} has an unknown key {unknown[0]!r}: the keys are {', '.join(sorted(known))}.")


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise PromptError(f"{where} must be a text, and is {_kind(value)}.")
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
