"""Single calls on the leaderboard's rows: run under several arms, recorded, scored by the published rules.

Rows, arms and order are fixed, and each call has a key, so a run that was interrupted goes on where it stopped. Rows come from
files of the user's; nothing is fetched. A function is described to the model and never executed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from typing import Any

from local_react.bench.bfcl import Row, judge_row, row_toolbox
from local_react.bench.bfcl_exemplars import choose_exemplars
from local_react.bench.bfcl_predict import Caller
from local_react.bench.call_arm import SOURCES, CallArm
from local_react.bench.execution import OnProgress, Progress
from local_react.bench.items import MODEL_KEYS
from local_react.bench.narrowing import QUICK_WAYS, VERSION as NARROWING, WAYS
from local_react.bench.results import Called, ResultsWriter
from local_react.bench.statistics import Paired, Share, mcnemar, share
from local_react.bench.voices import N_SEQUENCES, Choir
from local_react.decode.engines import make_engine
from local_react.errors import ContextOverflow, GrammarError, SettingsError, TemplateError, ToolError
from local_react.form import Form, choose_form
from local_react.language.step import Malformed
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling

PLAIN = Form().name

STYLES = ("keyword", "json", "positional")

CALL_ARMS: dict[str, CallArm] = {
    arm.name: arm for arm in (
        *(
            CallArm(name=f"{'constrained' if constrained else 'free'}-{style}{'-thought' if thinks else ''}",
                    constrained=constrained, arguments=style, thinks=thinks)
            for thinks, style, constrained in product((False, True), STYLES, (False, True))
        ),
        *(CallArm(name=f"constrained-{way}", narrows=(way,)) for way in WAYS),
        CallArm(name="constrained-quick", narrows=QUICK_WAYS),
        CallArm(name="constrained-narrowed", narrows=WAYS),
        CallArm(name="constrained-narrowed-json", narrows=WAYS, arguments="json"),
        CallArm(name="constrained-best", narrows=WAYS, arguments="json", n_exemplars=12, picks_exemplars=True),
        CallArm(name="constrained-beams-json", narrows=WAYS, arguments="json", chooses=("beams",)),
        *(CallArm(name=f"chosen-{source}", chooses=(source,)) for source in SOURCES),
        CallArm(name="chosen", chooses=SOURCES),
        CallArm(name="free-chat", constrained=False, chats=True),
        CallArm(name="constrained-chat", chats=True),
    )
}
"""The arms of single calls by name: each way of writing arguments, free and constrained, with and without a thought before;
those that hold values to the question, in one way, in all that cost little, in all; with JSON and all ways, one with twelve
exemplars, those first that are written like the row's call, and one that searches for the likeliest values; those that choose
the likeliest of several calls; and two in the turns of a chat."""

ARGUMENT_ARMS = tuple(name for name, arm in CALL_ARMS.items() if not (arm.narrows or arm.chooses or arm.chats))
LEADERBOARD_ARMS = (
    "free-keyword", "constrained-keyword", "constrained-narrowed", "free-json", "constrained-json",
    "constrained-narrowed-json", "constrained-best",
)

STEPS_BEYOND = (
    ("constrained-keyword", "constrained-narrowed"), ("constrained-json", "constrained-narrowed-json"),
    ("constrained-narrowed-json", "constrained-best"), ("constrained-narrowed-json", "constrained-beams-json"),
)
"""Arms that differ in one thing: values held to the question, more exemplars, a search."""

BEST = {"simple": (400, 400), "multiple": (200, 200), "live_simple": (256, 258), "live_multiple": (1039, 1053)}
"""What is within reach under the functions' own types, of how many rows: some rows can't be passed by anyone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallScore:
    """The calls of one arm on one file of rows. `reasons` counts the first rule that each wrong call broke."""

    model: str
    category: str
    arm: str
    right: Share
    malformed: Share
    reasons: Mapping[str, int]
    n_sampled: int
    n_forced: int
    seconds: float

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        values = asdict(self)
        for name, found in (("right", self.right), ("malformed", self.malformed)):
            values[name]["value"] = found.value
        return values


def run_calls(
    model: Model, rows: Sequence[Row], arms: Sequence[CallArm], writer: ResultsWriter, *, engine: str = "llguidance",
    on_progress: OnProgress | None = None, should_stop: Callable[[], bool] = lambda: False,
    clock: Callable[[], float] = time.perf_counter,
) -> Progress:
    """Ask for the calls that aren't there yet; all arms take turns on a few rows at a time."""
    described = model.describe()
    progress = Progress(n_total=len(rows) * len(arms))
    form = choose_form(model) if any(arm.chats for arm in arms) else Form()
    n_beam_sequences = max(arm.n_beam_sequences for arm in arms)
    with model.context(max(N_SEQUENCES * arm.n_voices for arm in arms) + n_beam_sequences) as context:
        caller = Caller(
            Choir(context, model.vocabulary, n_beam_sequences), model.vocabulary, context.sampler(Sampling()), clock,
            make_engine(engine, model.vocabulary), form,
        )
        for arm, row in _in_turns(arms, rows):
            if should_stop():
                return progress
            key = call_key(described, arm, row, engine)
            if key in writer.done:
                progress = replace(progress, n_done=progress.n_done + 1, n_before=progress.n_before + 1)
            else:
                try:
                    writer.add_call(key, _ask(caller, arm, row, described) | {"form": form.name if arm.chats else PLAIN})
                    progress = replace(progress, n_done=progress.n_done + 1)
                except (ContextOverflow, GrammarError, ToolError, TemplateError) as error:
                    writer.miss(f"{model.name}, arm {arm.name}, row {row.id}", str(error))
                    progress = replace(progress, n_missed=progress.n_missed + 1)
            if on_progress is not None:
                on_progress(replace(progress, now=f"{model.name} · {arm.name} · {row.id}"))
    return progress


