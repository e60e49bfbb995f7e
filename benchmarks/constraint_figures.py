"""The figures of a constraint: each function measures one and returns it as a JSON object.

All arms run by turns in one process, on one thread, greedily, behind the same prompts; a ratio is taken within each round
from totals over all prompts, and the figure is the median over the rounds. Time is CPU time of the process.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import median
from typing import Any

from llama_cpp import Llama, LlamaGrammar

from benchmarks import bare, loops, trail
from benchmarks.dictation import Dictated, dictating
from benchmarks.figures import Figure, compare, spread, take_time
from benchmarks.trail import Trail
from local_react import Guards, Model, Toolbox, run
from local_react.decode.constrained import ConstrainedGeneration
from local_react.decode.constraint import Engine
from local_react.decode.engines import ENGINES, make_engine
from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.errors import ConstraintCompileTimeout
from local_react.language.derivative import Recogniser
from local_react.language.emit import to_gbnf
from local_react.language.grammar import action_language
from local_react.language.prompt import build_prompt
from local_react.language.protocol import Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Parameter, Signature
from local_react.language.types import Boolean, Choice, Date, Integer, Text
from local_react.llama.sampling import Sampling
from local_react.tools.demo import demo_tools
from local_react.tools.demo_exemplars import demo_exemplars
from local_react.trace import Trace

PROTOCOL = Protocol.preset("finish")
GUARDS = Guards(max_steps=1, final_answer=False, max_step_tokens=96)
UNTIL_LABEL = replace(GUARDS, one_action=False, max_step_tokens=192)
"""A free step ends with the stop label, and has room for any text that is dictated."""

MAX_ACTION_TOKENS = 96
N_BINDING_TOKENS = 12
TARGETS = {
    "token": {"llguidance": 1.03, "gbnf": 1.06, "outlines": 1.06}, "dictated": 0.92, "own": 1.00, "binding": 0.85,
    "generator": 0.30, "compile_ms": {"llguidance": 50, "gbnf": 50, "outlines": 3000},
}
"""The ratios and milliseconds that must not be exceeded."""

Advance = Callable[[], None]


def write_step(prompt: str, model: Model, engine: str | None = None, guards: Guards = GUARDS) -> Trace:
    """One step behind a question about the demo, free or under an engine's constraint."""
    return run(
        prompt, model=model, tools=Toolbox(demo_tools()), exemplars=demo_exemplars(), guards=guards,
        template="none", **({} if engine is None else {"constrain": True, "engine": engine}),
    )


def measure_steps(model: Model, prompts: Sequence[str], *, n_rounds: int, advance: Advance) -> Figure:
    """A whole step behind each prompt, each arm its own text: totals, and each engine's CPU time over the free one's."""
    arms: dict[str, dict[str, Any]] = {
        arm: {"seconds": [0.0] * n_rounds, "n_tokens": 0, "n_sampled": 0, "n_decode_calls": 0, "n_malformed": 0}
        for arm in ("free", *ENGINES)
    }
    for index in range(n_rounds):
        for prompt in prompts:
            for arm, total in arms.items():
                trace, seconds = take_time(partial(write_step, prompt, model, None if arm == "free" else arm))
                total["seconds"][index] += seconds
                if index == 0:
                    total["n_tokens"] += sum(len(event["pieces"]) for event in trace.completions)
                    total["n_sampled"] += trace.sampled
                    total["n_decode_calls"] += trace.decode_calls
                    total["n_malformed"] += sum(event.get("kind") == "malformed" for event in trace.events)
        advance()
    for arm, total in arms.items():
        if arm != "free":
            total["ratio"] = compare(total["seconds"], arms["free"]["seconds"], at_most=TARGETS["own"])
    return {"n_prompts": len(prompts), "arms": arms}


