"""Running tools: the future always resolves, whatever the tool does. And which names and fingerprints a toolbox has."""

import asyncio
import contextvars
import json
import os
import subprocess
import sys
import threading
import time
from enum import Enum
from pathlib import Path

import pytest

from local_react.errors import ToolError
from local_react.language.step import Call
from local_react.tools import toolbox as module
from local_react.tools.tool import Tool, tool
from local_react.tools.toolbox import Toolbox

ROOT = Path(__file__).parents[2]


class Color(Enum):
    RED = "r"
    BLUE = "b"


def run(function, *, timeout_s=30.0, **arguments):
    """The result of one call of `function` as a tool."""
    box = Toolbox([Tool.from_function(function, name="t", timeout_s=timeout_s)])
    return box.dispatch(Call("t", arguments)).result(timeout=20)


def nothing() -> None: ...


def test_toolbox_is_a_mapping_of_tools_in_order():
    @tool(name="b")
    def first() -> None: ...

    def a() -> None: ...

    box = Toolbox([first, a])
    assert list(box) == ["b", "a"]
    assert len(box) == 2
    assert box["b"] is first
    assert isinstance(box["a"], Tool)
    assert "c" not in box
    assert repr(box) == "Toolbox(b, a)"


@pytest.mark.parametrize(
    ("one", "other"),
    [("a", "a"), ("a", "A"), ("a_b", "a-b"), ("get_A", "Get-a"), ("straße", "STRASSE"), ("ünï", "u\u0308ni\u0308")],
)
def test_names_that_lenient_reading_would_mix_up_are_refused(one, other):
    tools = [Tool.from_function(nothing, name=name) for name in (one, "between", other)]
    with pytest.raises(ToolError, match=f"'{one}'"):
        Toolbox(tools)


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("a_b", "ab"), ("a.b", "a_b"), ("a", "á")])
def test_other_names_live_side_by_side(one, other):
    assert len(Toolbox([Tool.from_function(nothing, name=name) for name in (one, other)])) == 2


@pytest.mark.parametrize("thing", [5, "search", lambda x: x])
def test_what_is_no_tool_is_refused(thing):
    with pytest.raises(ToolError):
        Toolbox([thing])


@pytest.mark.parametrize("tool", [nothing, Tool.from_function(nothing)])
def test_one_tool_is_no_list_of_tools(tool):
    with pytest.raises(ToolError, match="must be a list"):
        Toolbox(tool)


def test_converted_arguments_reach_the_function_and_its_result_the_model():
    def search(query: str, color: Color = Color.RED) -> list:
        return [query, color, color.name]

    result = run(search, query="é", color="b")
    assert (result.text, result.is_error, result.traceback) == ('["é", "b", "BLUE"]', False, None)


def test_nothing_is_no_output():
    assert run(nothing).text == "(no output)"


def raising(error):
    def fail() -> None:
        raise error

    return fail


def recurse() -> None:
    recurse()


class Odd(Exception):
    def __str__(self):
        raise RuntimeError


FAILURES = [
    (raising(KeyError("INV-9")), "Error: KeyError: 'INV-9'"),
    (raising(KeyError("")), "Error: KeyError: ''"),
    (raising(ValueError()), "Error: ValueError"),
    (raising(SystemExit(1)), "Error: SystemExit: 1"),
    (lambda: sys.exit(), "Error: SystemExit"),
    (raising(MemoryError()), "Error: MemoryError"),
    (raising(GeneratorExit()), "Error: GeneratorExit"),
    (raising(asyncio.CancelledError()), "Error: CancelledError"),
    (raising(StopIteration(5)), "Error: StopIteration: 5"),
    (raising(Odd()), "Error: Odd"),
]


@pytest.mark.parametrize(("function", "text"), FAILURES, ids=[text for _, text in FAILURES])
def test_failure_of_a_tool_is_told_to_the_model_and_its_traceback_kept(function, text):
    result = run(function)
    assert (result.text, result.is_error) == (text, True)
    assert result.traceback.startswith("Traceback (most recent call last)")


def test_endless_recursion_is_an_error():
    result = run(recurse)
    assert result.text.startswith("Error: RecursionError: maximum recursion depth")
    assert len(result.traceback) < 10_000


def test_generator_that_fails_while_it_is_listed_is_an_error():
    def rows() -> list:
        yield 1
        raise KeyError("INV-9")

    assert run(rows).text == "Error: KeyError: 'INV-9'"


