"""Which JSON values fit which types, exactly or by a conversion without loss."""

from __future__ import annotations

import math
from typing import Any

import pytest

from local_react.language.fit import UNFIT, fit
from local_react.language.types import (
    Anything,
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Field,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
    Type,
)

POINT = Object((Field("x", Integer()), Field("y", Integer(), required=False)))

FITS = [
    ("a", Text(min_length=1, max_length=1, pattern="^a"), "a", []),
    (5, Text(), "5", ["literal_as_text"]),
    ("5", Integer(), 5, ["quoted_number"]),
    ("5.0", Integer(), 5, ["quoted_number"]),
    (5.0, Integer(), 5, ["whole_float"]),
    (5, Number(), 5.0, ["int_as_float"]),
    (2**53, Number(), float(2**53), ["int_as_float"]),
    ("2e3", Number(), 2000.0, ["quoted_number"]),
    ("true", Boolean(), True, ["quoted_boolean"]),
    ("2026-02-28", Date(), "2026-02-28", []),
    ("2026-02-28T23:59", DateTime(), "2026-02-28T23:59", []),
    ("2026-02-28 23:59:59.5Z", DateTime(), "2026-02-28 23:59:59.5Z", []),
    ("2026-02-28T23:59:59.123456+01:00", DateTime(), "2026-02-28T23:59:59.123456+01:00", []),
    ("5", Choice((5,)), 5, ["quoted_number"]),
    (5, Choice(("5",)), "5", ["literal_as_text"]),
    (1, Choice((1.0,)), 1.0, ["int_as_float"]),
    ([1, "2"], Array(Integer()), [1, 2], ["quoted_number"]),
    ("[1]", Array(Integer()), [1], ["nested_json"]),
    ({"x": 1}, POINT, {"x": 1}, []),
    ('{"x": 1}', POINT, {"x": 1}, ["nested_json"]),
    ({"z": "1"}, Object(extra=Integer()), {"z": 1}, ["quoted_number"]),
    ("5", OneOf((Integer(), Text())), "5", []),
    (5, OneOf((Number(), Integer())), 5, []),
    ("none", OneOf((Integer(), Null())), None, ["quoted_null"]),
    ({"a": [None, 1.5]}, Anything(), {"a": [None, 1.5]}, []),
]

UNFITS = [
    ("", Text(min_length=1)), ("ab", Text(max_length=1)), ("b", Text(pattern="a")), (True, Text()), (None, Text()),
    (["a"], Text()),
    (3.7, Integer()), ("3.7", Integer()), (True, Integer()), (1e300, Integer()), (math.nan, Integer()),
    (math.inf, Integer()),
    (11, Integer(maximum=10)), (0, Integer(minimum=1)), ("１", Integer()), ("1_000", Integer()), ("+5", Integer()),
    (math.nan, Number()), (math.inf, Number()), ("nan", Number()), ("inf", Number()), ("1e999", Number()),
    (10**400, Number()),
    (2**53 + 1, Number()), (1.5, Number(maximum=1)), (True, Number()), (1, Boolean()), ("yes", Boolean()),
    ("2026-02-30", Date()), ("20260228", Date()), ("2026-2-1", Date()), ("2026-02-28T00:00", Date()),
    ("2026-02-28", DateTime()), ("2026-02-28T25:00", DateTime()), ("2026-02-28T23:59.5", DateTime()),
    (True, Choice((1,))), (1, Choice((True,))), ("x", Choice(("y",))), ("Y", Choice(("y",))),
    ([], Array(Text(), min_items=1)), (["a", "b"], Array(Text(), max_items=1)), ("a", Array(Text())),
    ([1.5], Array(Integer())),
    ({}, POINT), ({"x": 1, "z": 2}, POINT), ([1], POINT), ({"x": None}, POINT), ('{"x": 1, "x": 2}', POINT),
    ({"a": math.nan}, Anything()), ({1: 2}, Anything()), (object(), Anything()), (b"a", Text()),
]


@pytest.mark.parametrize(("value", "type", "expected", "notes"), FITS)
def test_a_fitting_value_is_kept_or_converted_without_loss(
    value: Any, type: Type, expected: Any, notes: list[str]
) -> None:
    made: list[str] = []
    found = fit(value, type, made)
    assert found == expected
    assert found.__class__ is expected.__class__
    assert made == notes


@pytest.mark.parametrize(("value", "type"), UNFITS)
def test_a_value_that_would_lose_something_does_not_fit(value: Any, type: Type) -> None:
    assert fit(value, type, []) is UNFIT
