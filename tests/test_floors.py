"""The floors of the package: what may import what (the table of the design, section 5), read from the source with ast.

Imports go down a floor, never between two places of one floor, never inside a function, and never in a circle. A line of
code belongs to one room: llama_cpp to `llama/`, the label words to `language/protocol.py`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_react.language.protocol import ANSWER_ALIASES, PRESETS

PACKAGE = Path(__file__).parents[1] / "local_react"

FLOORS: dict[str, tuple[int, str]] = {
    "errors": (0, ""),
    "version": (0, ""),
    "language": (1, "errors"),
    "llama": (1, "errors"),
    "tools": (2, "errors language"),
    "decode": (2, "errors language llama"),
    "trace": (2, "errors language"),
    "hub": (2, "errors llama"),
    "loop": (3, "errors version language llama tools decode trace hub"),
    "bench": (4, "errors version language llama tools decode trace hub loop"),
    "cli": (5, "errors version language llama tools decode trace hub loop bench"),
    "package": (6, "errors version language llama tools decode trace hub loop bench cli"),
}
"""Each place: its floor, and the places that it may import."""

LOOP = (
    "author", "episodes", "form", "grounding", "guards", "messages", "native", "options", "own_grammar", "pen",
    "recommendation", "recorder", "replay", "runs", "schedule", "setup", "steering",
)
HOMES = dict.fromkeys(LOOP, "loop") | {"__init__": "package", "__main__": "package"}
"""Top-level modules that belong to a place of another name."""

COMPUTED_IMPORTS = {
    "local_react": "the public names, on first use",
    "local_react.decode.engines": "the engine that is asked for, since each needs a package of its own",
    "local_react.cli": "the module of a command, when it is run",
    "local_react.cli.models": "the module of a command, when it is run",
    "local_react.cli.tool_files": "a module of the user's, with tools",
    "local_react.llama.embedded": "a package that holds a model, when it is asked for",
}
"""The modules that import others by a computed name, which no test here can follow, and what."""

SOURCES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8"), str(path)) for path in SOURCES}


def module_name(path: Path) -> str:
    """The dotted name of a source file, e.g. "local_react.llama.files"; a folder's `__init__` has the folder's name."""
    parts = [PACKAGE.name, *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCES}


def place_of(path: Path) -> str:
    """The place a source file belongs to; fails for one that the table doesn't know."""
    top = path.relative_to(PACKAGE).with_suffix("").parts[0]
    place = HOMES.get(top, top)
    assert place in FLOORS, f"{path.relative_to(PACKAGE.parent)} stands on no floor: add it to FLOORS or HOMES in {__file__}"
    return place


