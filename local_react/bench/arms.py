"""Arms: the named settings that a benchmark compares.

An arm is all that one side of a comparison changes about a run; model, tasks, temperature, seed and limits are the same
for every arm. Two arms with the same settings are the same work under two names. An arm decides nothing about how its
runs are scored.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, get_args

from local_react.bench.introductions import describe_format
from local_react.decode.engines import ENGINES
from local_react.errors import SettingsError
from local_react.guards import Guards
from local_react.language.native.standin import HERMES
from local_react.language.prompt import Exemplar
from local_react.language.protocol import ArgumentStyle, Protocol
from local_react.language.template import ChatTemplate
from local_react.steering import REACHES, Reach

STYLES: tuple[ArgumentStyle, ...] = get_args(ArgumentStyle)

GUARDS = tuple(sorted({field.name for field in fields(Guards)}))
"""The names of all guards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One setting that is compared. But for `n_exemplars`, `has_recovery` and `guards`, the fields are options of `run`.

    `template` may also be "hermes": a stand-in that knows tools, for models trained on ChatML whose own template knows none.
    Without `ground` a parameter may take anything, also where the world's tools mark it as grounded. `n_exemplars` takes so
    many of the world's worked examples, None all of them; with `has_recovery` one of them shows a tool that fails and what to
    do then, without it none does. `guards` are changes to the guards, in pairs of name and value. `instructions` begin the
    prompt in place of the usual ones. Raises SettingsError for what no run could be given.
    """

    name: str
    protocol: str = "finish"
    arguments: ArgumentStyle = "keyword"
    template: str = "none"
    strict: bool = True
    constrain: bool | Reach = False
    engine: str = next(iter(ENGINES))
    ground: bool = False
    explain: bool = False
    n_exemplars: int | None = None
    has_recovery: bool = True
    guards: tuple[tuple[str, Any], ...] = ()
    instructions: str | None = None

    def __post_init__(self) -> None:
        Protocol.preset(self.protocol, arguments=self.arguments)
        if self.constrain not in (False, True, *REACHES):
            raise SettingsError(f"Arm {self.name}: constrain={self.constrain!r} is none of true, false, {', '.join(REACHES)}.")
        if self.n_exemplars is not None and self.n_exemplars < 0:
            raise SettingsError(f"Arm {self.name}: n_exemplars={self.n_exemplars} must be 0 or more.")
        if not self.constrain and (self.ground or self.explain):
            raise SettingsError(f"Arm {self.name}: ground and explain say something about the constraint. Set constrain, too.")
        object.__setattr__(self, "guards", tuple(sorted(dict(self.guards).items())))  # one order, so that equal arms are ==
        if unknown := [name for name, _ in self.guards if name not in GUARDS]:
            raise SettingsError(f"Arm {self.name}: there is no guard called {unknown[0]}. The guards are {', '.join(GUARDS)}.")

    def settings(self) -> dict[str, Any]:
        """All but the name, as JSON values: what two equal arms have in common."""
        values = asdict(self)
        del values["name"]
        if self.instructions is None:
            del values["instructions"]  # as it was before arms could have their own, so that keys stay what they were
        return values | {"guards": dict(sorted(self.guards))}

    def options(
        self, exemplars: Sequence[Exemplar], limits: Mapping[str, Any], spare: Sequence[Exemplar] = ()
    ) -> dict[str, Any]:
        """The keyword arguments of `run` for this arm in a world with these exemplars; `limits` are guards of all arms.

        `spare` exemplars are for arms that ask for a number of them. Raises SettingsError where there are too few.
        """
        protocol = Protocol.preset(self.protocol, arguments=self.arguments)
        values = {
            "protocol": protocol, "template": ChatTemplate(HERMES) if self.template == "hermes" else self.template,
            "strict": self.strict, "constrain": self.constrain, "ground": self.ground, "explain": self.explain,
            "guards": Guards(**dict(limits) | dict(self.guards)), "instructions": self.instructions,
        }
        chosen = self._choose(exemplars if self.n_exemplars is None else (*exemplars, *spare))
        values["exemplars"] = chosen if protocol.has_tools else _bare(chosen)
        return values | ({"engine": self.engine} if self.constrain else {})

    def _choose(self, exemplars: Sequence[Exemplar]) -> tuple[Exemplar, ...]:
        """The exemplars that the model is shown. Raises SettingsError where the world has too few."""
        smooth = [exemplar for exemplar in exemplars if not _recovers(exemplar)]
        recovering = [exemplar for exemplar in exemplars if _recovers(exemplar)]
        if self.n_exemplars is None:
            return tuple(exemplars) if self.has_recovery else tuple(smooth)
        n_recovering = min(len(recovering), 1, self.n_exemplars) if self.has_recovery else 0
        chosen = (*smooth[: self.n_exemplars - n_recovering], *recovering[:n_recovering])
        if len(chosen) < self.n_exemplars:
            raise SettingsError(
                f"Arm {self.name} wants {self.n_exemplars} exemplars, and the world has {len(chosen)} that fit. Ask for fewer."
            )
        return chosen


def _recovers(exemplar: Exemplar) -> bool:
    """Whether a tool fails in it. An exemplar from a file says so only in the text, as the toolbox writes it."""
    seen = [step.observation for step in exemplar.steps if step.observation is not None]
    return any(observation.is_error or observation.text.startswith("Error: ") for observation in seen)


def _bare(exemplars: Sequence[Exemplar]) -> tuple[Exemplar, ...]:
    """The exemplars without their calls, for a protocol that has no tools: the question, the last thought, the answer."""
    return tuple(Exemplar(exemplar.question, exemplar.steps[-1:]) for exemplar in exemplars)


FREE = Arm(name="free")
"""The model writes up to a stop string, and only the documented line counts: what a loop without a constraint gets."""

LENIENT = replace(FREE, name="lenient", strict=False)
"""The same text, read as forgivingly as the loop can: its default."""

CONSTRAINED = replace(FREE, name="constrained", constrain=True)

WITHOUT_STOP = replace(FREE, name="free-no-stop", guards=(("one_action", False), ("stop_strings", False)))
"""The model writes on to the end of its budget, its own observations included."""

STOP_ONLY = replace(FREE, name="free-stop-only", guards=(("one_action", False),))
"""Stop strings alone end a step, as in the loops of the introductions; `free` also ends it behind its first call."""

INTRODUCTIONS = Arm(
    name="introductions", protocol="answer", n_exemplars=1, has_recovery=False,
    instructions=describe_format(Protocol.preset("answer")),
    guards=(
        ("one_action", False), ("final_answer", False), ("repeated_calls", False), ("parse_notices", False),
        ("unknown_tool_notices", False), ("max_malformed", 1),
    ),
)
"""The prompt and the loop of the introductions to ReAct: the format is described and one session shown, stop strings alone end
a step, and a step that can't be read ends the run."""

