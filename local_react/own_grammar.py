"""A grammar of the user's own in the place of the one that is made from the tools: what of a step it describes.

It covers the whole *step* if it can begin with the label that opens one, the action's *line* if it can begin with the
label of that, and else the *call* alone: what follows the action label. Invariant: what can't be served with the reach
that is asked for is refused before the run. Whether its words can be read as calls of the tools is the user's own affair;
`doubts` says what looks wrong.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from local_react.decode.grammar_file import GrammarFile, read_grammar
from local_react.errors import SettingsError
from local_react.language.bounded import begin
from local_react.language.derivative import Recogniser, random_word
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Malformed
from local_react.steering import Reach, Steering

Cover = Literal["step", "line", "call"]
"""What of a step a grammar describes."""

MANY_STEPS = 20
"""The number of steps for which a grammar is checked where a run has no limit."""

N_DRAWN = 30
"""So many random words are read to see whether any is a call, or are tried for a thought."""

_WELL_FORMED = frozenset({
    "unknown_tool", "missing_argument", "too_many_arguments", "unknown_argument", "bad_argument", "empty_answer",
})
"""What a reading may complain of in a word that is a call all the same."""


@dataclass(frozen=True, slots=True)
class OwnGrammar:
    """A grammar file for the steps of a protocol. With `is_thought_free`, thoughts aren't held to it."""

    file: GrammarFile
    protocol: Protocol
    is_thought_free: bool

    @property
    def cover(self) -> Cover:
        """What of a step it describes, by what it can begin with."""
        protocol = self.protocol
        if self._begins_with(protocol.label(protocol.opening)):
            return "step"
        labels = ["action"] if protocol.answer is None else ["action", "answer"]
        return "line" if any(self._begins_with(protocol.label(kind)) for kind in labels) else "call"

    def describe(self) -> dict[str, str]:
        """The grammar as it is recorded in a trace."""
        return {"name": self.file.name, "sha256": self.file.sha256, "cover": self.cover}

    def _begins_with(self, label: str) -> bool:
        return not Recogniser(self.file.language).feed(label.encode()).is_dead

    def language(self, number: int, written: bytes | None = None) -> Regular:
        """What the model may write in step `number` behind what the program has written of it.

        `written` is what stands behind the opening label by then where the thought is free: that thought, and the label
        of the action. A thought that the grammar doesn't have is taken for one that it has, and so is an unknown one.
        Raises SettingsError where the grammar has nothing there.
        """
        cover = self.cover
        if cover == "call":
            return self.file.language
        start = begin(self.file.language)
        if cover == "line":
            return start.feed(self._action_label(number)).rest
        opening = self.protocol.label(self.protocol.opening, number)
        place = start.feed(opening.encode())
        if place.is_dead:
            raise SettingsError(f"The grammar {self.file.name} can't begin step {number}: it has no `{opening}` at its start.")
        if not self.is_thought_free or self.protocol.thought is None:
            return place.rest
        behind = None if written is None else place.feed(written)
        return self._behind_some_thought(place, number).rest if behind is None or behind.is_dead else behind.rest

    def _action_label(self, number: int) -> bytes:
        """What the program writes at the start of the action's line: nothing where the model chooses the label."""
        return b"" if self.protocol.finish is None else self.protocol.label("action", number).encode()

    def _behind_some_thought(self, place: Recogniser, number: int) -> Recogniser:
        ending = b"\n" + self._action_label(number)
        for word in _some_words(place.rest):
            behind = place.feed(word.split(b"\n")[0] + ending)
            if not behind.is_dead:
                return behind
        label = ending.decode().strip() or "an action or an answer"
        raise SettingsError(
            f"The grammar {self.file.name} has no line of thought with `{label}` on the next line, in step {number}. Hold the "
            'whole step to it (constrain="step", --reach step), or correct it.'
        )

    def check(self, max_steps: int | None) -> None:
        """Raise SettingsError where the grammar can't hold the steps of a run, before it begins."""
        protocol, cover, name = self.protocol, self.cover, self.file.name
        if not self.is_thought_free and protocol.thought is not None and cover != "step":
            opening = protocol.label(protocol.opening)
            raise SettingsError(
                f"The grammar {name} doesn't describe a whole step, which would begin with `{opening}`. Hold only the action "
                'to it (constrain="action", --reach action), or correct it.'
            )
        if cover == "call" and protocol.finish is None:
            labels = f"`{protocol.label('action')}` or `{protocol.label('answer')}`"
            raise SettingsError(f"The grammar {name} must begin with {labels}: the model chooses between them.")
        for number in range(1, (max_steps or MANY_STEPS) + 1 if protocol.numbered else 2):
            if Recogniser(self.language(number)).is_dead:
                raise SettingsError(f"The grammar {name} has no action in step {number}: its labels don't fit.")

    def doubts(self, tools: Signatures) -> Iterator[str]:
        """What looks wrong, though the grammar can be used: words that no reading takes for a call, tools out of reach."""
        name = self.file.name
        if not any(self._is_well_formed(word, tools) for word in _some_words(self.file.language)):
            where = "" if self.cover != "call" else f", behind `{self.protocol.label('action')}`"
            yield f"None of {N_DRAWN} words drawn from the grammar {name} can be read as a call or an answer{where}."
        elif tools and not self._can_call_any(tools):
            yield f"The grammar {name} allows neither a call of any of the tools nor an answer."
        grounded = [tool for tool, signature in tools.items() if _is_grounded(signature)]
        if grounded:
            yield f"The grammar {name} can't hold the grounded parameters of {', '.join(grounded)} to what was shown."

    def _is_well_formed(self, word: bytes, tools: Signatures) -> bool:
        primed = self.protocol.label("action") if self.cover == "call" else None
        read = parse_step(word.decode(), self.protocol, tools, strict=True, primed=primed)
        return not isinstance(read, Malformed) or read.code in _WELL_FORMED

    def _can_call_any(self, tools: Signatures) -> bool:
        place = Recogniser(self._with_free_thought().language(1))
        if self.protocol.finish is None:
            answer, action = self.protocol.label("answer").encode(), self.protocol.label("action").encode()
            if not place.feed(answer).is_dead:
                return True
            place = place.feed(action)
        names = [*tools, *filter(None, [self.protocol.finish])]
        return any(not place.feed(f" {name}[".encode()).is_dead for name in names)

    def _with_free_thought(self) -> OwnGrammar:
        return OwnGrammar(self.file, self.protocol, True)


