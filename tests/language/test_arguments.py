"""Arguments: what is read, what is refused, and that writing and reading are inverse for every type and encoding."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from local_react.language.arguments import (
    Misfit,
    ReadArguments,
    fit_arguments,
    read_arguments,
    write_answer,
    write_arguments,
    write_call,
)
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
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

STYLES = ("keyword", "positional", "json")


def tool(*parameters: Parameter) -> Signature:
    return Signature("tool", "", parameters)


SEARCH = tool(Parameter("query", Text()))
ADD = tool(Parameter("a", Integer()), Parameter("b", Integer()))
WRITE = tool(Parameter("name", Text()), Parameter("text", Text(), required=False))
MOVE = tool(Parameter("x", Number()), Parameter("y", Number()), Parameter("day", Date(), required=False))
BOOK = tool(Parameter("guests", Array(Text())), Parameter("outdoor", Boolean(), required=False))
WHERE = tool(Parameter("where", Object(extra=Anything())), Parameter("limit", Integer(), required=False))
NOW = tool()

READ = [
    (SEARCH, "007", {"query": "007"}, ()),
    (SEARCH, " Krüger [Süd], GmbH ", {"query": "Krüger [Süd], GmbH"}, ()),
    (SEARCH, '"a \\"b\\" \\n \\d \\u00e9 \\ud83d\\ude42"', {"query": 'a "b" \n \\d é 🙂'}, ()),
    (SEARCH, '"half \\ud83d"', {"query": "half \\ud83d"}, ()),
    (SEARCH, '"a" and "b"', {"query": '"a" and "b"'}, ()),
    (SEARCH, "'a' and 'b'", {"query": "'a' and 'b'"}, ()),
    (SEARCH, "'don't'", {"query": "don't"}, ("single_quotes",)),
    (SEARCH, "query=llama, alpaca", {"query": "llama, alpaca"}, ()),
    (SEARCH, 'query = "llama"', {"query": "llama"}, ()),
    (SEARCH, "query==x", {"query": "query==x"}, ()),
    (SEARCH, "other=x", {"query": "other=x"}, ()),
    (SEARCH, '{"query": "x"}', {"query": "x"}, ()),
    (SEARCH, '{"query": "x", "k": 1}', {"query": '{"query": "x", "k": 1}'}, ()),
    (ADD, "1, 2", {"a": 1, "b": 2}, ()),
    (ADD, "b=2,a=1", {"a": 1, "b": 2}, ()),
    (ADD, "1, b=2.0", {"a": 1, "b": 2}, ("whole_float",)),
    (ADD, '{"b": 2, "a": "1"}', {"a": 1, "b": 2}, ("quoted_number",)),
    (WRITE, "Ann", {"name": "Ann"}, ()),
    (WRITE, "5, true", {"name": "5", "text": "true"}, ("literal_as_text",)),
    (WRITE, 'text="a, b=c", name=x', {"name": "x", "text": "a, b=c"}, ()),
    (MOVE, "-1.5, 2e3, 2026-01-01", {"x": -1.5, "y": 2000.0, "day": "2026-01-01"}, ()),
    (BOOK, '["Ann", "B, o"], true', {"guests": ["Ann", "B, o"], "outdoor": True}, ()),
    (BOOK, 'guests="[\\"Ann\\"]"', {"guests": ["Ann"]}, ("nested_json",)),
    (WHERE, '{"kind": [1, {"a": null}]}', {"where": {"kind": [1, {"a": None}]}}, ()),
    (WHERE, '{"where": {}, "limit": 3}', {"where": {}, "limit": 3}, ()),
    (NOW, "", {}, ()),
    (NOW, "{}", {}, ()),
]

READ_BY_LENIENT = [
    (SEARCH, "a\nb", {"query": "a\nb"}, "line_break"),
    (SEARCH, "“a”", {"query": "a"}, "curly_quotes"),
    (SEARCH, "{'query': 'x'}", {"query": "x"}, "python_literal"),
    (ADD, "1, 2,", {"a": 1, "b": 2}, "trailing_comma"),
    (WRITE, "it's (so)", {"name": "it's (so)"}, "bare_text"),
    (WRITE, "x, text=None", {"name": "x", "text": "None"}, "bare_text"),
    (BOOK, "{'guests': ['a'], 'outdoor': True}", {"guests": ["a"], "outdoor": True}, "python_literal"),
    (MOVE, "1, 2, day=None", {"x": 1.0, "y": 2.0}, "null_left_out"),
]

REFUSED = [
    (SEARCH, "", "missing_argument"),
    (SEARCH, "query=", "missing_argument"),
    (SEARCH, 'query="a", k=5', "unknown_argument"),
    (SEARCH, 'query="a", "b"', "too_many_arguments"),
    (SEARCH, '{"query": ["x"]}', "bad_argument"),
    (ADD, "1", "missing_argument"),
    (ADD, "1, 2, 3", "too_many_arguments"),
    (ADD, "1, a=2", "too_many_arguments"),
    (ADD, '{"a": 1, "a": 2, "b": 3}', "too_many_arguments"),
    (ADD, "a=1, 2", "bad_argument"),
    (ADD, "1, c=2", "unknown_argument"),
    (ADD, "3.7, 1", "bad_argument"),
    (ADD, "1, ", "missing_argument"),
    (ADD, ", 1", "bad_argument"),
    (ADD, "007, 1", "bad_argument"),
    (ADD, "0x1F, 1", "bad_argument"),
    (ADD, "true, 1", "bad_argument"),
    (ADD, "9" * 5000 + ", 1", "bad_argument"),
    (MOVE, "nan, 1", "bad_argument"),
    (MOVE, "Infinity, 1", "bad_argument"),
    (MOVE, "1e999, 1", "bad_argument"),
    (MOVE, "1" + "0" * 400 + ", 1", "bad_argument"),
    (MOVE, "1, 2, 2026-02-30", "bad_argument"),
    (BOOK, "guests=Ann", "bad_argument"),
    (BOOK, "[" * 500 + "]" * 500, "bad_argument"),
    (NOW, "x", "too_many_arguments"),
    (NOW, "x=1", "too_many_arguments"),
]


@pytest.mark.parametrize(("signature", "text", "values", "repairs"), READ)
def test_documented_arguments_are_read_by_both_readings(
    signature: Signature, text: str, values: dict, repairs: tuple
) -> None:
    for strict in (False, True):
        read = read_arguments(text, signature, strict=strict)
        assert read == ReadArguments(values, repairs)
        assert [type(value) for value in read.values.values()] == [type(value) for value in values.values()]
        assert list(read.values) == list(values)


@pytest.mark.parametrize(("signature", "text", "values", "repair"), READ_BY_LENIENT)
def test_a_repair_is_named_and_refused_by_strict_reading(
    signature: Signature, text: str, values: dict, repair: str
) -> None:
    read = read_arguments(text, signature)
    assert isinstance(read, ReadArguments), read
    assert read.values == values
    assert repair in read.repairs
    assert isinstance(read_arguments(text, signature, strict=True), Misfit)


@pytest.mark.parametrize(("signature", "text", "code"), REFUSED)
def test_what_does_not_fit_is_refused_with_its_code(signature: Signature, text: str, code: str) -> None:
    for strict in (False, True):
        read = read_arguments(text, signature, strict=strict)
        assert isinstance(read, Misfit), read
        assert read.code == code


def test_the_place_of_a_value_is_given_up_once_an_optional_one_is_left_out() -> None:
    signature = tool(Parameter("a", Integer(), required=False), Parameter("b", Integer(), required=False))
    assert write_arguments({"b": 1}, signature, "positional") == "b=1"
    assert write_arguments({"a": 1, "b": 2}, signature, "positional") == "1, 2"


def test_a_call_is_written_as_documented() -> None:
    assert write_call("search", {"query": "Krüger [Süd], GmbH"}, SEARCH) == "search[Krüger [Süd], GmbH]"
    assert write_call("w", {"name": "Ann", "text": "5"}, WRITE) == 'w[name=Ann, text="5"]'
    assert write_call("b", {"guests": ["Ann"], "outdoor": True}, BOOK) == 'b[{"guests": ["Ann"], "outdoor": true}]'


def test_an_answer_is_quoted_only_where_it_has_to_be() -> None:
    assert write_answer("The list is [1, 2].") == "The list is [1, 2]."
    assert write_answer("a\nb") == '"a\\nb"'
    assert write_answer("a]") == '"a]"'
    assert write_answer("a]", Protocol.preset("answer")) == "a]"


def test_values_given_as_json_are_fitted_in_signature_order() -> None:
    assert fit_arguments({"b": "2", "a": 1}, ADD) == {"a": 1, "b": 2}
    assert fit_arguments({"a": 1}, ADD) == Misfit(
        "missing_argument", "The argument b (whole number) is missing.", "b", "whole number"
    )
    assert isinstance(fit_arguments({"a": 1, "b": datetime.date(2026, 1, 1)}, ADD), Misfit)


NASTY = [
    "", " ", " a", "a ", "5", "-1.5e3", "true", "null", "None", "[1]", '{"query": 1}', '{"p0": "x"}', "p0=x", "p0 = ",
    "p1=3", '"', "'",
    '"a"', "'a'", "“a”", "‘a’", "a]", "[", "a, b", ", ", "a=b", "it's", "'tis", ": 'x", "\n", "a\nObservation: b",
    "\r\n", "\t", "\x00",
    "\x7f", "\x85", "\u2028", "\\", "\\n", "a\\", "\\u0041", "```", "<|im_end|>", "</s>", "</think>", "Action: x[y]",
    "🙂", "日本]",
    "【", "［", "(", ")", "{", "}", "C:\\Dev\\new", "2026-01-01", "\u00a0a", "\u3000", "\u200b",
]
TEXTS = st.one_of(
    st.sampled_from(NASTY),
    st.lists(st.sampled_from(NASTY), min_size=2, max_size=4).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
)
INTEGERS = st.integers(-(10**20), 10**20)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
)


def of_choice(values: list[Any]) -> tuple[Type, st.SearchStrategy[Any]]:
    return Choice(tuple(values)), st.sampled_from(values)


FLAT: st.SearchStrategy[tuple[Type, st.SearchStrategy[Any]]] = st.one_of(
    st.just((Text(), TEXTS)),
    st.just((Integer(), INTEGERS)),
    st.just((Number(), FLOATS)),
    st.just((Boolean(), st.booleans())),
    st.just((Null(), st.none())),
    st.just((Date(), st.dates().map(str))),
    st.just((DateTime(), st.datetimes().map(lambda moment: moment.isoformat()))),
    st.lists(SCALARS, min_size=1, max_size=4).map(of_choice),
)


def one_of(pairs: list[tuple[Type, st.SearchStrategy[Any]]]) -> tuple[Type, st.SearchStrategy[Any]]:
    return OneOf(tuple(type for type, _ in pairs)), st.one_of([values for _, values in pairs])


def array(pair: tuple[Type, st.SearchStrategy[Any]]) -> tuple[Type, st.SearchStrategy[Any]]:
    return Array(pair[0]), st.lists(pair[1], max_size=3)


def record(pairs: list[tuple[Type, st.SearchStrategy[Any]]]) -> tuple[Type, st.SearchStrategy[Any]]:
    fields = tuple(Field(f"f{index}", type) for index, (type, _) in enumerate(pairs))
    return Object(fields), st.fixed_dictionaries({f"f{index}": values for index, (_, values) in enumerate(pairs)})


ANY = st.recursive(
    FLAT | st.just((Anything(), JSON)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(one_of), inner.map(array), st.lists(inner, max_size=3).map(record)
    ),
    max_leaves=4,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Signature, dict[str, Any]]:
    """A signature and values that it admits."""
    parameters, values = [], {}
    for index, (kind, strategy) in enumerate(draw(st.lists(draw(st.sampled_from([FLAT, ANY])), max_size=4))):
        is_required = draw(st.booleans())
        parameters.append(Parameter(f"p{index}", kind, required=is_required))
        if is_required or draw(st.booleans()):
            values[f"p{index}"] = draw(strategy)
    return tool(*parameters), values


def plain(value: Any) -> Any:
    """The value with its types spelled out, for True == 1 == 1.0."""
    match value:
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return type(value).__name__, value


@settings(max_examples=600, deadline=None)
@given(calls(), st.sampled_from(STYLES))
def test_strict_reading_gives_back_what_was_written(call: tuple[Signature, dict[str, Any]], style: Any) -> None:
    signature, values = call
    written = write_arguments(values, signature, style)
    assert "\n" not in written
    read = read_arguments(written, signature, style, strict=True)
    assert isinstance(read, ReadArguments), (written, read)
    assert plain(read.values) == plain(values)


@settings(max_examples=300, deadline=None)
@given(calls(), TEXTS | JSON.map(str), st.booleans())
def test_any_text_is_read_or_refused(call: tuple[Signature, dict[str, Any]], text: str, strict: bool) -> None:
    assert isinstance(read_arguments(text, call[0], strict=strict), ReadArguments | Misfit)
