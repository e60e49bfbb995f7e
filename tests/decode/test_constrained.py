"""Generations under a constraint: every text is a word of its language, whatever the model, temperature and budget."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from scipy.stats import chisquare

from local_react import ConstraintError, ContextOverflow, Model, Sampling
from local_react.decode.completion import Completion
from local_react.decode.constrained import SLACK, ConstrainedGeneration, exit_cost
from local_react.decode.constraint import Engine
from local_react.decode.engines import make_engine
from local_react.decode.generate import Decoder
from local_react.language.derivative import Recogniser, accepts
from local_react.language.regular import Regular, any_character, characters, choice, literal, repeat, sequence
from local_react.llama.context import Chunk

ENGINES = ["llguidance", "gbnf", "outlines"]
WORDS = sequence(" ", choice("search", "lookup_order", "finish"), "[", repeat(characters([(0x20, 0x5A), (0x5E, 0x2FFF)]), 1, 30), "]")
DIGITS = repeat(characters("0123456789"), 1, 6)


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, tiny_model: Model) -> Engine:
    return make_engine(request.param, tiny_model.vocabulary)


def generate(
    model: Model, engine: Engine, language: Regular, *, max_tokens: int = 60, sampling: Sampling = Sampling(), **options: object
) -> tuple[Completion, tuple[int, ...]]:
    """The completion, and the ids that it added."""
    with model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        transcript = decoder.open(model.vocabulary.tokenize("Question: x\nThought: t\nAction:"))
        n_before = len(transcript)
        generation = ConstrainedGeneration(
            transcript, decoder.sampler(sampling), Recogniser(language), engine.match(language), max_tokens=max_tokens, **options
        )
        decoder.start(generation)
        while decoder.has_active:
            decoder.step()
        decoder.close(transcript)
    assert generation.completion is not None
    return generation.completion, transcript.ids[n_before:]


def samplings(n: int) -> Iterator[Sampling]:
    for seed in range(n):
        yield Sampling(temperature=[0.0, 0.7, 1.0, 2.0][seed % 4], seed=seed)


def test_every_text_is_a_word_of_the_language(tiny_model: Model, engine: Engine) -> None:
    for sampling in samplings(24):
        completion, ids = generate(tiny_model, engine, WORDS, sampling=sampling)
        assert completion.reason == "constraint"
        assert accepts(WORDS, completion.text)
        assert tiny_model.vocabulary.join(ids).decode() == completion.text


def test_every_budget_from_the_smallest_up_reaches_an_end(tiny_model: Model, engine: Engine) -> None:
    smallest = exit_cost(Recogniser(WORDS), tiny_model.vocabulary)
    for max_tokens in range(smallest, smallest + 25):
        completion, ids = generate(tiny_model, engine, WORDS, max_tokens=max_tokens, sampling=Sampling(temperature=2.0, seed=max_tokens))
        assert accepts(WORDS, completion.text)
        assert len(ids) <= max_tokens


def test_a_budget_that_is_too_small_is_refused_before_anything_is_decoded(tiny_model: Model, engine: Engine) -> None:
    smallest = exit_cost(Recogniser(WORDS), tiny_model.vocabulary)
    with pytest.raises(ContextOverflow) as caught:
        generate(tiny_model, engine, WORDS, max_tokens=smallest - 1)
    assert caught.value.needed == smallest


def test_the_end_of_the_window_is_reached_with_a_whole_word(tiny_model: Model, engine: Engine) -> None:
    long = sequence(" x[", repeat(characters("ab c"), 1, 500), "]")
    with Model.load(tiny_model.path, n_ctx=64, n_threads=1) as model:
        completion, _ = generate(model, make_engine(engine.name, model.vocabulary), long, max_tokens=1000,
                                 sampling=Sampling(temperature=2.0, seed=3))
        assert accepts(long, completion.text)


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(temperature=1.3, seed=5)])
def test_forced_text_is_spelled_canonically(real_model: Model, sampling: Sampling) -> None:
    """Regression: a naive mask spelled `Action: search[x]` in 12 tokens where 6 are canonical."""
    language = sequence(" lookup_order[", characters("AB"), repeat(characters("0123456789"), 3, 3), ", a long way to go", "]")
    for name in ENGINES:
        completion, ids = generate(real_model, make_engine(name, real_model.vocabulary), language, sampling=sampling)
        first = real_model.vocabulary.tokenize(" lookup_order[")
        assert list(ids[: len(first) - 1]) == first[:-1]
        tail = real_model.vocabulary.tokenize(", a long way to go]")
        assert list(ids[-len(tail) :]) == tail
        assert completion.n_forced >= len(first) + len(tail) - 3
        assert completion.n_sampled + completion.n_forced == len(ids)


def test_a_language_of_one_word_draws_nothing(tiny_model: Model, engine: Engine) -> None:
    completion, ids = generate(tiny_model, engine, literal(" now[]"))
    assert (completion.text, completion.n_sampled, completion.n_decode_calls) == (" now[]", 0, 0)
    assert list(ids) == tiny_model.vocabulary.tokenize(" now[]")


@pytest.mark.parametrize("text", ["日本", "🙂", "é", "مرحبا", "e\u0301"])
def test_characters_of_many_bytes_come_out_whole(tiny_model: Model, engine: Engine, text: str) -> None:
    """Regression: engines whose vocabulary is made of decoded text can't write a character that is split over tokens."""
    completion, _ = generate(tiny_model, engine, sequence(" [", choice(text, text + "x"), "]"))
    assert completion.text in (f" [{text}]", f" [{text}x]")