def measure_dictated(model: Model, prompts: Sequence[str], *, n_rounds: int, advance: Advance) -> Figure:
    """Whole steps of the same final text: each engine on its own, over the free loop that is dictated that text.

    The free loop evaluates every token of it singly, and the label behind it that its stop string waits for.
    """
    texts = {arm: [write_step(prompt, model, arm).completions[0]["text"] for prompt in prompts] for arm in ENGINES}
    seconds = {arm: [0.0] * n_rounds for arm in ENGINES}
    dictated = {arm: [0.0] * n_rounds for arm in ENGINES}
    for index in range(n_rounds):
        for arm in ENGINES:
            for prompt, text in zip(prompts, texts[arm]):
                seconds[arm][index] += take_time(partial(write_step, prompt, model, arm))[1]
                with dictating(model, model.vocabulary.tokenize(f"{text}\n{PROTOCOL.label('observation')}")):
                    trace, taken = take_time(partial(write_step, prompt, model, guards=UNTIL_LABEL))
                dictated[arm][index] += taken
                if trace.completions[0]["text"].rstrip("\n") != text:
                    raise RuntimeError(f"The dictated step is another: {trace.completions[0]['text']!r} for {text!r}.")
        advance()
    return {
        "n_steps": len(prompts), "same_texts": all(found == texts["llguidance"] for found in texts.values()),
        "texts": texts["llguidance"],
        "ratios": {arm: compare(seconds[arm], dictated[arm], at_most=TARGETS["dictated"]) for arm in ENGINES},
    }


@dataclass(frozen=True, slots=True)
class Unforced:
    """A place in a language that forces nothing, so that every token is drawn."""

    place: Recogniser

    def feed(self, data: bytes) -> Unforced:
        """The place behind `data`."""
        return Unforced(self.place.feed(data))

    def forced(self) -> bytes:
        """Nothing."""
        return b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.place, name)


