"""What a constraint costs, and what it saves: `python -m benchmarks.constraint_speed`.

Standard error shows progress; standard output a table for people and, as its last line, one JSON document. README.md
beside this file says what each figure means. Run it with nothing else on the machine.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import constraint_figures as figures, guidance_peer, loops
from benchmarks.presentation import Rounds, bar_of_rounds, show_report, write_report
from benchmarks.runtime_speed import N_CTX, describe_machine, find_figures
from benchmarks.trail import TRAILS
from local_react.llama.model import Model

MODELS = ("smollm2", "gemma3-270m")
VERSION = 2
ORDERS = ("A100", "A095", "A101", "A088", "A070", "A102", "A090", "A077", "A110", "A064")
PROMPTS = [f"{what} {which}?" for which in ORDERS for what in (
    "What was in order", "Has it shipped: order", "Who placed order", "When was it ordered: order", "Where is order",
    "What is the status of order", "How many items are in order", "What is the tracking id of order",
    "What did the customer pay for order", "Which carrier has order",
)]
N_DICTATED = 50
"""So many of the prompts are for the steps of the same text and for single tokens."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; returns 0, also where a target is missed."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.constraint_speed", description="Measure what a constraint costs."
    )
    parser.add_argument("--models", nargs="+", default=MODELS, help="embedded model names, or paths of GGUF files")
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), help="prompts (default and at most %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each comparison (default 3)")
    parser.add_argument("--guidance", metavar="PYTHON", help="the Python of an environment with guidance, to compare with it")
    parser.add_argument("--output", type=Path, help="write the JSON document to this file, too")
    options = parser.parse_args(arguments)
    with bar_of_rounds() as begin:
        report = measure(options.models, options.prompts, options.rounds, options.guidance, options.output, begin)
    show_report(report, tabulate(report))
    return 0


def measure(
    models: Sequence[str], n_prompts: int, n_rounds: int, guidance: str | None, output: Path | None,
    begin: Callable[[int], Rounds],
) -> dict[str, Any]:
    """The whole report; it is written after each figure, since all of them take an hour."""
    advance = begin(len(models) * (6 * n_rounds + (n_rounds if guidance else 0)))
    report: dict[str, Any] = {
        "benchmark": "constraint_speed", "version": VERSION, "machine": describe_machine(),
        "settings": {
            "n_threads": 1, "n_ctx": N_CTX, "n_batch": 512, "flash_attention": False, "temperature": 0,
            "n_prompts": n_prompts, "n_rounds": n_rounds, "clock": "CPU time of the process",
        },
        "models": {},
    }
    for name in models:
        with Model.load(name, n_threads=1, n_ctx=N_CTX, n_batch=512, flash_attention=False) as model:
            found = report["models"].setdefault(name if name in MODELS else model.name, {"sha256": model.describe()["sha256"]})
            for figure, value in measure_model(
                model, n_prompts, n_rounds, guidance, lambda what, name=name: advance(f"{name}: {what}")
            ):
                found[figure] = value
                report["missed"] = [path for path, figure in find_figures(report, "met") if not figure["met"]]
                write_report(report, output)
    return report


def measure_model(
    model: Model, n_prompts: int, n_rounds: int, guidance: str | None, advance: Rounds
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The figures of one model by name, each as it comes."""
    prompts, few = PROMPTS[:n_prompts], PROMPTS[: min(n_prompts, N_DICTATED)]
    llama = loops.load_binding(model)
    # The first step pays for the prompt's prefix and the compiling.
    figures.measure_steps(model, prompts[:1], n_rounds=1, advance=lambda: None)
    yield "compiling", figures.measure_compiling(model, n_rounds=n_rounds, advance=advance("compiling"))
    dictated = figures.measure_dictated(model, few, n_rounds=n_rounds, advance=advance("steps of one text"))
    yield "dictated", dictated
    yield "own", figures.measure_steps(model, prompts, n_rounds=n_rounds, advance=advance("steps of their own texts"))
    texts = figures.prompts_to_action(few, [text.partition("\n")[0] for text in dictated["texts"]])
    yield "tokens", figures.measure_tokens(model, llama, texts, n_rounds=n_rounds, advance=advance("tokens"))
    for name, way in TRAILS.items():
        yield f"{name}_conversation", figures.measure_conversation(
            model, llama, way, n_rounds=n_rounds, advance=advance(f"{name} conversation")
        )
    if guidance is not None:
        yield "guidance", guidance_peer.measure(model, few, guidance, n_rounds=n_rounds, advance=advance("guidance"))
    llama.close()


def tabulate(report: dict[str, Any]) -> Table:
    """The figures for people."""
    table = Table("figure", "value", "spread", "target", title="What a constraint costs")
    for path, figure in find_figures(report, "value"):
        target = f"at most {figure['at_most']}: {'met' if figure['met'] else 'MISSED'}" if "met" in figure else ""
        table.add_row(
            path, f"{figure['value']:.3f}", f"{figure['lowest']:.3f} to {figure['highest']:.3f}, {figure['n']} rounds", target
        )
    for path, arm in find_figures(report, "n_malformed"):
        counts = ", ".join(f"{value} {key[2:].replace('_', ' ')}" for key, value in arm.items() if key.startswith("n_"))
        table.add_row(path, counts, "exact", "")
    for path, figure in find_figures(report, "same_texts"):
        table.add_row(f"{path}, the same texts", "yes" if figure["same_texts"] else "NO", "", "")
    return table


if __name__ == "__main__":
    sys.exit(main())