def test_any_character_may_come(tiny_model: Model, engine: Engine) -> None:
    # outlines keeps one control character for itself.
    any_one = any_character() if engine.name != "outlines" else characters([(1, 0x10FFFF)])
    language = sequence("[", repeat(any_one, 1, 12), "|")
    for seed in range(12):
        completion, _ = generate(tiny_model, engine, language, sampling=Sampling(temperature=2.0, seed=seed))
        assert accepts(language, completion.text.encode("utf-8"))
        assert "\ufffd" not in completion.text or completion.n_cut_bytes == 0


def test_greedy_gives_the_same_tokens_as_masking_always(real_model: Model) -> None:
    for name in ENGINES:
        engine = make_engine(name, real_model.vocabulary)
        free, free_ids = generate(real_model, engine, WORDS)
        masked, masked_ids = generate(real_model, engine, WORDS, masks_first=True)
        assert free_ids == masked_ids
        assert free.n_masks <= masked.n_masks


def test_all_engines_give_the_same_text(tiny_model: Model) -> None:
    """Greedy: where all mask the same, a seed's draws still differ by the number of masks, since llguidance prunes more."""
    first, *others = (generate(tiny_model, make_engine(name, tiny_model.vocabulary), WORDS)[1] for name in ENGINES)
    assert others == [first] * (len(ENGINES) - 1)


def test_sample_first_then_mask_gives_the_masked_distribution(tiny_model: Model, engine: Engine) -> None:
    """P(t) + P(refused)·P(t)/P(allowed) = P(t)/P(allowed): a χ² test of 4,000 first tokens at fixed seeds."""
    n = 4000
    vocabulary = tiny_model.vocabulary
    with tiny_model.context(1) as context:
        context.clear(1)
        (row,) = context.decode([Chunk(1, vocabulary.tokenize("a b c"), 0, True)])
        logits = context.logits(row).astype(float)
        allowed = [token for token in range(vocabulary.n_tokens) if engine.match(DIGITS).allows(token)]
        weights = np.exp(logits[allowed] - logits[allowed].max())
        expected = weights / weights.sum() * n
        saved = context.logits(row).copy()
        counts = dict.fromkeys(allowed, 0)
        sampler = context.sampler(Sampling(temperature=1.0, seed=42))
        for _ in range(n):
            context.logits(row)[:] = saved
            token = sampler.sample(row)
            if not engine.match(DIGITS).allows(token):
                engine.match(DIGITS).mask(context.logits(row))
                token = sampler.sample(row)
            counts[token] += 1
    common = expected > 5
    observed = np.array([counts[token] for token in allowed], dtype=float)
    groups = [*observed[common], observed[~common].sum()], [*expected[common], expected[~common].sum()]
    pairs = [(o, e) for o, e in zip(*groups) if e > 0]
    assert chisquare([o for o, _ in pairs], [e for _, e in pairs]).pvalue > 0.001


def test_truncating_samplers_see_the_masked_distribution(tiny_model: Model, engine: Engine) -> None:
    """Top-k of 1 behind the mask is the likeliest allowed token; before it, it would be a refused one."""
    greedy, greedy_ids = generate(tiny_model, engine, DIGITS, max_tokens=8)
    _, ids = generate(tiny_model, engine, DIGITS, max_tokens=8, sampling=Sampling(temperature=1.0, top_k=1), masks_first=True)
    assert ids == greedy_ids
    assert greedy.n_sampled >= 1


def test_the_mass_of_what_is_allowed_counts_an_end_where_the_language_has_one(tiny_model: Model) -> None:
    """Engines differ in what they say of end tokens; that is the language's affair."""
    masses = []
    for name in ENGINES:
        chosen = make_engine(name, tiny_model.vocabulary)
        completion, _ = generate(tiny_model, chosen, DIGITS, explains=True, sampling=Sampling(temperature=1.0, seed=2))
        masses.append([each.mass for each in completion.choices if each.mass is not None])
    assert len(masses[0]) > 1
    assert masses[1] == pytest.approx(masses[0]) and masses[2] == pytest.approx(masses[0])


