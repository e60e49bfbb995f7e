"""Each TypedDict of the standard library becomes one that pydantic takes, on every Python version."""

import typing
from typing import Annotated, Literal, Optional, TypedDict

import pytest
from pydantic import TypeAdapter, ValidationError
from typing_extensions import NotRequired, Required

from local_react.tools.typed_dict import with_readable_typed_dicts


class Street(TypedDict):
    name: str
    number: NotRequired[int]


class Town(TypedDict, total=False):
    name: Required[str]
    streets: list[Street]


class Tree(TypedDict):
    children: "list[Tree]"


@pytest.mark.parametrize(
    "hint",
    [
        Town,
        list[Town],
        typing.List[Town],  # noqa: UP006
        dict[str, Town],
        tuple[Town, ...],
        Town | None,
        Optional[Town],
        Annotated[Town, "words"],
    ],
)
def test_typed_dicts_are_found_inside_other_hints(hint):
    assert TypeAdapter(with_readable_typed_dicts(hint)).json_schema()


def test_required_keys_stay_required():
    adapter = TypeAdapter(with_readable_typed_dicts(Town))
    town = {"name": "Bonn", "streets": [{"name": "Markt"}]}
    assert adapter.validate_python(town) == town
    with pytest.raises(ValidationError, match="name"):
        adapter.validate_python({"streets": []})
    with pytest.raises(ValidationError, match=r"streets\.0\.name"):
        adapter.validate_python({"name": "Bonn", "streets": [{}]})


@pytest.mark.parametrize("hint", [int, None, list[int], Literal["a"], int | None, dict, "x"])
def test_other_hints_stay_what_they_are(hint):
    assert with_readable_typed_dicts(hint) is hint


def test_typed_dict_inside_itself_ends():
    assert with_readable_typed_dicts(Tree).__name__ == "Tree"
