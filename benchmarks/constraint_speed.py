"""What a constraint costs: CPU time of whole steps and of single tokens, free and under each engine.

    python -m benchmarks.constraint_speed [--models NAME …] [--prompts N] [--rounds N]

One thread, greedy, CPU time of the process, all arms by turns in one process on the same transcripts. Two measurements:

- *steps*: every arm writes one step (thought and action) behind the same prompts, each its own text; totals over all prompts.
  A free step ends behind its call, or where it forges a label; a constrained one ends with the bracket of its call.
- *tokens*: the time of an action under an engine, divided by the ids that it added, over the same for free decoding.

Also the time in which each engine compiles the language of 50 tools. The last line of stdout is one JSON document.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from local_react import Guards, Model, Toolbox, run
from local_react.decode.engines import ENGINES, make_engine
from local_react.language.grammar import action_language
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Boolean, Choice, Date, Integer, Text
from local_react.tools.demo import demo_tools
from local_react.tools.demo_exemplars import demo_exemplars

RESULTS = Path(__file__).parent / "results" / "constraint_speed.json"
TARGETS = {"step_ratio": 1.00, "compile_ms": 50}
ARMS: dict[str, dict[str, Any]] = {"free": {}} | {name: {"constrain": True, "engine": name} for name in ENGINES}
PROMPTS = [f"{what} {which}?" for which in ("A100", "A095", "A101", "A088", "A070") for what in (
    "What was in order", "Has it shipped: order", "Who placed order", "When was it ordered: order", "Where is order",
    "What is the status of order", "How many items are in order", "What is the tracking id of order",
)]


def steps(model: Model, n_prompts: int, n_rounds: int) -> dict[str, Any]:
    """One step behind each prompt under each arm, by turns; medians over the rounds of the totals' ratios."""
    toolbox = Toolbox(demo_tools())
    guards = Guards(max_steps=1, final_answer=False, max_step_tokens=96)
    totals = {arm: {"seconds": [0.0] * n_rounds, "ids": 0, "sampled": 0, "decode_calls": 0, "malformed": 0} for arm in ARMS}
    for index in range(n_rounds):
        for prompt in PROMPTS[:n_prompts]:
            for arm, options in ARMS.items():
                started = time.process_time()
                trace = run(prompt, model=model, tools=toolbox, exemplars=demo_exemplars(), guards=guards, **options)
                total = totals[arm]
                total["seconds"][index] += time.process_time() - started
                if index == 0:
                    total["ids"] += sum(len(event["pieces"]) for event in trace.completions)
                    total["sampled"] += trace.sampled
                    total["decode_calls"] += trace.decode_calls
                    total["malformed"] += sum(event.get("kind") == "malformed" for event in trace.events)
    free = totals["free"]["seconds"]
    for total in totals.values():
        total["ratio_to_free"] = median(seconds / base for seconds, base in zip(total["seconds"], free))
        total["ms_per_id"] = 1000 * median(total["seconds"]) / total["ids"]
    return totals


def fifty_tools(variant: int) -> dict[str, Signature]:
    """Fifty tools of usual kinds; each variant is a language that no engine has seen."""
    kinds = (Text(), Integer(0, 500), Boolean(), Date(), Choice(("low", "middle", "high")))
    return {
        f"tool_{variant}_{n}": Signature(
            f"tool_{variant}_{n}", "", (Parameter("query", Text()), Parameter("value", kinds[n % len(kinds)], required=False))
        )
        for n in range(50)
    }


def compile_times(model: Model, n_rounds: int) -> dict[str, float]:
    """Milliseconds in which each engine compiles the language of 50 tools, and `language` builds it; medians."""
    found: dict[str, list[float]] = {"language": [], **{name: [] for name in ENGINES}}
    engines = {name: make_engine(name, model.vocabulary) for name in ENGINES}
    for variant in range(n_rounds):
        started = time.process_time()
        language = action_language(Protocol(), fifty_tools(variant))
        found["language"].append(time.process_time() - started)
        for name, engine in engines.items():
            started = time.process_time()
            engine.match(language)
            found[name].append(time.process_time() - started)
    return {name: 1000 * median(seconds) for name, seconds in found.items()}


def main() -> None:
    """Measure, print a table for people, then one JSON document; write it too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", default=["smollm2", "gemma3-270m"])
    parser.add_argument("--prompts", type=int, default=len(PROMPTS), help="prompts, at most %(default)s")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    command = f"python -m benchmarks.constraint_speed {' '.join(sys.argv[1:])}".strip()
    document: dict[str, Any] = {"command": command, "models": {}}
    for name in chosen.models:
        with Model.load(name, n_threads=1) as model:
            # The first run of each arm pays for the prompt's prefix and the engine's tokenizer.
            steps(model, 1, 1)
            found = {"steps": steps(model, chosen.prompts, chosen.rounds), "compile_ms": compile_times(model, 5)}
            document["models"][model.name] = found
        for arm, total in found["steps"].items():
            print(
                f"{model.name:34} {arm:12} step ÷ free {total['ratio_to_free']:.3f}  {total['ms_per_id']:.2f} ms/id  "
                f"{total['ids']} ids, {total['sampled']} sampled, {total['decode_calls']} decode calls, "
                f"{total['malformed']} of {chosen.prompts} malformed"
            )
        print(f"{model.name:34} 50 tools: " + ", ".join(f"{arm} {ms:.1f} ms" for arm, ms in found["compile_ms"].items()))
    chosen.output.parent.mkdir(exist_ok=True)
    chosen.output.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(document))


if __name__ == "__main__":
    main()