def test_explanations_tell_how_each_token_came_about(tiny_model: Model, engine: Engine) -> None:
    completion, ids = generate(tiny_model, engine, WORDS, explains=True, sampling=Sampling(temperature=1.0, seed=2))
    assert [each.token for each in completion.choices] == list(ids)
    drawn = [each for each in completion.choices if each.origin in ("sampled", "masked")]
    assert len(drawn) == completion.n_sampled
    for each in drawn:
        assert each.mass is not None and 0 < each.mass <= 1
        assert each.wanted is not None and each.wanted_probability is not None and 0 < each.wanted_probability <= 1
    assert all(each.mass is None for each in completion.choices if each.origin in ("forced", "exit"))
    assert generate(tiny_model, engine, WORDS, sampling=Sampling(temperature=1.0, seed=2))[1] == ids, "explaining changes nothing"


@pytest.mark.parametrize("masks_first", [False, True])
def test_logprobs_are_those_of_the_kept_tokens_before_any_mask(tiny_model: Model, engine: Engine, masks_first: bool) -> None:
    """Regression: where a token was refused, its log-probability was kept, and not that of the token drawn instead."""
    completion, ids = generate(tiny_model, engine, DIGITS, max_tokens=8, n_top_logprobs=3, masks_first=masks_first)
    drawn = [each.token for each in completion.logprobs]
    assert len(drawn) == completion.n_sampled
    assert set(drawn) <= {*ids, *tiny_model.vocabulary.end_tokens}
    first = completion.logprobs[0]
    assert first.top[0][1] > first.logprob, "a random model's likeliest token is no digit"


def test_one_compiled_language_serves_two_sequences_at_once(tiny_model: Model, engine: Engine) -> None:
    with tiny_model.context(2) as context:
        decoder = Decoder(context, tiny_model.vocabulary)
        generations = []
        for seed in (1, 2):
            transcript = decoder.open(tiny_model.vocabulary.tokenize(f"Question {seed}:"))
            generations.append(ConstrainedGeneration(
                transcript, decoder.sampler(Sampling(temperature=2.0, seed=seed)), Recogniser(WORDS), engine.match(WORDS), max_tokens=40
            ))
            decoder.start(generations[-1])
        while decoder.has_active:
            decoder.step()
    texts = [generation.completion.text for generation in generations if generation.completion is not None]
    assert len(texts) == 2 and all(accepts(WORDS, text) for text in texts)


class Closed:
    """A matcher that allows nothing."""

    def allows(self, token: int) -> bool:
        return False

    def advance(self, ids: object) -> None:
        raise AssertionError("nothing may come")

    def mask(self, logits: np.ndarray) -> None:
        logits[:] = -np.inf


class Raising(Closed):
    def mask(self, logits: np.ndarray) -> None:
        raise ConstraintError("the mask can't be computed")


@pytest.mark.parametrize(("matcher", "match"), [(Closed(), "allows none of the"), (Raising(), "can't be computed")])
def test_a_constraint_fails_closed(tiny_model: Model, matcher: Closed, match: str) -> None:
    """Regression: in other runtimes a mask that fails or forbids everything lets the model go on unconstrained."""
    with pytest.raises(ConstraintError, match=match), tiny_model.context(1) as context:
        decoder = Decoder(context, tiny_model.vocabulary)
        transcript = decoder.open(tiny_model.vocabulary.tokenize("x"))
        decoder.start(ConstrainedGeneration(transcript, decoder.sampler(Sampling()), Recogniser(DIGITS), matcher, max_tokens=9))
        while decoder.has_active:
            decoder.step()


class Open(Closed):
    """A matcher that allows everything, as an engine does that has silently lost its grammar."""

    def allows(self, token: int) -> bool:
        return True

    def advance(self, ids: object) -> None:
        pass

    def mask(self, logits: np.ndarray) -> None:
        pass


def test_an_engine_that_lost_its_grammar_cannot_let_the_text_out(tiny_model: Model) -> None:
    with tiny_model.context(1) as context:
        decoder = Decoder(context, tiny_model.vocabulary)
        transcript = decoder.open(tiny_model.vocabulary.tokenize("x"))
        generation = ConstrainedGeneration(transcript, decoder.sampler(Sampling()), Recogniser(DIGITS), Open(), max_tokens=9)
        decoder.start(generation)
        try:
            while decoder.has_active:
                decoder.step()
        except ConstraintError:
            return
    assert generation.completion is not None and accepts(DIGITS, generation.completion.text)


def test_the_reserve_is_part_of_the_cost(tiny_model: Model) -> None:
    n_tokens = len(tiny_model.vocabulary.tokenize(Recogniser(WORDS).shortest()))
    assert exit_cost(Recogniser(WORDS), tiny_model.vocabulary) == n_tokens + SLACK
