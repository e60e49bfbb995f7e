"""The same steps by guidance, which runs in an environment of its own; its process and ours take turns.

Its texts are its own: it appends the forced blank behind the action label as a token by itself, and a model often goes on
otherwise from there. So the figure is given for each character, too.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.constraint_figures import PROTOCOL, prompts_to_action, write_step
from benchmarks.figures import Figure, compare, take_time
from local_react import Model, Toolbox
from local_react.language.emit import to_regex
from local_react.language.grammar import action_language
from local_react.language.values import Bounds
from local_react.tools.demo import demo_tools

SCRIPT = Path(__file__).parent / "peers" / "guidance_steps.py"
AT_MOST = 0.75


def measure(
    model: Model, prompts: Sequence[str], python: str, *, n_rounds: int, advance: Callable[[], None]
) -> Figure:
    """CPU time of all steps under llguidance here, over that of guidance's process; the prompt's prefix is warm in both."""
    action = to_regex(action_language(PROTOCOL, Toolbox(demo_tools()), bounds=Bounds(max_text=None, depth=1, group_depth=0)))
    label = f"\n{PROTOCOL.label('action')}"
    whole = [text.removesuffix(label) for text in prompts_to_action(prompts, [""] * len(prompts))]
    asked = json.dumps({"n_ctx": model.window, "label": label, "action": action, "prompts": whole})
    ours, theirs, told = [], [], {}
    write_step(prompts[0], model, "llguidance")
    for _ in range(n_rounds):
        taken = [take_time(partial(write_step, prompt, model, "llguidance")) for prompt in prompts]
        ours.append(sum(seconds for _, seconds in taken))
        done = subprocess.run([python, str(SCRIPT), str(model.path)], input=asked, capture_output=True, text=True, check=True)
        told = json.loads(done.stdout.splitlines()[-1])
        theirs.append(told["seconds"])
        advance()
    texts = [trace.completions[0]["text"] for trace, _ in taken]
    return {
        "guidance": told["guidance"], "llguidance": told["llguidance"], "n_steps": len(prompts),
        "n_characters": {"local_react": _count(texts), "guidance": _count(told["texts"])},
        "n_equal_texts": sum(one == other for one, other in zip(texts, told["texts"])),
        "ms_per_step": {"local_react": 1000 * ours[-1] / len(prompts), "guidance": 1000 * theirs[-1] / len(prompts)},
        "ratio": compare(ours, theirs, at_most=AT_MOST),
        "ratio_per_character": compare(
            [seconds / _count(texts) for seconds in ours], [seconds / _count(told["texts"]) for seconds in theirs]
        ),
    }


def _count(texts: Sequence[str]) -> int:
    return sum(map(len, texts))
