"""What `run` and `run_many` take: each option with what it must be, checked before anything else looks at it.

Invariant: a value of the wrong kind is one SettingsError that names the option and says what it takes. Whether a value of
the right kind makes sense is judged where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_react.errors import SettingsError
from local_react.guards import Guards
from local_react.language.prompt import Exemplar
from local_react.language.protocol import Protocol
from local_react.language.template import ChatTemplate
from local_react.llama.sampling import Sampling


@dataclass(frozen=True, slots=True)
class Kind:
    """What an option must be: how that is told, and in words."""

    fits: Callable[[Any], bool]
    words: str


def _one_of(*types: type) -> Callable[[Any], bool]:
    # True is an int to Python, and no number to anybody else.
    return lambda value: isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _is_model(value: Any) -> bool:
    return callable(getattr(type(value), "context", None))


def _is_list_of(*types: type) -> Callable[[Any], bool]:
    is_item = _one_of(*types)
    return lambda value: value is None or (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and all(map(is_item, value))
    )


def _is_listener(value: Any) -> bool:
    return value is None or callable(value)


_SWITCH = Kind(_one_of(bool), "True or False")
FILE = Kind(_one_of(str, Path, type(None)), "a path, or None for no file")
"""What `run` takes for its one trace."""

_FUNCTION = Kind(_is_listener, "a function, or None")

KINDS = {
    "questions": Kind(
        lambda value: isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping)), "a list of texts"
    ),
    "model": Kind(_is_model, "a model: Model.load(...), or a ScriptedModel"),
    "n_parallel": Kind(lambda value: _one_of(int)(value) and value >= 1, "a whole number, at least 1"),
    "protocol": Kind(_one_of(str, Protocol), "a Protocol, or the name of one"),
    "exemplars": Kind(_is_list_of(Exemplar), "a list of Exemplars, () for none, or None for those made from the tools"),
    "instructions": Kind(_one_of(str, type(None)), "a text, or None for the general ones"),
    "strict": _SWITCH, "ground": _SWITCH, "explain": _SWITCH,
    "guards": Kind(_one_of(Guards), "Guards(...)"),
    "sampling": Kind(_one_of(Sampling, Mapping, type(None)), "Sampling(...), a dict of some of its fields, or None"),
    "logprobs": Kind(
        lambda value: value is None or (_one_of(int)(value) and value >= 0), "a whole number from 0 on, or None for no record"
    ),
    "constrain": Kind(_one_of(bool, str), "True, False, or what is held"),
    "engine": Kind(_one_of(str), "the name of an engine"),
    "grammar": FILE,
    "template": Kind(_one_of(str, Path, ChatTemplate), "auto, none, a path, or a ChatTemplate"),
    "think": Kind(_one_of(str), "on, off or auto"),
    "approve": _FUNCTION, "on_event": _FUNCTION,
    "trace": Kind(_is_listener, "a function that gives a path for the index of a question, or None"),
    "seeds": Kind(_is_list_of(int), "a list of whole numbers, or None"),
    "toolboxes": Kind(_is_list_of(Mapping, list, tuple), "a list of Toolboxes, or None"),
    "clock": Kind(callable, "a function that gives seconds"),
}
"""The options of `run_many`."""


def check_kind(name: str, value: Any, kind: Kind) -> None:
    """Raise SettingsError where the value of the option `name` isn't of its kind."""
    if not kind.fits(value):
        raise SettingsError(f"{name}={value!r:.100} must be {kind.words}.")


def check_options(**given: Any) -> None:
    """Raise SettingsError for the first of these options of `run_many` that isn't of its kind."""
    if isinstance(given.get("questions"), str):
        raise SettingsError("`questions` is one text, and must be a list of them. For a single question, use `run`.")
    if isinstance(model := given.get("model"), (str, Path)):
        raise SettingsError(f"model={str(model)!r} is only the name of a model. Give Model.load({str(model)!r}).")
    for name, value in given.items():
        check_kind(name, value, KINDS[name])
    for question in given.get("questions", ()):
        if not isinstance(question, str):
            raise SettingsError(f"A question is a text, not {question!r:.100}.")
