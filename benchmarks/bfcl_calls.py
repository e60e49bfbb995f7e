"""Single calls on the leaderboard's rows: how many are exactly right, under which arm.

    python -m benchmarks.bfcl_calls --model smollm2 --rows simple.jsonl --take 0:60 --arm constrained-keyword

`--rows` is a file of the leaderboard in its joined form, and names the category. `--arms FILE.toml` gives arms of your own
beside the named ones (`local_react/bench/bfcl_arms.py`). Predictions are appended to `--out`, and those that are there are
not made again, so a run goes on where it stopped. Decodes greedily on one thread. `--vote a,b,c` adds an arm that takes the
call which most of these made. The table has Wilson's 95 % intervals; the last line is one JSON document.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict

import click

from local_react import Model
from local_react.bench.bfcl import read_rows
from local_react.bench.bfcl_arms import ARMS, read_arms
from local_react.bench.bfcl_run import Tally, read_scored, run_rows, select, tally, vote
from local_react.errors import LocalReactError, SettingsError


@click.command()
@click.option("--model", "models", multiple=True, required=True, help="A model file, or an embedded model; repeat for more.")
@click.option("--rows", "files", multiple=True, required=True, help="A file of rows; repeat for more.")
@click.option("--take", default="", help="Which rows, as in Python: 60, 0:60, ::4. Default: all.")
@click.option("--arm", "names", multiple=True, help="An arm; repeat for more.")
@click.option("--arms", "arms_file", help="A TOML file with arms.")
@click.option("--vote", "electorate", help="Names of arms with commas between: adds the call that most of them made.")
@click.option("--out", default="bfcl_calls.jsonl", show_default=True, help="Where the predictions go, and are taken from.")
@click.option("--n-ctx", default=4096, show_default=True, help="The window in tokens.")
def main(
    models: tuple[str, ...], files: tuple[str, ...], take: str, names: tuple[str, ...], arms_file: str | None,
    electorate: str | None, out: str, n_ctx: int,
) -> None:
    """Ask every model for the calls of these rows under every arm."""
    try:
        known = ARMS | (read_arms(arms_file) if arms_file else {})
        given = names or (tuple(read_arms(arms_file)) if arms_file else ("free-keyword", "constrained-keyword"))
        if unknown := [name for name in given if name not in known]:
            raise SettingsError(f"There is no arm {unknown[0]!r}. The arms are {', '.join(known)}.")
        rows = [row for file in files for row in read_rows(file)[_slice(take)]]
        arms, mine = [known[each] for each in given], []
        for name in models:
            with Model.load(name, n_threads=1, n_ctx=n_ctx) as model:
                run_rows(model, rows, arms, out, clock=time.perf_counter, on_done=_show)
                scored, n_damaged = read_scored(out)
                mine += select(scored, model.describe()["sha256"], arms, rows)
    except LocalReactError as error:
        sys.exit(f"Error: {error}")
    if electorate:
        mine += vote(mine, electorate.split(","), rows)
    _report(tally(mine), n_damaged)


def _slice(text: str) -> slice:
    try:
        parts = [int(part) if part else None for part in text.split(":")]
        return slice(*parts)
    except (ValueError, TypeError):
        raise SettingsError(f"--take {text} is no slice. Write 60, 0:60 or ::4.") from None


def _show(row: object, arm: object, verdict: object) -> None:
    print(".", end="", file=sys.stderr, flush=True)


def _report(tallies: list[Tally], n_damaged: int) -> None:
    print(f"\n{'model':34} {'category':14} {'arm':32} right")
    for each in tallies:
        right = each.right
        interval = f"{right.low:.1%} to {right.high:.1%}" if right.low is not None else ""
        print(f"{each.model:34.34} {each.category:14} {each.arm:32} {right.n_hits}/{right.n}  {interval}  {each.reasons}")
    if n_damaged:
        print(f"{n_damaged} damaged lines were skipped.")
    print(json.dumps([asdict(each) for each in tallies]))


if __name__ == "__main__":
    main()
