"""One call of the leaderboard from a model: prompt, one step, a reading. Nothing is executed and no notice is given.

An arm (call_arm.py) is one way of asking. Its settings decide the prompt (encoding, exemplars, how much is said about a
function, a thought before the call), the constraint (none, the functions' own types, or those narrowed to the question),
how tokens are chosen (by one prompt, or by several together), and whether one call is written or the likeliest of several
is taken. Nothing in an arm depends on the ground truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

from local_react.bench.bfcl import Row, row_toolbox
from local_react.bench.bfcl_voices import row_voices
from local_react.bench.call_arm import N_BEAMS, CallArm
from local_react.bench.narrowing import Narrowed, narrow, repeated, shaped
from local_react.bench.voices import Choir, Voice
from local_react.decode.completion import Completion
from local_react.decode.constrained import ConstrainedGeneration
from local_react.decode.constraint import Engine, Matcher
from local_react.decode.generate import Generation, SamplerLike
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.errors import SettingsError
from local_react.form import Form
from local_react.language.derivative import Recogniser
from local_react.language.grammar import action_language
from local_react.language.parse import parse_step
from local_react.language.prompt import write_action
from local_react.language.protocol import ArgumentStyle, Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Signatures
from local_react.language.step import Action, Call
from local_react.llama.sampling import Sampling
from local_react.llama.vocabulary import Vocabulary

MAX_TOKENS = 256
"""Tokens of a call, at most; the way out is kept free under a constraint."""

MAX_THOUGHT_TOKENS = 64

MAX_VERSIONS = 8
"""So many times a call is written, at most, until it says nothing twice."""

N_SAMPLES, SAMPLE_TEMPERATURE = 4, 0.7
"""How many candidates are drawn, and how, in arms that choose among samples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a model wrote for a row, and how it was read. `n_sampled` and `n_forced` count the tokens of the call, of all its
    versions where it was written again.

    `logprob` is the natural log-probability of its sampled tokens together, under the voices and before any constraint; of
    all its tokens, where it was chosen among candidates, and then they are counted over all of those (beams that came to
    nothing aren't). `n_candidates` is the number of different calls that there were to choose from.
    """

    row_id: str
    action: Action
    text: str
    thought: str | None
    n_prompt: int
    n_sampled: int
    n_forced: int
    logprob: float
    seconds: float
    n_candidates: int = 1


@dataclass(frozen=True, slots=True)
class _Question:
    """A row put to the model: its voices up to the label of the call, and the thought before it."""

    voices: Sequence[Voice]
    label: str
    thought: str | None
    n_prompt: int

    @property
    def weights(self) -> list[float]:
        return [voice.weight for voice in self.voices]


class Caller:
    """Asks one model for calls, row by row. `engine` is needed for constrained arms, `form` for arms that chat."""

    def __init__(
        self, choir: Choir, vocabulary: Vocabulary, sampler: SamplerLike, clock: Callable[[], float],
        engine: Engine | None = None, form: Form | None = None,
    ) -> None:
        self._choir = choir
        self._vocabulary = vocabulary
        self._sampler = sampler
        self._clock = clock
        self._engine = engine
        self._form = form

    def predict(self, row: Row, arm: CallArm) -> Prediction:
        """The call that the model makes for a row. Raises ContextOverflow where the prompt doesn't fit the window."""
        started = self._clock()
        toolbox = row_toolbox(row)
        question = self._ask(row, toolbox, arm)
        prediction, held = self._greedy(row, toolbox, arm, question)
        if arm.chooses and isinstance(prediction.action, Call):
            prediction = self._choose(row, toolbox, arm, question, prediction, held)
        return replace(prediction, seconds=self._clock() - started)

    def _ask(self, row: Row, toolbox: Signatures, arm: CallArm) -> _Question:
        """Put a row to the model, with a thought written where the arm thinks under a constraint."""
        protocol = arm.protocol
        voices = row_voices(row, toolbox, arm, self._vocabulary, self._form)
        label = protocol.label(protocol.opening, 1)
        asked = _Question(voices, label, None, len(voices[0].prefix) + len(voices[0].own))
        return self._think(asked, protocol) if arm.constrained and arm.thinks else asked

    def _think(self, question: _Question, protocol: Protocol) -> _Question:
        """The question with a thought behind it, and the label of the call."""
        transcripts = self._choir.open(question.voices)
        scanner = StopScanner(ends_with_line=True, line=question.label.encode())
        thinking = Generation(transcripts[0], self._sampler, scanner, max_tokens=MAX_THOUGHT_TOKENS)
        thought = self._choir.write(thinking, transcripts, question.weights).text.strip()
        label = protocol.label("action", 1)
        behind = (*transcripts[0].ids[question.n_prompt :], *self._vocabulary.tokenize(f"\n{label}"))
        voices = [replace(voice, own=(*voice.own, *behind)) for voice in question.voices]
        return replace(question, voices=voices, label=label, thought=thought)

    def _greedy(
        self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question
    ) -> tuple[Prediction, Narrowed]:
        """The one call that is written, and what it was held to; written again without what it says twice, where the arm says
        each thing once."""
        barred: dict[tuple[str, str], frozenset[str]] = {}
        n_sampled = n_forced = 0
        for _ in range(MAX_VERSIONS):
            held = narrow(toolbox, row.question, arm.narrows, barred)
            completion = self._write(arm, question, held)
            action = _read(completion, toolbox, arm, question)
            n_sampled, n_forced = n_sampled + completion.n_sampled, n_forced + completion.n_forced
            if "once" not in arm.narrows or not isinstance(action, Call):
                break
            before = dict(barred)
            for name, value in repeated(action, toolbox[action.name]).items():
                barred[action.name, name] = barred.get((action.name, name), frozenset()) | {value}
            if barred == before:
                break
        prediction = Prediction(
            row_id=row.id, action=action, text=completion.text, thought=question.thought or action.thought,
            n_prompt=question.n_prompt, n_sampled=n_sampled, n_forced=n_forced,
            logprob=sum(token.logprob for token in completion.logprobs), seconds=0.0,
        )
        return prediction, held

    def _write(
        self, arm: CallArm, question: _Question, held: Narrowed, sampler: SamplerLike | None = None
    ) -> Completion:
        """A text behind a question; a call within `held` where the arm is constrained."""
        protocol, transcripts = arm.protocol, self._choir.open(question.voices)
        if arm.constrained:
            generation: Generation = self._constrained(_language(arm, held), transcripts[0], sampler or self._sampler)
        else:
            scanner = StopScanner(
                protocol.stops(), action=protocol.stop("action"), ends_after_call=True, line=question.label.encode()
            )
            generation = Generation(transcripts[0], self._sampler, scanner, max_tokens=MAX_TOKENS, n_top_logprobs=0)
        return self._choir.write(generation, transcripts, question.weights)

    def _choose(
        self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question, greedy: Prediction, held: Narrowed
    ) -> Prediction:
        """The likeliest of several calls; of equally likely ones the first, which is the greedy one."""
        assert isinstance(greedy.action, Call)
        calls = {_ballot(greedy.action): greedy.action}
        n_sampled, n_forced = greedy.n_sampled, greedy.n_forced
        for call, completion in self._candidates(row, toolbox, arm, question, greedy.action, held):
            n_sampled, n_forced = n_sampled + completion.n_sampled, n_forced + completion.n_forced
            if "once" not in arm.narrows or not repeated(call, toolbox[call.name]):
                calls.setdefault(_ballot(call), call)
        scored: list[tuple[float, float, str, Call]] = []
        for call in calls.values():
            text = write_action(call, arm.protocol, toolbox, 1).removeprefix(arm.protocol.label("action", 1))
            ids = self._vocabulary.tokenize(text)
            logprob = self._choir.score(self._choir.open(question.voices), question.weights, ids)
            scored.append((logprob / len(ids) if arm.averages else logprob, logprob, text, call))
        _, logprob, text, call = max(scored, key=lambda each: each[0])
        return replace(
            greedy, action=call, text=text, thought=question.thought, n_sampled=n_sampled, n_forced=n_forced,
            logprob=logprob, n_candidates=len(calls),
        )

    def _candidates(
        self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question, greedy: Call, held: Narrowed
    ) -> Iterator[tuple[Call, Completion]]:
        """The calls to choose from beside the greedy one."""
        if "tools" in arm.chooses and len(toolbox) > 1:
            for name in toolbox:
                completion = self._write(arm, question, replace(held, tools={name: held.tools[name]}))
                yield from _as_call(completion, toolbox, arm, question)
        if "samples" in arm.chooses:
            for seed in range(N_SAMPLES):
                sampler = self._choir.sampler(Sampling(temperature=SAMPLE_TEMPERATURE, seed=seed))
                yield from _as_call(self._write(arm, question, held, sampler), toolbox, arm, question)
        if "encodings" in arm.chooses:
            for style in get_args(ArgumentStyle):
                if style != arm.arguments:
                    other = replace(arm, arguments=style)
                    asked = self._ask(row, toolbox, other)
                    yield from _as_call(self._write(other, asked, held), toolbox, other, asked)
        if "beams" in arm.chooses:
            for completion in self._search(arm, question, shaped(held, greedy)):
                yield from _as_call(completion, toolbox, arm, question)

    def _search(self, arm: CallArm, question: _Question, held: Narrowed | None) -> Sequence[Completion]:
        """The texts that beams find within `held`."""
        if held is None:
            return ()
        language, (transcript,) = _language(arm, held), self._choir.open(question.voices)
        return self._choir.search(
            transcript, Recogniser(language), partial(self._match, language), n_beams=N_BEAMS, max_tokens=MAX_TOKENS
        )

    def _constrained(self, language: Regular, lead: Transcript, sampler: SamplerLike) -> ConstrainedGeneration:
        return ConstrainedGeneration(
            lead, sampler, Recogniser(language), self._match(language), max_tokens=MAX_TOKENS,
            n_top_logprobs=0,
        )

    def _match(self, language: Regular) -> Matcher:
        if self._engine is None:
            raise SettingsError("The arm is constrained, and no engine was given. Give one from `make_engine`.")
        return self._engine.match(language)


def _language(arm: CallArm, held: Narrowed) -> Regular:
    """What may be written: one call."""
    return action_language(arm.protocol, held.tools, allow_answer=False, grounded=held.grounded)


def _ballot(call: Call) -> str:
    """What two calls have in common if they are the same: name and arguments, as JSON, where 1, 1.0 and true differ."""
    return json.dumps([call.name, dict(call.arguments)], sort_keys=True)


def _read(completion: Completion, toolbox: Signatures, arm: CallArm, question: _Question) -> Action:
    is_cut = completion.reason in ("length", "window")
    return parse_step(completion.text, arm.protocol, toolbox, strict=True, primed=question.label, truncated=is_cut)


def _as_call(
    completion: Completion, toolbox: Signatures, arm: CallArm, question: _Question
) -> Iterator[tuple[Call, Completion]]:
    """The call in a completion; none where it can't be read, which the language rules out."""
    action = _read(completion, toolbox, arm, question)
    if isinstance(action, Call):
        yield action, completion
