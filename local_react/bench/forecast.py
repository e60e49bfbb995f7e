"""Does the ledger predict? From the first steps of an episode, the tokens of the whole one; beside it what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from local_react.bench.document import Section, Table
from local_react.bench.ledger import keep_ledger
from local_react.bench.tables import NOTHING, short_name
from local_react.trace import Trace

AFTER = 2
"""So many steps are seen before the rest is predicted."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Tokens of an episode of `n_steps`: the transcript's and a stateless API's, predicted and counted."""

    n_steps: int
    here: int
    counted_here: int
    stateless: int
    counted_stateless: int


def forecast(trace: Trace, *, after: int = AFTER) -> Forecast | None:
    """Predict an episode from its first `after` steps; None for one that has no more than these."""
    n_steps = len(trace.completions)
    if n_steps <= after:
        return None
    seen, n_seen = [], 0
    for event in trace.events:
        if n_seen == after and event["event"] == "tokens" and event.get("owner") == "model":
            break
        n_seen += event["event"] == "completion"
        seen.append(event)
    begun, whole = keep_ledger(Trace(seen)), keep_ledger(trace)
    predicted = begun.predict(n_steps)
    return Forecast(n_steps, predicted.here, whole.n_tokens, predicted.stateless, whole.n_sent)


def forecast_sections(forecasts: Mapping[tuple[str, str], Sequence[Forecast]]) -> list[Section]:
    """A section with the forecasts by model and arm; none where no episode was long enough."""
    rows = []
    for (model, arm), found in forecasts.items():
        if found:
            rows.append((
                short_name(model), arm, f"{len(found):,}", _spread([one.here / one.counted_here for one in found]),
                _spread([one.stateless / one.counted_stateless for one in found if one.counted_stateless]),
            ))
    if not rows:
        return []
    table = Table(
        title=f"Tokens predicted from the first {AFTER} steps, over those counted",
        head=("model", "arm", "episodes", "here", "stateless"), rows=tuple(rows),
        note="Median, and the lowest and highest in brackets; 1.00 is a prediction that came true.",
    )
    return [Section(title="Does the ledger predict?", tables=(table,))]


def _spread(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})" if ratios else NOTHING
