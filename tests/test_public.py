"""The public interface: its names are pinned, documented, and cost nothing until they are used."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys

import pytest

import local_react

NAMES = [
    "Answer", "Call", "ConstraintCompileTimeout", "ConstraintError", "ContextOverflow", "DecodeError", "Exemplar",
    "GrammarError", "Grounded", "Guards", "LocalReactError", "Malformed", "Model",
    "ModelError", "ModelFileError", "Observation", "Parameter", "PromptError", "Protocol", "Sampling", "ScriptedModel",
    "SettingsError", "Signature", "Step", "TemplateError", "Tool", "ToolError", "Toolbox", "Trace", "TraceError", "__version__",
    "parse_step", "run", "run_many", "tool",
]
HEAVY = ["llama_cpp", "numpy", "pydantic", "outlines", "huggingface_hub", "rich", "click"]


def python(code: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_public_names_are_pinned() -> None:
    assert sorted(local_react.__all__) == NAMES
    assert len(set(local_react.__all__)) == len(local_react.__all__)
    assert sorted(dir(local_react)) == NAMES


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("_")])
def test_every_public_name_is_there_and_documented(name: str) -> None:
    value = getattr(local_react, name)
    assert inspect.isclass(value) or inspect.isfunction(value)
    assert value.__name__ == name
    assert value.__module__.startswith("local_react.")
    own = value.__doc__ or ""
    assert re.search(r"[a-z]\.(\s|$)|`", own), "a sentence, and not the one that dataclasses make up"
    assert not own.startswith(f"{name}(")


@pytest.mark.parametrize("name", ["run", "run_many", "parse_step", "tool", "Model", "Protocol", "Toolbox", "Trace", "Tool"])
def test_every_public_method_is_documented(name: str) -> None:
    value = getattr(local_react, name)
    members = [value] if inspect.isfunction(value) else [
        member for key, member in vars(value).items()
        if not key.startswith("_") and isinstance(member, (classmethod, staticmethod, property)) or inspect.isfunction(member)
        and not key.startswith("_")
    ]
    assert members
    assert [member for member in members if not (inspect.getdoc(member) or "").strip()] == []


def test_the_version_is_a_release_number() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", local_react.__version__)
    assert python("import local_react; print(local_react.__version__)") == local_react.__version__


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, local_react; dir(local_react); print([name for name in {HEAVY} if name in sys.modules])"
    assert python(code) == "[]"


def test_the_step_language_needs_no_model() -> None:
    code = (
        "import sys; from local_react import Call, Exemplar, Guards, Protocol, Trace, parse_step\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    assert python(code) == "[]"


def test_a_star_import_brings_every_name() -> None:
    code = "from local_react import *; import local_react; print([n for n in local_react.__all__ if n not in globals()])"
    assert python(code) == "[]"


@pytest.mark.parametrize("name", ["Modle", "run_", "_HOMES_", "Tools", "answer"])
def test_a_misspelt_name_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'local_react' has no attribute '{name}'"):
        getattr(local_react, name)
    assert not hasattr(local_react, name)


def test_a_misspelt_import_is_an_import_error() -> None:
    code = "try:\n    from local_react import Modle\nexcept ImportError as error:\n    print('Modle' in str(error))"
    assert python(code) == "True"


def test_a_name_is_the_same_object_each_time() -> None:
    assert local_react.Trace is local_react.Trace
    from local_react.trace import Trace

    assert local_react.Trace is Trace
