"""The three abuses of a call, in labelled steps and in a native format: a malformed argument, a missing one, an undeclared one.

The tests and the table of the README are made from the same calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from local_react import Protocol, ScriptedModel, Toolbox, Trace, run, tool
from local_react.language.derivative import Recogniser
from local_react.language.regular import Regular
from local_react.steering import held_language

CALLED: list[tuple[str, date]] = []
"""What the tool was really called with."""


@tool
def list_charges(customer_id: str, since: date) -> str:
    """List charges."""
    CALLED.append((customer_id, since))
    return "none"


TOOLS = Toolbox([list_charges])

LABELLED = "Action: list_charges[{}]"
NATIVE = '<tool_call>\n{{"name": "list_charges", "arguments": {}}}\n</tool_call>'


@dataclass(frozen=True)
class Abuse:
    """One abuse: its name, the code that reading gives it, and the arguments as each design writes them."""

    name: str
    code: str
    labelled: str
    native: str


ABUSES = (
    Abuse("malformed argument", "bad_argument", 'customer_id="cus_8812", since=July',
          '{"customer_id": "cus_8812", "since": "July"}'),
    Abuse("missing argument", "missing_argument", "since=2026-07-01", '{"since": "2026-07-01"}'),
    Abuse("undeclared argument", "unknown_argument", 'customer_id="cus_8812", since=2026-07-01, month=7',
          '{"customer_id": "cus_8812", "since": "2026-07-01", "month": 7}'),
)

FITTING = Abuse("none", "", 'customer_id="cus_8812", since=2026-07-01', '{"customer_id": "cus_8812", "since": "2026-07-01"}')
"""The call as it should be."""


@dataclass(frozen=True)
class Design:
    """A way to write calls: its name, its protocol, and the whole step of a call with given arguments."""

    name: str
    protocol: Protocol

    def step(self, abuse: Abuse) -> str:
        """What the model writes."""
        return LABELLED.format(abuse.labelled) if self.protocol.native is None else NATIVE.format(abuse.native)

    @property
    def ending(self) -> str:
        """What the model writes to end the run."""
        return "Action: finish[ok]" if self.protocol.native is None else "It is ok."

    @property
    def language(self) -> Regular:
        """What a constrained step is held to."""
        return held_language(self.protocol, TOOLS, "action")

    def held(self, abuse: Abuse) -> str:
        """What of the step the constraint would have to let through."""
        step = self.step(abuse)
        return step.removeprefix("Action:") if self.protocol.native is None else step.removeprefix("<tool_call>")


DESIGNS = (
    Design("labelled text", Protocol.preset("finish")),
    Design("native call", Protocol.preset("native", native="hermes")),
)


def cases() -> Iterator[tuple[Abuse, Design]]:
    """Every abuse in every design."""
    return ((abuse, design) for abuse in ABUSES for design in DESIGNS)


def play(design: Design, *abuses: Abuse) -> Trace:
    """A free run in which the model writes these calls, and then ends it."""
    script = [f" I look.\n{step}" for step in (*map(design.step, abuses), design.ending)]
    return run("Any charges?", model=ScriptedModel(script), tools=TOOLS, protocol=design.protocol, exemplars=())


def refused_at(design: Design, abuse: Abuse) -> tuple[str, str]:
    """How much of the step the constraint lets through, and the rest, which begins with what it refuses."""
    text = design.held(abuse)
    place = Recogniser(design.language)
    for index, character in enumerate(text):
        place = place.feed(character.encode())
        if place.is_dead:
            return text[:index], text[index:]
    return text, ""
