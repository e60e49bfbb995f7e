"""One episode, graded: counts over its steps, its outcome, its failure classes. From the trace alone; no model is needed.

Every completion is read again, strictly, whatever reading the arm had: the share of steps that can't be parsed is that of
the documented line. What the loop itself made of a step is counted beside it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from local_react.bench.failures import Course, Failure, attempts, count_invented_ids, find_failures, main_class
from local_react.bench.results import Recorded
from local_react.bench.task import Task
from local_react.language.native.read import read_answer
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.schema import read_parameters
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Action, Call, Malformed
from local_react.trace import Event, Trace, read_pieces

MISFITS = frozenset({"missing_argument", "too_many_arguments", "unknown_argument", "bad_argument"})
"""The codes of a call that is well-formed, and doesn't fit its tool."""

Judge = Callable[[Task, str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """What one episode came to. `n_` counts steps, calls or tokens; `codes` counts malformed steps by code, read strictly.

    `n_unparsed` steps are no call in the documented form, `n_unknown_tool` call what there isn't, `n_misfit` have wrong
    arguments: together the `n_malformed` ones. `n_refused` steps the loop itself, with the arm's reading, couldn't run.
    `n_forged` completions held an observation that the model wrote. `has_right_start` tells whether the first call is one of
    the path; None where there is no path. `n_tokens` are those that the model wrote, forced ones among them.
    """

    key: str
    model: str
    arm: str
    world: str
    kind: str
    task: str
    seed: int
    temperature: float
    ending: str | None
    answer: str | None
    is_right: bool
    is_success: bool
    failures: tuple[Failure, ...]
    main_class: Failure | None
    n_steps: int
    n_unparsed: int
    n_unknown_tool: int
    n_misfit: int
    n_malformed: int
    n_refused: int
    n_forged: int
    n_calls: int
    n_path: int
    has_right_start: bool | None
    n_ids: int
    n_invented_ids: int
    n_tokens: int
    n_sampled: int
    n_forced: int
    n_evaluated: int
    n_transcript: int
    seconds: float
    codes: Mapping[str, int] = field(default_factory=dict)

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self) | {"failures": list(self.failures), "codes": dict(self.codes)}


def grade(recorded: Recorded, judge: Judge | None = None) -> Grade:
    """Grade an episode. `judge` decides about its answer; without it the verdict counts that was given when it ran."""
    item, trace, task = recorded.item, recorded.trace, recorded.item.task
    readings = [reading for _, reading in read_strictly(trace)]
    codes = Counter(reading.code for reading in readings if isinstance(reading, Malformed))
    n_misfit = sum(codes[code] for code in MISFITS)
    has_forged = [_has_forged(reading) for reading in readings]
    if trace.answer is None:
        is_right = False
    else:
        is_right = bool(recorded.is_right) if judge is None else judge(task, trace.answer)
    course = Course(
        steps=trace.steps, ending=trace.ending, answer=trace.answer, is_right=is_right, has_forged=any(has_forged)
    )
    failures = find_failures(course, task)
    calls = attempts(trace.steps)
    n_invented, n_ids = count_invented_ids(task.question, trace.steps)
    return Grade(
        key=item.key, model=item.model_name, arm=item.arm.name, world=task.world, kind=task.kind, task=task.id,
        seed=item.seed, temperature=item.temperature, ending=trace.ending, answer=trace.answer, is_right=is_right,
        is_success=is_right and "forbidden_action" not in failures, failures=failures, main_class=main_class(failures),
        n_steps=len(readings), n_unparsed=codes.total() - n_misfit - codes["unknown_tool"],
        n_unknown_tool=codes["unknown_tool"], n_misfit=n_misfit, n_malformed=codes.total(),
        n_refused=sum(isinstance(step.action, Malformed) for step in trace.steps), n_forged=sum(has_forged),
        n_calls=len(calls), n_path=len(task.path), has_right_start=_has_right_start(calls, task),
        n_ids=n_ids, n_invented_ids=n_invented, n_tokens=trace.sampled + trace.forced, n_sampled=trace.sampled,
        n_forced=trace.forced, n_evaluated=trace.evaluated, n_transcript=trace.n_tokens, seconds=_seconds(trace),
        codes=dict(codes),
    )


def read_strictly(trace: Trace) -> Iterator[tuple[Event, Action]]:
    """Each completion of a trace with its strict reading. Behind a free thought only the action is read, as in the loop."""
    start = trace.events[0] if trace.events else {}
    protocol = Protocol(**start.get("protocol", {}))
    tools = read_signatures(start)
    for event in trace.completions:
        is_cut = event.get("reason") in ("length", "window")
        n_thought = event.get("n_thought_pieces")
        if event.get("is_answer"):
            yield event, read_answer(event["text"])
        elif n_thought is None:
            primed = protocol.label(protocol.opening, event["step"])
            yield event, parse_step(event["text"], protocol, tools, strict=True, primed=primed, truncated=is_cut)
        else:
            action = b"".join(read_pieces(event["pieces"][n_thought:])).decode("utf-8", "replace").lstrip("\n")
            yield event, parse_step(action, protocol, tools, strict=True, truncated=is_cut)


def read_signatures(start: Event) -> Signatures:
    """The tools of a trace, as the language sees them."""
    return {
        tool["name"]: Signature(tool["name"], tool["description"], read_parameters(tool["parameters"], tool=tool["name"]))
        for tool in start.get("toolbox", ())
    }


def _has_forged(reading: Action) -> bool:
    return reading.forged_observation or isinstance(reading, Malformed) and reading.code == "hallucinated_observation"


def _has_right_start(calls: list[Call], task: Task) -> bool | None:
    if not task.path:
        return None
    return bool(calls) and any(call.name == right.name and _same(call, right) for right in task.path for call in calls[:1])


def _same(call: Call, right: Call) -> bool:
    given = {name: value for name, value in call.arguments.items() if value is not None}
    return given == {name: value for name, value in right.arguments.items() if value is not None}


def _seconds(trace: Trace) -> float:
    """From the first event to the last, by the clock of the run."""
    return float(trace.events[-1].get("t", 0.0)) if trace.events else 0.0
