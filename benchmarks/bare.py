"""The least that generating a token costs: llama_decode and an argmax, beside the same tokens from our decoder.

Both get the prompt evaluated before the clock starts, and are timed from the second token on. The bare loop knows its
tokens beforehand, looks for the likeliest one all the same, and does nothing else: no text, no stops, no record.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import llama_cpp
import numpy as np

from local_react.decode.generate import Decoder, Generation
from local_react.decode.stop import StopScanner
from local_react.language.protocol import Protocol
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling

PROMPT = "Question: a long question about orders and parcels\nThought:"
"""Both models write on from here for long without beginning a label."""


def encode(model: Model, text: str) -> list[int]:
    """The prompt's token ids, with BOS where the model wants it."""
    vocabulary = model.vocabulary
    return [vocabulary.bos] * vocabulary.wants_bos + vocabulary.tokenize(text)


def generate(model: Model, prompt: Sequence[int], n_tokens: int) -> tuple[list[int], float]:
    """Greedy tokens from our decoder, all stops armed; and CPU seconds per token."""
    protocol = Protocol.preset("finish")
    scanner = StopScanner(protocol.stops(), action=protocol.stop("action"), ends_after_call=True, line=b"Thought:")
    with model.context(1) as context:
        decoder = Decoder(context, model.vocabulary)
        transcript = decoder.open(prompt)
        generation = Generation(transcript, decoder.sampler(Sampling()), scanner, max_tokens=n_tokens)
        decoder.start(generation)
        while generation.n_sampled < 1 and decoder.has_active:
            decoder.step()
        n_before, started = generation.n_sampled, time.process_time()
        while decoder.has_active:
            decoder.step()
        seconds = time.process_time() - started
        ids = list(transcript.ids[len(prompt) :])
        decoder.close(transcript)
    return ids, seconds / max(generation.n_sampled - n_before, 1)


def decode(llama: llama_cpp.Llama, prompt: Sequence[int], ids: Sequence[int]) -> tuple[list[int], float]:
    """The same tokens through llama_decode; returns the likeliest token at each place, and CPU seconds per token."""
    n_vocab = llama.n_vocab()
    memory = llama_cpp.llama_get_memory(llama.ctx)
    llama_cpp.llama_memory_clear(memory, True)
    batch = llama_cpp.llama_batch_init(max(len(prompt), 1), 0, 1)
    try:
        likeliest = [_decode(llama.ctx, batch, prompt, 0, n_vocab)]
        started = time.process_time()
        for position, token in enumerate(ids[:-1], len(prompt)):
            likeliest.append(_decode(llama.ctx, batch, (token,), position, n_vocab))
        seconds = time.process_time() - started
    finally:
        llama_cpp.llama_batch_free(batch)
        llama_cpp.llama_memory_clear(memory, True)
        llama.reset()
    return likeliest, seconds / max(len(ids) - 1, 1)


def _decode(context: int, batch: llama_cpp.llama_batch, ids: Sequence[int], position: int, n_vocab: int) -> int:
    for index, token in enumerate(ids):
        batch.token[index] = token
        batch.pos[index] = position + index
        batch.n_seq_id[index] = 1
        batch.seq_id[index][0] = 0
        batch.logits[index] = index == len(ids) - 1
    batch.n_tokens = len(ids)
    if llama_cpp.llama_decode(context, batch) != 0:
        raise RuntimeError("llama_decode refused a batch of the bare loop.")
    logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits_ith(context, len(ids) - 1), shape=(n_vocab,))
    return int(logits.argmax())