def test_generator_without_an_end_is_listed():
    def rows() -> list:
        while True:
            yield 1

    assert run(rows).text.startswith("[1, 1, 1")


def test_refused_value_is_one_readable_line():
    def book(guests: dict[str, int]) -> None: ...

    text = run(book, guests={"Ann": "x"}).text
    assert text.startswith("Error: ValueError: guests.Ann: Input should be a valid integer")
    assert text.endswith("(given 'x')")
    assert "\n" not in text


def test_interrupt_inside_a_tool_is_the_futures_exception():
    box = Toolbox([Tool.from_function(raising(KeyboardInterrupt()), name="t")])
    assert isinstance(box.dispatch(Call("t", {})).exception(timeout=20), KeyboardInterrupt)


def test_tool_that_does_not_exist_is_an_error_with_the_names_of_those_that_do():
    result = Toolbox([nothing]).dispatch(Call("anything", {})).result(timeout=0)
    assert (result.text, result.is_error) == ("Error: there is no tool 'anything'. The tools are: nothing", True)


def test_hang_ends_at_the_time_limit_and_the_late_result_is_dropped():
    release, done = threading.Event(), threading.Event()

    def hang() -> str:
        release.wait(20)
        done.set()
        return "late"

    box = Toolbox([Tool.from_function(hang, timeout_s=0.2)])
    start = time.perf_counter()
    future = box.dispatch(Call("hang", {}))
    result = future.result(timeout=10)
    assert 0.2 <= time.perf_counter() - start < 5
    assert (result.text, result.is_error) == ("Error: TimeoutError: no answer within 0.2 s", True)
    assert result.seconds >= 0.2
    release.set()
    assert done.wait(10)
    assert future.result() is result


def test_hang_while_the_result_is_rendered_ends_at_the_time_limit():
    release = threading.Event()

    class Slow:
        def __str__(self):
            release.wait(20)
            return "late"

    def make() -> object:
        return Slow()

    assert run(make, timeout_s=0.2).text == "Error: TimeoutError: no answer within 0.2 s"
    release.set()


def test_running_call_cannot_be_cancelled_and_still_resolves():
    release = threading.Event()

    def wait() -> str:
        release.wait(20)
        return "done"

    future = Toolbox([wait]).dispatch(Call("wait", {}))
    assert not future.cancel()
    release.set()
    assert future.result(timeout=20).text == "done"


def test_tool_without_a_time_limit_needs_one_thread_only():
    # By identity: threads that earlier tests left hanging may end at any moment.
    before = set(threading.enumerate())

    def count() -> int:
        return len(set(threading.enumerate()) - before)

    assert run(count, timeout_s=None).text == "1"


def test_async_tool_runs_to_its_end_and_is_cancelled_soon_after_its_time():
    cancelled = threading.Event()

    async def double(n: int) -> int:
        await asyncio.sleep(0)
        return 2 * n

    async def hang() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    assert run(double, n=4).text == "8"
    assert run(hang, timeout_s=0.1).text == "Error: TimeoutError: no answer within 0.1 s"
    assert cancelled.wait(10)


def test_calls_run_at_the_same_time():
    barrier = threading.Barrier(3, timeout=10)

    def meet() -> str:
        barrier.wait()
        return "met"

    box = Toolbox([meet])
    futures = [box.dispatch(Call("meet", {})) for _ in range(3)]
    assert [future.result(timeout=20).text for future in futures] == ["met"] * 3


def test_context_of_the_caller_is_seen_by_the_tool():
    variable = contextvars.ContextVar("variable", default="outside")
    variable.set("inside")

    def read() -> str:
        return variable.get()

    assert run(read).text == "inside"


def test_tool_cannot_change_the_call():
    box = Toolbox([Tool.from_schema("t", "", {"properties": {"a": {"type": "array"}}}, lambda a: a.append(5))])
    call = Call("t", {"a": [1]})
    assert not box.dispatch(call).result(timeout=20).is_error
    assert call.arguments == {"a": [1]}


def test_many_calls_leak_no_threads():
    box = Toolbox([nothing, Tool.from_function(raising(SystemExit(1)), name="fail")])
    before = set(threading.enumerate())
    for _ in range(100):
        futures = [box.dispatch(Call(name, {})) for name in ("nothing", "fail")]
        for future in futures:
            future.result(timeout=20)
    deadline = time.perf_counter() + 10
    while set(threading.enumerate()) - before and time.perf_counter() < deadline:
        time.sleep(0.01)
    assert not set(threading.enumerate()) - before


