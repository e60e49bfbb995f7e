"""`typing.TypedDict` for pydantic, which takes only the one of typing_extensions before Python 3.12.

Delete this module when Python 3.12 is the oldest version supported. Parts of dataclasses and models are not
reached; pydantic says there what to write instead.
"""

from __future__ import annotations

import sys
import types
import typing
from typing import Annotated, Any

from typing_extensions import NotRequired, Required, TypedDict


def with_readable_typed_dicts(hint: Any, seen: tuple[Any, ...] = ()) -> Any:
    """`hint` with each `typing.TypedDict` in it replaced by the same one of typing_extensions."""
    if sys.version_info >= (3, 12) or hint in seen:
        return hint
    if typing.is_typeddict(hint):
        return _rebuilt(hint, (*seen, hint)) if type(hint).__module__ == "typing" else hint
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal or not parts:
        return hint
    if origin is Annotated:
        return Annotated[(with_readable_typed_dicts(parts[0], seen), *parts[1:])]
    new = tuple(with_readable_typed_dicts(part, seen) for part in parts)
    if new == parts:
        return hint
    return typing.Union[new] if origin in (typing.Union, types.UnionType) else origin[new]


def _rebuilt(hint: Any, seen: tuple[Any, ...]) -> Any:
    fields = {}
    for name, part in typing.get_type_hints(hint, include_extras=True).items():
        origin = typing.get_origin(part)
        if origin in (Required, NotRequired):
            fields[name] = origin[with_readable_typed_dicts(typing.get_args(part)[0], seen)]
        else:
            wrapper = Required if name in hint.__required_keys__ else NotRequired
            fields[name] = wrapper[with_readable_typed_dicts(part, seen)]
    return TypedDict(hint.__name__, fields)  # type: ignore[operator]
