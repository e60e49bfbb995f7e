"""The classic example on small models: free, constrained, and constrained and grounded.

    python -m benchmarks.order_a100 [MODEL ...]

"Has order A100 shipped, and where is it now?", with the two demo tools that it takes (tracking times out once), two
exemplars about other orders, greedy. A run is right if its answer names the Lyon hub, which only the tracking service
knows. Writes `results/order_a100.json` and, for the grounded run of the last model, `results/order_a100.jsonl`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from local_react import Answer, Call, Exemplar, Guards, Model, Observation, Step, Tool, Trace, run
from local_react.tools.demo import SupportDesk

RESULTS = Path(__file__).parent / "results"
QUESTION = "Has order A100 shipped, and where is it now?"
RIGHT = "Lyon hub"
GUARDS = Guards(max_steps=8)
ARMS: dict[str, dict[str, Any]] = {
    "free": {},
    "constrained": {"constrain": True},
    "constrained, min_calls=1": {"constrain": True, "guards": Guards(max_steps=8, min_calls=1)},
    "constrained and grounded": {"constrain": True, "is_grounded": True},
}

_ORDER = (
    '{{"order_id": "{0}", "status": "{1}", "tracking_id": "TRK-0{2}", "item": "{3}", "quantity": 1, '
    '"ordered_on": "2025-11-03", "customer_id": "cus_0{2}", "invoice_id": "INV-0{2}"}}'
)
_PARCEL = (
    '{"tracking_id": "TRK-0008", "order_id": "A008", "status": "in transit", "location": "Ghent hub", '
    '"updated_on": "2025-11-09"}'
)
_TIMEOUT = "Error: TimeoutError: the tracking service did not answer in time, try again"
_TRACKING = {"tracking_id": "TRK-0008"}
EXEMPLARS = (
    Exemplar("What was in order A007?", (
        Step(Call("lookup_order", {"order_id": "A007"}, "I need to look up the order."),
             Observation(_ORDER.format("A007", "delivered", "007", "garden hose"))),
        Step(Answer("Order A007 was a garden hose.", "The order names its item.")),
    )),
    Exemplar("Has order A008 shipped, and where is it now?", (
        Step(Call("lookup_order", {"order_id": "A008"}, "I need to look up the order."),
             Observation(_ORDER.format("A008", "shipped", "008", "kettle"))),
        Step(Call("get_tracking", _TRACKING, "It has shipped. I need to ask the tracking service."),
             Observation(_TIMEOUT, is_error=True)),
        Step(Call("get_tracking", _TRACKING, "The tracking service failed. I should try it again."), Observation(_PARCEL)),
        Step(Answer("Yes, it is in transit, at the Ghent hub.", "Now I know where it is.")),
    )),
)


def tools(*, is_grounded: bool) -> list[Tool]:
    """The two tools on a new desk. Their ids are marked as grounded; for comparison, that can be taken away."""
    desk = SupportDesk()
    made = [Tool.from_function(desk.lookup_order), Tool.from_function(desk.get_tracking)]
    return made if is_grounded else [without_grounding(tool) for tool in made]


def without_grounding(tool: Tool) -> Tool:
    """The same tool, whose texts may be anything."""
    properties = {
        name: {key: value for key, value in schema.items() if key != "x-grounded"}
        for name, schema in tool.schema["properties"].items()
    }
    return Tool.from_schema(tool.name, tool.description, {**tool.schema, "properties": properties}, tool.function)


def ask(model: Model, *, is_grounded: bool = False, guards: Guards = GUARDS, **options: Any) -> Trace:
    """Ask the question once."""
    return run(
        QUESTION, model=model, tools=tools(is_grounded=is_grounded), exemplars=EXEMPLARS, guards=guards, template="none",
        **options,
    )


def main() -> None:
    """Ask every model under every arm."""
    rows = []
    for name in sys.argv[1:] or ["smollm2", "gemma3-270m"]:
        with Model.load(name, n_threads=1) as model:
            for arm, options in ARMS.items():
                trace = ask(model, **options)
                rows.append({
                    "model": model.name, "arm": arm, "ending": trace.ending, "answer": trace.answer,
                    "is_right": RIGHT in (trace.answer or ""), "steps": len(trace.steps),
                    "malformed": sum(event.get("kind") == "malformed" for event in trace.events),
                    "sampled": trace.sampled, "forced": trace.forced,
                    "calls": [step.action.name for step in trace.steps if isinstance(step.action, Call)],
                })
                verdict = "right" if rows[-1]["is_right"] else "wrong"
                print(f"{model.name:36} {arm:26} {verdict}  {trace.ending}: {trace.answer}")
    trace.write(RESULTS / "order_a100.jsonl")
    (RESULTS / "order_a100.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(rows, ensure_ascii=False))


if __name__ == "__main__":
    main()
