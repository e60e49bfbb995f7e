"""Driving many episodes at once on one decoder.

A loop of three moves: resume the episodes whose tool has answered, decode one batch for all that need tokens, resume those
whose completion is there. Tools run in threads of their own meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from local_react.decode.generate import Decoder
from local_react.loop import Episode
from local_react.setup import Ended, Waiting


@dataclass(slots=True, eq=False)
class _Running:
    """An episode on its way, what it waits for, and when its time is up."""

    episode: Episode
    coroutine: Generator[Waiting, Any, None]
    deadline: float
    waits_for: Waiting | None = None


class Scheduler:
    """Drives episodes on one decoder. `time_limit_s` is that of each episode, in seconds of `clock`."""

    def __init__(self, decoder: Decoder, time_limit_s: float | None, clock: Callable[[], float]) -> None:
        self._decoder = decoder
        self._time_limit_s = math.inf if time_limit_s is None else time_limit_s
        self._clock = clock
        self._running: list[_Running] = []
        self._answered: SimpleQueue[Future[Any]] = SimpleQueue()

    def drive(self, episodes: Iterable[Episode]) -> None:
        """Run all episodes to their ends. Where that is interrupted, those still running end so in their traces."""
        queue = iter(episodes)
        try:
            while self._admit(queue):
                self._resume_answered()
                if self._decoder.has_active:
                    for generation in self._decoder.step():
                        self._resume(generation, generation.completion)
                self._end_overdue()
        except BaseException as error:
            ending = "interrupted" if isinstance(error, KeyboardInterrupt) else "error"
            for running in self._running:
                running.episode.abort(ending, f"{type(error).__name__}: {error}")
                running.coroutine.close()
            raise

    def _admit(self, queue: Iterator[Episode]) -> bool:
        """Start as many episodes as there is room for; whether any is running now."""
        while self._decoder.has_room and (episode := next(queue, None)) is not None:
            running = _Running(episode, episode.run(self._decoder), self._clock() + self._time_limit_s)
            self._running.append(running)
            self._advance(running, running.coroutine.__next__)
        return bool(self._running)

    def _resume_answered(self) -> None:
        """Resume the episodes whose tool has answered. Waits for one where nothing is left to decode."""
        if not self._running:
            return
        try:
            if not self._decoder.has_active:
                self._resume_tool(self._answered.get(timeout=self._patience()))
            while True:
                self._resume_tool(self._answered.get_nowait())
        except Empty:
            pass

    def _patience(self) -> float:
        # A wait without an end can't be interrupted by Ctrl-C on every platform.
        nearest = min(running.deadline for running in self._running)
        return min(max(nearest - self._clock(), 0.0), 1.0)

    def _resume_tool(self, future: Future[Any]) -> None:
        self._resume(future, future.result())

    def _resume(self, done: Waiting, value: Any) -> None:
        running = next((running for running in self._running if running.waits_for is done), None)
        if running is not None:
            self._advance(running, partial(running.coroutine.send, value))

    def _end_overdue(self) -> None:
        for running in [running for running in self._running if self._clock() > running.deadline]:
            self._advance(running, partial(running.coroutine.throw, Ended("time_limit")))

    def _advance(self, running: _Running, move: Callable[[], Waiting]) -> None:
        try:
            running.waits_for = move()
        except StopIteration:
            self._running.remove(running)
            return
        if isinstance(running.waits_for, Future):
            running.waits_for.add_done_callback(self._answered.put)
