"""What an episode has shown, for the parameters that may take nothing else.

A grounded parameter takes matches of its pattern in the question or in an observation, as the model saw them, of 200
characters at most; without a pattern, runs of whole words of one line. Each candidate is kept with where it was seen first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from local_react.language.matching import whole_words
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Call
from local_react.language.types import Text

Candidates = Mapping[tuple[str, str], tuple[str, ...]]
"""Values by the names of tool and parameter."""

MAX_WORDS = 8
"""The longest run of words that is a candidate."""

MAX_CANDIDATES = 5000
"""So many candidates without a pattern are kept, the latest ones: a long page has more runs of words than a grammar holds."""

_OUTER = " \t.,;:!?\"'()[]{}<>"


def with_grounding(tools: Signatures) -> dict[str, Signature]:
    """The tools, with every text parameter that has a pattern grounded by it."""
    return {name: replace(tool, parameters=tuple(map(_ground, tool.parameters))) for name, tool in tools.items()}


def _ground(parameter: Parameter) -> Parameter:
    if isinstance(parameter.type, Text) and parameter.type.pattern and parameter.grounding is None:
        return replace(parameter, grounding=parameter.type.pattern)
    return parameter


class Sightings:
    """The texts that an episode has shown so far, each with its source ("question", "observation 2")."""

    def __init__(self, tools: Signatures) -> None:
        self._patterns = {
            (name, parameter.name): parameter.grounding
            for name, tool in tools.items() for parameter in tool.parameters if parameter.grounding is not None
        }
        self._n_parameters = {name: len(tool.parameters) for name, tool in tools.items()}
        self._found: dict[str, dict[str, str]] = {pattern: {} for pattern in self._patterns.values()}

    def add(self, source: str, text: str) -> None:
        """The model is shown a text."""
        for pattern, found in self._found.items():
            for value in whole_words(pattern, text) if pattern else _word_runs(text):
                found.setdefault(value, source)
            while not pattern and len(found) > MAX_CANDIDATES:
                found.pop(next(iter(found)))

    def candidates(self, *, but: Call | None = None) -> Candidates | None:
        """The values that each grounded parameter may take now; None where none is grounded.

        The call `but` can't be made with them, where its tool takes nothing but one grounded value.
        """
        if not self._patterns:
            return None
        found = {key: tuple(self._found[pattern]) for key, pattern in self._patterns.items()}
        if but is not None and len(but.arguments) == 1:
            ((parameter, taken),) = but.arguments.items()
            key = (but.name, parameter)
            if key in found and self._n_parameters[but.name] == 1:
                found[key] = tuple(value for value in found[key] if value != taken)
        return found

    def source(self, tool: str, parameter: str, value: object) -> str | None:
        """Where the value of a grounded parameter was seen first; None for one that isn't grounded."""
        pattern = self._patterns.get((tool, parameter))
        return None if pattern is None or not isinstance(value, str) else self._found[pattern].get(value)


def _word_runs(text: str) -> Iterator[str]:
    for line in text.splitlines():
        words = line.split()
        for start in range(len(words)):
            for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
                run = " ".join(words[start:end]).strip(_OUTER)
                if run:
                    yield run
