"""An arm of single calls: one way of asking a model for a call of the leaderboard.

It is settings only, compared by ==; `Caller` acts on them. What can't be asked is refused when the arm is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

from local_react.bench.bfcl_prompt import INSTRUCTIONS, Description
from local_react.bench.narrowing import Way
from local_react.errors import SettingsError
from local_react.language.protocol import ArgumentStyle, Protocol

Source = Literal["tools", "samples", "encodings", "beams"]
"""Where candidates come from, beside the greedy call: the greedy call of each tool, calls that are drawn at random, the greedy
calls in the other ways of writing arguments, and a beam search for other values in the shape of the greedy call."""

SOURCES: tuple[Source, ...] = get_args(Source)

N_BEAMS = 4
"""How wide a beam search is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallArm:
    """One way of asking for a call.

    `n_exemplars` takes so many exemplars; with `picks_exemplars` those first whose calls are written as the row's will be.
    `chats` puts the prompt into the turns of the model's chat template, where it has one. `narrows` holds values to the
    question. `guidance` above 0 weighs the question more (classifier-free guidance); `n_orders` asks with so many orders of
    the exemplars at once. With `chooses`, several calls are written, and the one is taken whose text, as this arm would write
    it, has the highest log-probability in all: the labels, names and brackets that a constraint forces count like any other
    token, so nothing depends on how a candidate came about. A long text pays for each of its tokens; dividing by their number
    would favour calls that give every optional parameter. With beams alone all candidates give the same parameters, and the
    average of their tokens decides, so that a long value isn't at a disadvantage (Wu et al. 2016, "Google's Neural Machine
    Translation System", section 7, with a length penalty of 1).
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
    chooses: tuple[Source, ...] = ()

    def __post_init__(self) -> None:
        """Raises SettingsError for what can't be asked."""
        if self.n_exemplars < 0 or self.n_orders < 1 or not 0 <= self.guidance < math.inf:
            raise SettingsError(f"Arm {self.name}: n_exemplars is at least 0, n_orders 1, guidance finite and not below 0.")
        if (self.narrows or self.chooses) and not self.constrained:
            raise SettingsError(f"Arm {self.name}: narrows and chooses need a constraint. Set constrained, too.")
        if "beams" in self.chooses and self.n_voices > 1:
            raise SettingsError(f"Arm {self.name}: beams are searched with one voice. Leave out guidance and n_orders.")

    @property
    def protocol(self) -> Protocol:
        """The wire format of this arm."""
        return Protocol.preset("finish" if self.thinks else "act", arguments=self.arguments)

    @property
    def n_voices(self) -> int:
        """How many prompts write the call together."""
        return self.n_orders + (1 if self.guidance else 0)

    @property
    def averages(self) -> bool:
        """Whether candidates are compared by the average log-probability of a token, not by their sum."""
        return self.chooses == ("beams",)

    @property
    def n_beam_sequences(self) -> int:
        """How many sequences of a context a search for this arm needs."""
        return 2 * N_BEAMS if "beams" in self.chooses else 0

    @property
    def prompting(self) -> CallArm:
        """The arm but for what changes no prompt: arms with the same one read the same."""
        return replace(self, name="", constrained=True, narrows=(), chooses=())
