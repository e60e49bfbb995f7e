"""Running `local-react` as a process of its own: with pipes, or on a pseudo-terminal."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

COMMAND = (sys.executable, "-m", "local_react")
ROOT = Path(__file__).parents[2]

FINISH = " I know it.\nAction: finish[blue]\n"
"""A completion that answers at once."""

TOOLS = '''
import time
from local_react import tool

@tool
def colour(thing: str) -> str:
    """The colour of a thing."""
    print("printed by the tool")
    return f"{thing} is blue"

@tool
def sleep(seconds: int, why: str = "") -> str:
    """Sleep."""
    time.sleep(seconds)
    return "slept"

@tool(needs_approval=True)
def remove(name: str, count: int = 1) -> str:
    """Remove something."""
    return f"removed {count} {name}"
'''


def write_script(path: Path, *completions: str) -> str:
    """The --model value of a scripted model."""
    path.write_text(json.dumps(completions), encoding="utf-8")
    return f"scripted:{path}"


def environment(**changes: str) -> dict[str, str]:
    """This process's environment with `changes`, and with our package importable."""
    return os.environ | {"PYTHONPATH": str(ROOT), "TERM": "xterm-256color"} | changes


def run_piped(*args: str, cwd: Path, input: bytes = b"", **options) -> subprocess.CompletedProcess[bytes]:
    """Run the command with pipes, in the folder `cwd`."""
    options.setdefault("env", environment())
    return subprocess.run([*COMMAND, *args], cwd=cwd, input=input, capture_output=True, timeout=60, **options)


@dataclass
class Session:
    """What a command wrote on its terminal, and its exit code."""

    output: str
    code: int


END = b"\x04"
"""Ctrl-D."""

Reply = tuple[str, "bytes | Callable[[int], None]"]
"""Once this text is there, type these bytes, or do this with the process."""


def interrupt(pid: int) -> None:
    """Ctrl-C."""
    os.kill(pid, signal.SIGINT)


def run_on_terminal(
    *args: str, cwd: Path, replies: Sequence[Reply] = (), timeout_s: float = 30, **changes: str
) -> Session:
    """Run the command on a pseudo-terminal. Each reply waits for its text behind where the last one was found."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        os.execve(COMMAND[0], [*COMMAND, *args], environment(**changes))
    output, seen, waiting = b"", 0, list(replies)
    deadline = time.monotonic() + timeout_s
    try:
        while time.monotonic() < deadline:
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    data = os.read(terminal, 65536)
                except OSError:
                    data = b""
                if not data:
                    break
                output += data
            if waiting and (found := output.find(waiting[0][0].encode(), seen)) >= 0:
                text, reply = waiting.pop(0)
                time.sleep(0.2)  # whoever prompts has yet to begin to listen
                seen = found + len(text.encode())
                _ = reply(pid) if callable(reply) else os.write(terminal, reply)
        else:
            os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"no end within {timeout_s} s, still waiting for {waiting!r} in {output!r}")
    finally:
        _, status = os.waitpid(pid, 0)
        os.close(terminal)
    assert not waiting, f"{waiting!r} never came in {output!r}"
    return Session(output.decode("utf-8", "replace"), os.waitstatus_to_exitcode(status))
