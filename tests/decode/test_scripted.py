"""The scripted model gives what it was given, below the decoder."""

from __future__ import annotations

import pytest

from local_react import ModelError, ScriptedModel, SettingsError
from local_react.decode.scripted import Sampling


def draw(sampler: object, vocabulary: object) -> bytes:
    sampler.begin()
    out = b""
    while not vocabulary.is_end(token := sampler.sample(0)):
        out += vocabulary.piece(token)
    return out


@pytest.mark.parametrize("text", ["", "Action: search[日🙂é]\n", "a  b\t\x00\x7f", "\ud800x", "don't [x]"])
def test_tokens_of_a_text_are_the_text(text: str) -> None:
    model = ScriptedModel([text])
    with model.context(1) as context:
        assert draw(context.sampler(Sampling()), model.vocabulary) == text.encode("utf-8", "replace")


def test_episodes_one_after_another_go_on_in_the_script() -> None:
    model = ScriptedModel(["a", "b"])
    for expected in (b"a", b"b"):
        with model.context(1) as context:
            assert draw(context.sampler(Sampling()), model.vocabulary) == expected


def test_each_parallel_episode_has_its_script() -> None:
    model = ScriptedModel([["a", "b"], ["c"]])
    with model.context(2) as context:
        first, second = context.sampler(Sampling()), context.sampler(Sampling())
        assert [draw(first, model.vocabulary), draw(second, model.vocabulary), draw(first, model.vocabulary)] == [b"a", b"c", b"b"]


def test_given_token_bytes_are_the_tokens() -> None:
    model = ScriptedModel([[b"Obs", b"erv\xf0", b"\x9f"]])
    assert len(model.vocabulary.encode([b"Obs", b"erv\xf0", b"\x9f"])) == 3
    with model.context(1) as context:
        assert draw(context.sampler(Sampling()), model.vocabulary) == b"Observ\xf0\x9f"


def test_a_script_that_runs_out_says_so() -> None:
    model = ScriptedModel([])
    with model.context(1) as context, pytest.raises(ModelError, match="no completion left"):
        context.sampler(Sampling()).begin()


def test_a_lone_text_is_no_script() -> None:
    with pytest.raises(SettingsError, match="list of completions"):
        ScriptedModel("Action: finish[x]")
