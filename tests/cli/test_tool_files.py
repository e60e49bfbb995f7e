"""Tools from files and modules: found, or refused with one message that says where."""

import pytest

from local_react.cli.tool_files import load_toolbox, load_tools
from local_react.errors import ToolError
from local_react.tools.demo import NEEDS_APPROVAL

HEAD = "from local_react import Tool, Toolbox, tool\n"


def write(folder, source, name="tools.py"):
    (folder / name).write_text(HEAD + source)
    return str(folder / name)


def function(name, mark="@tool"):
    return f"{mark}\ndef {name}(key: str) -> str:\n    'Look.'\n    return key\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (function("b") + function("a"), ["b", "a"]),
        (function("a") + function("plain", ""), ["a"]),
        (function("a") + "again = a\n", ["a"]),
        (function("b") + function("a", "") + "TOOLS = [a]\n", ["a"]),
        (function("a", "") + "tools = (a,)\n", ["a"]),
        (function("a") + function("b") + "TOOLS = Toolbox([b, a])\n", ["b", "a"]),
        (function("a") + "import json as tools\n", ["a"]),
        ("import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int\n@tool\ndef f(p: 'P') -> str:\n    'F.'\n", ["f"]),
    ],
)
def test_the_tools_of_a_file_are_found_in_order(tmp_path, source, names):
    assert [tool.name for tool in load_tools(write(tmp_path, source))] == names


def test_a_file_can_import_what_lies_beside_it(tmp_path):
    (tmp_path / "beside_it.py").write_text(HEAD + function("a"))
    assert [tool.name for tool in load_tools(write(tmp_path, "from beside_it import a\n"))] == ["a"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\ndef f(:\n", "tools.py, line 3: invalid syntax"),
        ("x = 1\n1 / 0\n", "tools.py, line 3: ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit(3)\n", "tools.py, line 3: SystemExit: 3"),
        ("import missing_module\n", "tools.py, line 2: ModuleNotFoundError"),
        ("x = 1\n", "tools.py has no tools"),
        ("TOOLS = []\n", "tools.py has no tools"),
        (function("plain", ""), "Mark functions with @local_react.tool"),
        (function("a") + "c = Tool.from_function(a, name='A')\n", "Two tools are called"),
        (function("a") + function("x") + "TOOLS = [a, Tool.from_function(x, name='a')]\n", "Two tools are called"),
        (function("finish"), "tools.py, line 2: Tool 'finish': the name is reserved"),
        ("@tool\ndef f(key) -> str:\n    'F.'\n", "tools.py, line 2:"),
        ("TOOLS = [3]\n", "3 can't be called"),
        ("\0", "tools.py"),
        ("class Odd(Exception):\n    def __str__(self): return 5\nraise Odd\n", "tools.py, line 4: Odd. Its tools"),
        ("class Skip(BaseException): pass\nraise Skip('no network')\n", "tools.py, line 3: Skip: no network"),
        ("Tool.from_schema('f', '', {}, print, timeout_s=-1)\n", "tools.py, line 2: Tool 'f': timeout_s"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_message(tmp_path, source, message):
    with pytest.raises(ToolError) as caught:
        load_tools(write(tmp_path, source))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.py", "does not exist"), ("bogus", "is neither a Python file"), ("a:", "is neither a Python file"),
        ("no_such_module_here:x", "ModuleNotFoundError"), ("json:missing", "has no missing"), ("", "is neither a Python file"),
    ],
)
def test_what_is_no_source_is_one_message(source, message):
    with pytest.raises(ToolError, match=message):
        load_tools(source)


def test_a_stand_in_that_does_not_tell_its_class_is_no_tool(tmp_path):
    source = "class Proxy:\n    @property\n    def __class__(self): raise RuntimeError('no request')\nproxy = Proxy()\n"
    assert [tool.name for tool in load_tools(write(tmp_path, source + function("a")))] == ["a"]


def test_a_module_is_found_from_a_folder_that_was_deleted(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ToolError, match="json has no missing"):
        load_tools("json:missing")


def test_a_module_gives_the_named_tools(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, function("a") + function("b", "") + "some = [a, b]\n", "named_module.py")
    assert [tool.name for tool in load_tools("named_module:some")] == ["a", "b"]
    assert [tool.name for tool in load_tools("named_module:b")] == ["b"]


def test_the_demo_asks_before_it_changes_something():
    assert {tool.name for tool in load_tools("demo") if tool.needs_approval} == NEEDS_APPROVAL


def test_sources_are_joined_and_their_names_must_differ(tmp_path):
    one, two = write(tmp_path, function("a"), "one.py"), write(tmp_path, function("b"), "two.py")
    assert list(load_toolbox([one, two])) == ["a", "b"]
    with pytest.raises(ToolError, match="Two tools"):
        load_toolbox([one, one])
