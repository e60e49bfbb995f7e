"""How many questions about the demo's support desk a model answers rightly.

    python -m benchmarks.demo_questions [MODEL]

The README's word on what to expect of the embedded model comes from here. An answer is right if it holds one of the listed
words, which says nothing of its grammar; for a question that can be answered with yes, a model may be right by luck.
Writes `results/demo_questions.json`, and prints a line for each question. Decodes greedily, so that the result repeats.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from local_react import Model, Trace, run
from local_react.cli.tool_files import DEMO, load_toolbox
from local_react.tools.demo_exemplars import demo_exemplars

RESULTS = Path(__file__).parent / "results" / "demo_questions.json"

QUESTIONS = {
    "In which city does customer cus_8812 live?": ["Nantes"],
    "In which city does customer cus_4417 live?": ["Bremen"],
    "What is the name of customer cus_8812?": ["Ines Moreau"],
    "What was in order A100?": ["coffee grinder"],
    "What is the status of order A100?": ["shipped"],
    "Where is parcel TRK-5820?": ["Lyon"],
    "Has order A100 shipped, and where is it now?": ["Lyon"],
    "What is the amount of invoice INV-2041?": ["49"],
    "Has invoice INV-2041 been paid?": ["yes", "is paid", "been paid"],
    "Was cus_8812 charged twice for INV-2041 in July?": ["yes", "charged twice", "ch_4286"],
    "How long does a refund take?": ["5 working days"],
    "What is 17 * 23?": ["391"],
    "How many invoices does cus_8812 have?": ["3", "three"],
    "Which customer placed order A100?": ["cus_4417", "Krüger"],
}
"""Each question, and the words of which a right answer holds one (in any case)."""


def is_right(question: str, answer: str | None) -> bool:
    """Whether the answer holds one of the question's words."""
    return answer is not None and any(word.lower() in answer.lower() for word in QUESTIONS[question])


def ask(question: str, model: Model) -> Trace:
    """Ask as `local-react run --tools demo` does, with every call approved; each question gets a desk of its own."""
    return run(
        question, model=model, tools=load_toolbox([DEMO]), exemplars=demo_exemplars(), approve=lambda call, tool: True
    )


def main() -> None:
    """Ask all questions, and write the results."""
    results = []
    with Model.load(sys.argv[1] if len(sys.argv) > 1 else "smollm2") as model:
        for question in QUESTIONS:
            trace = ask(question, model)
            right = is_right(question, trace.answer)
            results.append({"question": question, "ending": trace.ending, "answer": trace.answer, "is_right": right})
            print(f"{'right' if right else 'wrong'}  {question}  {trace.answer or trace.ending}", flush=True)
        described = model.describe()
    text = json.dumps({"model": described, "questions": results}, indent=2, ensure_ascii=False)
    RESULTS.write_text(f"{text}\n", encoding="utf-8")
    print(f"{sum(result['is_right'] for result in results)} of {len(results)} right")


if __name__ == "__main__":
    main()
