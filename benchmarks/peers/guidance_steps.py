"""Steps written by guidance's llama.cpp model; run in an environment of its own, since guidance pins an older llguidance.

    python guidance_steps.py MODEL.gguf < steps.json

Standard input holds {"n_ctx", "label", "action", "prompts"}: each step is a thought up to the end of its line, `label`, and
text that matches the regular expression `action`. guidance appends what the grammar forces, as it does by default. The last
line of standard output is {"guidance", "llguidance", "seconds", "texts"}: CPU seconds of this process over all steps but
the first, which warms up. This file imports nothing of the project.
"""

import json
import sys
import time
from importlib.metadata import version

from guidance import gen, models

MAX_THOUGHT_TOKENS = 96


def main() -> None:
    """Write the steps, and tell what they took."""
    asked = json.load(sys.stdin)
    model = models.LlamaCpp(
        sys.argv[1], echo=False, n_ctx=asked["n_ctx"], n_batch=512, n_threads=1, n_threads_batch=1, verbose=False
    )
    texts, seconds = [], 0.0
    for index, prompt in enumerate([asked["prompts"][0], *asked["prompts"]]):
        started = time.process_time()
        written = (
            model + prompt + gen(stop="\n", max_tokens=MAX_THOUGHT_TOKENS, temperature=0.0)
            + asked["label"] + gen(regex=asked["action"], temperature=0.0)
        )
        text = str(written)[len(prompt) :]
        if index > 0:
            seconds += time.process_time() - started
            texts.append(text)
    versions = {"guidance": version("guidance"), "llguidance": version("llguidance")}
    print(json.dumps(versions | {"seconds": seconds, "texts": texts}))


if __name__ == "__main__":
    main()
