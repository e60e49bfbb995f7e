"""How fast a model runs here, and what each constraint engine adds: prefill, first token, decode, masks.

Regime: one sequence, greedy, everything in one process, by turns; the median over the rounds is the figure, with the lowest
and highest beside it. Wall-clock time, since on a GPU the CPU's says nothing: on a shared machine look at the lowest.
Engines are timed on words of the demo's action language in the model's own tokens, so all of them see the same tokens; what
a constrained step costs on the whole is the benchmark `parse`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np

from local_react.bench.document import Document, Section, Table
from local_react.bench.tables import NOTHING, pairs_table, short_name
from local_react.decode.constraint import Engine
from local_react.decode.engines import ENGINES, make_engine
from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.errors import LocalReactError
from local_react.language.derivative import Recogniser, random_word
from local_react.language.protocol import Protocol
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling
from local_react.steering import held_language
from local_react.tools.demo import demo_tools
from local_react.tools.toolbox import Toolbox

TEXT = "The shop sells tea, coffee and cups. A customer asked where the parcel is, and the desk looked it up. "
"""What the prompt is made of, over and over: the speed doesn't depend on what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of several measurements, with the lowest and the highest."""

    value: float
    lowest: float
    highest: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSpeed:
    """What an engine takes, in milliseconds: to compile the language, for a mask and for asking about one token, as
    percentiles over `n` tokens. `error` says why there are no figures."""

    engine: str
    compile_ms: float | None = None
    mask_ms: Mapping[str, float] | None = None
    allows_ms: Mapping[str, float] | None = None
    n: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """How fast one model runs: tokens per second read and written, seconds to the first token behind a prompt of `n_prompt`
    tokens. `forced_share` of the bytes of random calls the language leaves no choice about."""

    model: Mapping[str, Any]
    n_prompt: int
    prefill: Spread
    first_token: Spread
    decode: Spread
    forced_share: float
    engines: tuple[EngineSpeed, ...]

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def measure_speed(
    model: Model, *, n_prompt: int = 512, n_tokens: int = 64, n_words: int = 20, n_rounds: int = 5, seed: int = 0,
    engines: Sequence[str] = tuple(ENGINES), clock: Callable[[], float] = time.perf_counter,
) -> Speed:
    """Measure a model. `n_prompt` tokens are read and `n_tokens` written in each round; engines see `n_words` random words."""
    rounds = [_time_round(model, n_prompt, n_tokens, clock) for _ in range(n_rounds + 1)][1:]  # the first one warms up
    words, forced_share = _words(model, n_words, seed)
    return Speed(
        model=model.describe(), n_prompt=n_prompt, prefill=spread([n_prompt / first for first, _ in rounds]),
        first_token=spread([first for first, _ in rounds]), decode=spread([rate for _, rate in rounds]),
        forced_share=forced_share, engines=tuple(_time_engine(name, model, words, clock) for name in engines),
    )


def spread(values: Sequence[float]) -> Spread:
    """The median, lowest and highest of some values."""
    return Spread(value=median(values), lowest=min(values), highest=max(values), n=len(values))


