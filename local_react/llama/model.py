"""A model: weights, vocabulary, and the contexts that run it."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

import llama_cpp

from local_react.errors import ModelError, SettingsError
from local_react.llama import log
from local_react.llama.context import Context, ContextOptions
from local_react.llama.devices import Offload, choose_offload, list_devices, offload_share
from local_react.llama.files import ModelHeader, explain_load_failure, find_model, hash_model_file, judge_model_file
from local_react.llama.memory import (
    KV_TYPES,
    QUANTISED,
    MemoryNeed,
    available_memory,
    count_layers,
    estimate_memory,
    show_bytes,
)
from local_react.llama.metadata import CHAT_TEMPLATE, read_metadata
from local_react.llama.placement import Placement, read_placement
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

    def __init__(
        self, path: Path, header: ModelHeader, pointer: llama_cpp.llama_model_p, options: ContextOptions, *,
        offload: Offload, placement: Placement, checks_memory: bool, warnings: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.options = options
        self.offload = offload
        self.warnings = warnings
        self.metadata = read_metadata(pointer)
        self.placement = placement
        self._weights = placement
        self._header = header
        self._checks_memory = checks_memory
        self._vocabulary = Vocabulary(pointer)
        self._pointer = pointer
        self._idle: list[Context] = []
        self._lock = threading.Lock()

    @classmethod
    def load(
        cls, path_or_name: str | Path, *, n_ctx: int | None = None, n_threads: int | None = None, n_batch: int = 512,
        n_gpu_layers: int | None = None, main_gpu: int | None = None, tensor_split: Sequence[float] | None = None,
        flash_attention: bool | None = None, type_k: str = "f16", type_v: str = "f16", check_memory: bool = True,
    ) -> Model:
        """Load a model file, or the model of that name in the registry, if it is on this machine.

        `n_ctx` is the window of one episode in tokens (default 4,096, or what the model was trained on if that is
        less; a longer one is a warning). `n_gpu_layers=None` puts on the GPUs what they have room for, where the installed
        llama.cpp can; -1 is all. `main_gpu` is the number of the GPU that takes all of it, `tensor_split` the share of each
        GPU. `flash_attention=None` leaves the choice to llama.cpp. `type_k` and `type_v` are the types of the KV cache.

        Raises ModelFileError for a file that can't be used, SettingsError for an option that makes no sense, and ModelError,
        before anything is loaded, for a model that this machine has too little memory for, unless `check_memory` is off.
        """
        path = find_model(path_or_name)
        header = judge_model_file(path)
        _check_switch("check_memory", check_memory)
        if flash_attention is not None:
            _check_switch("flash_attention", flash_attention)
        options = ContextOptions(
            n_ctx=_positive("n_ctx", n_ctx if n_ctx is not None else min(N_CTX, header.n_ctx_train or N_CTX)),
            n_batch=_positive("n_batch", n_batch, MOST_BATCH),
            n_threads=_positive("n_threads", n_threads if n_threads is not None else default_threads(), MOST_THREADS),
            flash_attention=flash_attention,
            type_k=_kv_type("type_k", type_k),
            type_v=_kv_type("type_v", type_v),
        )
        if flash_attention is False and type_v in QUANTISED:
            raise SettingsError(f"type_v={type_v!r} needs flash attention, which is switched off. Leave one of the two out.")
        need = _estimate(header, options, 1)
        devices = list_devices()
        offload = choose_offload(
            n_gpu_layers, main_gpu, tensor_split, need=need, n_layer=count_layers(header), devices=devices,
            can_offload=bool(llama_cpp.llama_supports_gpu_offload()),
        )
        if check_memory:
            _check_memory(path.name, need.on_host(offload_share(offload, count_layers(header), devices)))
        notes = tuple(_doubts(path.name, header, options, offload))
        pointer, placement = _load_weights(path, offload)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return cls(
            path, header, pointer, options, offload=offload, placement=placement, checks_memory=check_memory, warnings=notes
        )

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
            context = self._make_context(n_parallel)
        self.placement = self._weights.with_context(context.placement)
        try:
            yield context
        except BaseException:
            context.close()
            raise
        with self._lock:
            self._idle.append(context)

    def _make_context(self, n_parallel: int) -> Context:
        n_tokens = self.vocabulary.n_tokens
        if self._checks_memory and n_parallel > 1:
            # The weights are there already. One episode was checked when they were loaded.
            need = replace(_estimate(self._header, self.options, n_parallel), weights=0)
            share = offload_share(self.offload, count_layers(self._header), list_devices())
            _check_memory(f"{self.name} with {n_parallel} episodes at once", need.on_host(share))
        return Context(self._pointer, n_tokens, self.options, n_parallel)

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
        """What identifies this model in a trace: name, SHA-256 of the file, the options it runs with, and where it lies."""
        file = {"name": self.name, "sha256": hash_model_file(self.path)}
        offload = {name: value for name, value in asdict(self.offload).items() if value not in (None, ())}
        doubts = {"warnings": list(self.warnings)} if self.warnings else {}
        return file | offload | asdict(self.options) | {"placement": self.placement.describe()} | doubts

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


def _load_weights(path: Path, offload: Offload) -> tuple[llama_cpp.llama_model_p, Placement]:
    llama_cpp.llama_backend_init()
    parameters = llama_cpp.llama_model_default_params()
    parameters.n_gpu_layers = offload.n_gpu_layers
    if offload.main_gpu is not None:
        # llama.h: the main GPU counts only where nothing is split.
        parameters.split_mode, parameters.main_gpu = llama_cpp.LLAMA_SPLIT_MODE_NONE, offload.main_gpu
    shares = (ctypes.c_float * llama_cpp.llama_max_devices())(*offload.tensor_split)
    if offload.tensor_split:
        parameters.tensor_split = shares
    with log.recorded() as record:
        pointer = llama_cpp.llama_model_load_from_file(os.fsencode(path), parameters)
    if not pointer:
        raise explain_load_failure(path, "".join(record))
    return pointer, read_placement("".join(record))


def _estimate(header: ModelHeader, options: ContextOptions, n_parallel: int) -> MemoryNeed:
    return estimate_memory(
        header, n_ctx=options.n_ctx, n_parallel=n_parallel, n_batch=options.n_batch, type_k=options.type_k,
        type_v=options.type_v, flash_attention=options.flash_attention,
    )


def _check_memory(what: str, need: MemoryNeed) -> None:
    """Raise ModelError where the system has less memory than is needed."""
    available = available_memory()
    if available is not None and need.total > available:
        parts = (("weights", need.weights), ("KV cache", need.kv_cache), ("to compute", need.compute))
        shown = ", ".join(f"{name} {show_bytes(size)}" for name, size in parts if size)
        raise ModelError(
            f"{what} needs about {show_bytes(need.total)} of memory ({shown}), and {show_bytes(available)} are available. "
            "Take a smaller n_ctx, fewer episodes at once, the KV cache types q8_0, or a smaller quantization; "
            "check_memory=False (--force-memory) tries it all the same."
        )


def _doubts(name: str, header: ModelHeader, options: ContextOptions, offload: Offload) -> Iterator[str]:
    """What can be done and is probably not meant."""
    if header.n_ctx_train and options.n_ctx > header.n_ctx_train:
        yield (
            f"The window of {options.n_ctx:,} tokens is longer than the {header.n_ctx_train:,} that {name} was trained on: "
            "behind those it may write nonsense."
        )
    if offload.n_gpu_layers and not llama_cpp.llama_supports_gpu_offload():
        yield "n_gpu_layers has no effect: the installed llama.cpp computes on the CPU. `local-react doctor` says more."


def _check_switch(name: str, value: object) -> None:
    if not isinstance(value, bool):
        kinds = "True, False or None" if name == "flash_attention" else "True or False"
        raise SettingsError(f"{name}={value!r:.100} must be {kinds}.")


def _positive(name: str, value: int, most: int = 2**31 - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
        raise SettingsError(f"{name}={value!r} must be a whole number from 1 to {most:,}.")
    return value


def _kv_type(name: str, value: str) -> str:
    if not isinstance(value, str) or value not in KV_TYPES:
        raise SettingsError(f"{name}={value!r} is no KV cache type. Use one of {', '.join(KV_TYPES)}.")
    return value
