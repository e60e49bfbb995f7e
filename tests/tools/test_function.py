"""Hints become types and arrive as Python values; what can't be kept is refused when the function is registered.

This module has hints as text, as `from __future__ import annotations` makes them.
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import functools
import typing
from collections.abc import Callable
from datetime import date, datetime
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
import typing_extensions
from pydantic import AfterValidator, BaseModel, Field

from local_react.errors import ToolError
from local_react.language import types
from local_react.language.types import (
    Anything,
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
)
from local_react.tools.tool import Tool, tool


class Color(enum.Enum):
    RED = "r"
    BLUE = "b"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass
class Guest:
    name: str
    age: int = 0
    friends: list[Guest] = dataclasses.field(default_factory=list)


class Order(BaseModel, strict=True):
    """An order."""

    id: str
    day: date
    sizes: tuple[int, int] = (1, 2)


class Place(TypedDict):
    city: str
    street: typing_extensions.NotRequired[str]


class NewPlace(typing_extensions.TypedDict, total=False):
    city: str


class Foreign:
    """A class that pydantic knows nothing of."""


def in_the_future(day: date) -> date:
    if day.year < 2100:
        raise ValueError("must be in the future")
    return day


FutureDay = Annotated[date, AfterValidator(in_the_future)]

HINTS = [
    (str, Text(), "a", "a"),
    (int, Integer(), 5, 5),
    (float, Number(), 5, 5.0),
    (bool, Boolean(), True, True),
    (None, Null(), None, None),
    (Any, Anything(), {"a": [1]}, {"a": [1]}),
    (Literal["a", 1], Choice(("a", 1)), 1, 1),
    (Color, Choice(("r", "b")), "b", Color.BLUE),
    (Level, Choice((1, 2)), 2, Level.HIGH),
    (date, Date(), "2026-01-02", date(2026, 1, 2)),
    (datetime, DateTime(), "2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5)),
    (Optional[int], OneOf((Integer(), Null())), None, None),
    (int | None, OneOf((Integer(), Null())), 5, 5),
    (int | str, OneOf((Integer(), Text())), "5", "5"),
    (list[int], Array(Integer()), [1, 2], [1, 2]),
    (list, Array(Anything()), [1, "a"], [1, "a"]),
    (set[int], Array(Integer()), [1, 1], {1}),
    (tuple[int, str], Array(OneOf((Integer(), Text())), 2, 2), [1, "a"], (1, "a")),
    (list[date | None], Array(OneOf((Date(), Null()))), ["2026-01-02", None], [date(2026, 1, 2), None]),
    (dict[str, int], Object((), Integer()), {"a": 1}, {"a": 1}),
    (dict, Object((), Anything()), {"a": 1}, {"a": 1}),
    (Guest, None, {"name": "Ann", "friends": [{"name": "Bo"}]}, Guest("Ann", 0, [Guest("Bo")])),
    (list[Guest], None, [{"name": "Ann"}], [Guest("Ann")]),
    (Order, None, {"id": "A", "day": "2026-01-02"}, Order(id="A", day=date(2026, 1, 2))),
    (
        Order | None,
        None,
        {"id": "A", "day": "2026-01-02", "sizes": [3, 4]},
        Order(id="A", day=date(2026, 1, 2), sizes=(3, 4)),
    ),
    (
        Place,
        Object((types.Field("city", Text()), types.Field("street", Text(), False))),
        {"city": "Bonn"},
        {"city": "Bonn"},
    ),
    (list[Place] | None, None, [{"city": "Bonn"}], [{"city": "Bonn"}]),
    (NewPlace, Object((types.Field("city", Text(), False),)), {}, {}),
    (Annotated[int, Field(ge=1, lt=10)], Integer(1, 9), 9, 9),
    (Annotated[str, Field(min_length=1, max_length=3, pattern="^a")], Text(1, 3, "^a"), "ab", "ab"),
    (Annotated[list[int], Field(max_length=2)], Array(Integer(), 0, 2), [1], [1]),
]


def taking(hint, default=dataclasses.MISSING):
    """A function with one parameter of that hint, that returns what it got."""

    def take(value):
        return value

    take.__annotations__ = {"value": hint}
    if default is not dataclasses.MISSING:
        take.__defaults__ = (default,)
    return take


@pytest.mark.parametrize(("hint", "type", "value", "arrives"), HINTS, ids=lambda value: "")
def test_hint_becomes_a_type_and_the_value_arrives_as_the_hint_says(hint, type, value, arrives):
    made = Tool.from_function(taking(hint))
    if type is not None:
        assert made.parameters[0].type == type
    got = made.call({"value": value})
    assert got == arrives
    assert got.__class__ is arrives.__class__


DEFAULTS = [
    (int, 3, 3),
    (Color, Color.BLUE, "b"),
    (date, date(2026, 1, 2), "2026-01-02"),
    (Guest, Guest("Ann"), {"name": "Ann", "age": 0, "friends": []}),
    (set[int], {1}, [1]),
    (int | None, None, None),
    (int, None, None),
    (int, object(), None),
    (float, float("inf"), None),
]


@pytest.mark.parametrize(("hint", "default", "shown"), DEFAULTS, ids=lambda value: "")
def test_default_is_shown_as_json_and_filled_in_by_the_function(hint, default, shown):
    made = Tool.from_function(taking(hint, default))
    assert made.parameters[0].default == shown
    assert made.parameters[0].required is False
    assert made.call({}) is default


def starred(*values: int): ...
def keywords(**values: int): ...
def unhinted(a: int, b): ...
def calling(f: Callable[[int], int]): ...
def foreign(f: Foreign): ...
def nested(f: dict[str, list[Foreign]]): ...
def raw(data: bytes): ...
def raw_inside(data: list[bytes]): ...
def absent(value: DoesNotExist): ...  # noqa: F821
def odd(value: 5): ...
def fielded(value: int = Field(5, ge=1)): ...
async def yielding(value: int): yield value


MUST_REFUSE = [
    (starred, "parameter '*values'", "one by one"),
    (keywords, "parameter '**values'", "one by one"),
    (unhinted, "parameter 'b'", "no type hint"),
    (calling, "parameter 'f'", "no JSON form"),
    (foreign, "parameter 'f'", "no JSON form"),
    (nested, "parameter 'f'", "no JSON form"),
    (raw, "parameter 'data'", "bytes"),
    (raw_inside, "parameter 'data[]'", "bytes"),
    (absent, "parameter 'value'", "DoesNotExist"),
    (odd, "parameter 'value'", "its hint"),
    (fielded, "parameter 'value'", "Annotated"),
    (yielding, "Tool 'yielding'", "generator"),
    (Guest, "Tool 'Guest'", "class"),
    (int, "Tool 'int'", "class"),
    (max, "Tool 'max'", ""),
    (print, "Tool 'print'", ""),
    (len, "parameter 'obj'", "no type hint"),
    (lambda: 1, "lambda", "name"),
    (Tool.from_function, "parameter 'function'", ""),
]


@pytest.mark.parametrize(("function", "where", "why"), MUST_REFUSE, ids=lambda value: getattr(value, "__name__", ""))
def test_what_a_model_could_not_call_is_refused(function, where, why):
    with pytest.raises(ToolError) as refusal:
        Tool.from_function(function)
    assert where in str(refusal.value)
    assert why in str(refusal.value)


@pytest.mark.parametrize("thing", [5, "search", None, [taking(int)]])
def test_what_is_not_callable_is_refused(thing):
    with pytest.raises(ToolError, match="can't be called"):
        Tool.from_function(thing)


def test_lambda_with_a_name_and_without_parameters_is_a_tool():
    assert Tool.from_function(lambda: 5, name="five").call({}) == 5


def test_positional_only_parameters_are_passed_by_position_with_their_defaults():
    def f(a: int, b: int = 2, /, c: int = 3, *, d: int = 4) -> tuple:
        return a, b, c, d

    made = Tool.from_function(f)
    assert [parameter.name for parameter in made.parameters] == ["a", "b", "c", "d"]
    assert made.call({"a": 1}) == (1, 2, 3, 4)
    assert made.call({"a": 1, "d": 9}) == (1, 2, 3, 9)
    assert made.call({"b": 7, "a": 1}) == (1, 7, 3, 4)


class Shop:
    """A shop."""

    def price(self, item: str, amount: int = 1) -> str:
        """Look up a price.

        :param item: what is sold
        """
        return f"{item} x {amount}"

    @classmethod
    def open(cls, day: date) -> str:
        return f"{cls.__name__} {day:%A}"

    @staticmethod
    def close(day: date) -> date:
        return day

    def __call__(self, query: Color) -> Color:
        """Search the shop."""
        return query


def test_methods_are_tools():
    price = Tool.from_function(Shop().price)
    assert (price.name, price.description) == ("price", "Look up a price.")
    assert price.parameters[0].description == "what is sold"
    assert price.call({"item": "pen"}) == "pen x 1"
    assert Tool.from_function(Shop.open).call({"day": "2026-01-02"}) == "Shop Friday"
    assert Tool.from_function(Shop.close).call({"day": "2026-01-02"}) == date(2026, 1, 2)


def test_unbound_method_is_refused_with_the_way_to_bind_it():
    with pytest.raises(ToolError, match=r"parameter 'self'.*object\.method"):
        Tool.from_function(Shop.price)


def test_object_with_call_is_a_tool_named_after_its_class():
    made = Tool.from_function(Shop())
    assert (made.name, made.description) == ("Shop", "Search the shop.")
    assert made.call({"query": "r"}) is Color.RED


def add(a: int, b: int, c: int = 0) -> int:
    """Add numbers."""
    return a + b + c


def test_bound_arguments_of_a_partial_vanish():
    by_position = Tool.from_function(functools.partial(add, 10))
    assert [parameter.name for parameter in by_position.parameters] == ["b", "c"]
    assert by_position.call({"b": 1}) == 11
    by_keyword = Tool.from_function(functools.partial(functools.partial(add, c=5), b=1))
    assert [parameter.name for parameter in by_keyword.parameters] == ["a"]
    assert by_keyword.call({"a": 1}) == 7
    assert (by_keyword.name, by_keyword.description) == ("add", "Add numbers.")
    method = Tool.from_function(functools.partial(Shop().price, amount=2))
    assert method.call({"item": "pen"}) == "pen x 2"


def test_partial_that_does_not_fit_its_function_is_refused():
    with pytest.raises(ToolError, match="no signature"):
        Tool.from_function(functools.partial(add, nothing=1))


def test_decorated_and_cached_functions_keep_their_signature():
    @functools.wraps(add)
    def wrapped(*args, **kwargs):
        return add(*args, **kwargs) * 100

    assert Tool.from_function(wrapped).call({"a": 1, "b": 2}) == 300
    assert Tool.from_function(functools.lru_cache(add)).call({"a": 1, "b": 2}) == 3


def test_async_function_gives_its_coroutine():
    async def wait(seconds: float) -> float:
        return seconds

    assert asyncio.run(Tool.from_function(wait).call({"seconds": 1})) == 1.0


def test_hints_as_text_find_local_classes_and_their_parts():
    @dataclasses.dataclass
    class Inner:
        day: date

    @dataclasses.dataclass
    class Outer:
        inner: Inner

    class Model(BaseModel):
        outer: Outer

    @tool
    def use(outer: Outer, model: Model | None = None) -> Outer:
        return outer

    got = use.call({"outer": {"inner": {"day": "2026-01-02"}}, "model": {"outer": {"inner": {"day": "2026-01-02"}}}})
    assert got == Outer(Inner(date(2026, 1, 2)))


def test_local_names_count_only_where_the_module_has_none():
    Color = int  # noqa: F841 - hides the enum, but hints as text are looked up in the module first

    def use(color: Color) -> object:
        return color

    assert Tool.from_function(use).call({"color": "r"}).value == "r"


def test_local_class_is_found_through_the_closure_after_the_function_has_returned():
    def make() -> Callable[[Any], Any]:
        class Local(enum.Enum):
            A = "a"

        def use(value: Local) -> Local:
            return Local(value)

        return use

    assert Tool.from_function(make()).call({"value": "a"}).value == "a"


def test_function_that_calls_itself_can_be_decorated_inside_another():
    @tool
    def factorial(n: int) -> int:
        return 1 if n < 2 else n * factorial(n - 1)

    assert factorial.call({"n": 5}) == 120


def test_values_that_pydantic_refuses_are_named_in_one_line():
    def book(day: FutureDay, guests: list[Guest]) -> None: ...

    with pytest.raises(ValueError, match="day: must be in the future") as refusal:
        Tool.from_function(book).call({"day": "2026-01-02", "guests": [{"name": "Ann"}, {"age": "x"}]})
    assert "guests[1].name: Field required" in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_missing_and_unknown_arguments_are_type_errors():
    made = Tool.from_function(add)
    with pytest.raises(TypeError, match="'b' is missing"):
        made.call({"a": 1})
    with pytest.raises(TypeError, match="no parameter 'd'"):
        made.call({"a": 1, "b": 2, "d": 3})


def test_arguments_are_copied_before_the_function_gets_them():
    def change(items: list, options: dict) -> None:
        items.append(5)
        options["a"].append(5)

    arguments = {"items": [], "options": {"a": []}}
    Tool.from_function(change).call(arguments)
    assert arguments == {"items": [], "options": {"a": []}}


def test_descriptions_come_from_annotated_before_the_docstring_and_not_from_the_class():
    def f(a: Annotated[int, Field(description="annotated")], b: Annotated[int, "words"], c: int, d: Order) -> None:
        """Do it.

        Args:
            a: from the docstring
            c: from the
                docstring
        """

    made = Tool.from_function(f)
    assert made.description == "Do it."
    assert [parameter.description for parameter in made.parameters] == [
        "annotated", "words", "from the docstring", "",
    ]


def test_schema_is_complete_json_schema():
    def f(color: Color, n: Annotated[int, Field(ge=1)] = 2) -> None: ...

    assert Tool.from_function(f).schema == {
        "type": "object",
        "properties": {
            "color": {"$ref": "#/$defs/Color"},
            "n": {"type": "integer", "minimum": 1, "default": 2},
        },
        "required": ["color"],
        "additionalProperties": False,
        "$defs": {"Color": {"enum": ["r", "b"], "title": "Color", "type": "string"}},
    }


def test_two_classes_of_one_name_are_kept_apart():
    def local() -> Any:
        class Color(enum.Enum):
            GREEN = "g"

        return Color

    other = local()

    def f(a, b): ...

    f.__annotations__ = {"a": Color, "b": other}
    first, second = Tool.from_function(f).parameters
    assert (first.type, second.type) == (Choice(("r", "b")), Choice(("g",)))


def test_recursive_hint_ends():
    made = Tool.from_function(taking(Guest))
    assert isinstance(made.parameters[0].type, Object)
    assert typing.get_type_hints(Guest)["friends"] == list[Guest]
