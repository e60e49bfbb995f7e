"""The exceptions: one tree, drawn in the docstring, and messages that carry their evidence."""

from __future__ import annotations

import inspect
import re

import pytest

from local_react import errors
from local_react.errors import ContextOverflow, LocalReactError, ModelFileError

CLASSES = [value for value in vars(errors).values() if inspect.isclass(value) and value.__module__ == errors.__name__]


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    drawn: dict[str, str] = {}
    parents: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"([\s│├└─]*)([A-Z]\w+)(?:\s{2,}|$)", line)
        if match is None or match[2] not in vars(errors):
            continue
        parents = [parent for parent in parents if parent[0] < len(match[1])]
        drawn[match[2]] = parents[-1][1] if parents else "Exception"
        parents.append((len(match[1]), match[2]))
    assert drawn == {cls.__name__: cls.__bases__[0].__name__ for cls in CLASSES}


@pytest.mark.parametrize("cls", CLASSES)
def test_every_exception_is_ours_and_described(cls: type) -> None:
    assert issubclass(cls, LocalReactError)
    assert (cls.__doc__ or "").strip().endswith(".")


def test_an_overflow_carries_its_counts_and_says_what_to_do() -> None:
    error = ContextOverflow("The prompt", needed=12345, available=4096, window=4128)
    assert (error.needed, error.available, error.window) == (12345, 4096, 4128)
    assert str(error).startswith("The prompt needs 12,345 tokens, and 4,096 fit (the window is 4,128). ")
    assert "n_ctx" in str(error)


def test_a_file_error_carries_path_reason_and_remedy() -> None:
    error = ModelFileError("m.gguf", "it is empty", "Download it again.")
    assert (error.path, error.reason, error.remedy) == ("m.gguf", "it is empty", "Download it again.")
    assert str(error) == "m.gguf: it is empty. Download it again."
