"""Narrowed signatures: only what the question says, never more than the tool takes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings, strategies as st

from local_react.bench.narrowing import WAYS, narrow, numbers_in, repeated, shaped
from local_react.language.derivative import accepts
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.grammar import action_language
from local_react.language.prompt import write_action
from local_react.language.protocol import Protocol
from local_react.language.regular import EMPTY
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Call
from local_react.language.types import Anything, Array, Boolean, Choice, Field, Integer, Null, Number, Object, OneOf, Text

NUMBERS = [
    ("", ()),
    ("none at all", ()),
    ("3 sides of 4 and 5", (3, 4, 5)),
    ("1,234,567 and 12,5", (1234567, 1, 234, 567, 12, 5)),
    ("100,200,300", (100200300, 100, 200, 300)),
    (".05, 5E+3 and -.5", (0.05, 5000.0, -0.5)),
    ("two million", (2, 2_000_000)),
    ("1e400 or 1e308 million or " + "9" * 5000, (1e308,)),
    ("12345678901234567", (12345678901234567,)),
    ("-7 or −8, 0.25 and 1e3", (-7, -8, 0.25, 1000)),
    ("5% of 20 percent", (5, 0.05, 20, 0.2)),
    ("2 million and 3k", (2, 2_000_000, 3, 3000)),
    ("twelve of twenty", (12, 20)),
    ("order A100 and v2", ()),
    ("on 2023-04-05", (2023, 4, 5)),
    ("7 and 7", (7,)),
    ("3 kg", (3,)),
]


@pytest.mark.parametrize(("text", "numbers"), NUMBERS)
def test_the_numbers_of_a_text_are_found_in_its_order(text, numbers):
    assert numbers_in(text) == numbers


def tool(*parameters):
    return {"f": Signature("f", parameters=parameters)}


def type_of(parameter, question, *ways):
    return narrow(tool(parameter), question, ways).tools["f"].parameters[0].type


def texts_of(parameter, question, *ways):
    return narrow(tool(parameter), question, ways).grounded.get(("f", parameter.name))


def test_without_a_way_nothing_changes():
    tools = tool(Parameter("a", Integer()), Parameter("b", Text(), required=False))
    narrowed = narrow(tools, "3 words here", ())
    assert (narrowed.tools, narrowed.grounded) == (tools, {})


@pytest.mark.parametrize(
    ("type", "narrowed"),
    [
        (Integer(), Choice((3, 20))),
        (Integer(minimum=5), Choice((20,))),
        (Integer(minimum=50), Integer(minimum=50)),
        (Number(), Choice((3.0, 0.5, 20.0))),
        (Array(Integer()), Array(Choice((3, 20)))),
        (Object((Field("x", Number(maximum=1)),)), Object((Field("x", Choice((0.5,))),))),
        (Text(), Text()),
        (Boolean(), Boolean()),
    ],
)
def test_numbers_are_held_to_those_of_the_question(type, narrowed):
    assert type_of(Parameter("a", type), "3 of 0.5 and 20", "numbers") == narrowed


def test_a_number_that_the_question_lacks_stays_free_or_is_left_out():
    assert type_of(Parameter("a", Integer()), "no numbers", "numbers") == Integer()
    assert texts_of(Parameter("a", Integer()), "no numbers", "numbers") is None
    assert texts_of(Parameter("a", Integer(), required=False), "no numbers", "numbers") == ()


UNITS = Choice(("celsius", "degrees Fahrenheit", "new_york", 5))


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("In Celsius, please", ("celsius",)),
        ("in degrees fahrenheit", ("degrees Fahrenheit",)),
        ("in New York", ("new_york",)),
        ("the 5 of them in celsius", ("celsius", 5)),
        ("in kelvins", UNITS.values),
        ("fahrenheit alone", UNITS.values),
        ("celsiuses", UNITS.values),
    ],
)
def test_choices_are_held_to_those_that_the_question_names(question, values):
    assert type_of(Parameter("unit", UNITS), question, "choices") == Choice(values)


def test_a_choice_that_the_question_lacks_is_left_out_where_it_may_be():
    assert texts_of(Parameter("unit", UNITS, required=False), "in kelvins", "choices") == ()
    assert texts_of(Parameter("unit", UNITS, required=False), "in celsius", "choices") is None


def test_texts_are_spans_of_the_question():
    question = "Where is 'Ada Berg' now, in the who list?"
    assert {"Ada Berg", "Ada", "now", "list"} <= set(texts_of(Parameter("who", Text()), question, "texts"))
    assert not {"who", "Where", "the", "f"} & set(texts_of(Parameter("who", Text()), question, "texts"))
    assert texts_of(Parameter("who", Text(pattern="x+")), question, "texts") is None
    assert texts_of(Parameter("who", Text()), question, "optional") is None
    assert "Ada Berg" in texts_of(Parameter("who", Text(), required=False), question, "optional")


TWICE = Signature("f", parameters=(
    Parameter("note", Text(), required=False), Parameter("place", Text()), Parameter("to", Text()), Parameter("n", Integer(), required=False),
    Parameter("m", Number(), required=False), Parameter("is_on", Boolean(), required=False),
    Parameter("kind", Choice(("Rome", "true")), required=False),
))


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({"place": "Rome", "to": "Bonn"}, {}),
        ({"place": "Rome", "note": "Oslo", "n": 3, "m": 4.5}, {}),
        ({"note": "Rome", "place": "Rome"}, {"note": "rome"}),
        ({"note": "rome", "place": "Rome"}, {"note": "rome"}),
        ({"place": "Rome", "to": "Rome", "note": "Rome"}, {"to": "rome", "note": "rome"}),
        ({"place": "Rome", "n": 3, "m": 3.0}, {"m": "3"}),
        ({"place": "3", "n": 3, "m": 3.0}, {"n": "3", "m": "3"}),
        ({"place": "true", "is_on": True, "kind": "true"}, {}),
        ({"place": "Rome", "kind": "Rome"}, {}),
        ({}, {}),
    ],
)
def test_what_is_said_twice_is_found(arguments, found):
    assert repeated(Call("f", arguments), TWICE) == found


def test_a_barred_value_can_not_be_given_and_what_may_be_left_out_is():
    narrowed = narrow({"f": TWICE}, "Rome 3", ("texts", "numbers"), {
        ("f", "note"): {"rome"}, ("f", "n"): {"3"}, ("f", "to"): {"rome"}, ("g", "place"): {"rome"},
    })
    assert (narrowed.grounded["f", "note"], narrowed.grounded["f", "n"]) == ((), ())
    assert "Rome" in narrowed.grounded["f", "place"] and "Rome" not in narrowed.grounded["f", "to"]
    assert ("f", "m") not in narrowed.grounded


def test_where_only_barred_values_are_left_they_can_be_given():
    narrowed = narrow({"f": TWICE}, "Rome", ("texts",), {("f", "to"): {"rome"}})
    assert narrowed.grounded["f", "to"] == ("Rome",)


def test_spans_that_a_type_does_not_take_are_none():
    short = Text(max_length=3)
    assert texts_of(Parameter("code", short), "codes ABCD and XY", "texts") == ("XY",)
    assert texts_of(Parameter("code", short), "codes ABCD", "texts") is None, "it must be given, and isn't in the question"
    assert texts_of(Parameter("code", short, required=False), "codes ABCD", "texts") == ()
    assert type_of(Parameter("codes", Array(short)), "codes ABCD and XY", "lists").items == Choice(("XY",))
    assert type_of(Parameter("codes", Array(short)), "codes ABCD", "lists").items == short


@pytest.mark.parametrize(
    ("name", "question", "is_free"),
    [
        ("alignedBars", "are the bars aligned?", True),
        ("align", "are the bars aligned?", True),
        ("is_on", "is it on?", False),
        ("vip", "is she a VIP?", True),
        ("vip", "is she a vipers' friend?", False),
        ("get_perimeter", "the area of it", False),
        ("get_perimeter", "the area and perimeter of it", True),
    ],
)
def test_true_and_false_are_given_only_where_the_name_is_hinted_at(name, question, is_free):
    assert (texts_of(Parameter(name, Boolean(), required=False), question, "optional") is None) == is_free
    assert texts_of(Parameter(name, Boolean()), question, "optional") is None


@pytest.mark.parametrize(
    ("type", "question", "narrowed"),
    [
        (Array(Integer()), "the mean of 3, 3 and twelve", Array(Integer(), max_items=3)),
        (Array(Number(), 1, 2), "the mean of 3, 3 and twelve", Array(Number(), 1, 2)),
        (Array(Integer(), 4), "the mean of 3 and 4", Array(Integer(), 4, 4)),
        (Array(Integer()), "the mean of them", Array(Integer())),
        (Array(Text()), "eggs and milk", Array(Choice(("eggs", "eggs and milk", "milk")), max_items=2)),
        (Array(Text(pattern="x+")), "eggs and milk", Array(Text(pattern="x+"))),
        (Array(Boolean()), "eggs and milk", Array(Boolean())),
        (Array(Text()), "", Array(Text())),
    ],
)
def test_lists_are_no_longer_than_what_the_question_has_for_them(type, question, narrowed):
    found = type_of(Parameter("a", type), question, "lists")
    if isinstance(narrowed.items, Choice):
        assert sorted(found.items.values) == sorted(narrowed.items.values)
        found = Array(narrowed.items, found.min_items, found.max_items)
    assert found == narrowed


TYPES = st.sampled_from([
    Text(), Text(pattern="[a-z]+"), Integer(), Integer(1, 9), Number(), Boolean(), UNITS, Array(Integer()), Array(Text()),
])


@given(
    types=st.lists(st.tuples(TYPES, st.booleans()), max_size=4), question=st.text(max_size=60) | st.just("3 celsius x1"),
    ways=st.lists(st.sampled_from(WAYS)),
)
@settings(max_examples=150, deadline=None)
def test_any_question_leaves_a_language_within_the_tools_own(types, question, ways):
    parameters = [Parameter(f"p{n}", type, required=required) for n, (type, required) in enumerate(types)]
    narrowed = narrow(tool(*parameters), question, ways)
    for own, narrow_one in zip(parameters, narrowed.tools["f"].parameters):
        if isinstance(narrow_one.type, Choice):
            assert all(fit_exactly(value, own.type) is not UNFIT for value in narrow_one.type.values)
    language = action_language(Protocol(), narrowed.tools, allow_answer=False, grounded=narrowed.grounded)
    assert language is not EMPTY


PLACE = Object((Field("city", Text(), required=False), Field("zip", Text(), required=False)), extra=Integer())
TAKES = {
    "who": Text(), "n": Integer(), "tags": Array(Text()), "at": PLACE, "rooms": Array(PLACE), "grid": Array(Array(Integer())),
    "either": OneOf((Array(Integer()), Null())), "any": Anything(),
}  # fmt: skip
SHAPES = [
    ({"who": "Ann", "n": 3}, [{"who": "Bob", "n": 4}], [{"who": "Ann"}, {"n": 3}, {"who": "Ann", "n": 3, "tags": ["x"]}]),
    ({"tags": ["a", "b"]}, [{"tags": ["c", "d"]}], [{"tags": ["a"]}, {"tags": ["a", "b", "c"]}, {}]),
    ({"tags": []}, [], [{"tags": ["a"]}, {}]),
    ({"at": {"city": "Bonn"}}, [{"at": {"city": "Lyon"}}], [{"at": {}}, {"at": {"zip": "1"}}, {"at": {"city": "a", "zip": "b"}}]),
    ({"at": {"x": 1}}, [{"at": {"x": 2}}], [{"at": {"y": 1}}, {"at": {}}, {"at": {"x": 1, "y": 2}}]),
    ({"rooms": [{"city": "a", "zip": "1"}]}, [{"rooms": [{"city": "b", "zip": "2"}]}], [{"rooms": [{"city": "a"}]}]),
    ({"grid": [[1, 2], [3, 4]]}, [{"grid": [[5, 6], [7, 8]]}], [{"grid": [[1], [3]]}, {"grid": [[1, 2], [3]]}]),
    ({"either": [1, 2]}, [{"either": [3, 4]}], [{"either": [1]}, {"either": None}]),
    ({}, [{}], [{"n": 3}]),
]  # fmt: skip


def optional_tool():
    return tool(*(Parameter(name, type, required=False) for name, type in TAKES.items()))


@pytest.mark.parametrize(("given", "alike", "others"), SHAPES)
def test_a_shape_has_the_same_parameters_items_and_keys(given, alike, others):
    tools, protocol = optional_tool(), Protocol(arguments="json")
    held = shaped(narrow(tools, "", ()), Call("f", given))
    language = action_language(protocol, held.tools, allow_answer=False, grounded=held.grounded)
    for arguments, fits in ((given, True), *((one, True) for one in alike), *((one, False) for one in others)):
        line = write_action(Call("f", arguments), protocol, tools, 1)
        assert accepts(language, line.removeprefix(protocol.label("action", 1))) == fits, line


@pytest.mark.parametrize("given", [{"any": [1]}, {"rooms": [{"city": "a"}, {"zip": "1"}]}, {"grid": [[1], [2, 3]]}])
def test_where_a_type_does_not_tell_the_shape_there_is_none(given):
    assert shaped(narrow(optional_tool(), "", ()), Call("f", given)) is None
