"""The figures of the runtime: each function measures one and returns it as a JSON object.

What is compared runs by turns in one process, on one thread, greedily; the ratio is taken within each round, and the
figure is the median over the rounds. Time is CPU time of the whole process, so that the threads that tools run in count.
Nothing is kept between runs: each begins with an empty cache. A figure that misses its target is reported like any other.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeVar

from llama_cpp import Llama

from benchmarks import bare, loops, trail
from local_react.llama.model import Model

Value = TypeVar("Value")
Advance = Callable[[], None]
Figure = dict[str, Any]

TARGETS = {"decoder": 1.03, "binding": 1.00, "outlines": 0.35, "parallel": 5.0, "import": 0.4, "help": 0.7}
"""The ratios that must not be exceeded; for `parallel` the one that must be reached; for the last two, seconds."""

N_PARALLEL = 8


def measure_decoder(model: Model, llama: Llama, *, n_rounds: int, n_tokens: int = 64, advance: Advance) -> Figure:
    """CPU time per generated token: our decoder over the bare loop."""
    prompt = bare.encode(model, bare.PROMPT)
    ids, _ = bare.generate(model, prompt, n_tokens)
    likeliest, _ = bare.decode(llama, prompt, ids)
    ours, base = [], []
    for _ in range(n_rounds):
        ours.append(bare.generate(model, prompt, n_tokens)[1])
        base.append(bare.decode(llama, prompt, ids)[1])
        advance()
    return {
        "n_tokens": len(ids), "same_tokens": likeliest == ids, "ms_per_token": _median_ms(ours),
        "bare_ms_per_token": _median_ms(base), "ratio": compare(ours, base, at_most=TARGETS["decoder"]),
    }


def measure_conversation(model: Model, llama: Llama, *, n_rounds: int, advance: Advance) -> Figure:
    """CPU time of the same conversation: our runtime over the introductions' loop on both ways to call a model."""
    binding, outlines = loops.complete_with_binding(llama), loops.complete_with_outlines(llama)
    runs: Mapping[str, Callable[[], Any]] = {
        "local_react": lambda: loops.converse(model),
        "local_react_to_label": lambda: loops.converse(model, one_action=False),
        "binding": lambda: loops.converse_by_text(binding),
        "outlines": lambda: loops.converse_by_text(outlines),
    }
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(n_rounds):
        for name, work in runs.items():
            loops.forget(model)
            llama.reset()
            seconds[name].append(take_time(work)[1])
            advance()
    ours = seconds["local_react"]
    return count_conversation(model, llama) | {
        "cpu_seconds": {name: round(statistics.median(values), 4) for name, values in seconds.items()},
        "ratio_to_binding": compare(ours, seconds["binding"], at_most=TARGETS["binding"]),
        "ratio_to_binding_with_equal_stops": compare(seconds["local_react_to_label"], seconds["binding"]),
        "ratio_to_outlines": compare(ours, seconds["outlines"], at_most=TARGETS["outlines"]),
    }


def count_conversation(model: Model, llama: Llama) -> Figure:
    """What each loop wrote and computed in the conversation: exact, and the same wherever the texts are."""
    said: dict[str, loops.Conversation] = {}
    counts: dict[str, Figure] = {}
    for name, one_action in (("local_react", True), ("local_react_to_label", False)):
        said[name], counts[name] = _count_run(model, one_action)
    callers = {"binding": loops.complete_with_binding(llama), "outlines": loops.complete_with_outlines(llama)}
    for name, complete in callers.items():
        llama.reset()
        with loops.counted(llama) as counted:
            said[name] = loops.converse_by_text(complete)
        counts[name] = {"n_steps": len(said[name].texts)} | asdict(counted)
    ours = said["local_react"]
    return {
        "same_texts": all(conversation == ours for conversation in said.values()),
        "is_whole": len(ours.texts) == trail.N_STEPS and ours.answer == trail.WORD,
        "texts": list(ours.texts),
        "other_texts": {name: list(other.texts) for name, other in said.items() if other != ours},
        "counts": counts,
    }