@dataclass(slots=True, kw_only=True)
class OwnSteering(Steering):
    """Holds the steps of a run to a grammar of the user's own. It is the same at each step, so it knows neither a least
    number of calls, nor a last step, nor what was seen."""

    grammar: OwnGrammar

    def language(self, *, number: int, **_options: Any) -> Regular:
        """What the model may write in step `number`, behind whatever thought."""
        return self.grammar.language(number)

    def source(self) -> dict[str, Any]:
        """The grammar's name and fingerprint, and what of a step it describes."""
        return {"grammar": self.grammar.describe()}

    def doubts(self) -> Iterator[str]:
        """What looks wrong about the grammar with these tools."""
        return self.grammar.doubts(self.tools)

    def behind(self, language: Regular, *, number: int, written: bytes) -> Regular:
        """The same behind the thought and the label that are `written`."""
        return self.grammar.language(number, written)

    def _languages_of_tools(self) -> Iterator[tuple[str, Regular]]:
        """None: no tool is to blame."""
        return iter(())


def use_grammar(path: str | Path, protocol: Protocol, reach: Reach, *, max_steps: int | None) -> OwnGrammar:
    """The grammar in a file, for a run. Raises GrammarError for a bad one, SettingsError where it can't serve the reach."""
    if protocol.native is not None:
        raise SettingsError(
            f"The grammar {Path(path).name} describes labelled steps, and the protocol {protocol.name} has none. Leave the "
            "grammar out, or take another protocol."
        )
    grammar = OwnGrammar(read_grammar(path), protocol, is_thought_free=reach != "step")
    grammar.check(max_steps)
    return grammar


def _is_grounded(signature: Signature) -> bool:
    return any(parameter.grounding is not None for parameter in signature.parameters)


def _some_words(language: Regular) -> Iterator[bytes]:
    """The shortest word, and random ones, the same each time."""
    yield Recogniser(language).shortest()
    source = random.Random(0)
    for _ in range(N_DRAWN):
        yield random_word(language, source)


def describe_cover(cover: Cover, protocol: Protocol) -> str:
    """What a grammar describes, in words."""
    match cover:
        case "step":
            return f"a whole step, from `{protocol.label(protocol.opening)}` on"
        case "line":
            return f"the line of an action, from `{protocol.label('action')}` on"
        case "call":
            return f"what follows `{protocol.label('action')}`"
