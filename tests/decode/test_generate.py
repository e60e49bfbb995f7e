"""The one place that decodes: counts, stops in the cache, parallel sequences."""

from __future__ import annotations

import pytest

from local_react.decode.generate import Completion, Decoder, Generation
from local_react.decode.scripted import ScriptedModel
from local_react.decode.stop import StopScanner
from local_react.decode.transcript import Transcript
from local_react.errors import ContextOverflow, SettingsError
from local_react.language.protocol import Protocol
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling

PROTOCOL = Protocol.preset("finish")


def scanner(**options: object) -> StopScanner:
    return StopScanner(PROTOCOL.stops(), action=PROTOCOL.stop("action"), **options)


def complete(decoder: Decoder, *generations: Generation) -> list[Completion]:
    for generation in generations:
        decoder.start(generation)
    while decoder.has_active:
        decoder.step()
    return [generation.completion for generation in generations if generation.completion is not None]


def scripted(
    pieces: list[bytes], *, max_tokens: int = 100, n_ctx: int = 1000, **options: object,
) -> tuple[Completion, Transcript, ScriptedModel]:
    model = ScriptedModel([pieces], n_ctx=n_ctx)
    with model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        transcript = decoder.open(model.vocabulary.tokenize("a b\nThought:"))
        generation = Generation(transcript, decoder.sampler(Sampling()), scanner(line=b"Thought:"), max_tokens=max_tokens, **options)
        (completion,) = complete(decoder, generation)
    return completion, transcript, model


def text_of(transcript: Transcript, model: ScriptedModel) -> bytes:
    return b"".join(map(model.vocabulary.piece, transcript.ids))


def test_what_was_generated_of_a_label_stays_in_the_transcript() -> None:
    completion, transcript, model = scripted([b" x", b"\n", b"Obs", b"ervation", b":", b" forged"])
    assert (completion.text, completion.reason, completion.label) == (" x\n", "stop", "Observation:")
    assert text_of(transcript, model).endswith(b" x\nObservation:")


def test_a_token_that_goes_on_behind_the_stop_is_cut_before_it_is_evaluated() -> None:
    completion, transcript, model = scripted([b" x\n", b"Observation", b": forged"])
    assert completion.label == "Observation:"
    assert text_of(transcript, model).endswith(b" x\nObservation:")
    assert (completion.n_sampled, completion.n_forced) == (3, 1)


@pytest.mark.parametrize(
    ("pieces", "max_tokens", "text", "reason", "label"),
    [
        ([b" a", b" b"], 9, " a b", "end", ""),
        ([b" a", b" b"], 2, " a b", "length", ""),
        ([b" a", b"\nObs"], 2, " a\nObs", "length", "Obs"),
        ([], 9, "", "end", ""),
        ([b"\nObservation:"], 9, "\n", "stop", "Observation:"),
    ],
)
def test_how_a_completion_ends(pieces: list[bytes], max_tokens: int, text: str, reason: str, label: str) -> None:
    completion, _, _ = scripted(pieces, max_tokens=max_tokens)
    assert (completion.text, completion.reason, completion.label) == (text, reason, label)


def test_the_end_of_the_window_ends_a_completion() -> None:
    completion, transcript, _ = scripted([b" a"] * 20, n_ctx=10)
    assert completion.reason == "window"
    assert len(transcript) == 10


def test_half_a_character_is_kept_back_and_counted() -> None:
    streamed: list[str] = []
    completion, _, _ = scripted([b" \xf0\x9f", b"\x99\x82", b"\xe6\x97"], max_tokens=3, on_text=streamed.append)
    assert completion.text == " 🙂"
    assert completion.n_cut_bytes == 2
    assert streamed == [" ", "🙂"]


def test_streamed_text_is_the_text(real_model: Model) -> None:
    streamed: list[str] = []
    with real_model.context(1) as context:
        decoder = Decoder(context, real_model.vocabulary)
        transcript = decoder.open(real_model.vocabulary.tokenize("Emoji and kana: 🙂 日本 🙂 日本"))
        generation = Generation(transcript, decoder.sampler(Sampling()), StopScanner(), max_tokens=24, on_text=streamed.append)
        (completion,) = complete(decoder, generation)
        decoder.close(transcript)
    assert "".join(streamed) == completion.text
    assert "\ufffd" not in completion.text


def test_no_id_is_evaluated_twice(tiny_model: Model, recurrent_model: Model) -> None:
    for model in (tiny_model, recurrent_model):
        with model.context(1) as context:
            before = context.n_evaluated
            decoder = Decoder(context, model.vocabulary)
            prompt = model.vocabulary.tokenize("Instructions, the same for all.\nQuestion: x\nThought:")
            transcript = decoder.open(prompt, 5)
            sampler = decoder.sampler(Sampling(temperature=1.0, seed=1))
            for _ in range(8):
                complete(decoder, Generation(transcript, sampler, scanner(line=b"Thought:"), max_tokens=7))
                transcript.append(model.vocabulary.tokenize("\nObservation: y\nThought:"))
            assert context.n_evaluated - before == transcript.n_evaluated <= len(transcript)
            assert [id for id in transcript.ids[: len(prompt)]] == prompt
            decoder.close(transcript)


