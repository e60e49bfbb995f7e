"""A Python function as a tool: its hints as JSON Schema, and a call that takes JSON values.

Invariant: what the schema admits reaches the function in the types of its hints, or the call raises an error that
names the parameter. Everything that can't be kept is refused with a ToolError when the function is registered, not
when the model calls it: `*args`, missing hints, hints without a JSON form, builtins without a signature, classes.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter
from types import SimpleNamespace
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from local_react.errors import ToolError
from local_react.tools.docstring import read_docstring
from local_react.tools.result import describe_validation
from local_react.tools.typed_dict import with_readable_typed_dicts

SUPPORTED = (
    "str, int, float, bool, Literal, Enum, date, datetime, X | None, list, dict, "
    "a dataclass, a pydantic model or a TypedDict"
)
"""The hints that a parameter can have, for messages."""


@dataclass(frozen=True, slots=True)
class FunctionInterface:
    """What registration learns of a function: its description, the JSON Schema of its parameters, how to call it."""

    description: str
    schema: Mapping[str, Any]
    call: CheckedFunction


@dataclass(frozen=True, slots=True)
class CheckedFunction:
    """A function that is called with JSON values by name: each is checked and converted to its hint first.

    Raises TypeError for a missing or unknown argument, ValueError with pydantic's complaint for a value that is
    refused; what the function itself raises passes through.
    """

    function: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    adapters: Mapping[str, TypeAdapter[Any]]

    def __call__(self, arguments: Mapping[str, Any]) -> Any:
        values = self.convert(arguments)
        # All positional-only parameters must be given as soon as a later one is, so their defaults are given too.
        positional = [
            values.pop(name, parameter.default)
            for name, parameter in self.parameters.items()
            if parameter.kind is Parameter.POSITIONAL_ONLY
        ]
        return self.function(*positional, **values)

    def convert(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in the types of the hints; those left out stay out."""
        for name in arguments:
            if name not in self.adapters:
                raise TypeError(f"there is no parameter {name!r}")
        for name, parameter in self.parameters.items():
            if parameter.default is Parameter.empty and name not in arguments:
                raise TypeError(f"the argument {name!r} is missing")
        values, complaints = {}, []
        for name, value in arguments.items():
            try:
                # From JSON, not from Python values: a strict model takes a date as text there, a tuple as a list.
                values[name] = self.adapters[name].validate_json(json.dumps(value, default=to_jsonable_python))
            except ValidationError as error:
                complaints.append(describe_validation(error, name=name))
        if complaints:
            raise ValueError("; ".join(complaints))
        return values


def read_function(function: Callable[..., Any], *, name: str) -> FunctionInterface:
    """The interface of `function`, which is registered as `name`. Raises ToolError for what the model couldn't call."""
    parameters = {parameter.name: parameter for parameter in _open_parameters(function, name)}
    documentation = read_docstring(_docstring(function))
    hints = _hints(_code(function), parameters.values(), name)
    adapters = {key: _adapter(hint, _code(function), name, key) for key, hint in hints.items()}
    inputs = [(key, "validation", adapter) for key, adapter in adapters.items()]
    schemas, definitions = TypeAdapter.json_schemas(inputs, schema_generator=_UntitledSchema)
    properties = {}
    for key, parameter in parameters.items():
        properties[key] = dict(schemas[key, "validation"])
        description = _description(hints[key]) or documentation.parameters.get(key)
        if description:
            properties[key]["description"] = description
        if parameter.default is not Parameter.empty:
            properties[key].update(_json_default(parameter.default, adapters[key]))
    schema = {
        "type": "object",
        "properties": properties,
        "required": [key for key, parameter in parameters.items() if parameter.default is Parameter.empty],
        "additionalProperties": False,
        **definitions,
    }
    return FunctionInterface(documentation.summary, schema, CheckedFunction(function, parameters, adapters))


def name_of(function: Callable[..., Any]) -> str:
    """The name that a function has by itself. Raises ToolError for a lambda, which has none."""
    target = _without_partial(function)
    name = getattr(target, "__name__", type(target).__name__)
    if name == "<lambda>":
        raise ToolError("A lambda has no name. Give it one, with name=..., or write a function with def.")
    return name


