"""When a call counts as right on the Berkeley Function-Calling Leaderboard (version 4, single-turn Python categories).

Written from the description of the published checker's rules (ShishirPatil/gorilla, 6ea5797, `ast_eval`), oddities
included: an acceptable value `""` means "may be left out", types are compared exactly, blanks and a few signs don't count
in texts, deeper levels of lists and objects are compared as they are. Nothing is mended here, neither in the calls nor in
the rows: a row that nobody can pass stays one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Reason = Literal[
    "right",
    "no_call",  # a call was wanted, and none can be read
    "unwanted_call",  # no call was wanted
    "several_calls",
    "wrong_name",
    "missing_required",
    "unknown_parameter",  # not in the schema
    "unexpected_parameter",  # in the schema, and not in the ground truth
    "wrong_type",
    "wrong_value",
    "missing_parameter",  # the question asks for an optional one
]

Values = Mapping[str, Any]
"""The arguments of a call by parameter name."""

_KINDS: dict[str, type] = {
    "string": str, "integer": int, "float": float, "boolean": bool, "array": list, "tuple": list, "dict": dict, "any": str,
}
_LISTS = ("array", "tuple")
_UNCOUNTED = str.maketrans({sign: None for sign in " ,./-_*^"} | {"'": '"'})


def find_fault(schema: Any, acceptable: Values) -> str | None:
    """What keeps the rules from judging a call of a function with these parameters; None where nothing does."""
    if not isinstance(schema.get("required", []), list) or not isinstance(schema.get("properties", {}), dict):
        return "required must be a list, and properties an object"
    for name, values in acceptable.items():
        parameter = schema.get("properties", {}).get(name)
        if parameter is None:
            continue  # some published rows are like that: nobody can pass them
        kinds = _told_types(parameter)
        if not all(isinstance(kind, str) and kind in _KINDS for kind in kinds):
            return f"the type of {name} must be one of {', '.join(_KINDS)}"
        parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
        objects = [part for part in parts if isinstance(part, dict)] if "dict" in kinds else []
        if not all(isinstance(each, list) for part in objects for each in part.values()):
            return f"the keys of an acceptable object for {name} must have lists of acceptable values"
    return None


def _told_types(parameter: Any) -> list[Any]:
    """The type of a parameter, and that of its items where it is a list that tells it; None stands for one that isn't told."""
    if not isinstance(parameter, dict):
        return [None]
    kind, items = parameter.get("type"), parameter.get("items", {})
    if not isinstance(items, dict):
        return [None]
    return [kind, items["type"]] if kind in _LISTS and "type" in items else [kind]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a prediction is right, the first rule that it breaks, and at which parameter."""

    reason: Reason
    parameter: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether no rule is broken."""
        return self.reason == "right"


def judge_calls(
    calls: Sequence[Mapping[str, Values]], functions: Sequence[Mapping[str, Any]], truth: Mapping[str, Values] | None
) -> Verdict:
    """Judge the calls that were read, each a one-key object {name: arguments}; none where nothing could be read.

    `truth` is {name: {parameter: acceptable values}}, or None where no call is wanted. Raises ValueError where it names none
    of the functions.
    """
    if truth is None:
        return Verdict("unwanted_call" if calls else "right")
    if not calls:
        return Verdict("no_call")
    if len(calls) > 1:
        return Verdict("several_calls")
    ((expected, acceptable),) = truth.items()
    ((name, given),) = calls[0].items()
    function = next((function for function in functions if function["name"] == expected), None)
    if function is None:
        raise ValueError(f"the ground truth calls {expected}, which is none of the functions")
    if name != expected:
        return Verdict("wrong_name")
    return _judge_arguments(given, function["parameters"], acceptable)


def _judge_arguments(given: Values, schema: Mapping[str, Any], acceptable: Values) -> Verdict:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in given:
            return Verdict("missing_required", name)
    for name, value in given.items():
        if name not in properties:
            return Verdict("unknown_parameter", name)
        if name not in acceptable:
            return Verdict("unexpected_parameter", name)
        reason = _judge_value(value, properties[name], acceptable[name])
        if reason != "right":
            return Verdict(reason, name)
    for name, values in acceptable.items():
        if name not in given and "" not in values:
            return Verdict("missing_parameter", name)
    return Verdict("right")


def _judge_value(value: Any, schema: Mapping[str, Any], acceptable: Sequence[Any]) -> Reason:
    kind = schema["type"]
    items = schema.get("items", {}).get("type") if kind in _LISTS else None
    if kind == "tuple" and type(value) is tuple:
        value = list(value)
    if kind == "float" and type(value) is int:
        value = float(value)
    is_plain = _is_plain(value, _KINDS[kind], None if items is None else _KINDS[items], acceptable)
    if is_plain is None:
        return "wrong_type"
    return "right" if _is_acceptable(value, kind, items, is_plain, acceptable) else "wrong_value"


def _is_plain(value: Any, kind: type, item_kind: type | None, acceptable: Sequence[Any]) -> bool | None:
    """Whether the value is compared as it stands, as what the published rules call a variable; None for a wrong type."""
    answer_kind = next((type(answer) for answer in acceptable if answer != ""), None)
    if type(value) is kind:
        if item_kind is not None and not any(_has_items(value, item_kind, answer) for answer in acceptable):
            return None
        return answer_kind is not None and answer_kind is not kind
    return True if answer_kind is not None and type(value) is answer_kind else None


def _has_items(value: Sequence[Any], kind: type, answer: Any) -> bool:
    """Whether every element has the type of the items, or that of the answer's first element."""
    if not isinstance(answer, list):
        return True
    answer_kind = next((type(element) for element in answer if element != ""), None)
    return all(type(element) is kind or (answer_kind is not None and type(element) is answer_kind) for element in value)


def _is_acceptable(value: Any, kind: str, items: str | None, is_plain: bool, acceptable: Sequence[Any]) -> bool:
    if is_plain or _KINDS[kind] in (int, float, bool):
        return value in acceptable
    if _KINDS[kind] is dict:
        return any(_fits_object(value, answer) for answer in acceptable if answer != "")
    if items is not None and _KINDS[items] is dict:
        return any(_fits_objects(value, [] if answer == "" else answer) for answer in acceptable)
    if _KINDS[kind] is str:
        return normalise(value) in [normalise(answer) for answer in acceptable]
    return [normalise(element) for element in value] in [
        [normalise(element) for element in answer] for answer in acceptable if isinstance(answer, (list, str))
    ]


def _fits_objects(value: Sequence[Any], answers: Any) -> bool:
    return len(value) == len(answers) and all(map(_fits_object, value, answers))


def _fits_object(value: Any, answer: Any) -> bool:
    """Whether every key is known with an acceptable value, and every other key may be left out."""
    if not isinstance(value, Mapping) or not isinstance(answer, Mapping):
        return False
    for key, part in value.items():
        if key not in answer or normalise(part) not in [normalise(each) for each in answer[key]]:
            return False
    return all("" in answer[key] for key in answer if key not in value)


def normalise(value: Any) -> Any:
    """A text without blanks (not tabs or line breaks) and , . / - _ * ^, in lower case, ' as "; other values as they are."""
    return value.translate(_UNCOUNTED).lower() if isinstance(value, str) else value