def test_a_shared_prefix_is_computed_once(tiny_model: Model) -> None:
    prompt = tiny_model.vocabulary.tokenize("A long shared beginning of the prompt. Question: x")
    with tiny_model.context(3) as context:
        decoder = Decoder(context, tiny_model.vocabulary)
        first, second = decoder.open(prompt, 10), decoder.open(prompt, 10)
        assert (first.n_evaluated, second.n_evaluated) == (10, 0)
        greedy = [Generation(each, decoder.sampler(Sampling()), StopScanner(), max_tokens=6) for each in (first, second)]
        one, other = complete(decoder, *greedy)
        assert one.text == other.text
        assert one.n_decode_calls == 6, "both in the same batches"
        for transcript in (first, second):
            decoder.close(transcript)
        third = decoder.open(prompt, 10)
        assert third.n_evaluated == 0, "kept for the next episode"


def run_together(model: Model, prompts: list[list[int]], n_parallel: int, max_tokens: int) -> tuple[list[str], int]:
    """The greedy texts, `n_parallel` at a time, and the decode calls that they took."""
    with model.context(n_parallel) as context:
        before, found = context.n_decode_calls, []
        for start in range(0, len(prompts), n_parallel):
            decoder = Decoder(context, model.vocabulary)
            transcripts = [decoder.open(prompt) for prompt in prompts[start : start + n_parallel]]
            found += complete(decoder, *(
                Generation(each, decoder.sampler(Sampling()), StopScanner(), max_tokens=max_tokens) for each in transcripts
            ))
        return [completion.text for completion in found], context.n_decode_calls - before


def test_eight_sequences_take_a_fifth_of_the_decode_calls(tiny_model: Model) -> None:
    prompts = [tiny_model.vocabulary.tokenize(f"Question {n}: what is it?\nThought:") for n in range(8)]
    _, n_alone = run_together(tiny_model, prompts, 1, 9)
    _, n_together = run_together(tiny_model, prompts, 8, 9)
    assert n_together * 5 <= n_alone


def test_many_sequences_give_what_each_gives_alone(smollm2: Model) -> None:
    """Texts with a clear next token, since a batch of another size moves logits in the last digits."""
    texts = ["1 2 3 4 5 6 7 8", "Monday Tuesday Wednesday", "a b c d e f g h", "January February March April"]
    prompts = [smollm2.vocabulary.tokenize(text) for text in texts]
    assert run_together(smollm2, prompts, 4, 6)[0] == run_together(smollm2, prompts, 1, 6)[0]


def test_a_long_prompt_does_not_hold_up_the_others(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_threads=1, n_batch=16) as model, model.context(2) as context:
        decoder = Decoder(context, model.vocabulary)
        short = decoder.open(model.vocabulary.tokenize("x y"))
        long = decoder.open(model.vocabulary.tokenize("word " * 100))
        generations = [Generation(each, decoder.sampler(Sampling()), StopScanner(), max_tokens=5) for each in (long, short)]
        for generation in generations:
            decoder.start(generation)
        order = []
        while decoder.has_active:
            order += [generation.transcript for generation in decoder.step()]
        assert order == [short, long]


def test_a_prompt_of_the_size_of_the_window_is_refused(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_threads=1, n_ctx=64) as model, model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        decoder.close(decoder.open([5] * 63))
        with pytest.raises(ContextOverflow, match="65 tokens, and 64 fit") as caught:
            decoder.open([5] * 64)
        assert (caught.value.needed, caught.value.available, caught.value.window) == (65, 64, 64)


def test_logprobs_of_the_chosen_and_the_likeliest_tokens(tiny_model: Model) -> None:
    with tiny_model.context(1) as context:
        decoder = Decoder(context, tiny_model.vocabulary)
        transcript = decoder.open(tiny_model.vocabulary.tokenize("a b"))
        generation = Generation(transcript, decoder.sampler(Sampling()), StopScanner(), max_tokens=4, n_top_logprobs=3)
        (completion,) = complete(decoder, generation)
        decoder.close(transcript)
    assert len(completion.logprobs) == completion.n_sampled
    for logprob in completion.logprobs:
        assert len(logprob.top) == 3
        assert logprob.top[0] == (logprob.token, logprob.logprob), "greedy takes the likeliest"
        assert logprob.logprob <= 0


def test_a_script_has_no_logprobs() -> None:
    with pytest.raises(SettingsError, match="no log-probabilities"):
        scripted([b" a"], n_top_logprobs=1)
