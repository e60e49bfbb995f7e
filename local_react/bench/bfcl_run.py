"""Runs of the leaderboard's rows: a file of scored predictions that only grows, and what they add up to.

A prediction is keyed by the model's hash, the arm's settings and the row, so a run that was interrupted goes on where it
stopped, and a changed setting is new work. The file is one JSON object a line; a damaged line is skipped and counted. Scoring
needs no model: verdicts are made again from the recorded calls.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from local_react.bench.bfcl import Row, judge_row
from local_react.bench.bfcl_predict import CallArm, Caller
from local_react.bench.bfcl_score import Verdict
from local_react.bench.statistics import Share, share
from local_react.bench.voices import Choir
from local_react.decode.engines import make_engine
from local_react.errors import ContextOverflow, SettingsError
from local_react.form import choose_form
from local_react.language.step import Action, Call, Malformed
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling
from local_react.trace import read_action, write_action

ENGINE = "llguidance"

PROMPTS = 1
"""Goes up with every change to the prompts that the settings of an arm don't tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A recorded prediction. `model` is the name of its file, `arm` that of the arm when it ran."""

    key: str
    model: str
    arm: str
    category: str
    row_id: str
    action: Action
    verdict: Verdict
    n_sampled: int
    n_forced: int
    n_prompt: int
    logprob: float
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What one model and arm got in one category: the share of right calls, and how often each rule was broken."""

    model: str
    arm: str
    category: str
    right: Share
    reasons: Mapping[str, int]


def run_rows(
    model: Model, rows: Sequence[Row], arms: Sequence[CallArm], path: str | Path, *, clock: Callable[[], float],
    on_done: Callable[[Row, CallArm, Verdict], None] | None = None,
) -> None:
    """Predict and score each row under each arm that isn't in the file yet; `clock` counts seconds.

    A prompt that doesn't fit the window is recorded as no call. Raises SettingsError where the file can't be written.
    """
    done = {scored.key for scored in read_scored(path)[0]}
    identity = model.describe()
    wanted = [(arm, row) for arm in arms for row in rows if prediction_key(identity["sha256"], arm, row) not in done]
    if not wanted:
        return
    with model.context(2 * max(arm.n_voices for arm, _ in wanted)) as context:
        engine = make_engine(ENGINE, model.vocabulary)
        form = choose_form(model) if any(arm.chats for arm, _ in wanted) else None
        choir = Choir(context, model.vocabulary)
        caller = Caller(choir, model.vocabulary, context.sampler(Sampling()), clock, engine, form)
        for arm, row in wanted:
            values = {
                "key": prediction_key(identity["sha256"], arm, row), "model": model.name, "arm": arm.name,
                "settings": _settings(arm), "category": row.category, "row_id": row.id, **_predict(caller, row, arm),
            }  # fmt: skip
            verdict = judge_row(row, read_action(values["action"]))
            _append(Path(path), values | {"reason": verdict.reason, "parameter": verdict.parameter})
            if on_done is not None:
                on_done(row, arm, verdict)


def _predict(caller: Caller, row: Row, arm: CallArm) -> dict[str, Any]:
    try:
        prediction = caller.predict(row, arm)
    except ContextOverflow as overflow:
        action = write_action(Malformed("empty_completion", str(overflow)))
        return {"action": action, "text": "", "thought": None, "n_prompt": overflow.needed, "n_sampled": 0, "n_forced": 0,
                "logprob": 0.0, "seconds": 0.0}  # fmt: skip
    values = asdict(prediction) | {"action": write_action(prediction.action), "logprob": round(prediction.logprob, 4)}
    del values["row_id"]
    return values | {"seconds": round(prediction.seconds, 4)}


def prediction_key(model_hash: object, arm: CallArm, row: Row) -> str:
    """What a prediction is known by: a SHA-256 (hex) over the model's hash, the arm's settings, the prompts and the row."""
    content = [PROMPTS, model_hash, _settings(arm), row.category, row.id, row.question, [dict(each) for each in row.functions]]
    return hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def _settings(arm: CallArm) -> dict[str, Any]:
    settings = asdict(arm)
    del settings["name"]
    return settings | {"narrows": sorted(arm.narrows)}


def _append(path: Path, values: Mapping[str, Any]) -> None:
    try:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(values, ensure_ascii=True) + "\n")
    except OSError as error:
        raise SettingsError(f"{path} can't be written: {error.strerror}. Make room, or give another file.") from error


def read_scored(path: str | Path) -> tuple[list[Scored], int]:
    """The predictions in a file, of one that is there twice the first; and how many damaged lines were skipped.

    A file that isn't there holds none.
    """
    path = Path(path)
    if not path.exists():
        return [], 0
    found: dict[str, Scored] = {}
    n_damaged = 0
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        try:
            scored = _read_line(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError):
            n_damaged += 1
            continue
        found.setdefault(scored.key, scored)
    return list(found.values()), n_damaged


def _read_line(values: Mapping[str, Any]) -> Scored:
    names = ("key", "model", "arm", "category", "row_id", "n_sampled", "n_forced", "n_prompt", "logprob", "seconds")
    return Scored(
        action=read_action(values["action"]), verdict=Verdict(values["reason"], values["parameter"]),
        **{name: values[name] for name in names},
    )  # fmt: skip


def rescore(scored: Iterable[Scored], rows: Iterable[Row]) -> list[Scored]:
    """The predictions with verdicts made anew; those of rows that aren't given are left out."""
    by_id = {(row.category, row.id): row for row in rows}
    return [
        replace(each, verdict=judge_row(by_id[each.category, each.row_id], each.action))
        for each in scored if (each.category, each.row_id) in by_id
    ]


