"""`local-react trace ledger`: where the tokens of a run went, and where those of a longer one would go.

The table goes to stdout; with --json it is one line of JSON instead. No model is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence

import click

from local_react.bench.ledger import HORIZONS, Ledger, add_ledgers, keep_ledger
from local_react.cli.streams import take_stdout
from local_react.cli.text import make_visible, write_json
from local_react.trace import Trace


@click.command("ledger")
@click.argument("files", metavar="FILE…", nargs=-1, required=True)
@click.option("--steps", multiple=True, type=click.IntRange(min=1), metavar="N",
              help=f"Predict runs of so many steps. May be given several times.  [default: {', '.join(map(str, HORIZONS))}]")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON on stdout.  [default: a table]")
@click.pass_context
def ledger_command(context: click.Context, files: tuple[str, ...], steps: tuple[int, ...], as_json: bool) -> None:
    """Count the tokens of a run from its trace FILE, by what they are for.

    Several traces are added up. A stateless API would be sent the whole conversation anew for each step; the last lines
    predict what that comes to, and name the part whose cutting pays most.
    """
    answers = take_stdout(context)
    ledger = add_ledgers(keep_ledger(Trace.read(file)) for file in files)
    if as_json:
        answers.write(write_json(ledger.write(), answers.encoding))
        return
    for line in describe_ledger(ledger, steps or HORIZONS):
        answers.write(make_visible(line))


def describe_ledger(ledger: Ledger, horizons: Sequence[int] = HORIZONS) -> list[str]:
    """The ledger as lines of text."""
    width = max(map(len, (*(f"  {part}" for part in ledger.parts), *ledger.purposes, "Prompt")))
    lines = [f"{'Prompt':{width}}  {ledger.n_prompt:>9,}"]
    lines += [f"  {part:{width - 2}}  {n:>9,}" for part, n in ledger.parts.items()]
    lines += [f"{purpose.capitalize():{width}}  {n:>9,}" for purpose, n in ledger.purposes.items()]
    lines += [
        f"{'All':{width}}  {ledger.n_tokens:>9,}",
        "",
        f"{ledger.n_steps} steps. Tokens evaluated: {ledger.n_evaluated:,}, drawn: {ledger.n_sampled:,}, "
        f"forced: {ledger.n_forced:,}.",
        f"A stateless API would have been sent {ledger.n_sent:,} tokens.",
        "",
        f"{'steps':>6}  {'here':>10}  {'stateless':>10}  cutting pays most",
    ]
    for found in map(ledger.predict, horizons):
        pays = f"{found.largest_here} (stateless: {found.largest_stateless})"
        lines.append(f"{found.n_steps:>6}  {found.here:>10,}  {found.stateless:>10,}  {pays}")
    return lines
