"""Results as text: text as it stands, JSON for the rest, and nothing that a tool returns can break it."""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import itertools
import json
import pathlib
import uuid

import numpy as np
import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from local_react.tools.result import DEPTH_LIMIT, ITEM_LIMIT, NO_OUTPUT, describe_error, drain, render_result


class Color(enum.Enum):
    RED = "r"
    PAIR = (1, 2)


class Named(str, enum.Enum):
    RED = "r"


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Point:
    x: int
    where: object = None


@dataclasses.dataclass(slots=True)
class Half:
    """A dataclass whose field is never set."""

    x: int = dataclasses.field(init=False)


class Order(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    id: str
    day: datetime.date = datetime.date(2026, 1, 2)
    extra: object = None


class Plain:
    pass


class Spoken:
    def __str__(self):
        return "21 °C"


class Mute:
    def __str__(self):
        raise RuntimeError("no text")

    __repr__ = __str__


class Hostile:
    """Fails at everything that is asked of it."""

    def __getattribute__(self, name):
        raise RuntimeError(name)


Pair = collections.namedtuple("Pair", "a b")

RENDERED = [
    # text as it stands
    ("21 °C", "21 °C"),
    ('{"a": 1}', '{"a": 1}'),
    ("two\nlines ", "two\nlines "),
    (" ", " "),
    (Named.RED, "r"),
    (pathlib.Path("a/b"), "a/b"),
    (b"\xc3\xa9", "é"),
    (bytearray(b"ab"), "ab"),
    (memoryview(b"ab"), "ab"),
    (b"\xff" * 1234, "(1,234 bytes)"),
    # nothing
    (None, NO_OUTPUT),
    ("", NO_OUTPUT),
    (b"", NO_OUTPUT),
    # JSON
    (True, "true"),
    (5, "5"),
    (5.0, "5.0"),
    ([], "[]"),
    ({}, "{}"),
    ([pathlib.PurePosixPath("a")], '["a"]'),
    (["é", None, 1.5, {"a": (1, 2)}], '["é", null, 1.5, {"a": [1, 2]}]'),
    ({"a": "", "b": b"\xff\xff", "c": b"ok"}, '{"a": "", "b": "(2 bytes)", "c": "ok"}'),
    (
        {True: "c", None: "b", 1.5: "d", (1, 2): "e", Color.RED: "f", datetime.date(2026, 1, 2): "g"},
        '{"true": "c", "null": "b", "1.5": "d", "[1, 2]": "e", "r": "f", "2026-01-02": "g"}',
    ),
    (datetime.date(2026, 1, 2), '"2026-01-02"'),
    (datetime.datetime(2026, 1, 2, 3, 4), '"2026-01-02T03:04:00"'),
    (datetime.timedelta(days=1), '"P1D"'),
    (decimal.Decimal("1.50"), '"1.50"'),
    (uuid.UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
    (Color.RED, '"r"'),
    (Color.PAIR, "[1, 2]"),
    (Level.LOW, "1"),
    ({"b", "a"}, '["a", "b"]'),
    (frozenset([3, 1]), "[1, 3]"),
    (Pair(1, 2), "[1, 2]"),
    (range(3), "[0, 1, 2]"),
    (collections.deque([1]), "[1]"),
    ({"a": 1}.keys(), '["a"]'),
    ({"a": 1}.values(), "[1]"),
    (collections.OrderedDict(a=1), '{"a": 1}'),
    (array.array("i", [1, 2]), "[1, 2]"),
    (Point(1, Point(2)), '{"x": 1, "where": {"x": 2, "where": null}}'),
    (Order(id="A"), '{"id": "A", "day": "2026-01-02", "extra": null}'),
    ([Order(id="A", extra=b"\xff")], '[{"id": "A", "day": "2026-01-02", "extra": "(1 bytes)"}]'),
    # what ends and what doesn't
    (iter([1, 2]), "[1, 2]"),
    ((number for number in "ab"), '["a", "b"]'),
    # numbers that JSON has no word for
    (float("nan"), "NaN"),
    ([float("nan"), float("-inf")], '["NaN", "-Infinity"]'),
    (10**5000, json.dumps(hex(10**5000))),
    # numpy
    (np.int64(5), "5"),
    ({"a": np.float32(0.5), "b": np.array([[1, 2]])}, '{"a": 0.5, "b": [[1, 2]]}'),
    # text that is no UTF-8
    ("a\ud800b", "a\ufffdb"),
    ("\ud83d\ude00", "😀"),
    ({"\ud800": "\udfff"}, '{"\ufffd": "\ufffd"}'),
    # objects without a JSON form
    (Spoken(), "21 °C"),
    ([Spoken()], '["21 °C"]'),
    (KeyError("INV-9"), "KeyError: 'INV-9'"),
    (Mute(), "(Mute that can't be shown)"),
    ({"a": Mute()}, '{"a": "(Mute that can\'t be shown)"}'),
    ({Mute(): 1}, '{"(Mute that can\'t be shown)": 1}'),
    (Half(), "(Half that can't be shown)"),
    (1 + 2j, '"1+2j"'),
    (int, "<class 'int'>"),
]


@pytest.mark.parametrize(("value", "text"), RENDERED, ids=lambda value: type(value).__name__)
def test_value_is_rendered(value, text):
    assert render_result(value) == text


def test_hostile_object_is_rendered():
    assert render_result([Hostile()]) == '["(Hostile that can\'t be shown)"]'


def test_addresses_are_left_out_so_that_two_runs_read_the_same():
    assert " at 0x" not in render_result(Plain())
    assert render_result(Plain()) == render_result(Plain())
    assert render_result([render_result]) == '["<function render_result>"]'


def test_endless_iterator_is_listed_to_its_limit():
    items = json.loads(render_result(itertools.count()))
    assert items[:ITEM_LIMIT] == list(range(ITEM_LIMIT))
    assert items[ITEM_LIMIT:] == ["(only the first 1,000 are listed)"]


def test_iterator_of_exactly_the_limit_is_not_called_longer():
    assert json.loads(render_result(iter(range(ITEM_LIMIT)))) == list(range(ITEM_LIMIT))


def test_circles_end():
    circle = {"a": []}
    circle["a"].append(circle)
    assert render_result(circle) == '{"a": ["(circular)"]}'
    point = Point(1)
    point.where = point
    assert render_result(point) == '{"x": 1, "where": "(circular)"}'
    order = Order(id="A")
    order.extra = order
    assert '"id": "A"' in render_result(order)


def test_one_object_twice_side_by_side_is_no_circle():
    shared = [1]
    assert render_result([shared, shared]) == "[[1], [1]]"


def test_deep_nesting_ends():
    deep = []
    for _ in range(50_000):
        deep = [deep]
    text = render_result(deep)
    assert text.count("[") == DEPTH_LIMIT + 1
    assert "(too deep)" in text


def test_iterator_that_raises_is_the_tools_error_when_drained_and_text_when_rendered():
    def broken():
        yield 1
        raise KeyError("INV-9")

    with pytest.raises(KeyError):
        drain(broken())
    assert render_result({"a": broken()}) == '{"a": "(generator that can\'t be shown)"}'


def test_draining_leaves_other_values_alone():
    values = [1]
    assert drain(values) is values
    assert drain(iter(values)) == [1]


ERRORS = [
    (KeyError("INV-9"), "KeyError: 'INV-9'"),
    (KeyError(""), "KeyError: ''"),
    (ValueError(), "ValueError"),
    (SystemExit(1), "SystemExit: 1"),
    (SystemExit(), "SystemExit"),
    (ValueError("a\ud800"), "ValueError: a\ufffd"),
    (OSError(2, "No such file", "x.txt"), "FileNotFoundError: [Errno 2] No such file: 'x.txt'"),
]


@pytest.mark.parametrize(("error", "text"), ERRORS, ids=lambda value: type(value).__name__)
def test_error_is_described(error, text):
    assert describe_error(error) == text


def test_error_without_a_text_is_described_by_its_type():
    class Silent(Exception):
        def __str__(self):
            raise RuntimeError

    assert describe_error(Silent()) == "Silent"


def test_complaints_of_pydantic_are_one_readable_line():
    with pytest.raises(ValidationError) as refusal:
        TypeAdapter(list[Order]).validate_python([{"id": 1, "day": "x"}, {}, 5, 6])
    text = describe_error(refusal.value)
    assert text.startswith("ValidationError: [0].id: Input should be a valid string (given 1); [0].day: ")
    assert text.endswith("; and 2 more")
    assert "\n" not in text
    assert "pydantic.dev" not in text


@given(
    st.recursive(
        st.one_of(
            st.none(), st.booleans(), st.integers(), st.floats(), st.binary(), st.dates(), st.decimals(),
            st.text(st.characters(exclude_categories=())),
        ),
        lambda inner: st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.binary(), inner)
        | st.builds(Point, st.integers(), inner),
        max_leaves=10,
    )
)
def test_every_value_becomes_text_that_utf_8_can_hold(value):
    text = render_result(value)
    assert text
    assert text.encode("utf-8").decode("utf-8") == text
    if isinstance(value, (list, dict, tuple)):
        json.loads(text, parse_constant=pytest.fail)
