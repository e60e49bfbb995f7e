"""One call of the leaderboard from a model: prompt, one step, a reading. Nothing is executed and no notice is given.

An arm is one way of asking. Its settings decide the prompt (encoding, exemplars, how much is said about a function, a
thought before the call), the constraint (none, the functions' own types, or those narrowed to the question), and how tokens
are chosen (by one prompt, or by several together). Nothing in an arm depends on the ground truth.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from local_react.bench.bfcl import Row, row_toolbox
from local_react.bench.bfcl_exemplars import CallExemplar, choose_exemplars
from local_react.bench.bfcl_prompt import INSTRUCTIONS, SHARED, Description, call_prompt
from local_react.bench.narrowing import Way, narrow
from local_react.bench.voices import Choir, Voice
from local_react.decode.constrained import ConstrainedGeneration
from local_react.decode.constraint import Engine
from local_react.decode.generate import Generation, SamplerLike
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.errors import SettingsError
from local_react.form import Form, encode, encode_pieces
from local_react.language.derivative import Recogniser
from local_react.language.grammar import action_language
from local_react.language.parse import parse_step
from local_react.language.prompt import Prompt
from local_react.language.protocol import ArgumentStyle, Protocol
from local_react.language.signature import Signatures
from local_react.language.step import Action
from local_react.llama.vocabulary import Vocabulary

MAX_TOKENS = 256
"""Tokens of a call, at most; the way out is kept free under a constraint."""

MAX_THOUGHT_TOKENS = 64

EMPTY_QUESTION = "(none)"
"""What stands for the question in the voice that doesn't see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArm:
    """One way of asking for a call.

    `n_exemplars` takes so many exemplars; with `picks_exemplars` those first whose calls are written as the row's will be.
    `chats` puts the prompt into the turns of the model's chat template, where it has one. `narrows` holds values to the
    question. `guidance` above 0 weighs the question more (classifier-free guidance); `n_orders` asks with so many orders of
    the exemplars at once.
    """

    name: str
    constrained: bool = True
    arguments: ArgumentStyle = "keyword"
    thinks: bool = False
    n_exemplars: int = 2
    picks_exemplars: bool = False
    description: Description = "full"
    instructions: str = INSTRUCTIONS
    chats: bool = False
    narrows: tuple[Way, ...] = ()
    guidance: float = 0.0
    n_orders: int = 1

    def __post_init__(self) -> None:
        """Raises SettingsError for what can't be asked."""
        if self.n_exemplars < 0 or self.n_orders < 1 or self.guidance < 0:
            raise SettingsError(f"Arm {self.name}: n_exemplars and guidance must be at least 0, n_orders at least 1.")
        if self.narrows and not self.constrained:
            raise SettingsError(f"Arm {self.name}: narrows says something about the constraint. Set constrained, too.")

    @property
    def protocol(self) -> Protocol:
        """The wire format of this arm."""
        return Protocol.preset("finish" if self.thinks else "act", arguments=self.arguments)

    @property
    def n_voices(self) -> int:
        """How many prompts write the call together."""
        return self.n_orders + (1 if self.guidance else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a model wrote for a row, and how it was read. `n_sampled` and `n_forced` count the tokens of the call.

    `logprob` is the natural log-probability of its sampled tokens together, under the voices and before any constraint.
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
        toolbox, protocol = row_toolbox(row), arm.protocol
        voices = [self._voice(prompt, arm, weight) for prompt, weight in _prompts(row, toolbox, arm)]
        transcripts, weights = self._choir.open(voices), [voice.weight for voice in voices]
        lead = transcripts[0]
        n_prompt, label = len(lead), protocol.label(protocol.opening, 1)
        thought = None
        if arm.constrained:
            if arm.thinks:
                thought = self._choir.write(self._thinking(lead, label), transcripts, weights).text.strip()
                label = protocol.label("action", 1)
                self._write_label(f"\n{label}", transcripts)
            generation = self._constrained(row, toolbox, arm, lead)
        else:
            scanner = StopScanner(
                protocol.stops(), action=protocol.stop("action"), ends_after_call=True, line=label.encode()
            )
            generation = Generation(lead, self._sampler, scanner, max_tokens=MAX_TOKENS, n_top_logprobs=0)
        completion = self._choir.write(generation, transcripts, weights)
        is_cut = completion.reason in ("length", "window")
        action = parse_step(completion.text, protocol, toolbox, strict=True, primed=label, truncated=is_cut)
        return Prediction(
            row_id=row.id, action=action, text=completion.text, thought=thought or action.thought, n_prompt=n_prompt,
            n_sampled=completion.n_sampled, n_forced=completion.n_forced,
            logprob=sum(token.logprob for token in completion.logprobs), seconds=self._clock() - started,
        )

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

    def _thinking(self, lead: Transcript, label: str) -> Generation:
        scanner = StopScanner(ends_with_line=True, line=label.encode())
        return Generation(lead, self._sampler, scanner, max_tokens=MAX_THOUGHT_TOKENS)

    def _write_label(self, text: str, transcripts: Sequence[Transcript]) -> None:
        ids = self._vocabulary.tokenize(text)
        for transcript in transcripts:
            transcript.append(ids)

    def _constrained(self, row: Row, tools: Signatures, arm: CallArm, lead: Transcript) -> ConstrainedGeneration:
        if self._engine is None:
            raise SettingsError(f"Arm {arm.name} is constrained, and no engine was given. Give one from `make_engine`.")
        held = narrow(tools, row.question, arm.narrows)
        language = action_language(arm.protocol, held.tools, allow_answer=False, grounded=held.grounded)
        return ConstrainedGeneration(
            lead, self._sampler, Recogniser(language), self._engine.match(language), max_tokens=MAX_TOKENS, n_top_logprobs=0
        )


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
