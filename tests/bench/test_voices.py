"""Several prompts that write one text: alone they are ordinary generation, together the sum of their logits decides."""

from __future__ import annotations

import numpy as np
import pytest

from local_react.bench.voices import N_SEQUENCES, Choir, Voice
from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.errors import ContextOverflow, SettingsError
from local_react.llama.context import Chunk
from local_react.llama.sampling import Sampling, logprobs

N_TOKENS = 12


def ids_of(model, text):
    vocabulary = model.vocabulary
    return ([vocabulary.bos] if vocabulary.wants_bos else []) + vocabulary.tokenize(text)


def generation(transcript, context):
    return Generation(transcript, context.sampler(Sampling()), StopScanner(), max_tokens=N_TOKENS)


def write(model, voices, n_voices=None):
    """What the voices write together, as (text, ids of the first transcript, transcripts)."""
    with model.context(N_SEQUENCES * (n_voices or len(voices))) as context:
        choir = Choir(context, model.vocabulary)
        transcripts = choir.open(voices)
        completion = choir.write(generation(transcripts[0], context), transcripts, [voice.weight for voice in voices])
        return completion.text, transcripts[0].ids, transcripts


def plain(model, ids):
    with model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        transcript = decoder.open(ids)
        decoder.start(generation(transcript, context))
        while decoder.has_active:
            decoder.step()
        return transcript.ids


def voice(model, shared, own, weight=1.0):
    return Voice(tuple(ids_of(model, shared)), tuple(model.vocabulary.tokenize(own)), weight)


def test_one_voice_is_ordinary_generation(tiny_model):
    alone = voice(tiny_model, "Once upon a time", " there was")
    assert write(tiny_model, [alone])[1] == plain(tiny_model, (*alone.prefix, *alone.own))


def test_two_equal_voices_write_what_one_does(tiny_model):
    alone = voice(tiny_model, "Once upon a time", " there was")
    halves = [Voice(alone.prefix, alone.own, 0.5)] * 2
    assert write(tiny_model, halves)[0] == write(tiny_model, [alone])[0]


def test_a_voice_without_weight_changes_nothing(tiny_model):
    alone, other = voice(tiny_model, "Once upon", " a time"), voice(tiny_model, "Quite", " another text", 0.0)
    assert write(tiny_model, [alone, other])[1] == write(tiny_model, [alone])[1]


def test_all_voices_hold_the_text_that_was_written(tiny_model):
    voices = [voice(tiny_model, "Once", " upon", 1.5), voice(tiny_model, "", " else", -0.5)]
    _, ids, transcripts = write(tiny_model, voices)
    n_own = len(voices[1].prefix) + len(voices[1].own)
    assert transcripts[1].ids[n_own:] == ids[len(voices[0].prefix) + len(voices[0].own) :]
    assert all(transcript.n_evaluated <= len(transcript) for transcript in transcripts)


def test_the_next_token_is_the_best_of_the_weighted_sum(tiny_model):
    voices = [voice(tiny_model, "Once upon", " a time", 2.0), voice(tiny_model, "Quite", " another", -1.0)]
    written = write(tiny_model, voices)[1][len(voices[0].prefix) + len(voices[0].own)]
    total = np.zeros(tiny_model.vocabulary.n_tokens, dtype=np.float64)
    with tiny_model.context(1) as context:
        for each in voices:
            context.clear(1)
            (row,) = context.decode([Chunk(1, (*each.prefix, *each.own), 0, True)])
            total += each.weight * context.logits(row).astype(np.float64)
    assert total[written] == pytest.approx(total.max(), abs=1e-3)


def test_a_prefix_is_computed_once(tiny_model):
    with tiny_model.context(N_SEQUENCES) as context:
        choir = Choir(context, tiny_model.vocabulary)
        shared = "a long text that is the same for all. " * 4
        for own in ("one", "two", "three"):
            (transcript,) = choir.open([voice(tiny_model, shared, own)])
            choir.write(generation(transcript, context), [transcript], [1.0])
            assert transcript.n_evaluated == len(transcript) - transcript.n_pending - len(ids_of(tiny_model, shared))


