"""How the model writes one step: freely up to a stop, or, under a constraint, a thought and then a call in its language.

A reasoning model writes a think block before its first step, freely: stops and constraint are armed only behind it.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict
from functools import partial
from typing import Any

from local_react.decode.completion import Completion, join_step
from local_react.decode.generate import Decoder, Generation, Scanner
from local_react.decode.stop import StopScanner
from local_react.decode.tag import TagScanner
from local_react.decode.transcript import Transcript
from local_react.grounding import Candidates
from local_react.language.regular import Regular
from local_react.language.thinking import ThinkTags
from local_react.pen import Pen
from local_react.recorder import Recorder
from local_react.setup import MIN_STEP_TOKENS, Ended, Setup, Waiting
from local_react.steering import Steering
from local_react.trace import spell_pieces

LABEL_ROOM = 8
"""Tokens of the window that are kept for the action label behind a thought."""


class Author:
    """Has the model write the steps of one episode, and records what it wrote."""

    def __init__(self, setup: Setup, transcript: Transcript, decoder: Decoder, pen: Pen, recorder: Recorder) -> None:
        self._setup = setup
        self._transcript = transcript
        self._decoder = decoder
        self._pen = pen
        self._recorder = recorder
        self._sampler = decoder.sampler(setup.sampling)
        self._n_sampled = 0

    def write(
        self, number: int, *, n_calls: int, after_malformed: bool, candidates: Candidates | None
    ) -> Generator[Waiting, Any, Completion]:
        """The text of step `number`. The language of a constrained one depends on the calls so far, on whether the last
        step was malformed, and on the candidates for grounded parameters."""
        started = self._recorder.elapsed()
        steering = self._setup.steering
        if steering is None or (steering.reach == "repair" and not after_malformed):
            completion = yield from self._write_freely(number)
        else:
            completion = yield from self._write_constrained(number, n_calls, candidates)
        self._pen.follow(completion)
        self._n_sampled += completion.n_sampled
        self._record("completion", completion, started, step=number)
        return completion

    def think_first(self, tags: ThinkTags) -> Generator[Waiting, Any, None]:
        """The think block ahead of the first step, up to its closing tag or its budget; the program then opens the step."""
        started = self._recorder.elapsed()
        guards = self._setup.guards
        room = self._decoder.window - len(self._transcript) - 2 * MIN_STEP_TOKENS
        if room < 1:
            raise Ended("context_full", error=f"The window of {self._decoder.window:,} tokens has no room for a think block.")
        limits = [room, guards.max_think_tokens, guards.max_tokens]
        block = yield from self._generate(Generation(
            self._transcript, self._sampler, TagScanner(tags.closing),
            max_tokens=min(limit for limit in limits if limit is not None), n_top_logprobs=self._setup.n_top_logprobs,
            on_text=lambda text: self._recorder.stream("think_delta", text=text),
        ))
        self._n_sampled += block.n_sampled
        self._record("thinking", block, started)
        self._pen.end_thinking(block, tags)

    def _record(self, kind: str, completion: Completion, started: float, **values: Any) -> None:
        """Record what was generated, without what says nothing."""
        values |= asdict(completion) | {"pieces": spell_pieces(completion.pieces)}
        values = {
            name: value for name, value in values.items()
            if value not in (None, ()) and (value or name not in ("n_masks", "is_answer"))
        }
        self._recorder.record(kind, **values, seconds=round(self._recorder.elapsed() - started, 6))

    def _write_freely(self, number: int) -> Generator[Waiting, Any, Completion]:
        return (yield from self._generate(Generation(
            self._transcript, self._sampler, self._scanner(number), max_tokens=self._token_budget(), **self._watching(number)
        )))

    def _scanner(self, number: int) -> Scanner:
        """What ends a step that is written freely."""
        protocol, guards = self._setup.protocol, self._setup.guards
        return StopScanner(
            protocol.stops() if guards.stop_strings else (), action=protocol.stop("action"),
            ends_after_call=guards.one_action, line=protocol.label(protocol.opening, number).encode(),
        )

    def _write_constrained(
        self, number: int, n_calls: int, candidates: Candidates | None
    ) -> Generator[Waiting, Any, Completion]:
        """A free thought with a budget and a line of its own, then the action in its language."""
        steering, language = self._hold(number, n_calls, candidates)
        n_left, n_reserved = self._token_budget(), steering.cost(language)
        thought = label = None
        if self._setup.protocol.thought is not None and steering.reach != "step":
            thought = yield from self._think(number, n_left, n_reserved)
            n_left -= thought.n_sampled
            label = self._pen.begin_action(None if steering.chooses_label else number)
            self._recorder.stream("delta", step=number, text=label)
            language = steering.behind(language, number=number, written=b"".join((*thought.pieces, label.encode())))
            n_reserved = steering.cost(language)
        check_left(n_left, n_reserved)
        action = yield from self._generate(steering.generation(
            language, self._transcript, self._sampler, max_tokens=n_left, **self._watching(number)
        ))
        return action if thought is None or label is None else join_step(thought, label, action)

    def _hold(self, number: int, n_calls: int, candidates: Candidates | None) -> tuple[Steering, Regular]:
        """The steering of the run, and the language that it holds step `number` to."""
        steering, guards = self._setup.steering, self._setup.guards
        assert steering is not None
        return steering, steering.language(
            number=number, allow_answer=n_calls >= guards.min_calls,
            only_answer=guards.final_answer and number == guards.max_steps, grounded=candidates,
        )

    def _think(self, number: int, n_left: int, n_reserved: int) -> Generator[Waiting, Any, Completion]:
        """The thought, up to the end of its line, within what the shortest action leaves of budget and window."""
        room = self._decoder.window - len(self._transcript) - n_reserved - LABEL_ROOM
        if room < 1:
            raise Ended("context_full", error=f"The window of {self._decoder.window:,} tokens has no room for a step.")
        limits = [room, max(n_left - n_reserved, 1), self._setup.guards.max_thought_tokens]
        scanner = StopScanner(ends_with_line=True, line=self._setup.protocol.label("thought", number).encode())
        thought = yield from self._generate(Generation(
            self._transcript, self._sampler, scanner, max_tokens=min(limit for limit in limits if limit is not None),
            **self._watching(number),
        ))
        self._pen.follow(thought)
        return thought

    def _generate(self, generation: Generation) -> Generator[Waiting, Any, Completion]:
        n_before = len(self._transcript)
        self._decoder.start(generation)
        completion: Completion = yield generation
        text = "".join(spell_pieces(completion.pieces))
        self._recorder.record("tokens", owner="model", text=text, ids=self._transcript.ids[n_before:])
        return completion

    def _watching(self, number: int) -> dict[str, Any]:
        """What a generation tells while it runs."""
        stream = partial(self._recorder.stream, "delta", step=number)
        return {"n_top_logprobs": self._setup.n_top_logprobs, "on_text": lambda text: stream(text=text)}

    def _token_budget(self) -> int:
        guards = self._setup.guards
        if guards.max_tokens is None:
            return guards.max_step_tokens
        left = guards.max_tokens - self._n_sampled
        if left <= 0:
            raise Ended("token_limit")
        return min(guards.max_step_tokens, left)


def check_left(n_left: int, n_reserved: int) -> None:
    """End the episode where the shortest call doesn't fit what is left of the step's budget."""
    if n_left < n_reserved:
        raise Ended("token_limit", error=f"The shortest call takes {n_reserved} tokens, and {n_left} are left.")
