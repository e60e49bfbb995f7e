"""Samplers and log-probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from local_react.errors import SettingsError
from local_react.llama.context import Chunk
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling, logprobs

ALL_ON = Sampling(
    temperature=0.8, top_k=40, top_p=0.95, min_p=0.05, typical_p=0.9, repeat_penalty=1.1, frequency_penalty=0.1,
    presence_penalty=0.1, seed=7,
)


def draw(model: Model, sampling: Sampling, n: int = 12) -> list[int]:
    with model.context(1) as context:
        context.clear(1)
        sampler = context.sampler(sampling)
        ids = model.vocabulary.tokenize("Thought: the answer is")
        (row,) = context.decode([Chunk(1, ids, 0, True)])
        drawn = []
        for position in range(len(ids), len(ids) + n):
            drawn.append(sampler.sample(row))
            (row,) = context.decode([Chunk(1, drawn[-1:], position, True)])
        return drawn


def test_temperature_0_takes_the_likeliest_token(tiny_model: Model) -> None:
    with tiny_model.context(1) as context:
        context.clear(1)
        (row,) = context.decode([Chunk(1, tiny_model.vocabulary.tokenize("a b c"), 0, True)])
        assert context.sampler(Sampling()).sample(row) == int(context.logits(row).argmax())


def test_the_same_seed_draws_the_same_tokens(tiny_model: Model) -> None:
    assert draw(tiny_model, ALL_ON) == draw(tiny_model, ALL_ON)
    seeds = {tuple(draw(tiny_model, Sampling(temperature=1.5, seed=seed))) for seed in range(4)}
    assert len(seeds) > 1


def test_top_k_of_1_is_greedy(tiny_model: Model) -> None:
    assert draw(tiny_model, Sampling(temperature=2, top_k=1, seed=3)) == draw(tiny_model, Sampling())


def test_a_repetition_penalty_keeps_a_token_from_coming_again(tiny_model: Model) -> None:
    free = draw(tiny_model, Sampling(), 30)
    punished = draw(tiny_model, Sampling(repeat_penalty=50.0), 30)
    assert len(set(punished)) > len(set(free)) or len(set(free)) == 30


def test_draws_follow_the_distribution(tiny_model: Model) -> None:
    """At temperature 1 the share of the likeliest token is its probability, within four standard errors."""
    n = 3000
    with tiny_model.context(1) as context:
        context.clear(1)
        (row,) = context.decode([Chunk(1, tiny_model.vocabulary.tokenize("a b c"), 0, True)])
        logits = context.logits(row).astype(float)
        p = np.exp(logits - logits.max())
        p /= p.sum()
        sampler = context.sampler(Sampling(temperature=1.0, seed=11))
        n_best = sum(sampler.sample(row) == int(p.argmax()) for _ in range(n))
    assert abs(n_best / n - p.max()) < 4 * np.sqrt(p.max() * (1 - p.max()) / n)


def test_logprobs_are_a_log_softmax() -> None:
    row = np.array([1000.0, 999.0, 960.0, 998.0], dtype=np.float32)
    chosen, top = logprobs(row, 1, 2)
    expected = np.log(np.exp([0.0, -1.0, -40.0, -2.0]) / np.exp([0.0, -1.0, -40.0, -2.0]).sum())
    assert chosen == pytest.approx(expected[1])
    assert [token for token, _ in top] == [0, 1]
    assert [value for _, value in top] == pytest.approx(expected[:2])
    assert logprobs(row, 0, 0)[1] == ()
    assert len(logprobs(row, 0, 99)[1]) == 4


@pytest.mark.parametrize(
    "options",
    [{"temperature": -1}, {"temperature": float("nan")}, {"top_p": 1.5}, {"min_p": -0.1}, {"seed": -1}, {"top_k": -3},
     {"seed": 2**32}, {"repeat_penalty": 0}, {"temperature": "hot"}, {"top_k": True}],
)
def test_settings_out_of_range_are_refused(options: dict) -> None:
    with pytest.raises(SettingsError, match=next(iter(options))):
        Sampling(**options)
