"""The value `Tool`: names, options, constructors, the decorator."""

import dataclasses
import inspect

import pytest

from local_react.errors import SettingsError, ToolError
from local_react.language.protocol import RESERVED_NAMES
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Integer, Text
from local_react.tools.tool import Tool, tool

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


def search(query: str, limit: int = 3) -> str:
    """Search the shop."""
    return f"{query} {limit}"


GOOD_NAMES = [
    "search", "ünï", "u\u0308ni", "resolve-library-id", "math.factorial", "_x", "2fa", "検索", "मौसम", "Finisher",
    "Search",
]
BAD_NAMES = [
    "", " ", "a b", "a[", "a]", "a(", "a{", "a:", "a,", "a=", 'a"', "a'", "a`", "a\n", "a\tb", "a\x00", "a\u200bb", "a/b",
    "a|b", "a：", "【a】", "-", "_", ".", "…", "🙂", None, 5, b"a",
]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_name_is_taken(name):
    assert Tool.from_function(search, name=name).name == name
    assert Tool.from_schema(name, "", SCHEMA, search).name == name


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
def test_name_is_refused(name):
    with pytest.raises(ToolError):
        Tool.from_schema(name, "", SCHEMA, search)


@pytest.mark.parametrize("case", [str.lower, str.upper, str.title])
@pytest.mark.parametrize("word", sorted(RESERVED_NAMES))
def test_reserved_name_is_refused_in_any_case(word, case):
    with pytest.raises(ToolError, match="reserved"):
        Tool.from_function(search, name=case(word))


def test_tool_is_the_signature_that_the_model_is_told():
    made = Tool.from_function(search)
    assert isinstance(made, Signature)
    assert (made.name, made.description) == ("search", "Search the shop.")
    assert made.parameters == (Parameter("query", Text()), Parameter("limit", Integer(), "", False, 3))
    assert made.encoding("keyword") == "keyword"


def test_description_can_be_given():
    assert Tool.from_function(search, description="Find.").description == "Find."
    assert Tool.from_function(search, description="").description == ""


def test_decorated_function_stays_usable():
    decorated = tool(search)
    assert decorated("a") == decorated(query="a") == "a 3"
    assert decorated("a", limit=5) == "a 5"
    assert inspect.signature(decorated) == inspect.signature(search)
    assert inspect.unwrap(decorated) is search


def test_decorator_takes_options():
    @tool(name="find", description="Find.", needs_approval=True, timeout_s=None, observation_tokens=50)
    def search(query: str) -> str:
        return query

    assert search == Tool.from_function(
        search.function, name="find", description="Find.", needs_approval=True, timeout_s=None, observation_tokens=50
    )
    assert (search.name, search.needs_approval, search.timeout_s, search.observation_tokens) == ("find", True, None, 50)
    assert tool()(search.function).needs_approval is False


def test_unknown_option_is_a_type_error_at_once():
    with pytest.raises(TypeError):
        tool(approval=True)


def test_tool_of_a_tool_reads_its_function_again():
    assert Tool.from_function(tool(search), name="find").call({"query": "a"}) == "a 3"


def test_schema_tool_gets_its_arguments_by_keyword():
    got = []
    made = Tool.from_schema("find", "Find.", SCHEMA, lambda **arguments: got.append(arguments), needs_approval=True)
    made.call({"query": "a"})
    assert got == [{"query": "a"}]
    assert made.parameters == (Parameter("query", Text()),)
    assert (made.description, made.schema, made.needs_approval, made.timeout_s) == ("Find.", SCHEMA, True, 30.0)


def test_schema_of_a_tool_does_not_change_with_the_one_it_was_made_from():
    schema = {"properties": {"query": {"type": "string"}}}
    made = Tool.from_schema("find", "", schema, search)
    schema["properties"].clear()
    assert made.schema == {"properties": {"query": {"type": "string"}}}


def test_schema_tool_without_code_or_with_a_bad_schema_is_refused():
    with pytest.raises(ToolError, match="Tool 'find'.*can't be called"):
        Tool.from_schema("find", "", SCHEMA, None)
    with pytest.raises(ToolError, match="Tool 'find', parameter 'q'"):
        Tool.from_schema("find", "", {"properties": {"q": {"type": "file"}}}, search)
    with pytest.raises(ToolError, match="Tool 'find'"):
        Tool.from_schema("find", "", None, search)


def test_schema_that_contains_itself_or_never_ends_is_refused():
    circle: dict = {"type": "object"}
    circle["properties"] = {"inner": circle}
    deep: dict = {"type": "integer"}
    for _ in range(2000):
        deep = {"type": "array", "items": deep}
    for schema in (circle, {"properties": {"x": deep}}):
        with pytest.raises(ToolError, match="Tool 'find': its schema is nested too deep"):
            Tool.from_schema("find", "", schema, search)


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), 1e300, "10"])
def test_time_limit_that_makes_no_sense_is_refused(limit):
    with pytest.raises(SettingsError, match="timeout_s"):
        Tool.from_function(search, timeout_s=limit)


@pytest.mark.parametrize("budget", [0, -1, "10", 2.5])
def test_observation_budget_that_makes_no_sense_is_refused(budget):
    with pytest.raises(SettingsError, match="observation_tokens"):
        Tool.from_function(search, observation_tokens=budget)


def test_description_that_is_no_text_is_refused():
    with pytest.raises(ToolError, match="Tool 'find': its description must be a text, and is 5"):
        Tool.from_schema("find", 5, SCHEMA, search)


def test_tools_are_compared_by_what_the_model_is_told_and_how_they_are_treated():
    def other(query: str, limit: int = 3) -> str:
        """Search the shop."""
        return "else"

    assert Tool.from_function(search) == Tool.from_function(other, name="search")
    assert hash(Tool.from_function(search)) == hash(Tool.from_function(other, name="search"))
    assert Tool.from_function(search) != Tool.from_function(search, needs_approval=True)
    assert dataclasses.replace(Tool.from_function(search), timeout_s=1.0).timeout_s == 1.0


def test_tool_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        tool(search).name = "find"
