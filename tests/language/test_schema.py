"""Schemas in, types out: what is known, what is refused, and that all functions of the data sets can be read."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from local_react.errors import ToolError
from local_react.language.keywords import REFERENCE_DEPTH
from local_react.language.schema import read_parameters, read_type
from local_react.language.signature import Parameter
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
)

BFCL = Path(__file__).parents[2].parent / "shared" / "data" / "bfcl"

READABLE = [
    # the plain kinds
    ({"type": "string"}, Text()),
    ({"type": "integer"}, Integer()),
    ({"type": "number"}, Number()),
    ({"type": "boolean"}, Boolean()),
    ({"type": "null"}, Null()),
    ({}, Anything()),
    (True, Anything()),
    # text
    ({"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"}, Text(1, 3, "^a")),
    ({"type": "string", "format": "date"}, Date()),
    ({"type": "string", "format": "date-time"}, DateTime()),
    ({"type": "string", "format": "uuid"}, Text()),
    # limits
    ({"type": "integer", "minimum": 1, "maximum": 10}, Integer(1, 10)),
    ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 10}, Integer(2, 9)),
    ({"type": "integer", "minimum": 0.5, "maximum": 2.5}, Integer(1, 2)),
    ({"type": "integer", "exclusiveMinimum": 0.5, "exclusiveMaximum": 2.5}, Integer(1, 2)),
    ({"type": "integer", "minimum": 0, "exclusiveMinimum": 5}, Integer(6, None)),
    ({"type": "integer", "minimum": 5, "exclusiveMinimum": True}, Integer(6, None)),
    ({"type": "integer", "minimum": 5, "exclusiveMinimum": False}, Integer(5, None)),
    ({"type": "integer", "minimum": 0, "maximum": 0}, Integer(0, 0)),
    ({"type": "number", "minimum": 0, "exclusiveMaximum": 1.5}, Number(0, 1.5)),
    ({"type": "integer", "multipleOf": 5}, Integer()),
    # choices
    ({"enum": ["a", 1, None, True, 1.5]}, Choice(("a", 1, None, True, 1.5))),
    ({"enum": ["a", "a", "b"]}, Choice(("a", "b"))),
    ({"const": "a", "type": "string"}, Choice(("a",))),
    ({"const": None}, Null()),
    ({"type": ["string", "null"], "enum": ["a", None]}, Choice(("a", None))),
    ({"type": "integer", "enum": [1, 2.0, "x"]}, Choice((1, 2))),
    # unions
    ({"type": ["string", "null"]}, OneOf((Text(), Null()))),
    ({"type": ["string", "integer"], "maxLength": 3, "minimum": 1}, OneOf((Text(0, 3), Integer(1, None)))),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}, OneOf((Integer(), Null()))),
    ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, Integer()),
    ({"anyOf": [{"type": "null"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}]}, OneOf((Null(), Text()))),
    ({"anyOf": [{"type": "integer"}, {}]}, Anything()),
    ({"type": "string", "anyOf": [{"maxLength": 2}, {"format": "date"}]}, OneOf((Text(0, 2), Date()))),
    ({"allOf": [{"type": "integer", "minimum": 1}], "description": "n"}, Integer(1, None)),
    # lists
    ({"type": "array"}, Array(Anything())),
    ({"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 3}, Array(Integer(), 1, 3)),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, Array(Integer())),
    (
        {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2},
        Array(OneOf((Integer(), Text())), 2, 2),
    ),
    ({"type": "array", "prefixItems": [{"type": "integer"}], "items": False}, Array(Integer(), 0, 1)),
    ({"type": "array", "items": [{"type": "integer"}, {"type": "integer"}]}, Array(Integer(), 0, 2)),
    # objects
    ({"type": "object"}, Object((), Anything())),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, Object((), Integer())),
    ({"type": "object", "additionalProperties": False}, Object((), None)),
    ({"type": "object", "patternProperties": {"^a": {"type": "integer"}}}, Object((), Integer())),
    (
        {
            "type": "object",
            "properties": {"a": {"type": "integer", "description": " the a "}, "b": {"type": "string"}},
            "required": ["a"],
        },
        Object((Field("a", Integer(), True, "the a"), Field("b", Text(), False))),
    ),
    (
        {"properties": {"a": True}, "required": ["a"], "additionalProperties": True},
        Object((Field("a", Anything()),), Anything()),
    ),
    # a kind known by its keywords
    ({"minLength": 2}, Text(2)),
    ({"items": {"type": "integer"}}, Array(Integer())),
    ({"maximum": 2}, Number(None, 2)),
    # the dialect
    ({"type": "dict"}, Object((), Anything())),
    ({"type": "float"}, Number()),
    ({"type": "tuple", "items": {"type": "float"}}, Array(Number())),
    ({"type": "any"}, Anything()),
    ({"type": "boolean", "enum": ["True", "False", "dontcare"]}, Choice((True, False))),
    ({"type": "integer", "enum": ["1", "2", "dontcare"]}, Choice((1, 2))),
    ({"type": "float", "enum": ["1.5", 2]}, Choice((1.5, 2))),
    ({"type": "integer", "enum": ["Group A", "Group B"]}, Choice(("Group A", "Group B"))),
    ({"type": "array", "items": {"type": "string"}, "enum": ["x", "y"]}, Array(Choice(("x", "y")))),
]


@pytest.mark.parametrize(("schema", "type"), READABLE, ids=lambda value: None)
def test_schema_is_read(schema, type):
    # By their text as well, for 1 == True == 1.0 in Python.
    assert read_type(schema) == type
    assert repr(read_type(schema)) == repr(type)


REFUSED = [
    (False, "admits a value"),
    ({"type": "file"}, "'file'"),
    ({"type": []}, "type"),
    ({"not": {"type": "string"}}, "not"),
    ({"if": {}, "then": {}}, "if"),
    ({"type": "array", "contains": {"type": "string"}}, "contains"),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, "dependentRequired"),
    ({"type": "string", "format": "binary"}, "bytes"),
    ({"type": "string", "pattern": "("}, "pattern"),
    ({"type": "string", "pattern": 5}, "pattern"),
    ({"type": "string", "minLength": -1}, "minLength"),
    ({"type": "string", "minLength": 10**9}, "100,000"),
    ({"type": "array", "minItems": 10**9}, "100,000"),
    ({"type": "string", "minLength": 3, "maxLength": 2}, "at least 3"),
    ({"type": "integer", "minimum": "1"}, "minimum"),
    ({"type": "number", "maximum": float("nan")}, "maximum"),
    ({"type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2}, "at least 2"),
    ({"type": "array", "minItems": True}, "minItems"),
    ({"enum": []}, "enum"),
    ({"enum": "abc"}, "enum"),
    ({"enum": [["a"]]}, "choices"),
    ({"const": {"a": 1}}, "choices"),
    ({"enum": [float("inf")]}, "choices"),
    ({"anyOf": []}, "anyOf"),
    ({"anyOf": [False]}, "admits a value"),
    ({"allOf": [{"type": "string"}, {"maxLength": 2}]}, "allOf"),
    ({"$ref": "#/$defs/Absent"}, "Absent"),
    ({"$ref": "https://example.org/schema"}, "example.org"),
    ({"$ref": 5}, "5"),
    ({"$ref": "#/$defs/A", "type": "string", "$defs": {"A": {"type": "integer"}}}, "type is given twice"),
    ({"type": "object", "properties": ["a"]}, "properties"),
    ({"type": "object", "properties": {"a": {}}, "required": ["b"]}, "'b'"),
    ({"type": "object", "properties": {"a": {}}, "required": True}, "required"),
]


@pytest.mark.parametrize(("schema", "words"), REFUSED)
def test_what_cannot_be_kept_is_refused_with_tool_and_parameter(schema, words):
    with pytest.raises(ToolError, match="Tool 'book', parameter 'guests': ") as refusal:
        read_type(schema, tool="book", parameter="guests")
    assert words in str(refusal.value)


def test_refusal_names_the_path_into_lists_and_objects():
    schema = {"properties": {"guests": {"items": {"properties": {"name": {"type": "nom"}}}}}}
    with pytest.raises(ToolError, match=r"parameter 'guests\[\]\.name'"):
        read_parameters(schema, tool="book")


def test_refusal_of_a_schema_without_a_tool_still_reads_as_a_sentence():
    with pytest.raises(ToolError, match=r"^Schema: there is no type 'nom'\. The types are string, "):
        read_type({"type": "nom"})


def test_references_are_looked_up_in_the_whole_schema_and_their_siblings_count():
    schema = {
        "$defs": {"a/b~c": {"type": "integer", "description": "of the definition"}},
        "properties": {"n": {"$ref": "#/$defs/a~1b~0c", "minimum": 3, "description": "of the parameter"}},
    }
    assert read_parameters(schema, tool="t") == (Parameter("n", Integer(3, None), "of the parameter", False),)


def test_root_holds_the_definitions_of_a_part():
    assert read_type({"$ref": "#/$defs/A"}, root={"$defs": {"A": {"type": "null"}}}) == Null()


def test_recursive_reference_is_expanded_to_its_depth_and_is_anything_below():
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}
    type = read_type({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}})
    for _ in range(REFERENCE_DEPTH):
        assert isinstance(type, Object)
        type = type.fields[0].type
    assert type == Anything()


def test_reference_that_is_nothing_but_itself_ends():
    assert read_type({"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/A"}}}) == Anything()


def test_references_used_side_by_side_are_no_recursion():
    schema = {
        "$defs": {"N": {"type": "integer"}},
        "properties": {name: {"$ref": "#/$defs/N"} for name in "abcdefgh"},
    }
    assert {parameter.type for parameter in read_parameters(schema, tool="t")} == {Integer()}


def test_recursion_that_multiplies_is_refused_in_time():
    names = [f"N{number}" for number in range(12)]
    node = {"type": "object", "properties": {name: {"$ref": f"#/$defs/{name}"} for name in names}}
    with pytest.raises(ToolError, match="2,000 types"):
        read_type({"$ref": "#/$defs/N0", "$defs": dict.fromkeys(names, node)}, tool="t")


def test_parameters_keep_order_default_description_and_requirement():
    schema = {
        "type": "dict",
        "properties": {
            "b": {"type": "string", "description": "The b.\n", "default": "x"},
            "a": {"type": "integer"},
            "c": True,
        },
        "required": ["a"],
    }
    assert read_parameters(schema, tool="t") == (
        Parameter("b", Text(), "The b.", False, "x"),
        Parameter("a", Integer(), "", True),
        Parameter("c", Anything(), "", False),
    )


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "object", "properties": {}, "required": []}])
def test_empty_object_has_no_parameters(schema):
    assert read_parameters(schema, tool="t") == ()


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["object", "null"]}, {"anyOf": [{}]}, [], None])
def test_parameters_must_be_one_object(schema):
    with pytest.raises(ToolError, match="Tool 't'"):
        read_parameters(schema, tool="t")


@pytest.mark.parametrize("name", ["", "a b", "a=b", "a,b", "ids[]", 'a"b', "a:b", "a\nb"])
def test_parameter_name_that_would_break_a_keyword_argument_is_refused(name):
    with pytest.raises(ToolError, match="name=value"):
        read_parameters({"properties": {name: {}}}, tool="t")


@pytest.mark.parametrize("name", ["User-Agent", "größe", "$filter", "@type", "user.name"])
def test_other_parameter_names_are_taken(name):
    assert read_parameters({"properties": {name: {}}}, tool="t")[0].name == name


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYWORDS = st.sampled_from([
    "type", "enum", "const", "anyOf", "oneOf", "allOf", "items", "prefixItems", "properties", "required", "minimum",
    "exclusiveMaximum", "minLength", "maxItems", "pattern", "format", "additionalProperties", "patternProperties",
    "$ref", "default", "description",
])
SCHEMAS = st.recursive(
    st.dictionaries(KEYWORDS, JSON_VALUES | st.sampled_from(["string", "integer", "array", "object", "#"]), max_size=4),
    lambda inner: st.dictionaries(
        KEYWORDS,
        inner | st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
        max_size=4,
    ),
    max_leaves=8,
)


@given(SCHEMAS)
def test_any_json_is_a_type_or_a_tool_error(schema):
    try:
        type = read_type(schema, tool="t", parameter="p")
    except ToolError as error:
        assert str(error).startswith("Tool 't', parameter 'p")
    else:
        assert hash(type) == hash(read_type(schema, tool="t", parameter="p"))


@pytest.mark.skipif(not BFCL.is_dir(), reason="the function-calling data set is not here")
def test_all_functions_of_the_data_set_are_read():
    n_functions = 0
    for file in sorted(BFCL.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            for function in json.loads(line)["functions"]:
                described = function["parameters"]
                parameters = read_parameters(described, tool=function["name"])
                assert [parameter.name for parameter in parameters] == list(described.get("properties", {}))
                assert {each.name for each in parameters if each.required} == set(described.get("required", []))
                n_functions += 1
    assert n_functions == 5633