def select(
    scored: Iterable[Scored], model_hash: object, arms: Iterable[CallArm], rows: Sequence[Row]
) -> list[Scored]:
    """The predictions of a model for these arms and rows, under the arms' present names and with verdicts made anew."""
    by_key = {each.key: each for each in scored}
    found = [
        replace(by_key[key], arm=arm.name)
        for arm in arms for row in rows if (key := prediction_key(model_hash, arm, row)) in by_key
    ]
    return rescore(found, rows)


def tally(scored: Iterable[Scored]) -> list[Tally]:
    """What each model and arm got in each category, in the order of their first prediction."""
    groups: dict[tuple[str, str, str], list[Verdict]] = {}
    for each in scored:
        groups.setdefault((each.model, each.arm, each.category), []).append(each.verdict)
    return [
        Tally(
            model=model, arm=arm, category=category, reasons=dict(Counter(verdict.reason for verdict in verdicts)),
            right=share(sum(verdict.is_right for verdict in verdicts), len(verdicts)),
        )
        for (model, arm, category), verdicts in groups.items()
    ]


def vote(scored: Iterable[Scored], arms: Sequence[str], rows: Iterable[Row], *, name: str = "vote") -> Iterator[Scored]:
    """For each model and row that all of `arms` have predicted, the call that most of them made, as an arm of that name.

    Calls are equal by name and arguments. Of calls with equal votes that of the arm named first wins; what is no call has
    no vote, unless there is nothing else.
    """
    by_row: dict[tuple[str, str, str], dict[str, Scored]] = {}
    for each in scored:
        if each.arm in arms:
            by_row.setdefault((each.model, each.category, each.row_id), {})[each.arm] = each
    judged = {(row.category, row.id): row for row in rows}
    for (_, category, row_id), found in by_row.items():
        if len(found) < len(set(arms)) or (category, row_id) not in judged:
            continue
        ballots = [found[arm] for arm in arms]
        calls = [ballot for ballot in ballots if isinstance(ballot.action, Call)] or ballots
        votes = Counter(_ballot(ballot.action) for ballot in calls)
        chosen = max(calls, key=lambda ballot: votes[_ballot(ballot.action)])
        verdict = judge_row(judged[category, row_id], chosen.action)
        yield replace(chosen, arm=name, verdict=verdict, seconds=sum(ballot.seconds for ballot in ballots))


def _ballot(action: Action) -> str:
    return json.dumps([action.name, dict(action.arguments)], sort_keys=True) if isinstance(action, Call) else ""
