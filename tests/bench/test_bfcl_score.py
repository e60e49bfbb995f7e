"""The leaderboard's rules, one table for each, and mutations of every public ground truth."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings, strategies as st

from local_react.bench.bfcl import read_rows
from local_react.bench.bfcl_score import judge_calls, normalise
from tests.bench.truths import acceptable_calls

# Type of the parameter, acceptable values, the value given, the reason of the verdict.
VALUES = [
    ({"type": "integer"}, [5], 5, "right"),
    ({"type": "integer"}, [5], 5.0, "wrong_type"),
    ({"type": "integer"}, [1], True, "wrong_type"),
    ({"type": "integer"}, [5], "5", "wrong_type"),
    ({"type": "integer"}, ["five"], "five", "right"),  # a value of the answer's type, compared as it stands
    ({"type": "integer"}, ["five"], "Five", "wrong_value"),
    ({"type": "float"}, [5.0], 5, "right"),
    ({"type": "float"}, [5], 5, "right"),
    ({"type": "float"}, [5], 5.0, "right"),
    ({"type": "float"}, [5.5], 5.4, "wrong_value"),
    ({"type": "boolean"}, [True], True, "right"),
    ({"type": "boolean"}, [True], 1, "wrong_type"),
    ({"type": "boolean"}, [True], False, "wrong_value"),
    ({"type": "string"}, ["San Francisco, CA"], "san francisco ca", "right"),
    ({"type": "string"}, ["it's"], 'IT"S', "right"),
    ({"type": "string"}, ["a_b-c/d.e*f^g"], "abcdefg", "right"),
    ({"type": "string"}, ["a b"], "a\tb", "wrong_value"),
    ({"type": "string"}, ["a(b)"], "ab", "wrong_value"),
    ({"type": "string"}, ["a", ""], "", "right"),
    ({"type": "string"}, ["a", ""], " - ", "right"),
    ({"type": "string"}, ["a"], 3, "wrong_type"),
    ({"type": "string"}, [3], 3, "right"),
    ({"type": "string"}, [3], "3", "wrong_value"),  # the answer's type is another one: nothing is normalised
    ({"type": "any"}, ["a"], "A", "right"),
    ({"type": "any"}, [3], 3, "right"),
    ({"type": "any"}, ["a"], ["a"], "wrong_type"),
    ({"type": "array", "items": {"type": "string"}}, [["A b", "c"]], ["ab", "C"], "right"),
    ({"type": "array", "items": {"type": "string"}}, [["a", "c"]], ["c", "a"], "wrong_value"),
    ({"type": "array", "items": {"type": "string"}}, [["a", "c"]], ["a"], "wrong_value"),
    ({"type": "array", "items": {"type": "string"}}, [["a"], ""], [], "right"),
    ({"type": "array", "items": {"type": "string"}}, [["a"]], [], "wrong_value"),
    ({"type": "array", "items": {"type": "string"}}, [["a"]], [3], "wrong_type"),
    ({"type": "array", "items": {"type": "string"}}, [["a"], ""], [3], "wrong_value"),
    ({"type": "array", "items": {"type": "integer"}}, [[1, 2]], [1, 2], "right"),
    ({"type": "array", "items": {"type": "integer"}}, [[1, 2]], [1.0, 2], "wrong_type"),
    ({"type": "array", "items": {"type": "float"}}, [[1, 2]], [1, 2], "right"),
    ({"type": "array", "items": {"type": "float"}}, [[1.0, 2.0]], [1, 2], "wrong_type"),  # nothing is converted in lists
    ({"type": "array", "items": {"type": "float"}}, [[1, 2]], [1.0, 2.0], "right"),
    ({"type": "array", "items": {"type": "array"}}, [[["a"]]], [["A"]], "wrong_value"),
    ({"type": "array", "items": {"type": "array"}}, [[["a"]]], [["a"]], "right"),
    ({"type": "array", "items": {"type": "string"}}, ["x"], "x", "right"),
    ({"type": "tuple", "items": {"type": "float"}}, [[1.5, 2.5]], (1.5, 2.5), "right"),
    ({"type": "array", "items": {"type": "float"}}, [[1.5, 2.5]], (1.5, 2.5), "wrong_type"),
    ({"type": "dict"}, [{"a": ["X"], "b": [1, ""]}], {"a": "x"}, "right"),
    ({"type": "dict"}, [{"a": ["X"], "b": [1, ""]}], {"a": "x", "b": 1}, "right"),
    ({"type": "dict"}, [{"a": ["X"], "b": [1, ""]}], {"b": 1}, "wrong_value"),
    ({"type": "dict"}, [{"a": ["X"]}], {"a": "x", "c": 1}, "wrong_value"),
    ({"type": "dict"}, [{"a": [{"b": "X"}]}], {"a": {"b": "x"}}, "wrong_value"),
    ({"type": "dict"}, ["", {"a": [1]}], {"a": 1}, "right"),
    ({"type": "dict"}, [{"a": [1]}], "a", "wrong_type"),
    ({"type": "array", "items": {"type": "dict"}}, [[{"a": [1]}, {"a": [2]}]], [{"a": 1}, {"a": 2}], "right"),
    ({"type": "array", "items": {"type": "dict"}}, [[{"a": [1]}, {"a": [2]}]], [{"a": 2}, {"a": 1}], "wrong_value"),
    ({"type": "array", "items": {"type": "dict"}}, [[{"a": [1]}], ""], [], "right"),
    ({"type": "array", "items": {"type": "dict"}}, [[{"a": [1]}]], [1], "wrong_type"),
]  # fmt: skip


def function(name="f", required=("p",), **properties):
    return {"name": name, "description": "", "parameters": {
        "type": "dict", "properties": properties or {"p": {"type": "integer"}}, "required": list(required)
    }}  # fmt: skip


@pytest.mark.parametrize(("schema", "acceptable", "value", "reason"), VALUES)
def test_values_are_judged_by_the_published_rules(schema, acceptable, value, reason):
    verdict = judge_calls([{"f": {"p": value}}], [function(p=schema)], {"f": {"p": acceptable}})
    assert verdict.reason == reason
    assert verdict.is_right == (reason == "right")


TWO = [function("f", ("p",), p={"type": "integer"}, q={"type": "string"}), function("g", (), p={"type": "string"})]

CALLS = [
    ([{"f": {"p": 1}}], {"f": {"p": [1], "q": ["x", ""]}}, "right", None),
    ([{"f": {"p": 1, "q": "x"}}], {"f": {"p": [1], "q": ["x", ""]}}, "right", None),
    ([], {"f": {"p": [1]}}, "no_call", None),
    ([{"f": {"p": 1}}, {"f": {"p": 1}}], {"f": {"p": [1]}}, "several_calls", None),
    ([{"g": {"p": "1"}}], {"f": {"p": [1]}}, "wrong_name", None),
    ([{"F": {"p": 1}}], {"f": {"p": [1]}}, "wrong_name", None),
    ([{"f": {"q": "x"}}], {"f": {"p": [1, ""], "q": ["x"]}}, "missing_required", "p"),
    ([{"f": {"p": 1, "r": 2}}], {"f": {"p": [1], "r": [2]}}, "unknown_parameter", "r"),
    ([{"f": {"p": 1, "q": "x"}}], {"f": {"p": [1]}}, "unexpected_parameter", "q"),
    ([{"f": {"p": 1}}], {"f": {"p": [1], "q": ["x"]}}, "missing_parameter", "q"),
    ([{"g": {"p": "1"}}], {"g": {"p": ["1"]}}, "right", None),
    ([{"g": {}}], None, "unwanted_call", None),
    ([], None, "right", None),
]


@pytest.mark.parametrize(("calls", "truth", "reason", "parameter"), CALLS)
def test_calls_are_judged_by_the_published_rules(calls, truth, reason, parameter):
    verdict = judge_calls(calls, TWO, truth)
    assert (verdict.reason, verdict.parameter) == (reason, parameter)


def test_a_truth_that_calls_none_of_the_functions_is_no_rule_but_an_error():
    with pytest.raises(ValueError, match="none of the functions"):
        judge_calls([{"h": {}}], TWO, {"h": {}})


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@pytest.fixture(scope="module")
def rows(shared):
    folder = shared / "data" / "bfcl"
    names = ("simple", "multiple", "live_simple", "live_multiple")
    return [row for name in names for row in read_rows(folder / f"{name}.jsonl")]


IMPOSSIBLE = {"live_simple_106-63-0", "live_simple_112-68-0", "live_multiple_862-181-3", "live_multiple_964-207-0"}


def test_every_ground_truth_is_right_in_all_its_acceptable_forms_but_four(rows):
    n_calls, failed = 0, set()
    for row in rows:
        calls = list(acceptable_calls(row, limit=50))
        verdicts = [judge_calls([{name: values}], row.functions, row.ground_truth) for name, values in calls]
        n_calls += len(calls)
        if not calls or not all(verdict.is_right for verdict in verdicts):
            failed.add(row.id)
    assert n_calls > 10_000
    assert failed == IMPOSSIBLE


def mutations(name, values, row):
    """Wrong calls made from a right one, with the reason that each must get."""
    ((_, truth),) = row.ground_truth.items()
    schema = next(each for each in row.functions if each["name"] == name)["parameters"]
    yield {name + "x": values}, "wrong_name"
    yield {name: {**values, "no_such_parameter": 1}}, "unknown_parameter"
    for parameter in schema.get("required", ()):
        rest = {key: value for key, value in values.items() if key != parameter}
        yield {name: rest}, "missing_required"
    for parameter, value in values.items():
        if parameter not in schema.get("required", ()) and "" not in truth[parameter]:
            yield {name: {key: each for key, each in values.items() if key != parameter}}, "missing_parameter"
        match value:
            case bool():
                other, reason = not value, "wrong_value"
                if {True, False} <= {each for each in truth[parameter] if isinstance(each, bool)}:
                    continue
            case int() | float():
                other, reason = value + 1_000_003, "wrong_value"
            case str():
                other, reason = value + "zq", "wrong_value"
            case list():
                other, reason = [*value, *(value[-1:] or ["zq"])], ("wrong_value", "wrong_type")
            case None:
                continue
            case dict():
                other, reason = {**value, "no_such_key": 1}, "wrong_value"
        yield {name: {**values, parameter: other}}, reason
        yield {name: {**values, parameter: b"no JSON value"}}, "wrong_type"


def test_mutations_of_right_calls_are_wrong_for_the_reason_that_was_made(rows):
    n_mutations = 0
    for row in rows:
        for name, values in acceptable_calls(row, limit=1):
            before = copy.deepcopy(values)
            if not judge_calls([{name: values}], row.functions, row.ground_truth).is_right:
                continue
            for call, reasons in mutations(name, values, row):
                verdict = judge_calls([call], row.functions, row.ground_truth)
                assert verdict.reason in ((reasons,) if isinstance(reasons, str) else reasons), (row.id, call)
                n_mutations += 1
            assert values == before
    assert n_mutations > 10_000