def _count_run(model: Model, one_action: bool) -> tuple[loops.Conversation, Figure]:
    """What this runtime wrote, and what the trace and the context counted, which must agree."""
    loops.forget(model)
    with model.context(1) as context:
        n_evaluated, n_decode_calls = context.n_evaluated, context.n_decode_calls
    trace = loops.converse(model, one_action=one_action)
    with model.context(1) as context:
        n_evaluated, n_decode_calls = context.n_evaluated - n_evaluated, context.n_decode_calls - n_decode_calls
    return loops.read_conversation(trace), {
        "n_steps": len(trace.steps), "n_sampled": trace.sampled, "n_evaluated": n_evaluated,
        "n_decode_calls": n_decode_calls, "n_tokens": trace.n_tokens,
        "evaluates_no_token_twice": trace.evaluated == n_evaluated <= trace.n_tokens,
    }


def measure_parallel(model: Model, *, n_rounds: int, advance: Advance) -> Figure:
    """Decode calls and CPU time of eight episodes at once, over eight one after another."""
    calls: dict[int, list[int]] = {1: [], N_PARALLEL: []}
    seconds: dict[int, list[float]] = {1: [], N_PARALLEL: []}
    answers: dict[int, list[str | None]] = {}
    for _ in range(n_rounds):
        for n_parallel, taken in seconds.items():
            loops.forget(model, n_parallel)
            with model.context(n_parallel) as context:
                before = context.n_decode_calls
            traces, spent = take_time(lambda n=n_parallel: loops.converse_many(model, N_PARALLEL, n_parallel=n))
            with model.context(n_parallel) as context:
                calls[n_parallel].append(context.n_decode_calls - before)
            taken.append(spent)
            answers[n_parallel] = [trace.answer for trace in traces]
            advance()
    fewer = [single / parallel for single, parallel in zip(calls[1], calls[N_PARALLEL])]
    return {
        "n_episodes": N_PARALLEL, "same_answers": answers[1] == answers[N_PARALLEL], "answers": answers[N_PARALLEL],
        "n_decode_calls": {"single": calls[1], "parallel": calls[N_PARALLEL]},
        "times_fewer_decode_calls": spread(fewer) | {
            "at_least": TARGETS["parallel"], "met": min(fewer) >= TARGETS["parallel"],
        },
        "cpu_seconds": {"single": _median(seconds[1]), "parallel": _median(seconds[N_PARALLEL])},
        "ratio_of_cpu_time": compare(seconds[N_PARALLEL], seconds[1]),
    }


def measure_start(*, n_rounds: int = 7, advance: Advance) -> Figure:
    """Wall-clock seconds of whole processes: importing the package, printing the help, doing nothing.

    `import_run` has no target: it also imports what a run needs, llama.cpp included, which the package leaves for then.
    """
    commands = {
        "python": [sys.executable, "-c", "pass"],
        "import": [sys.executable, "-c", "import local_react"],
        "import_run": [sys.executable, "-c", "from local_react import run"],
        "help": [sys.executable, "-m", "local_react", "--help"],
    }
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(n_rounds):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seconds[name].append(time.perf_counter() - started)
        advance()
    probe = "import sys, local_react; sys.exit('llama_cpp' in sys.modules)"
    figures: Figure = {name: spread(taken) for name, taken in seconds.items()}
    for name in ("import", "help"):
        figures[name] |= {"at_most": TARGETS[name], "met": statistics.median(seconds[name]) < TARGETS[name]}
    return figures | {"imports_llama_cpp": subprocess.run([sys.executable, "-c", probe]).returncode != 0}


def take_time(work: Callable[[], Value]) -> tuple[Value, float]:
    """What `work` returns, and the CPU seconds of the whole process that it took."""
    started = time.process_time()
    value = work()
    return value, time.process_time() - started


def compare(ours: Sequence[float], theirs: Sequence[float], at_most: float | None = None) -> Figure:
    """The ratio of ours to theirs within each round: median and spread, and whether it keeps to `at_most`."""
    ratios = [one / other for one, other in zip(ours, theirs)]
    figure = spread(ratios)
    if at_most is not None:
        figure |= {"at_most": at_most, "met": statistics.median(ratios) <= at_most}
    return figure


def spread(values: Sequence[float]) -> Figure:
    """The median of some values, the lowest, the highest, and how many there are."""
    return {"value": _median(values), "lowest": round(min(values), 4), "highest": round(max(values), 4), "n": len(values)}


def _median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 4)


def _median_ms(values: Sequence[float]) -> float:
    return round(statistics.median(values) * 1000, 4)
