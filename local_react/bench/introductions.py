"""The prompt of the well-known introductions to ReAct, in our own words: what the labels mean.

Those describe the format by a sketch of one run, with a line for each label, then show one session and leave the model to
carry on. The words here are ours, the shape is theirs. The labels come from the protocol, so the sketch is what the parser
reads. The sketch has no answer: without a session behind it, SmolLM2 copied its last lines as its first step, and never came
to call a tool. How a run ends is told behind the tools.
"""

from __future__ import annotations

from local_react.language.protocol import Protocol


def describe_format(protocol: Protocol) -> str:
    """The instructions of an introduction, whose list of tools is to follow."""
    lines = (
        ("question", "what you are asked"),
        ("thought", "what should be done next"),
        ("action", "one of the tools, as name[arguments]"),
        ("observation", "what the tool has found"),
    )
    sketch = [f"{protocol.label(kind)} {meaning}" for kind, meaning in lines]
    words = [protocol.words[kind] for kind in ("thought", "action", "observation")]
    sketch.append(f"... ({words[0]}, {words[1]} and {words[2]} may come any number of times)")
    return "\n".join([
        "Find the answer to the question below as well as you can. There are some tools that you may use.", "",
        "Keep to this format:", "", *sketch, "", "These are the tools:",
    ])
