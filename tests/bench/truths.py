"""Calls made from the leaderboard's ground truths: every acceptable one within reason."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from local_react.bench.bfcl import Row
from local_react.bench.bfcl_score import normalise

LEFT_OUT = object()


def acceptable_calls(row: Row, *, limit: int = 200) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and arguments of calls that the row's ground truth accepts by its letter, up to `limit` of them.

    Beside the values as listed, enumerated ones that are equal but for case and signs.
    """
    ((name, truth),) = row.ground_truth.items()
    function = next(function for function in row.functions if function["name"] == name)
    schema = function["parameters"]
    choices = []
    for parameter, acceptable in truth.items():
        values = _values(acceptable, schema["properties"].get(parameter, {}))
        if "" in acceptable and parameter not in schema.get("required", ()):
            values.append(LEFT_OUT)
        elif "" in acceptable and schema["properties"][parameter]["type"] == "string":
            values.append("")
        choices.append([(parameter, value) for value in values])
    for combination in itertools.islice(itertools.product(*choices), limit):
        yield name, {parameter: value for parameter, value in combination if value is not LEFT_OUT}


def _values(acceptable: list[Any], schema: dict[str, Any]) -> list[Any]:
    values = [value for each in acceptable if each != "" for value in _spelled(each)]
    values += [each for each in schema.get("enum", ()) if normalise(each) in map(normalise, values)]
    return values


def _spelled(value: Any) -> list[Any]:
    """An acceptable value, an object's values (each a list of acceptable ones) brought to single ones in two ways."""
    if isinstance(value, dict):
        short = {key: parts[0] for key, parts in value.items() if "" not in parts}
        full = {key: next(part for part in parts if part != "") for key, parts in value.items() if set(map(str, parts)) != {""}}
        return [full] if full == short else [full, short]
    if isinstance(value, list) and value and all(isinstance(element, dict) for element in value):
        return [[_spelled(element)[n] for element in value] for n in range(min(len(_spelled(e)) for e in value))]
    return [value]
