"""A tool: a signature for the model, and the code behind it.

Invariant: a `Tool` that exists has a name the language can read, parameters with types, and a call that takes JSON
values by name. It never runs by itself, asks for no approval and keeps no time: `Toolbox.dispatch` runs it, the loop
asks.
"""

from __future__ import annotations

import copy
import functools
import threading
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, overload

from local_react.errors import SettingsError, ToolError
from local_react.language.protocol import RESERVED_NAMES
from local_react.language.schema import read_parameters
from local_react.language.signature import Signature
from local_react.tools.function import name_of, read_function


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Signature):
    """A function that the model may call. Make one with `@tool`, `Tool.from_function` or `Tool.from_schema`.

    `call` takes JSON values by parameter name and returns whatever the function returns (a coroutine, if it is async);
    `schema` is the JSON Schema of the parameters. With `needs_approval` the loop asks before each call. `timeout_s` is
    in seconds, None for no limit; `observation_tokens` is the tool's own observation budget, None for the loop's.
    Two tools are equal if they are described and treated alike, whatever code they run.
    """

    call: Callable[[Mapping[str, Any]], Any] = field(compare=False, repr=False)
    function: Callable[..., Any] = field(compare=False, repr=False)
    schema: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    needs_approval: bool = False
    timeout_s: float | None = 30.0
    observation_tokens: int | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        if not isinstance(self.description, str):
            raise ToolError(f"Tool {self.name!r}: its description must be a text, and is {self.description!r:.100}.")
        limit, budget = self.timeout_s, self.observation_tokens
        if limit is not None and not (isinstance(limit, (int, float)) and 0 < limit <= threading.TIMEOUT_MAX):
            raise SettingsError(f"Tool {self.name!r}: timeout_s={limit!r} is no time limit. Give seconds, or None.")
        if budget is not None and not (isinstance(budget, int) and budget >= 1):
            raise SettingsError(f"Tool {self.name!r}: observation_tokens={budget!r} leaves no room. Give 1 or more.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function as it was written, without any checks."""
        return self.function(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The Python function; `inspect` and `help` look here."""
        return self.function

    @classmethod
    def from_function(
        cls,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        description: str | None = None,
        needs_approval: bool = False,
        timeout_s: float | None = 30.0,
        observation_tokens: int | None = None,
    ) -> Tool:
        """A tool from a function with type hints, described by its docstring.

        Raises ToolError for what can't be a tool.
        """
        if isinstance(function, Tool):
            function = function.function
        if not callable(function):
            raise ToolError(f"{function!r} can't be called. Give a function, or an object that can be called.")
        name = name_of(function) if name is None else name
        check_name(name)
        interface = read_function(function, name=name)
        return cls(
            name,
            interface.description if description is None else description,
            read_parameters(interface.schema, tool=name),
            call=interface.call,
            function=function,
            schema=interface.schema,
            needs_approval=needs_approval,
            timeout_s=timeout_s,
            observation_tokens=observation_tokens,
        )

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        call: Callable[..., Any],
        *,
        needs_approval: bool = False,
        timeout_s: float | None = 30.0,
        observation_tokens: int | None = None,
    ) -> Tool:
        """A tool from the JSON Schema of its parameters; `call` gets the arguments by keyword, as JSON values.

        Raises ToolError for what can't be a tool.
        """
        check_name(name)
        if not callable(call):
            raise ToolError(f"Tool {name!r}: {call!r} can't be called. Give a function with keyword arguments.")
        try:
            read, schema = read_parameters(parameters, tool=name), copy.deepcopy(dict(parameters))
        except RecursionError as error:
            raise ToolError(f"Tool {name!r}: its schema is nested too deep, or contains itself. Use $ref.") from error
        return cls(
            name,
            description,
            read,
            call=lambda arguments: call(**arguments),
            function=call,
            schema=schema,
            needs_approval=needs_approval,
            timeout_s=timeout_s,
            observation_tokens=observation_tokens,
        )


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool = False,
    timeout_s: float | None = 30.0,
    observation_tokens: int | None = None,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    needs_approval: bool = False,
    timeout_s: float | None = 30.0,
    observation_tokens: int | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(needs_approval=True)` with the options of `Tool.from_function`."""
    make = functools.partial(
        Tool.from_function,
        name=name,
        description=description,
        needs_approval=needs_approval,
        timeout_s=timeout_s,
        observation_tokens=observation_tokens,
    )
    return make if function is None else make(function)


def check_name(name: str) -> None:
    """Raise ToolError unless `name` has only letters (of any script), digits, `_`, `-` and `.`, and is not reserved."""
    if not isinstance(name, str) or not name:
        raise ToolError(f"{name!r} is no tool name. Give a text that is not empty.")
    wrong = [character for character in name if not _is_name_character(character)]
    if wrong:
        raise ToolError(f"Tool {name!r}: a name can't hold {wrong[0]!r}. Take letters, digits, _, - and .")
    if not any(character.isalnum() for character in name):
        raise ToolError(f"Tool {name!r}: a name needs a letter or a digit. Take letters, digits, _, - and .")
    if name.casefold() in RESERVED_NAMES:
        raise ToolError(f"Tool {name!r}: the name is reserved for ending a run. Take another one.")


def _is_name_character(character: str) -> bool:
    # Marks are parts of letters in many scripts (and in decomposed Latin ones).
    return character in "_-." or unicodedata.category(character)[0] in "LMN"