_SWITCHED_OFF: dict[str, Any] = {
    "stop_strings": False, "one_action": False, "parse_notices": False, "unknown_tool_notices": False, "repeated_calls": False,
    "final_answer": False, "approval": False, "observation_tokens": None, "max_malformed": None, "max_repeats": None,
}
"""The guards that an ablation takes away one by one. Limits on time are left: what hangs would never end."""


def _named_arms() -> dict[str, Arm]:
    engines = [replace(CONSTRAINED, name=f"constrained-{engine}", engine=engine) for engine in ENGINES]
    arms = [
        FREE, LENIENT, CONSTRAINED, WITHOUT_STOP, STOP_ONLY, *engines, INTRODUCTIONS,
        replace(INTRODUCTIONS, name="introductions-no-stop", guards=(*INTRODUCTIONS.guards, ("stop_strings", False))),
        replace(FREE, name="repair", constrain="repair"),
        replace(CONSTRAINED, name="constrained-step", constrain="step"),
        replace(CONSTRAINED, name="constrained-min-call", guards=(("min_calls", 1),)),
        replace(CONSTRAINED, name="grounded", ground=True),
        replace(CONSTRAINED, name="explained", explain=True),
    ]
    for base in (FREE, CONSTRAINED):
        for style in STYLES:
            arms.append(replace(base, name=f"{base.name}-{style}", arguments=style))
            arms.append(replace(base, name=f"{base.name}-{style}-act", arguments=style, protocol="act"))
        arms.append(replace(base, name=f"{base.name}-act", protocol="act"))
        arms.append(replace(base, name=f"{base.name}-think", protocol="think"))
        for template, kind in (("auto", "native"), ("hermes", "hermes")):
            native = replace(base, name=f"{kind}-{base.name}", protocol="native", arguments="json", template=template)
            arms.append(native)
        for n in range(5):
            arms.append(replace(base, name=f"{base.name}-exemplars-{n}", n_exemplars=n, has_recovery=False))
            if n:
                arms.append(replace(base, name=f"{base.name}-exemplars-{n}-recovery", n_exemplars=n))
    arms += [replace(LENIENT, name=name, guards=((guard, value),)) for name, (guard, value) in GUARD_ARMS.items()]
    return {arm.name: arm for arm in arms}


GUARD_ARMS: dict[str, tuple[str, Any]] = {
    **{f"without-{guard.replace('_', '-')}": (guard, value) for guard, value in _SWITCHED_OFF.items()},
    "with-min-call": ("min_calls", 1),
}
"""The arms of the guards' ablation: the guard that each changes, and to what. One of them is off by default, and put on."""

ARMS: dict[str, Arm] = _named_arms()
"""Every arm that has a name of its own."""


def find_arm(name: str) -> Arm:
    """The arm called `name`. Raises SettingsError for an unknown one, and names those that are close to it."""
    if name in ARMS:
        return ARMS[name]
    close = difflib.get_close_matches(name, ARMS, n=5, cutoff=0.5)
    hint = f" Close to it: {', '.join(close)}." if close else ""
    raise SettingsError(f"There is no arm called {name!r}.{hint} `local-react bench list` shows all.")
