"""How fast the runtime is, and what it computes: `python -m benchmarks.runtime_speed`.

Standard error shows progress; standard output a table for people and, as its last line, one JSON document. README.md
beside this file says what each figure means. Run it with nothing else on the machine: one thread is measured, but the
cores share their memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmarks import figures, loops
from benchmarks.presentation import Rounds, bar_of_rounds, show_report, write_report
from local_react.llama.model import Model

MODELS = ("smollm2", "gemma3-270m")
N_CTX = 2048
N_STARTS = 7
VERSION = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, write; returns 0, also where a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.runtime_speed", description="Measure the runtime's speed.")
    parser.add_argument("--models", nargs="+", default=MODELS, help="embedded model names, or paths of GGUF files")
    parser.add_argument("--rounds", type=_count, default=5, help="rounds of each comparison (default 5)")
    parser.add_argument("--output", type=Path, help="write the JSON document to this file, too")
    options = parser.parse_args(arguments)
    with bar_of_rounds() as begin:
        report = measure(options.models, options.rounds, begin)
    write_report(report, options.output)
    show_report(report, tabulate(report))
    return 0


def measure(models: Sequence[str], n_rounds: int, begin: Callable[[int], Rounds]) -> dict[str, Any]:
    """The whole report. A token takes little time and wants many rounds; eight episodes take long and get few."""
    n_decoder_rounds = 3 * n_rounds
    n_parallel_rounds = (n_rounds + 1) // 2
    advance = begin(N_STARTS + len(models) * (n_decoder_rounds + 4 * n_rounds + 2 * n_parallel_rounds))
    report: dict[str, Any] = {
        "benchmark": "runtime_speed", "version": VERSION, "machine": describe_machine(),
        "settings": {
            "n_threads": 1, "n_ctx": N_CTX, "n_batch": 512, "flash_attention": False, "temperature": 0,
            "n_rounds": n_rounds, "n_decoder_rounds": n_decoder_rounds, "n_parallel_rounds": n_parallel_rounds,
            "clock": "CPU time of the process",
        },
        "start": figures.measure_start(n_rounds=N_STARTS, advance=advance("start")), "models": {},
    }
    for name in models:
        # All loops compute with the same settings; flash attention is off, as it is in the binding by default.
        with Model.load(name, n_threads=1, n_ctx=N_CTX, n_batch=512, flash_attention=False) as model:
            llama = loops.load_binding(model)
            described = model.describe()
            report["models"][name if name in MODELS else model.name] = {
                "sha256": described["sha256"],
                "decoder": figures.measure_decoder(
                    model, llama, n_rounds=n_decoder_rounds, advance=advance(f"{name}: decoder")
                ),
                "conversation": figures.measure_conversation(
                    model, llama, n_rounds=n_rounds, advance=advance(f"{name}: conversation")
                ),
                "parallel": figures.measure_parallel(model, n_rounds=n_parallel_rounds, advance=advance(f"{name}: parallel")),
            }
            llama.close()
    report["missed"] = [path for path, figure in find_figures(report, "met") if not figure["met"]]
    return report


def describe_machine() -> dict[str, Any]:
    """What the figures depend on, without names of places or people."""
    packages = ("llama-cpp-python", "outlines", "numpy")
    return {
        "system": platform.system(), "architecture": platform.machine(), "n_cores": os.cpu_count(),
        "python": platform.python_version(), **{package: version(package) for package in packages},
    }


def tabulate(report: dict[str, Any]) -> Table:
    """The figures for people."""
    table = Table("figure", "value", "spread", "target", title="Speed of the runtime")
    for path, figure in find_figures(report, "value"):
        spread = f"{figure['lowest']:.3f} to {figure['highest']:.3f}, {figure['n']} rounds" if "n" in figure else "exact"
        target = ""
        if "met" in figure:
            limit = f"at most {figure['at_most']}" if "at_most" in figure else f"at least {figure['at_least']}"
            target = f"{limit}: {'met' if figure['met'] else 'MISSED'}"
        table.add_row(path, f"{figure['value']:.3f}", spread, target)
    for path, counts in find_figures(report, "n_sampled"):
        written = ", ".join(f"{value} {key[2:].replace('_', ' ')}" for key, value in counts.items() if key.startswith("n_"))
        table.add_row(path, written, "exact", "")
    for path, conversation in find_figures(report, "same_texts"):
        table.add_row(f"{path}, the same texts", "yes" if conversation["same_texts"] else "NO", "", "")
    return table


def find_figures(report: dict[str, Any], field: str, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object of the report that has that field, with its place, e.g. "start, import"."""
    for key, value in report.items():
        if isinstance(value, dict):
            place = path if key in ("models", "counts") else (*path, key.replace("_", " "))
            if field in value:
                yield ", ".join(place), value
            yield from find_figures(value, field, place)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
