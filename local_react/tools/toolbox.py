"""The tools of an episode, and the one place where user code runs.

Invariant: `dispatch` hands out a future that always resolves, at most `timeout_s` after the start, whatever the tool
does: raise, exit, recurse, hang, return nonsense. A tool that hangs keeps its daemon thread until it returns, and its
late result is dropped (an async tool is cancelled): a thread can't be stopped from outside, and C code that holds the
interpreter lock holds up the time limit too. Only an exit of the process ends the wait for both; daemon threads don't
delay it. No approval is asked here, no call repeated, no argument read against the signature.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import hashlib
import inspect
import json
import re
import threading
import time
import traceback
import unicodedata
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, InvalidStateError
from typing import Any

from local_react.errors import ToolError
from local_react.language.step import Call
from local_react.tools.result import Result, describe_error, drain, render_result
from local_react.tools.tool import Tool

_FOLDERS = re.compile(r'File "[^"]*[/\\]')


class Toolbox(Mapping[str, Tool]):
    """Tools by name, in the order in which the model is told about them. `clock` counts seconds."""

    __slots__ = ("_clock", "_tools")

    def __init__(
        self, tools: Iterable[Tool | Callable[..., Any]] = (), *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        """Raises ToolError for what can't be a tool, and for names that a lenient reading would mix up."""
        if isinstance(tools, Tool) or callable(tools):
            raise ToolError("`tools` is one tool, and must be a list of them.")
        if isinstance(tools, str) or not isinstance(tools, Iterable):
            raise ToolError(f"tools={tools!r:.100} must be a list of functions and Tools.")
        self._clock = clock
        self._tools: dict[str, Tool] = {}
        owners: dict[str, str] = {}
        for given in tools:
            tool = given if isinstance(given, Tool) else Tool.from_function(given)
            owner = owners.setdefault(_folded(tool.name), tool.name)
            if owner in self._tools:
                names = repr(owner) if owner == tool.name else f"{owner!r} and {tool.name!r}"
                rule = "names must differ in more than case, _ and -"
                raise ToolError(f"Two tools are called {names}: {rule}. Rename one of them.")
            self._tools[tool.name] = tool

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hexadecimal) of all that the model is told about the tools, in order, and of nothing else."""
        told = [
            [tool.name, tool.description]
            + [[each.name, repr(each.type), each.description, each.required, each.default] for each in tool.parameters]
            for tool in self.values()
        ]
        # A default from a JSON Schema is a JSON value; sorted, so that the order of keys in it doesn't count.
        text = json.dumps(told, ensure_ascii=True, sort_keys=True, default=repr)
        return hashlib.sha256(text.encode("ascii")).hexdigest()

    def dispatch(self, call: Call) -> Future[Result]:
        """Start the tool in a thread of its own; the future resolves to what the model is told.

        Only a KeyboardInterrupt in the tool becomes the future's exception; all else that goes wrong is a Result.
        """
        future: Future[Result] = Future()
        # A future that runs can't be cancelled, so only the two below resolve it.
        future.set_running_or_notify_cancel()
        start = self._clock()
        tool = self.get(call.name)
        if tool is None:
            names = ", ".join(self) or "none"
            _resolve(future, Result(f"Error: there is no tool {call.name!r}. The tools are: {names}", is_error=True))
            return future
        timer = _timer(future, tool, self._clock, start)
        context = contextvars.copy_context()
        work = (_work, future, tool, call, self._clock, timer)
        worker = threading.Thread(target=context.run, args=work, name=f"tool {tool.name}", daemon=True)
        try:
            if timer is not None:
                timer.start()
            worker.start()
        except RuntimeError as error:  # the system gives no more threads
            if timer is not None:
                timer.cancel()
            _resolve(future, _failure(error, self._clock() - start))
        return future


def _work(
    future: Future[Result], tool: Tool, call: Call, clock: Callable[[], float], timer: threading.Timer | None
) -> None:
    """Run one call to its end and resolve its future, unless the time limit has done that."""
    start = clock()
    try:
        text = _run(tool, call)
    except KeyboardInterrupt as interrupt:
        outcome: Result | BaseException = interrupt
    except BaseException as error:
        outcome = _failure(error, clock() - start)
    else:
        outcome = Result(text, False, None, clock() - start)
    if timer is not None:
        timer.cancel()
    _resolve(future, outcome)


def _failure(error: BaseException, seconds: float) -> Result:
    try:
        # A trace is given away more often than a program: it holds the names of the files, not where they lie.
        lines = _FOLDERS.sub('File "', "".join(traceback.format_exception(type(error), error, error.__traceback__)))
    except Exception:
        lines = None  # an exception can be as odd as any object
    return Result(f"Error: {describe_error(error)}", True, lines, seconds)


def _run(tool: Tool, call: Call) -> str:
    # A copy, so that no tool can change what the trace says the model wrote.
    value = tool.call(copy.deepcopy(dict(call.arguments)))
    if inspect.isawaitable(value):
        value = asyncio.run(_wait(value, tool.timeout_s))
    return render_result(drain(value))


async def _wait(value: Awaitable[Any], timeout_s: float | None) -> Any:
    # A second later than the timer, so that it's always the timer that answers.
    return await asyncio.wait_for(value, None if timeout_s is None else timeout_s + 1)


def _timer(future: Future[Result], tool: Tool, clock: Callable[[], float], start: float) -> threading.Timer | None:
    """What resolves the future when the tool's time is up, not yet started; None for a tool without a limit."""
    if tool.timeout_s is None:
        return None

    def expire() -> None:
        text = f"Error: TimeoutError: no answer within {tool.timeout_s:g} s"
        _resolve(future, Result(text, True, None, clock() - start))

    timer = threading.Timer(tool.timeout_s, expire)
    timer.daemon = True
    return timer


def _resolve(future: Future[Result], outcome: Result | BaseException) -> None:
    try:
        if isinstance(outcome, Result):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)
    except InvalidStateError:
        pass  # resolved already: the time was up, or the answer came in time


def _folded(name: str) -> str:
    """What lenient reading keeps of a name."""
    return unicodedata.normalize("NFKC", name).casefold().replace("-", "_")
