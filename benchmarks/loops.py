"""The loops that are compared: this runtime, and the loop of the ReAct introductions on two ways to call a model.

All of them get the same prompt and the same tool, and must write the same steps. The introductions' loop is written as
those write it: the prompt is a string that grows, the action is found by a regular expression, the observation is added
as text, and each step hands the whole string to the model again. It refuses nothing and recovers from nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import outlines
from llama_cpp import Llama
from outlines.types import Regex

from benchmarks import trail
from benchmarks.trail import Trail
from local_react.guards import Guards
from local_react.llama.model import Model
from local_react.runs import AnyModel, run_many
from local_react.trace import Trace

MAX_STEPS = 12
MAX_STEP_TOKENS = 96
STOPS = ["\nObservation:", "\nQuestion:"]
"""The introductions stop at the observation only, and let the model run on behind its last action, to the token limit.

Stopping at the next question too spares them that, and makes all loops write the same text.
"""

STEP = rf" [^\n]+\nAction: ({trail.TOOL}|finish)\[[^\[\]\n]+\]"
"""A step of a trail as a regular expression, for outlines' generator: a thought without bounds, and a call."""

_ACTION = re.compile(r"^Action: (\w+)\[(.*)\]\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model wrote in each step, without line ends at its end, and the answer (None where there is none)."""

    texts: tuple[str, ...]
    answer: str | None


@dataclass(slots=True)
class Counts:
    """How many tokens were sampled and evaluated, in how many decode calls."""

    n_sampled: int = 0
    n_evaluated: int = 0
    n_decode_calls: int = 0


def converse(
    model: AnyModel, way: Trail = trail.SHORT, *, one_action: bool = True, engine: str | None = None
) -> Trace:
    """Walk a trail with this runtime, under the constraint of an engine if one is given.

    With `one_action=False` it lets the model write the label that follows its action, as the other loops must.
    """
    return converse_many(model, 1, way, one_action=one_action, engine=engine)[0]


def converse_many(
    model: AnyModel, n_episodes: int, way: Trail = trail.SHORT, *, n_parallel: int = 1, one_action: bool = True,
    engine: str | None = None,
) -> list[Trace]:
    """Walk a trail so many times with this runtime, up to `n_parallel` at once."""
    guards = Guards(max_steps=MAX_STEPS, max_step_tokens=MAX_STEP_TOKENS, final_answer=False, one_action=one_action)
    return run_many(
        [trail.QUESTION] * n_episodes, model=model, tools=[way.tool], n_parallel=n_parallel,
        exemplars=way.exemplars(), guards=guards, template="none",
        **({} if engine is None else {"constrain": True, "engine": engine}),
    )


def read_conversation(trace: Trace) -> Conversation:
    """What was said in a run of this runtime."""
    return Conversation(tuple(event["text"].rstrip("\n") for event in trace.completions), trace.answer)


def converse_by_text(complete: Callable[[str], str], way: Trail = trail.SHORT) -> Conversation:
    """Walk a trail with the loop of the introductions; `complete` continues a text up to a stop string."""
    text = way.prompt().text
    tools = {trail.TOOL: way.reader}
    written: list[str] = []
    for _ in range(MAX_STEPS):
        step = complete(text).rstrip("\n")
        written.append(step)
        found = _ACTION.search(step)
        if found is None:
            break
        name, argument = found.groups()
        if name == "finish":
            return Conversation(tuple(written), argument)
        if name not in tools:
            break
        text += f"{step}\nObservation: {tools[name](*_split(argument))}\nThought:"
    return Conversation(tuple(written), None)


def _split(arguments: str) -> list[str]:
    """The arguments as texts: at the commas, names cut off."""
    return [argument.partition("=")[2] or argument for argument in arguments.split(", ")]


def load_binding(model: Model) -> Llama:
    """The same file through llama-cpp-python's own class, with the same settings, at the same number of threads."""
    options = model.options
    return Llama(
        str(model.path), n_ctx=options.n_ctx, n_batch=options.n_batch, n_ubatch=options.n_batch,
        n_threads=options.n_threads, n_threads_batch=options.n_threads, flash_attn=bool(options.flash_attention),
        verbose=False,
    )


def complete_with_binding(llama: Llama) -> Callable[[str], str]:
    """`Llama.create_completion`, with the prefix of the KV cache that it reuses by itself."""

    def complete(text: str) -> str:
        response = llama.create_completion(text, max_tokens=MAX_STEP_TOKENS, temperature=0.0, stop=STOPS)
        return response["choices"][0]["text"]

    return complete


def complete_with_outlines(llama: Llama) -> Callable[[str], str]:
    """A call of outlines' llama.cpp model, with no output type. It empties the cache after every call."""
    model = outlines.from_llamacpp(llama, chat_mode=False)

    def complete(text: str) -> str:
        return model(text, max_tokens=MAX_STEP_TOKENS, temperature=0.0, stop=STOPS)

    return complete


def complete_with_generator(llama: Llama) -> Callable[[str], str]:
    """outlines' own generator, held to a step of the trail by its regex backend. The index is built here, once."""
    generator = outlines.Generator(outlines.from_llamacpp(llama, chat_mode=False), Regex(STEP))

    def complete(text: str) -> str:
        return generator(text, max_tokens=MAX_STEP_TOKENS, temperature=0.0)

    return complete


def forget(model: Model, n_parallel: int = 1) -> None:
    """Give the model an empty context for so many episodes, so that the next run starts as in a new process."""
    with model.context(n_parallel) as context:
        context.clear(0)
        context.prefix = ()


@contextmanager
def counted(llama: Llama) -> Iterator[Counts]:
    """Count what the binding computes in this block. Not for blocks that are timed."""
    counts = Counts()
    evaluate, sample = llama.eval, llama.sample

    def eval_counted(tokens: list[int]) -> None:
        counts.n_evaluated += len(tokens)
        counts.n_decode_calls += -(-len(tokens) // llama.n_batch)
        evaluate(tokens)

    def sample_counted(**options: object) -> int:
        counts.n_sampled += 1
        return sample(**options)

    llama.eval, llama.sample = eval_counted, sample_counted
    try:
        yield counts
    finally:
        del llama.eval, llama.sample
