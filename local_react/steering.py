"""Which language each step is held to, and the engine that holds it there.

The languages depend on the step: no answer before `min_calls`, nothing but the answer at the last step, and grounded
parameters take only what was seen. Each is compiled once and kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from local_react.decode.constrained import ConstrainedGeneration, exit_cost
from local_react.decode.constraint import Engine, Matcher, find_slowest
from local_react.decode.generate import SamplerLike
from local_react.decode.markup import MarkupMatcher
from local_react.decode.transcript import Transcript
from local_react.errors import ConstraintCompileTimeout, GrammarError, SettingsError
from local_react.grounding import Candidates
from local_react.language.bounded import begin
from local_react.language.derivative import Recogniser
from local_react.language.grammar import BOUNDS, action_language, line_language, step_language
from local_react.language.native.formats import format_of
from local_react.language.native.language import answer_language, held_message
from local_react.language.protocol import Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Signatures
from local_react.language.values import Bounds
from local_react.llama.markup import MarkupVocabulary
from local_react.llama.vocabulary import Vocabulary

Reach = Literal["action", "step", "repair"]
"""What is constrained: the action of each step, the whole step with its thought, or only the step after a malformed one."""

REACHES: tuple[Reach, ...] = ("action", "step", "repair")


def held_language(
    protocol: Protocol, tools: Signatures, reach: Reach, *, number: int = 1, allow_answer: bool = True,
    only_answer: bool = False, grounded: Candidates | None = None, bounds: Bounds = BOUNDS,
) -> Regular:
    """The language of what the model writes in step `number`: behind the label that the program writes, or from the start
    of the line where the choice of the label is the model's own; in a native format, behind the opener of a call.

    Raises GrammarError where it has no word.
    """
    options = {"allow_answer": allow_answer, "only_answer": only_answer, "grounded": grounded, "bounds": bounds}
    if protocol.native is not None:
        return held_message(format_of(protocol), tools, is_whole=reach == "step", **options)
    if reach == "step":
        return step_language(protocol, tools, number=number, **options)
    if protocol.finish is None:
        return line_language(protocol, tools, number=number, **options)
    return action_language(protocol, tools, **options)


@dataclass(slots=True, kw_only=True)
class Steering:
    """Holds the steps of a run to their languages."""

    protocol: Protocol
    tools: Signatures
    engine: Engine
    vocabulary: Vocabulary | MarkupVocabulary
    reach: Reach = "action"
    explains: bool = False
    masks_first: bool = False
    compile_limit_s: float | None = None
    _languages: dict[Any, Regular] = field(default_factory=dict)

    def language(
        self, *, number: int, allow_answer: bool = True, only_answer: bool = False, grounded: Candidates | None = None
    ) -> Regular:
        """What the model is held to in step `number` (`held_language`, kept).

        Where nothing can be called yet and no answer is allowed either, the answer is allowed all the same.
        """
        is_numbered = (self.reach == "step" or self.chooses_label) and self.protocol.native is None
        key_number = number if is_numbered else None
        key = (key_number, allow_answer, only_answer, _freeze(grounded))
        if key not in self._languages:
            build = partial(
                held_language, self.protocol, self.tools, self.reach,
                number=number, only_answer=only_answer, grounded=grounded, bounds=self.engine.bounds,
            )
            try:
                language = build(allow_answer=allow_answer)
            except GrammarError:
                if allow_answer:
                    raise
                language = build(allow_answer=True)
            self._languages[key] = language
        return self._languages[key]

    def source(self) -> dict[str, Any]:
        """Where its languages come from, as a trace records it: from the tools, which are in the trace anyway."""
        return {}

    def doubts(self) -> Iterable[str]:
        """What looks wrong about its languages, though a run can be held to them."""
        return ()

    def behind(self, language: Regular, *, number: int, written: bytes) -> Regular:
        """The language of step `number` once a free thought and the action's label are `written`; it depends on neither."""
        return language

    def must_answer(self, language: Regular, number: int) -> bool:
        """Whether the message of step `number`, held to this language, can't hold a call (native formats only)."""
        return language is answer_language(self.engine.bounds.max_text)

    @property
    def chooses_label(self) -> bool:
        """Whether the model writes the action line's label itself, since there is a choice of labels."""
        return self.protocol.finish is None

    def cost(self, language: Regular) -> int:
        """How many tokens a step must have for the shortest word of its language."""
        return exit_cost(Recogniser(language), self.vocabulary)

    def generation(
        self, language: Regular, transcript: Transcript, sampler: SamplerLike, *, max_tokens: int,
        n_top_logprobs: int | None, on_text: Callable[[str], None],
    ) -> ConstrainedGeneration:
        """A generation that is held to a language from its beginning."""
        matcher = self.match(language)
        if isinstance(self.vocabulary, MarkupVocabulary):
            matcher = MarkupMatcher(matcher, self.vocabulary)
        return ConstrainedGeneration(
            transcript, sampler, begin(language), matcher, max_tokens=max_tokens,
            masks_first=self.masks_first, explains=self.explains, n_top_logprobs=n_top_logprobs, on_text=on_text,
        )

    def match(self, language: Regular) -> Matcher:
        """A matcher at the beginning of a language. Raises ConstraintCompileTimeout, which names the tool to blame."""
        try:
            return self.engine.match(language, limit_s=self.compile_limit_s)
        except ConstraintCompileTimeout as error:
            slowest = find_slowest(self.engine, self._languages_of_tools(), error.limit_s)
            raise ConstraintCompileTimeout(error.engine, error.limit_s, tool=slowest) from error

    def _languages_of_tools(self) -> Iterator[tuple[str, Regular]]:
        """The calls of each tool alone."""
        for name, signature in self.tools.items():
            tool = {name: signature}
            if self.protocol.native is not None:
                yield name, held_language(self.protocol, tool, "action", bounds=self.engine.bounds)
            else:
                yield name, action_language(self.protocol, tool, allow_answer=False, bounds=self.engine.bounds)

    def languages_ahead(self, min_calls: int = 0) -> list[Regular]:
        """The languages that are known before the run: of a step that may answer, of the last one, of one that must call."""
        options: list[dict[str, bool]] = [{}, {"only_answer": True}]
        # In a native format an answer may be far shorter than any call.
        if min_calls or self.protocol.native is not None:
            options.append({"allow_answer": False})
        return [self.language(number=1, **option) for option in options]

    def compile(self, min_calls: int = 0) -> None:
        """Compile what is known before the run, so that a language that the engine can't hold to is refused then.

        Raises GrammarError and ConstraintCompileTimeout.
        """
        for language in self.languages_ahead(min_calls):
            self.match(language)

    def check_budget(self, max_step_tokens: int, min_calls: int = 0) -> None:
        """Raise SettingsError where a step's budget is too small for any call, before anything is decoded."""
        needed = max(map(self.cost, self.languages_ahead(min_calls))) + MIN_THOUGHT
        if max_step_tokens < needed:
            least = f"under the constraint the shortest step takes {needed} tokens"
            raise SettingsError(f"max_step_tokens={max_step_tokens} is too small: {least}.")


MIN_THOUGHT = 1
"""A step's thought gets at least this many tokens."""


def _freeze(grounded: Candidates | None) -> Any:
    return None if grounded is None else tuple((key, tuple(values)) for key, values in sorted(grounded.items()))