def imports(tree: ast.AST, path: Path) -> Iterator[tuple[str, int]]:
    """The modules that a source file imports and the lines; of our own package, each as the file that is meant."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found = [alias.name for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                here = [PACKAGE.name, *path.relative_to(PACKAGE).parent.parts]
                base = ".".join([*here[: len(here) - level + 1], *filter(None, [module])]) if level else module
                found = [f"{base}.{alias.name}" if f"{base}.{alias.name}" in MODULES else base for alias in names]
            case _:
                continue
        yield from ((name, node.lineno) for name in found)


def own_imports(path: Path) -> list[tuple[str, int]]:
    """Like `imports`, those of our own package only."""
    return [(name, line) for name, line in imports(TREES[path], path) if name.split(".")[0] == PACKAGE.name]


def texts(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every string literal (and each literal part of an f-string) that is neither a docstring nor in `__all__`."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                skipped.add(id(node.value))
            case ast.Assign(targets=[ast.Name(id="__all__")]):
                skipped.update(id(below) for below in ast.walk(node))
            case ast.Constant(value=str(text)) if id(node) not in skipped:
                yield text, node.lineno


def shown(path: Path, line: int) -> str:
    return f"{path.relative_to(PACKAGE.parent)}:{line}"


every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))


def test_the_table_itself_goes_down_only():
    for place, (floor, below) in FLOORS.items():
        assert all(FLOORS[other][0] < floor for other in below.split()), place
    assert set(HOMES.values()) <= set(FLOORS)


def test_there_is_something_to_check():
    assert {"errors", "language", "llama"} <= {place_of(path) for path in SOURCES}


@every_source
def test_imports_go_down_a_floor(path):
    place = place_of(path)
    allowed = {place, *FLOORS[place][1].split()}
    wrong = []
    for name, line in own_imports(path):
        target = MODULES.get(name)
        assert target, f"{shown(path, line)} imports {name}, which doesn't exist"
        if place_of(target) not in allowed:
            wrong.append(f"{shown(path, line)}: {place} may not import {name}")
    assert not wrong, "\n".join(wrong)


@every_source
def test_our_own_modules_are_never_imported_inside_a_function(path):
    functions = [node for node in ast.walk(TREES[path]) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    found = {
        f"{shown(path, line)} imports {name} inside {function.name}"
        for function in functions for name, line in imports(function, path) if name.split(".")[0] == PACKAGE.name
    }
    assert not found, "\n".join(sorted(found))


@every_source
def test_modules_are_imported_by_a_computed_name_only_where_it_is_known(path):
    found = [
        shown(path, node.lineno) for node in ast.walk(TREES[path])
        if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node).split(".")[-1] in ("import_module", "__import__")
    ]
    if module_name(path) in COMPUTED_IMPORTS:
        assert found, f"{module_name(path)} has none any more: take it off COMPUTED_IMPORTS"
    else:
        assert not found, f"{found} would escape the other tests"


def test_the_modules_of_a_place_form_no_circle():
    graph = {
        name: {other for other, _ in own_imports(path) if other in MODULES and place_of(MODULES[other]) == place_of(path)}
        for name, path in MODULES.items()
    }
    assert circle(graph) == []


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The names along one circle of the graph; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return trail[trail.index(name) :] + [name]
        if name in done:
            return []
        for other in sorted(graph.get(name, ())):
            if found := walk(other, [*trail, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({}, []),
        ({"a": {"b"}, "b": set()}, []),
        ({"a": {"b", "c"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"a"}}, ["a", "a"]),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, ["b", "c", "b"]),
    ],
)
def test_circles_are_found(graph, found):
    assert circle(graph) == found


@every_source
def test_only_the_machine_imports_llama_cpp(path):
    if place_of(path) == "llama":
        return
    found = [shown(path, line) for name, line in imports(TREES[path], path) if name.split(".")[0] == "llama_cpp"]
    assert not found


LABELS = {word for preset in PRESETS.values() for word in preset.words.values()} | set(ANSWER_ALIASES)
ENDS = {preset.finish for preset in PRESETS.values() if preset.finish}
LABEL = re.compile(rf"(?:^|[\s`*#])(?:{'|'.join(sorted(LABELS))})(?: ?\d+)? ?:|\b(?:{'|'.join(ENDS)})\s*\[")
CLASSES = {node.name for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def spells_a_label(text: str) -> bool:
    """Whether a text is a label word, or has one with its colon, or the word that ends a run with its bracket.

    That word alone may be the name of the preset.
    """
    return text.strip() in LABELS or LABEL.search(text) is not None


SPELLED = ["Observation", "Observation ", "\nObservation:", "see Thought 3: x", "Notice:", "use finish[x]"]
HARMLESS = ["observation", "Answer the question", "Observations: 3", "no Action here", "finish", "finished[x]"]


@pytest.mark.parametrize("text", SPELLED)
def test_a_spelled_label_is_noticed(text):
    assert spells_a_label(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_other_words_are_no_labels(text):
    assert not spells_a_label(text)


@every_source
def test_reserved_words_are_spelled_in_the_protocol_only(path):
    if module_name(path) == "local_react.language.protocol":
        assert any(spells_a_label(text) for text, _ in texts(TREES[path])), "the check itself finds nothing"
        return
    # The package's own __init__ names its public classes, and some are called like labels.
    names = CLASSES if place_of(path) == "package" else set()
    found = [
        f"{shown(path, line)}: {text!r}" for text, line in texts(TREES[path]) if spells_a_label(text) and text not in names
    ]
    assert not found, "\n".join(found)