def _time_round(model: Model, n_prompt: int, n_tokens: int, clock: Callable[[], float]) -> tuple[float, float]:
    """Seconds to the first token, and tokens per second behind it."""
    vocabulary = model.vocabulary
    ids = vocabulary.tokenize(TEXT * (n_prompt // 8 + 1))[:n_prompt]
    with model.context(1) as context:
        decoder = Decoder(context, vocabulary)
        transcript = decoder.open(ids)
        generation = _Timed(transcript, decoder.sampler(Sampling()), n_tokens, clock)
        started = clock()
        decoder.start(generation)
        while generation.completion is None:
            decoder.step()
        decoder.close(transcript)
    first, last = generation.times[0], generation.times[-1]
    n_behind = len(generation.times) - 1
    return first - started, n_behind / (last - first) if n_behind and last > first else 0.0


class _Timed(Generation):
    """Writes so many tokens, whatever they are, and notes when each was there."""

    def __init__(self, transcript: Any, sampler: Any, n_tokens: int, clock: Callable[[], float]) -> None:
        super().__init__(transcript, sampler, StopScanner(), max_tokens=n_tokens)
        self.times: list[float] = []
        self._clock = clock

    def _take(self, token: int, vocabulary: Any, window: int) -> None:
        self.times.append(self._clock())
        self.transcript.append((token,))
        self._pieces.append(vocabulary.piece(token))
        if len(self.times) >= self.max_tokens or len(self.transcript) >= window:
            self._finish("length")


def _words(model: Model, n_words: int, seed: int) -> tuple[list[list[int]], float]:
    """Random words of the demo's action language in the model's tokens, and what share of their bytes is forced."""
    from_seed = random.Random(seed)
    language = held_language(Protocol(), Toolbox(demo_tools()), "action")
    texts = [random_word(language, from_seed) for _ in range(n_words)]
    n_forced = n_bytes = 0
    for text in texts:
        place = Recogniser(language)
        at = 0
        while at < len(text):
            forced = place.forced()
            n_forced += len(forced)
            step = max(len(forced), 1)
            place = place.feed(text[at : at + step])
            at += step
        n_bytes += len(text)
    return [model.vocabulary.tokenize(text) for text in texts], n_forced / n_bytes


def _time_engine(name: str, model: Model, words: Sequence[Sequence[int]], clock: Callable[[], float]) -> EngineSpeed:
    try:
        engine: Engine = make_engine(name, model.vocabulary)
        language = held_language(Protocol(), Toolbox(demo_tools()), "action", bounds=engine.bounds)
        started = clock()
        engine.match(language)
        compile_ms = 1000 * (clock() - started)
    except LocalReactError as error:
        return EngineSpeed(engine=name, error=str(error))
    masks, asked = [], []
    logits = np.zeros(model.vocabulary.n_tokens, np.float32)
    for word in words:
        matcher = engine.match(language)
        for token in word:
            row = logits.copy()
            before = clock()
            is_allowed = matcher.allows(token)
            between = clock()
            matcher.mask(row)
            masks.append(1000 * (clock() - between))
            asked.append(1000 * (between - before))
            if not is_allowed:
                break  # a word that this engine's bounds leave out
            matcher.advance([token])
    return EngineSpeed(
        engine=name, compile_ms=compile_ms, mask_ms=_percentiles(masks), allows_ms=_percentiles(asked), n=len(masks)
    )


def _percentiles(values: Sequence[float]) -> dict[str, float]:
    return {f"p{share}": float(np.percentile(values, share)) for share in (50, 95, 99)}


def speed_document(speeds: Sequence[Speed], *, command: str, environment: Mapping[str, Any]) -> Document:
    """The report of a speed measurement."""
    models = Table(
        title="Models",
        head=("model", "prompt", "prefill, tokens/s", "first token, s", "decode, tokens/s", "layers on the GPU", "threads"),
        rows=tuple(
            (short_name(str(speed.model["name"])), f"{speed.n_prompt:,}", _show(speed.prefill, 0), _show(speed.first_token, 3),
             _show(speed.decode), str(speed.model.get("n_gpu_layers")), str(speed.model.get("n_threads")))
            for speed in speeds
        ),
        note="Median, with the lowest and highest in brackets.",
    )
    engines = Table(
        title="Engines",
        head=("model", "engine", "compile, ms", "mask p50", "p95", "p99", "one token p50", "p95", "p99", "tokens"),
        rows=tuple(_engine_row(speed, engine) for speed in speeds for engine in speed.engines),
        note="Milliseconds on the demo's toolbox. Masks are only computed where the model's own token is refused; else one "
        "token is asked about. Compiling counts once for each language.",
    )
    how = Section(
        title="How it was measured", paragraphs=(" ".join((__doc__ or "").split()),), lines=(command,),
        tables=(pairs_table("Machine and programs", ((name, str(value)) for name, value in environment.items())),),
    )
    forced = ", ".join(f"{short_name(str(speed.model['name']))}: {speed.forced_share:.0%}" for speed in speeds)
    return Document(
        title="Benchmark speed", lead="How fast is a model here, and what does each engine add?",
        sections=(
            Section(title="Speed", tables=(models, engines),
                    paragraphs=(f"Of the bytes of random calls, the language forces this share: {forced}.",)),
            how,
        ),
        data={"benchmark": "speed", "commands": [command], "environment": dict(environment),
              "speeds": [speed.write() for speed in speeds]},
    )


def _engine_row(speed: Speed, engine: EngineSpeed) -> tuple[str, ...]:
    name = short_name(str(speed.model["name"]))
    if engine.mask_ms is None or engine.allows_ms is None or engine.compile_ms is None:
        return (name, engine.engine, engine.error or NOTHING, *[NOTHING] * 7)
    figures = [*engine.mask_ms.values(), *engine.allows_ms.values()]
    return name, engine.engine, f"{engine.compile_ms:.1f}", *(f"{value:.3f}" for value in figures), f"{engine.n:,}"


def _show(found: Spread, digits: int = 1) -> str:
    return f"{found.value:,.{digits}f} ({found.lowest:,.{digits}f} to {found.highest:,.{digits}f})"