class _UntitledSchema(GenerateJsonSchema):
    """pydantic's schemas without a title for each field, which only repeats the field's name and costs tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _without_partial(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _code(function: Callable[..., Any]) -> Any:
    """The function whose module and docstring count: behind partials, decorators, methods and `__call__`."""
    target = inspect.unwrap(_without_partial(function))
    if inspect.ismethod(target):
        target = target.__func__
    elif not inspect.isroutine(target):
        target = type(target).__call__
    return inspect.unwrap(target)


def _docstring(function: Callable[..., Any]) -> str | None:
    target = _without_partial(function)
    return inspect.getdoc(_code(function)) or (inspect.getdoc(target) if inspect.ismethod(target) else None)


def _open_parameters(function: Callable[..., Any], name: str) -> Iterator[Parameter]:
    """The parameters that the model has to fill in: those that no partial has bound."""
    if isinstance(function, type):
        raise ToolError(f"Tool {name!r} is a class. Give a function, or an object that can be called.")
    if inspect.isasyncgenfunction(_code(function)):
        raise ToolError(f"Tool {name!r} is an asynchronous generator. Return a list instead of yielding.")
    bound: set[str] = set()
    target = function
    try:
        if isinstance(function, functools.partial):
            target = function.func
            bound = set(inspect.signature(target).bind_partial(*function.args, **function.keywords).arguments)
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError) as error:
        raise ToolError(f"Tool {name!r} has no signature ({error}). Wrap it in a function with type hints.") from error
    for index, parameter in enumerate(parameters.values()):
        if parameter.name in bound:
            continue
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            stars = str(parameter).partition(":")[0]
            remedy = "Write them out one by one; if a decorator brought them in, let it use functools.wraps."
            raise _refusal(name, stars, "it stands for any number of arguments", remedy)
        if parameter.annotation is Parameter.empty:
            remedy = f"Give it one of {SUPPORTED}."
            if index == 0 and parameter.name in ("self", "cls"):
                remedy = "Register the method of an object: Tool.from_function(object.method)."
            raise _refusal(name, parameter.name, "it has no type hint", remedy)
        if isinstance(parameter.default, FieldInfo):
            remedy = "Write Annotated[type, Field(...)] = default."
            raise _refusal(name, parameter.name, "its default is a pydantic Field", remedy)
        yield parameter


def _hints(code: Any, parameters: Any, name: str) -> dict[str, Any]:
    """The hint of each parameter, with those that are written as text looked up where the function was defined."""
    names = getattr(code, "__globals__", {})
    hints = {}
    for parameter in parameters:
        written = SimpleNamespace(__annotations__={parameter.name: parameter.annotation})
        try:
            try:
                found = typing.get_type_hints(written, names, include_extras=True)
            except NameError:
                found = typing.get_type_hints(written, names, _enclosing_names(code), include_extras=True)
        except Exception as error:
            reason = f"its hint {parameter.annotation!r} can't be read ({error})"
            remedy = "Define the type before the tool, at the top of a module."
            raise _refusal(name, parameter.name, reason, remedy) from error
        hints[parameter.name] = with_readable_typed_dicts(found[parameter.name])
    return hints


def _enclosing_names(code: Any) -> dict[str, Any]:
    """What a function defined inside others can see of them: its closure, and their locals while they still run."""
    outer = {part.rpartition(".")[2] for part in getattr(code, "__qualname__", "").split(".<locals>.")[:-1]}
    names: dict[str, Any] = {}
    frame = sys._getframe(1) if outer else None
    while frame is not None:
        if frame.f_code.co_name in outer and frame.f_globals is getattr(code, "__globals__", None):
            names = {**frame.f_locals, **names}
        frame = frame.f_back
    free = getattr(getattr(code, "__code__", None), "co_freevars", ())
    for name, cell in zip(free, getattr(code, "__closure__", None) or (), strict=True):
        with contextlib.suppress(ValueError):  # not set yet, such as the name of the function that is being defined
            names[name] = cell.cell_contents
    return names


def _adapter(hint: Any, code: Any, name: str, parameter: str) -> TypeAdapter[Any]:
    """pydantic's converter for a hint, which must have a JSON form."""
    try:
        adapter = TypeAdapter(hint)
        # Does nothing to an adapter that is complete; else the parts of a local dataclass are looked up here.
        adapter.rebuild(_types_namespace={**getattr(code, "__globals__", {}), **_enclosing_names(code)})
        adapter.json_schema()
    except Exception as error:
        # pydantic's first sentence says what is wrong; the next ones give advice for models.
        cause = (str(error).splitlines() or [type(error).__name__])[0].split(". ")[0].rstrip(".")
        reason = f"its hint {_text(hint)} has no JSON form ({cause})"
        raise _refusal(name, parameter, reason, f"Take {SUPPORTED}.") from error
    return adapter


def _description(hint: Any) -> str | None:
    """The description in `Annotated[int, Field(description=...)]` or `Annotated[int, "..."]`."""
    for part in getattr(hint, "__metadata__", ()):
        text = part.description if isinstance(part, FieldInfo) else part
        if isinstance(text, str):
            return text
    return None


def _json_default(default: Any, adapter: TypeAdapter[Any]) -> dict[str, Any]:
    """The schema's entry for a default: empty where it has no JSON form, for it's only there to be shown."""
    try:
        value = adapter.dump_python(default, mode="json", warnings="error")
        json.dumps(value, allow_nan=False)
    except Exception:
        return {}
    return {"default": value}


def _text(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) else str(hint)


def _refusal(tool: str, parameter: str, reason: str, remedy: str) -> ToolError:
    return ToolError(f"Tool {tool!r}, parameter {parameter!r}: {reason}. {remedy}")
