"""A tool as the language sees it: a name, a description, typed parameters. Nothing here can be called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from local_react.language.protocol import ArgumentStyle
from local_react.language.types import Text, Type, is_nested

Encoding = Literal["raw", "keyword", "positional", "json"]
"""How the arguments of one tool are written between the brackets."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter. `default` is a JSON value, for the description only: the tool itself fills it in.

    With `grounding`, a constraint lets it take only texts that the episode has shown: matches of that regular expression
    in the question or an observation, or, if it is empty, runs of whole words of one line.
    """

    name: str
    type: Type
    description: str = ""
    required: bool = True
    default: Any = None
    grounding: str | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What the model is told about a tool, and what its calls are read against."""

    name: str
    description: str = ""
    parameters: tuple[Parameter, ...] = ()

    def encoding(self, style: ArgumentStyle) -> Encoding:
        """How this tool's arguments are written under a protocol's argument style.

        One `str` parameter is raw text, nested parameters are one JSON object, and everything else follows `style`.
        """
        if len(self.parameters) == 1 and isinstance(self.parameters[0].type, Text):
            return "raw"
        if any(is_nested(parameter.type) for parameter in self.parameters):
            return "json"
        return style

    def parameter(self, name: str) -> Parameter | None:
        """The parameter called `name`, if there is one."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


Signatures = Mapping[str, Signature]
"""The tools that a text is read against, by name. A `Toolbox` is one."""