def measure_tokens(model: Model, llama: Llama, texts: Sequence[str], *, n_rounds: int, advance: Advance) -> Figure:
    """CPU time per token of an action, every token drawn and evaluated singly: under each engine, over free decoding of
    the same ids; and the binding's own grammar over the binding without one. `texts` are prompts up to an action label."""
    toolbox = Toolbox(demo_tools())
    engines = {name: make_engine(name, model.vocabulary) for name in ENGINES}
    languages = {name: action_language(PROTOCOL, toolbox, bounds=engine.bounds) for name, engine in engines.items()}
    grammar = LlamaGrammar.from_string(to_gbnf(languages["gbnf"]), verbose=False)
    encoded = [bare.encode(model, text) for text in texts]
    arms = {arm: [0.0] * n_rounds for arm in (*ENGINES, "binding_free", "binding_grammar")}
    free = {name: [0.0] * n_rounds for name in ENGINES}
    n_tokens = dict.fromkeys(arms, 0)
    for index in range(n_rounds):
        for prompt in encoded:
            for name, engine in engines.items():
                ids, seconds = _constrained_tokens(model, prompt, languages[name], engine)
                arms[name][index] += seconds
                free[name][index] += _free_tokens(model, prompt, ids)
                n_tokens[name] += len(ids) - 1
            for arm, options in (("binding_free", {}), ("binding_grammar", {"grammar": grammar})):
                seconds, n = _binding_tokens(llama, prompt, **options)
                arms[arm][index] += seconds / n
        advance()
    ratios = {name: compare(arms[name], free[name], at_most=TARGETS["token"][name]) for name in ENGINES}
    ratios["binding_grammar"] = compare(arms["binding_grammar"], arms["binding_free"])
    return {"n_prompts": len(texts), "n_tokens": {name: n_tokens[name] // n_rounds for name in ENGINES}, "ratios": ratios}


def _constrained_tokens(model: Model, prompt: list[int], language: Regular, engine: Engine) -> tuple[list[int], float]:
    return _generate(model, prompt, lambda transcript, sampler: ConstrainedGeneration(
        transcript, sampler, Unforced(Recogniser(language)), engine.match(language), max_tokens=MAX_ACTION_TOKENS,
    ))


def _free_tokens(model: Model, prompt: list[int], ids: list[int]) -> float:
    scanner = StopScanner(
        PROTOCOL.stops(), action=PROTOCOL.stop("action"), line=PROTOCOL.label("action").encode(), ends_after_call=False,
    )
    found, seconds = _generate(model, prompt, lambda transcript, sampler: Generation(
        transcript, Dictated(sampler, ids), scanner, max_tokens=len(ids),
    ))
    if found != ids:
        raise RuntimeError(f"The dictated tokens are others: {found} for {ids}.")
    return seconds


def _generate(model: Model, prompt: list[int], make: Callable[..., Generation]) -> tuple[list[int], float]:
    """The ids that a generation adds, and the CPU seconds from its second token on."""
    with model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        transcript = decoder.open(prompt, len(prompt) - 1)  # what stays in the cache for the next arm
        generation = make(transcript, decoder.sampler(Sampling()))
        decoder.start(generation)
        while generation.n_sampled < 1 and decoder.has_active:
            decoder.step()
        started = time.process_time()
        while decoder.has_active:
            decoder.step()
        seconds = time.process_time() - started
        ids = list(transcript.ids[len(prompt) :])
        decoder.close(transcript)
    return ids, seconds


def _binding_tokens(llama: Llama, prompt: list[int], **options: Any) -> tuple[float, int]:
    """CPU seconds of the binding's tokens from its second on, and how many they are."""
    n, started = 0, 0.0
    for token in llama.generate(prompt, temp=0.0, **options):
        if not n:
            started = time.process_time()
        n += 1
        if n > N_BINDING_TOKENS or token == llama.token_eos():
            break
    return time.process_time() - started, max(n - 1, 1)


def measure_conversation(model: Model, llama: Llama, way: Trail, *, n_rounds: int, advance: Advance) -> Figure:
    """The same 8-step conversation: constrained here, over the introductions' loop on the binding and on outlines'
    generator. Each begins with an empty cache; compiling is not counted for any."""
    binding, generator = loops.complete_with_binding(llama), loops.complete_with_generator(llama)
    runs: dict[str, Callable[[], Any]] = {name: partial(loops.converse, model, way, engine=name) for name in ENGINES}
    runs["binding"] = partial(loops.converse_by_text, binding, way)
    runs["generator"] = partial(loops.converse_by_text, generator, way)
    said = {name: _said(work()) for name, work in runs.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(n_rounds):
        for name, work in runs.items():
            loops.forget(model)
            llama.reset()
            seconds[name].append(take_time(work)[1])
        advance()
    return {
        "same_texts": all(conversation == said["binding"] for conversation in said.values()),
        "is_whole": len(said["binding"].texts) == trail.N_STEPS and said["binding"].answer == trail.WORD,
        "texts": list(said["binding"].texts),
        "other_texts": {name: list(other.texts) for name, other in said.items() if other != said["binding"]},
        "cpu_seconds": {name: round(median(values), 4) for name, values in seconds.items()},
        "ratios_to_binding": {n: compare(seconds[n], seconds["binding"], at_most=TARGETS["binding"]) for n in ENGINES},
        "ratios_to_generator": {n: compare(seconds[n], seconds["generator"], at_most=TARGETS["generator"]) for n in ENGINES},
    }


def _said(conversation: Trace | loops.Conversation) -> loops.Conversation:
    return conversation if isinstance(conversation, loops.Conversation) else loops.read_conversation(conversation)


def fifty_tools(variant: int) -> dict[str, Signature]:
    """Fifty tools of usual kinds; each variant is a language that no engine has seen."""
    kinds = (Text(), Integer(0, 500), Boolean(), Date(), Choice(("low", "middle", "high")))
    return {
        f"tool_{variant}_{n}": Signature(
            f"tool_{variant}_{n}", "", (Parameter("query", Text()), Parameter("value", kinds[n % len(kinds)], required=False))
        )
        for n in range(50)
    }


def measure_compiling(model: Model, *, n_rounds: int, advance: Advance) -> Figure:
    """Milliseconds of the clock in which each engine compiles the language of 50 tools, the building of it included; medians.

    Not CPU time: outlines compiles in a process of its own.
    """
    found: dict[str, list[float]] = {name: [] for name in ENGINES}
    refused: dict[str, str] = {}
    engines = {name: make_engine(name, model.vocabulary) for name in ENGINES}
    for variant in range(n_rounds):
        for name, engine in engines.items():
            started = time.perf_counter()
            try:
                engine.match(action_language(PROTOCOL, fifty_tools(variant), bounds=engine.bounds))
            except ConstraintCompileTimeout as refusal:
                refused[name] = str(refusal)
            found[name].append(1000 * (time.perf_counter() - started))
        advance()
    figures: Figure = {}
    for name, values in found.items():
        limit = TARGETS["compile_ms"][name]
        figures[name] = spread(values) | {"at_most": limit, "met": median(values) <= limit}
        if name in refused:
            figures[name]["refused"] = refused[name]
    return figures


def prompts_to_action(prompts: Sequence[str], thoughts: Sequence[str]) -> list[str]:
    """Each prompt with a thought behind it, up to the action label."""
    toolbox = Toolbox(demo_tools())
    return [
        f"{build_prompt(prompt, PROTOCOL, toolbox, demo_exemplars()).text}{thought}\n{PROTOCOL.label('action')}"
        for prompt, thought in zip(prompts, thoughts)
    ]
