"""The constraint engines by name. Each is imported when it is asked for, since each has a package of its own."""

from __future__ import annotations

from importlib import import_module
from weakref import WeakKeyDictionary

from local_react.decode.constraint import Engine
from local_react.errors import ConstraintError, SettingsError
from local_react.llama.vocabulary import Vocabulary

ENGINES = {
    "llguidance": ("LlguidanceEngine", "llguidance"),
    "gbnf": ("GbnfEngine", "llama_cpp"),
    "outlines": ("OutlinesEngine", "outlines_core"),
}
"""The class of each engine and the package that it needs; the default first."""

_MADE: WeakKeyDictionary[Vocabulary, dict[str, Engine]] = WeakKeyDictionary()


def make_engine(name: str, vocabulary: Vocabulary) -> Engine:
    """The engine called `name` on a vocabulary; it is kept with what it has compiled.

    Raises KeyError for an unknown name, SettingsError for a vocabulary that is no model's, ConstraintError for a package that
    isn't installed.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise SettingsError("A scripted model can't be constrained: it draws no tokens. Leave `constrain` out.")
    made = _MADE.setdefault(vocabulary, {})
    if name not in made:
        class_name, package = ENGINES[name]
        try:
            made[name] = getattr(import_module(f"local_react.decode.{name}"), class_name)(vocabulary)
        except ModuleNotFoundError as error:
            raise ConstraintError(f"The engine {name} needs the package {package}, which isn't installed.") from error
    return made[name]
