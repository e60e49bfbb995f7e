"""A model: weights, vocabulary, and the contexts that run it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import llama_cpp

from local_react.errors import ModelError, SettingsError
from local_react.llama import log
from local_react.llama.context import Context, ContextOptions
from local_react.llama.files import explain_load_failure, find_model, hash_model_file, judge_model_file
from local_react.llama.memory import KV_TYPES
from local_react.llama.metadata import CHAT_TEMPLATE, read_metadata
from local_react.llama.vocabulary import Vocabulary

N_CTX = 4096
"""The default window in tokens; a model trained on less gets what it was trained on."""

MOST_THREADS = 512
"""ggml's own limit (0.3.36); a number that the system has no room for aborts the process."""

MOST_BATCH = 1 << 16
"""llama.cpp allocates for each token of a batch by itself, before it looks at the window."""


class Model:
    """A loaded GGUF. Make one with `Model.load`; `close()` or a `with` block frees it.

    Several threads may run episodes on one model: each run has a context of its own while it lasts.
    """

    def __init__(self, path: Path, pointer: llama_cpp.llama_model_p, options: ContextOptions, n_gpu_layers: int) -> None:
        self.path = path
        self.options = options
        self.n_gpu_layers = n_gpu_layers
        self.metadata = read_metadata(pointer)
        self._vocabulary = Vocabulary(pointer)
        self._pointer = pointer
        self._idle: list[Context] = []
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls, path_or_name: str | Path, *, n_ctx: int | None = None, n_threads: int | None = None, n_batch: int = 512,
        n_gpu_layers: int | None = None, flash_attention: bool | None = None, type_k: str = "f16", type_v: str = "f16",
    ) -> Model:
        """Load a model file, or the model of that name in the registry, if it is on this machine.

        `n_ctx` is the window of one episode in tokens (default 4,096, or what the model was trained on if that is
        less). `n_gpu_layers=None` puts everything on the GPU where the installed llama.cpp can, `flash_attention=None`
        leaves the choice to llama.cpp. Raises ModelFileError for a file that can't be used and SettingsError for an
        option that makes no sense.
        """
        header_path = find_model(path_or_name)
        header = judge_model_file(header_path)
        options = ContextOptions(
            n_ctx=_positive("n_ctx", n_ctx if n_ctx is not None else min(N_CTX, header.n_ctx_train or N_CTX)),
            n_batch=_positive("n_batch", n_batch, MOST_BATCH),
            n_threads=_positive("n_threads", n_threads if n_threads is not None else default_threads(), MOST_THREADS),
            flash_attention=flash_attention,
            type_k=_kv_type("type_k", type_k),
            type_v=_kv_type("type_v", type_v),
        )
        if flash_attention not in (None, False, True):
            raise SettingsError(f"flash_attention={flash_attention!r} must be True, False or None.")
        if n_gpu_layers is None:
            n_gpu_layers = 999 if llama_cpp.llama_supports_gpu_offload() else 0
        elif isinstance(n_gpu_layers, bool) or not isinstance(n_gpu_layers, int) or not -1 <= n_gpu_layers < 2**31:
            raise SettingsError(f"n_gpu_layers={n_gpu_layers!r} must be a whole number, 0 for none and -1 for all.")
        return cls(header_path, _load_weights(header_path, n_gpu_layers), options, n_gpu_layers)

    @contextmanager
    def context(self, n_parallel: int) -> Iterator[Context]:
        """A context for `n_parallel` episodes, for the caller alone until the block ends.

        It is kept for the next caller, with the prefix that it holds; after an exception, which may have interrupted
        llama.cpp anywhere, it is thrown away.
        """
        with self._lock:
            fitting = [context for context in self._idle if context.capacity >= n_parallel]
            context = min(fitting, key=lambda context: context.capacity) if fitting else None
            if context is not None:
                self._idle.remove(context)
                context.n_parallel = n_parallel
            else:
                while self._idle:
                    self._idle.pop().close()
        if context is None:
            context = Context(self._pointer, self.vocabulary.n_tokens, self.options, n_parallel)
        try:
            yield context
        except BaseException:
            context.close()
            raise
        with self._lock:
            self._idle.append(context)

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of the model. Raises ModelError once it is closed, since llama.cpp would read freed memory."""
        if self._pointer is None:
            raise ModelError(f"The model {self.name} is closed. Load it again, or close it later.")
        return self._vocabulary

    def chat_template(self, name: str | None = None) -> str | None:
        """The source of the model's chat template, or of its template of that name (such as "tool_use"); None without one."""
        return self.metadata.get(CHAT_TEMPLATE if name is None else f"{CHAT_TEMPLATE}.{name}")

    @property
    def name(self) -> str:
        """The file's name."""
        return self.path.name

    @property
    def window(self) -> int:
        """How many tokens one episode can hold."""
        return self.options.n_ctx

    def describe(self) -> dict[str, object]:
        """What identifies this model in a trace: name, SHA-256 of the file, and the options it runs with."""
        file = {"name": self.name, "sha256": hash_model_file(self.path)}
        return file | {"n_gpu_layers": self.n_gpu_layers} | asdict(self.options)

    def close(self) -> None:
        """Free the weights and every idle context; closing twice does nothing."""
        while self._idle:
            self._idle.pop().close()
        pointer, self._pointer = self._pointer, None
        if pointer:
            llama_cpp.llama_model_free(pointer)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def default_threads() -> int:
    """How many threads to compute with: all cores of a small machine, half of a larger one, where half are often twins."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_cores if n_cores <= 4 else n_cores // 2


def _load_weights(path: Path, n_gpu_layers: int) -> llama_cpp.llama_model_p:
    llama_cpp.llama_backend_init()
    parameters = llama_cpp.llama_model_default_params()
    parameters.n_gpu_layers = n_gpu_layers
    with log.recorded() as record:
        pointer = llama_cpp.llama_model_load_from_file(os.fsencode(path), parameters)
    if not pointer:
        raise explain_load_failure(path, "".join(record))
    return pointer


def _positive(name: str, value: int, most: int = 2**31 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise SettingsError(f"{name}={value!r} must be a whole number from 1 to {most:,}.")
    return value


def _kv_type(name: str, value: str) -> str:
    if value not in KV_TYPES:
        raise SettingsError(f"{name}={value!r} is no KV cache type. Use one of {', '.join(KV_TYPES)}.")
    return value
