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
from local_react.bench.bfcl_exemplars import CallExemplar, choose_exemplars
from local_react.bench.bfcl_prompt import SHARED, call_prompt
from local_react.bench.call_arm import CallArm
from local_react.bench.narrowing import Narrowed, narrow, repeated, shaped
from local_react.bench.voices import Choir, Voice
from local_react.decode.completion import Completion
from local_react.decode.constrained import ConstrainedGeneration
from local_react.decode.constraint import Engine, Matcher
from local_react.decode.generate import Generation, SamplerLike
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.errors import SettingsError
from local_react.form import Form, encode, encode_pieces
from local_react.language.derivative import Recogniser
from local_react.language.grammar import action_language
from local_react.language.parse import parse_step
from local_react.language.prompt import Prompt, write_action
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
"""So many times a call is written, at most, until it says nothing twice; as many times again where it is searched for."""

N_SAMPLES, SAMPLE_TEMPERATURE = 4, 0.7
"""How many candidates are drawn, and how, in arms that choose among samples."""

EMPTY_QUESTION = "(none)"
"""What stands for the question in the voice that doesn't see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a model wrote for a row, and how it was read. `n_sampled` and `n_forced` count the tokens of the call, of all its
    versions where it was written again.

    `logprob` is the natural log-probability of its sampled tokens together, under the voices and before any constraint; of
    all its tokens, where it was chosen among candidates, and then they are counted over all of those. `n_candidates` is the
    number of different calls that there were to choose from.
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
        prediction = (self._choose if arm.chooses else self._predict)(row, toolbox, arm, question)
        return replace(prediction, seconds=self._clock() - started)

    def _ask(self, row: Row, toolbox: Signatures, arm: CallArm) -> _Question:
        """Put a row to the model, with a thought written where the arm thinks under a constraint."""
        protocol = arm.protocol
        voices = [self._voice(prompt, arm, weight) for prompt, weight in _prompts(row, toolbox, arm)]
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

    def _predict(self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question) -> Prediction:
        """The greedy call, or the one of its shape that a beam search finds."""
        greedy = self._settle(row, toolbox, arm, question, None)
        if arm.n_beams == 1 or not isinstance(greedy.action, Call):
            return greedy
        found = self._settle(row, toolbox, arm, question, greedy.action)
        return replace(found, n_sampled=greedy.n_sampled + found.n_sampled, n_forced=greedy.n_forced + found.n_forced)

    def _settle(
        self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question, shape: Call | None
    ) -> Prediction:
        """The call that is written, of that shape if one is given; written again without what it says twice, where the arm
        says each thing once."""
        barred: dict[tuple[str, str], frozenset[str]] = {}
        n_sampled = n_forced = 0
        for _ in range(MAX_VERSIONS):
            held = narrow(toolbox, row.question, arm.narrows, barred)
            completion = self._write(
                arm, question, held if shape is None else shaped(held, shape), n_beams=1 if shape is None else arm.n_beams
            )
            action = _read(completion, toolbox, arm, question)
            n_sampled, n_forced = n_sampled + completion.n_sampled, n_forced + completion.n_forced
            if "once" not in arm.narrows or not isinstance(action, Call):
                break
            before = dict(barred)
            for name, value in repeated(action, toolbox[action.name]).items():
                barred[action.name, name] = barred.get((action.name, name), frozenset()) | {value}
            if barred == before:
                break
        return Prediction(
            row_id=row.id, action=action, text=completion.text, thought=question.thought or action.thought,
            n_prompt=question.n_prompt, n_sampled=n_sampled, n_forced=n_forced,
            logprob=sum(token.logprob for token in completion.logprobs), seconds=0.0,
        )

    def _write(self, arm: CallArm, question: _Question, held: Narrowed, *, n_beams: int) -> Completion:
        """The greedy text; under a constraint, where beams find one, the text that `n_beams` above 1 find."""
        transcripts = self._choir.open(question.voices)
        if not arm.constrained:
            protocol = arm.protocol
            scanner = StopScanner(
                protocol.stops(), action=protocol.stop("action"), ends_after_call=True, line=question.label.encode()
            )
            generation = Generation(transcripts[0], self._sampler, scanner, max_tokens=MAX_TOKENS, n_top_logprobs=0)
            return self._choir.write(generation, transcripts, question.weights)
        language = _language(arm, held)
        if n_beams > 1:
            found = self._choir.find(
                transcripts[0], Recogniser(language), partial(self._match, language), n_beams=n_beams, max_tokens=MAX_TOKENS
            )
            if found is not None:
                return found
            transcripts = self._choir.open(question.voices)
        return self._choir.write(self._constrained(language, transcripts[0]), transcripts, question.weights)

    def _choose(self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question) -> Prediction:
        """The likeliest of several calls; of equally likely ones the first, which is the greedy one."""
        written = list(self._candidates(row, toolbox, arm, question))
        calls: dict[str, Call] = {}
        for call, _ in written:
            calls.setdefault(_ballot(call), call)
        scored: list[tuple[float, str, Call]] = []
        for call in calls.values():
            text = write_action(call, arm.protocol, toolbox, 1).removeprefix(arm.protocol.label("action", 1))
            logprob = self._choir.score(self._choir.open(question.voices), question.weights, self._vocabulary.tokenize(text))
            scored.append((logprob, text, call))
        logprob, text, call = max(scored, key=lambda each: each[0])
        return Prediction(
            row_id=row.id, action=call, text=text, thought=question.thought, n_prompt=question.n_prompt,
            n_sampled=sum(completion.n_sampled for _, completion in written),
            n_forced=sum(completion.n_forced for _, completion in written),
            logprob=logprob, seconds=0.0, n_candidates=len(calls),
        )

    def _candidates(
        self, row: Row, toolbox: Signatures, arm: CallArm, question: _Question
    ) -> Iterator[tuple[Call, Completion]]:
        """The calls to choose from, the greedy one first."""
        held = narrow(toolbox, row.question, arm.narrows)
        language = _language(arm, held)
        plans = [(language, self._sampler)]
        if "tools" in arm.chooses and len(toolbox) > 1:
            plans += [(_language(arm, replace(held, tools={name: held.tools[name]})), self._sampler) for name in toolbox]
        if "samples" in arm.chooses:
            settings = [Sampling(temperature=SAMPLE_TEMPERATURE, seed=seed) for seed in range(N_SAMPLES)]
            plans += [(language, self._choir.sampler(each)) for each in settings]
        for chosen, sampler in plans:
            transcripts = self._choir.open(question.voices)
            completion = self._choir.write(self._constrained(chosen, transcripts[0], sampler), transcripts, question.weights)
            yield from _as_call(completion, toolbox, arm, question)
        if "encodings" in arm.chooses:
            others = [style for style in get_args(ArgumentStyle) if style != arm.arguments]
            for style in others:
                other = replace(arm, arguments=style)
                asked = self._ask(row, toolbox, other)
                transcripts = self._choir.open(asked.voices)
                generation = self._constrained(_language(other, narrow(toolbox, row.question, other.narrows)), transcripts[0])
                completion = self._choir.write(generation, transcripts, asked.weights)
                yield from _as_call(completion, toolbox, other, asked)

    def _voice(self, prompt: Prompt, arm: CallArm, weight: float) -> Voice:
        """The prompt in tokens, cut behind what all rows share."""
        if arm.chats:
            if self._form is None:
                raise SettingsError(f"Arm {arm.name} chats, and no form of prompts was given. Give one from `choose_form`.")
            prompt = self._form.dress(prompt)
        ids = encode(prompt, self._vocabulary).ids
        n_pieces = next((n for n, piece in enumerate(prompt.pieces, 1) if piece.part == SHARED), 0)
        shared = encode_pieces(prompt.pieces[:n_pieces], self._vocabulary)[0]
        start = len(ids) - len(encode_pieces(prompt.pieces, self._vocabulary)[0])
        n_shared = next((n for n, (one, other) in enumerate(zip(ids[start:], shared)) if one != other), len(shared)) + start
        return Voice(ids[:n_shared], ids[n_shared:], weight)

    def _constrained(
        self, language: Regular, lead: Transcript, sampler: SamplerLike | None = None
    ) -> ConstrainedGeneration:
        return ConstrainedGeneration(
            lead, sampler or self._sampler, Recogniser(language), self._match(language), max_tokens=MAX_TOKENS,
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


def _prompts(row: Row, tools: Signatures, arm: CallArm) -> list[tuple[Prompt, float]]:
    """The prompts that write together, with their weights; the first one leads."""
    exemplars = choose_exemplars(arm.n_exemplars, tools if arm.picks_exemplars else None, arm.arguments)
    prompts = []
    for order in range(arm.n_orders):
        shown = _turned(exemplars, order, arm.n_orders)
        prompt = call_prompt(
            row.question, tools, arm.protocol, shown, instructions=arm.instructions, description=arm.description
        )
        prompts.append((prompt, (1 + arm.guidance) / arm.n_orders))
    if arm.guidance:
        blind = call_prompt(
            EMPTY_QUESTION, tools, arm.protocol, exemplars, instructions=arm.instructions, description=arm.description
        )
        prompts.append((blind, -arm.guidance))
    return prompts


def _turned(exemplars: Sequence[CallExemplar], order: int, n_orders: int) -> Sequence[CallExemplar]:
    """The exemplars in order `order` of `n_orders`: turned by that share of their number."""
    start = order * len(exemplars) // n_orders
    return (*exemplars[start:], *exemplars[:start])