def test_system_without_threads_left_is_an_error_result(monkeypatch):
    def refuse(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(module.threading.Thread, "start", refuse)
    result = Toolbox([nothing]).dispatch(Call("nothing", {})).result(timeout=0)
    assert (result.text, result.is_error) == ("Error: RuntimeError: can't start new thread", True)


def test_clock_measures_the_seconds():
    ticks = iter([100.0, 101.0, 103.5])
    box = Toolbox([nothing], clock=lambda: next(ticks))
    assert box.dispatch(Call("nothing", {})).result(timeout=20).seconds == 2.5


HANG_AT_EXIT = """
import threading, time
from local_react.language.step import Call
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

def hang() -> None:
    time.sleep(60)

box = Toolbox([Tool.from_function(hang, timeout_s=None), Tool.from_function(hang, name="limited")])
box.dispatch(Call("hang", {})), box.dispatch(Call("limited", {}))
"""


def python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True, text=True, timeout=30, check=True,
    ).stdout


def test_hanging_tool_does_not_hold_up_the_exit_of_the_process():
    start = time.perf_counter()
    python(HANG_AT_EXIT)
    assert time.perf_counter() - start < 20


def search(query: str, color: Color = Color.RED, limits: set[str] | None = None) -> str:
    """Search the shop."""
    return query


FINGERPRINT = """
from tests.tools.test_toolbox import search
from local_react.tools.toolbox import Toolbox
print(Toolbox([search]).fingerprint)
"""


@pytest.mark.parametrize("seed", ["0", "1", "2"])
def test_fingerprint_is_the_same_in_every_process(seed):
    assert python(FINGERPRINT, PYTHONHASHSEED=seed).strip() == Toolbox([search]).fingerprint


def described(*, name="t", description="d", call=nothing, schema=None, **options):
    return Tool.from_schema(name, description, SCHEMA if schema is None else schema, call, **options)


SCHEMA = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "description": "the a", "default": 1},
        "b": {"type": "object", "default": {"x": 1, "y": 2}},
    },
    "required": ["a"],
}


def changed(*path, **change):
    schema = json.loads(json.dumps(SCHEMA))
    part = schema
    for key in path:
        part = part[key]
    part.update(change)
    return schema


def test_fingerprint_is_that_of_what_the_model_is_told():
    base = Toolbox([described()]).fingerprint
    assert len(base) == 64
    told = [
        described(name="u"),
        described(description="e"),
        described(schema=changed("properties", "a", type="number")),
        described(schema=changed("properties", "a", minimum=1)),
        described(schema=changed("properties", "a", description="an a")),
        described(schema=changed("properties", "a", default=2)),
        described(schema=changed("properties", "b", default={"x": 2})),
        described(schema=changed(required=[])),
        described(schema=changed("properties", c={})),
    ]
    fingerprints = [Toolbox([each]).fingerprint for each in told]
    assert len({base, *fingerprints}) == len(told) + 1


def test_fingerprint_knows_nothing_of_code_options_and_the_order_of_keys():
    base = Toolbox([described()]).fingerprint
    turned = json.loads(json.dumps(SCHEMA))
    turned["properties"]["b"]["default"] = {"y": 2, "x": 1}
    turned = {key: turned[key] for key in reversed(turned)}
    for same in (described(call=len), described(needs_approval=True, timeout_s=1.0), described(schema=turned)):
        assert Toolbox([same]).fingerprint == base


def test_fingerprint_counts_the_order_of_tools_and_the_kind_of_choices():
    one, two = described(name="a"), described(name="b")
    assert Toolbox([one, two]).fingerprint != Toolbox([two, one]).fingerprint
    kinds = [described(schema={"properties": {"a": {"enum": [value]}}}) for value in (1, True, 1.0, "1")]
    assert len({Toolbox([kind]).fingerprint for kind in kinds}) == 4


def test_a_traceback_tells_file_names_and_not_where_they_lie() -> None:
    """Regression: a trace that was given away told the folders of the machine that it was made on."""
    def fail() -> str:
        raise ValueError("no")

    result = Toolbox([fail]).dispatch(Call("fail", {})).result(10)
    assert result.traceback is not None
    assert 'File "test_toolbox.py"' in result.traceback
    assert str(Path(__file__).parent) not in result.traceback