def test_a_prompt_that_is_opened_again_is_computed_once(tiny_model):
    alone = voice(tiny_model, "Once upon a time", " there was")
    longer = Voice(alone.prefix, (*alone.own, *tiny_model.vocabulary.tokenize(" a thought")))
    with tiny_model.context(N_SEQUENCES) as context:
        choir = Choir(context, tiny_model.vocabulary)
        written = []
        for _ in range(2):
            (transcript,) = choir.open([alone])
            n_opened = context.n_evaluated
            choir.write(generation(transcript, context), [transcript], [1.0])
            written.append(transcript.ids)
        assert context.n_evaluated - n_opened == N_TOKENS, "only what was written was evaluated"
        (transcript,) = choir.open([longer])
        assert transcript.n_evaluated == len(longer.own) - len(alone.own), "a longer prompt goes on from the shorter one"
        choir.write(generation(transcript, context), [transcript], [1.0])
        assert transcript.ids == plain(tiny_model, (*longer.prefix, *longer.own))
    assert written[0] == written[1] == plain(tiny_model, (*alone.prefix, *alone.own))


def test_a_prompt_without_a_prefix_is_written_behind_nothing(tiny_model):
    own = tuple(ids_of(tiny_model, "Once upon a time"))
    assert write(tiny_model, [Voice((), own)])[1] == plain(tiny_model, own)


def test_a_prompt_that_fills_the_window_is_refused(tiny_model):
    with tiny_model.context(N_SEQUENCES) as context:
        choir = Choir(context, tiny_model.vocabulary)
        with pytest.raises(ContextOverflow):
            choir.open([Voice((), tuple(tiny_model.vocabulary.tokenize("x") * (context.window + 1)))])


def test_long_prompts_are_evaluated_in_batches(tiny_model):
    own = tuple(ids_of(tiny_model, "word " * 700))
    if len(own) + N_TOKENS < tiny_model.window and len(own) > tiny_model.options.n_batch:
        assert write(tiny_model, [Voice((), own)])[1] == plain(tiny_model, own)


def stepwise(model, ids, behind):
    """The log-probability of `behind` after `ids`, one decode call a token."""
    total = 0.0
    with model.context(1) as context:
        context.clear(1)
        for position, id in enumerate((*ids, *behind)):
            (row,) = context.decode([Chunk(1, [id], position, True)])
            if position + 1 >= len(ids) and position + 1 - len(ids) < len(behind):
                total += logprobs(context.logits(row), behind[position + 1 - len(ids)], 0)[0]
    return total


def test_the_score_of_a_text_is_its_log_probability_in_all(tiny_model):
    voices = [voice(tiny_model, "Once upon", " a time", 1.5), voice(tiny_model, "Quite", " another", -0.5)]
    text = tiny_model.vocabulary.tokenize(" the search is long, and ends 日本 here")
    with tiny_model.context(6) as context:
        choir = Choir(context, tiny_model.vocabulary)
        scores = [choir.score(choir.open(voices), [each.weight for each in voices], text) for _ in range(2)]
    expected = sum(each.weight * stepwise(tiny_model, (*each.prefix, *each.own), text) for each in voices)
    assert scores[0] == scores[1] == pytest.approx(expected, rel=1e-3)


def test_more_voices_than_there_is_room_for_are_refused(tiny_model):
    voices = [voice(tiny_model, "Once", " upon"), voice(tiny_model, "Quite", " another")]
    with tiny_model.context(2 * N_SEQUENCES - 1) as context:
        choir = Choir(context, tiny_model.vocabulary)
        assert choir.n_voices == 1
        with pytest.raises(SettingsError, match="room for 1 voices"):
            choir.open(voices)


def test_what_is_written_does_not_depend_on_what_was_asked_before(tiny_model):
    shared = ("a text that all share. " * 4, "another. " * 9, "x")
    asked = [
        [voice(tiny_model, shared[n % 3], f" once {n}" * (1 + n % 4), 1.5), voice(tiny_model, shared[n // 2 % 3], f" {n}", -0.5)]
        [: 1 + n % 3 % 2]
        for n in range(12)
    ]
    with tiny_model.context(2 * N_SEQUENCES) as context:
        choir = Choir(context, tiny_model.vocabulary)
        for voices in (*asked, *asked[::-1]):
            transcripts, weights = choir.open(voices), [each.weight for each in voices]
            choir.write(generation(transcripts[0], context), transcripts, weights)
            assert transcripts[0].ids == write(tiny_model, voices, 2)[1]
            with tiny_model.context(2 * N_SEQUENCES) as fresh:
                alone = Choir(fresh, tiny_model.vocabulary)
                text = tiny_model.vocabulary.tokenize(" and so on")
                scores = [each.score(each.open(voices), weights, text) for each in (choir, alone)]
            assert scores[0] == scores[1], "to the last bit"
