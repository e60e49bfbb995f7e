"""The constraint under the microscope: where the model wanted something else, from traces that were explained.

At each token that was drawn under a constraint, the model had given some of its probability to tokens that the constraint
doesn't allow: the mass that was removed. A large one says that model and tools don't understand each other there: a name
that it would have spelled in another way, an argument that it expected. Steps that were free, and tokens that the language
forced, have no such mass and are left out.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from local_react.bench.grading import read_signatures
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Answer, Call
from local_react.trace import Event, Trace, read_action, read_pieces

NAME, END = "the name", "the answer"
"""What stands for an argument where the token is part of a tool's name, or of the answer."""

N_WORST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A token that was drawn under a constraint: behind `before`, the model wanted `wanted`, and `token` was taken.

    `removed` is the probability that the constraint took away; `position` counts tokens of the action from 0; `was_redrawn`
    tells that the first draw was refused.
    """

    key: str
    step: int
    tool: str
    argument: str
    position: int
    before: str
    token: str
    wanted: str
    wanted_probability: float
    removed: float
    was_redrawn: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The places of one tool, argument or position: how many, the mean of what was removed, and how many were redrawn."""

    name: str
    n: int
    removed: float
    n_redrawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Microscope:
    """All places of some episodes, by position, by tool, by argument, and the worst of them."""

    n: int
    removed: float
    by_position: tuple[Group, ...]
    by_tool: tuple[Group, ...]
    by_argument: tuple[Group, ...]
    grid: tuple[tuple[str, tuple[float | None, ...]], ...]  # each tool, and what was removed on average at each position
    worst: tuple[Place, ...]

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def find_places(trace: Trace, key: str = "") -> Iterator[Place]:
    """Every token of a trace that was drawn under a constraint and explained. `key` names the episode in the places."""
    tools = read_signatures(trace.events[0] if trace.events else {})
    completion: Event | None = None
    for event in trace.events:
        if event["event"] == "completion":
            completion = event
        elif event["event"] == "action" and completion is not None and completion.get("choices"):
            yield from _look(completion, event, tools, key)
            completion = None


def look(places: Iterable[Place], *, n_positions: int = 24) -> Microscope:
    """Sum places up; positions from `n_positions` on are left out of the grid and the groups."""
    found = list(places)
    early = [place for place in found if place.position < n_positions]
    tools = sorted({place.tool for place in found})
    return Microscope(
        n=len(found), removed=_mean(found) or 0.0,
        by_position=_group(early, lambda place: f"{place.position:02}"),
        by_tool=_group(found, lambda place: place.tool),
        by_argument=_group(found, lambda place: f"{place.tool}: {place.argument}"),
        grid=tuple(
            (tool, tuple(
                _mean([place for place in early if place.tool == tool and place.position == position])
                for position in range(n_positions)
            ))
            for tool in tools
        ),
        worst=tuple(_worst(found)),
    )


def _look(completion: Event, action_event: Event, tools: Signatures, key: str) -> Iterator[Place]:
    pieces = read_pieces(completion["pieces"])
    n_thought = completion.get("n_thought_pieces")
    pieces = pieces if n_thought is None else pieces[n_thought + 1 :]  # the piece between is the program's label
    choices = completion["choices"]
    if len(pieces) != len(choices):
        return
    match read_action(action_event):
        case Call(name=name):
            tool = name
        case Answer():
            tool = END
        case _:
            return
    before = b""
    for position, (piece, choice) in enumerate(zip(pieces, choices)):
        if choice.get("mass") is not None:
            written = before.decode("utf-8", "replace")
            yield Place(
                key=key, step=completion["step"], tool=tool, argument=find_argument(written, tools.get(tool)),
                position=position, before=written, token=piece.decode("utf-8", "replace"),
                wanted=str(choice.get("wanted_text") or f"token {choice.get('wanted')}"),
                wanted_probability=choice.get("wanted_probability") or 0.0,
                removed=max(0.0, 1.0 - choice["mass"]), was_redrawn=choice["origin"] == "masked",
            )
        before += piece


def find_argument(before: str, tool: Signature | None) -> str:
    """The argument that is being written behind `before`, the text of the action so far."""
    _, bracket, inside = before.partition("[")
    if not bracket:
        return NAME
    if tool is None:
        return END
    names = [parameter.name for parameter in tool.parameters]
    if len(names) == 1:
        return names[0]
    spelled = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    found = re.findall(rf'(?:^|[\s,{{])"?({spelled})"?\s*[=:]', inside) if names else []
    if found:
        return found[-1]
    n_commas = inside.count(",")
    return names[min(n_commas, len(names) - 1)] if names and inside.strip() else NAME


def _worst(places: Sequence[Place]) -> list[Place]:
    """The places with the most removed, each text once: the same slip in fifty episodes is one finding."""
    seen: set[tuple[str, str, str]] = set()
    worst: list[Place] = []
    for place in sorted(places, key=lambda place: (-place.removed, place.key, place.step, place.position)):
        mark = (place.tool, place.before, place.wanted)
        if mark not in seen:
            seen.add(mark)
            worst.append(place)
        if len(worst) == N_WORST:
            break
    return worst


def _group(places: Sequence[Place], name_of: Callable[[Place], str]) -> tuple[Group, ...]:
    groups: dict[str, list[Place]] = defaultdict(list)
    for place in places:
        groups[name_of(place)].append(place)
    return tuple(
        Group(name=name, n=len(found), removed=_mean(found) or 0.0, n_redrawn=sum(place.was_redrawn for place in found))
        for name, found in sorted(groups.items())
    )


def _mean(places: Sequence[Place]) -> float | None:
    return sum(place.removed for place in places) / len(places) if places else None
