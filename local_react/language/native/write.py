"""A call as the model's own format spells it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from local_react.language.arguments import in_order
from local_react.language.literals import write_literal, write_string
from local_react.language.native.formats import NativeFormat
from local_react.language.native.notation import JOINTS, write_key, write_native
from local_react.language.native.values import in_native_order, sorted_parameters
from local_react.language.signature import Signature


def write_native_call(name: str, values: Mapping[str, Any], signature: Signature, format: NativeFormat) -> str:
    """The call with its markup, from opener to closer, so that strict reading gives `values` back.

    Raises ValueError for a value that the format can't hold.
    """
    return f"{begin_call(name, format)}{write_native_arguments(values, signature, format)}{end_call(format)}"


def begin_call(name: str, format: NativeFormat) -> str:
    """What stands before the arguments."""
    return f"{format.opener}{format.head}{write_name(name, format)}{format.middle}"


def end_call(format: NativeFormat) -> str:
    """What stands behind the arguments."""
    return f"{format.tail}{format.closer}"


def write_name(name: str, format: NativeFormat) -> str:
    """The name of a tool, escaped where it stands in quotes."""
    return write_string(name)[1:-1] if format.notation == "json" else name


def write_native_arguments(values: Mapping[str, Any], signature: Signature, format: NativeFormat) -> str:
    """The arguments alone; for JSON with the braces, for the other notations without them."""
    notation = format.notation
    present = [p for p in sorted_parameters(signature, notation) if p.name in values]
    ordered = {p.name: in_order(values[p.name], in_native_order(p.type, notation)) for p in present}
    match notation:
        case "json":
            return write_literal(ordered)
        case "python":
            return ", ".join(f"{name}={write_native(value, notation)}" for name, value in ordered.items())
    joint, key_joint = JOINTS[notation]
    return joint.join(
        f"{write_key(name, notation)}{key_joint}{write_native(value, notation)}" for name, value in ordered.items()
    )