def call_key(model: Mapping[str, Any], arm: CallArm, row: Row, engine: str) -> str:
    """What a call is known by: all that can change it. The engine is told of free calls, too, which it doesn't change."""
    settings = asdict(arm)
    del settings["name"]
    told = [{name: model.get(name) for name in MODEL_KEYS}, settings, asdict(row), engine]
    told += [NARROWING] if arm.narrows else []
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()[:16]


def find_call_arm(name: str, own: Mapping[str, CallArm] | None = None) -> CallArm:
    """The arm of that name, one's `own` before the named ones. Raises SettingsError for an unknown one."""
    known = CALL_ARMS | dict(own or {})
    if name not in known:
        raise SettingsError(f"There is no arm of single calls called {name!r}. There are {', '.join(known)}.")
    return known[name]


def call_pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """The arms to compare, of these: each free one with the constrained one that is like it, and each step beyond that."""
    known = list(names)
    pairs = [(name, name.replace("free", "constrained", 1)) for name in known if name.startswith("free")]
    return [pair for pair in (*pairs, *STEPS_BEYOND) if set(pair) <= set(known)]


def score_calls(calls: Iterable[Called]) -> list[CallScore]:
    """The score of each arm by model and category, in the order in which they first occur."""
    groups: dict[tuple[str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for call in calls:
        values = call.values
        groups[values["model"]["name"], values["category"], values["arm"]].append(values)
    return [
        CallScore(
            model=model, category=category, arm=arm, right=share(sum(one["is_right"] for one in group), len(group)),
            malformed=share(sum(one["malformed"] is not None for one in group), len(group)),
            reasons=dict(Counter(one["reason"] for one in group if not one["is_right"]).most_common()),
            n_sampled=sum(one["n_sampled"] for one in group), n_forced=sum(one["n_forced"] for one in group),
            seconds=sum(one["seconds"] for one in group),
        )
        for (model, category, arm), group in groups.items()
    ]


def compare_calls(calls: Iterable[Called], pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str, str], Paired]:
    """McNemar's test for pairs of arms on the rows that both have, over all categories; by model and the two arms."""
    right: dict[tuple[str, str], dict[str, bool]] = defaultdict(dict)
    for call in calls:
        values = call.values
        right[values["model"]["name"], values["arm"]][f"{values['category']} {values['row']}"] = values["is_right"]
    tests: dict[tuple[str, str, str], Paired] = {}
    for model in dict.fromkeys(model for model, _ in right):
        for first, second in pairs:
            one, other = right.get((model, first), {}), right.get((model, second), {})
            shared = [row for row in one if row in other]
            if shared:
                tests[model, first, second] = mcnemar([one[row] for row in shared], [other[row] for row in shared])
    return tests


def _in_turns(arms: Sequence[CallArm], rows: Sequence[Row], n_at_once: int = 20) -> Iterator[tuple[CallArm, Row]]:
    """A few rows under each arm before the next ones: what is cut short has compared the arms on the same rows.

    Arms that read the same prompt are asked one after the other, so that it is computed once; the part that rows share is
    computed once a turn. Where exemplars are picked, rows with the same ones follow each other.
    """
    alike: dict[CallArm, list[CallArm]] = defaultdict(list)
    for arm in arms:
        alike[arm.prompting].append(arm)
    for start in range(0, len(rows), n_at_once):
        turn = rows[start : start + n_at_once]
        for prompting, group in alike.items():
            ordered = sorted(turn, key=partial(_picked, prompting)) if prompting.picks_exemplars else turn
            yield from ((arm, row) for row in ordered for arm in group)


def _picked(arm: CallArm, row: Row) -> list[str]:
    """The names of the exemplars that the row is asked with; none for a row that can't be asked."""
    try:
        return [exemplar.name for exemplar in choose_exemplars(arm.n_exemplars, row_toolbox(row), arm.arguments)]
    except ToolError:
        return []


def _ask(caller: Caller, arm: CallArm, row: Row, model: Mapping[str, Any]) -> dict[str, Any]:
    found = caller.predict(row, arm)
    verdict = judge_row(row, found.action)
    return {
        "model": dict(model), "arm": arm.name, "category": row.category, "row": row.id, "question": row.question,
        "is_right": verdict.is_right, "reason": verdict.reason, "parameter": verdict.parameter, "text": found.text,
        "thought": found.thought, "malformed": found.action.code if isinstance(found.action, Malformed) else None,
        "n_prompt": found.n_prompt, "n_sampled": found.n_sampled, "n_forced": found.n_forced,
        "logprob": round(found.logprob, 4), "n_candidates": found.n_candidates, "seconds": round(found.seconds, 4),
    }
