"""How far a benchmark is: a bar on a terminal, a line now and then elsewhere. All of it goes to stderr."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress as Bar, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from local_react.bench.execution import Progress
from local_react.cli.streams import say

EVERY_S = 30.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def shown_progress(console: Console, *, clock: Callable[[], float] = time.monotonic) -> Iterator[Callable[[Progress], None]]:
    """Gives what an execution tells its progress to."""
    if console.is_terminal and not console.quiet:
        columns = (
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), TextColumn("left"),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=console) as bar:
            number = bar.add_task("", total=None)
            yield lambda progress: bar.update(
                number, total=progress.n_total, completed=progress.n_done + progress.n_missed, description=describe(progress)
            )
        return
    begun, told = clock(), [clock()]

    def tell(progress: Progress) -> None:
        now, done = clock(), progress.n_done + progress.n_missed
        if now - told[0] >= EVERY_S:
            told[0] = now
            say(console, f"{done} of {progress.n_total}{describe(progress)}{_left(progress, now - begun)}")

    yield tell


def describe(progress: Progress) -> str:
    """What has gone wrong so far, and what runs now."""
    parts = [
        f"{progress.n_unanswered} without an answer" if progress.n_unanswered else "",
        f"{progress.n_missed} not run" if progress.n_missed else "", progress.now,
    ]
    told = ", ".join(filter(None, parts))
    return f" · {told}" if told else ""


def _left(progress: Progress, seconds: float) -> str:
    """The time that is left, where something was done to judge it by."""
    n_ran = progress.n_done - progress.n_before
    if n_ran <= 0:
        return ""
    minutes = seconds / n_ran * (progress.n_total - progress.n_done - progress.n_missed) / 60
    return f" · about {minutes:.0f} min left"
