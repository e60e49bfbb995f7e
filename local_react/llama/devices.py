"""What llama.cpp can compute on here, and how a model is divided between these devices.

Invariant: a division that can't be made is a SettingsError before anything is loaded. The devices are asked of ggml, whose
functions llama-cpp-python loads and doesn't wrap; where a build hides them, none are known.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import llama_cpp

from local_react.errors import SettingsError
from local_react.llama import log as _log  # noqa: F401  (our log callback must be in place before any call)
from local_react.llama.memory import MemoryNeed

DeviceKind = Literal["cpu", "gpu", "integrated gpu", "accelerator", "several"]

_KINDS: tuple[DeviceKind, ...] = ("cpu", "gpu", "integrated gpu", "accelerator", "several")
"""By the numbers of `ggml_backend_dev_type`."""

_UNIFIED = ("MTL", "Metal")
"""Apple's GPUs call themselves dedicated and share the main memory."""

ALL_LAYERS = -1
MARGIN = 0.9
"""The part of a GPU's free memory that is planned with: drivers and other programs take some, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """Something to compute on; `free` and `total` are bytes of its memory, 0 where it doesn't say."""

    name: str
    description: str
    kind: DeviceKind
    free: int
    total: int

    @property
    def is_gpu(self) -> bool:
        """Whether layers can be off-loaded to it."""
        return self.kind in ("gpu", "integrated gpu")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """How a model is divided: layers on GPUs (-1 for all), the one GPU that takes them, or the shares of several."""

    n_gpu_layers: int
    main_gpu: int | None = None
    tensor_split: tuple[float, ...] = ()


def list_devices() -> tuple[Device, ...]:
    """The devices of the installed llama.cpp, in its order; empty where this build doesn't show them."""
    try:
        library = llama_cpp.llama_cpp._lib
        library.ggml_backend_dev_count.restype = ctypes.c_size_t
        library.ggml_backend_dev_get.restype = ctypes.c_void_p
        library.ggml_backend_dev_get.argtypes = [ctypes.c_size_t]
        for name in ("name", "description"):
            function = getattr(library, f"ggml_backend_dev_{name}")
            function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_void_p]
        library.ggml_backend_dev_type.argtypes = [ctypes.c_void_p]
        library.ggml_backend_dev_memory.argtypes = [ctypes.c_void_p, *[ctypes.POINTER(ctypes.c_size_t)] * 2]
        library.ggml_backend_dev_memory.restype = None
    except AttributeError:  # on Windows each library shows its own functions only
        return ()
    llama_cpp.llama_backend_init()
    return tuple(_read_device(library, index) for index in range(library.ggml_backend_dev_count()))


def _read_device(library: ctypes.CDLL, index: int) -> Device:
    pointer = library.ggml_backend_dev_get(index)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    library.ggml_backend_dev_memory(pointer, ctypes.byref(free), ctypes.byref(total))
    texts = (library.ggml_backend_dev_name(pointer), library.ggml_backend_dev_description(pointer))
    name, description = ((text or b"").decode("utf-8", "replace") for text in texts)
    kind = library.ggml_backend_dev_type(pointer)
    return Device(
        name=name, description=description, kind=_KINDS[kind] if kind < len(_KINDS) else "several", free=free.value,
        total=total.value,
    )


def choose_offload(
    n_gpu_layers: int | None, main_gpu: int | None, tensor_split: Sequence[float] | None, *, need: MemoryNeed,
    n_layer: int, can_offload: bool, devices: Sequence[Device],
) -> Offload:
    """How to divide a model that needs `need` and has `n_layer` layers between `devices`.

    `n_gpu_layers=None` takes as many as the GPUs have room for. `main_gpu` is the number of the GPU that takes all of them;
    `tensor_split` gives each GPU its share. Raises SettingsError for what can't be.
    """
    gpus = [device for device in devices if device.is_gpu]
    layers_are_wrong = isinstance(n_gpu_layers, bool) or not isinstance(n_gpu_layers, int) or not -1 <= n_gpu_layers < 2**31
    if n_gpu_layers is not None and layers_are_wrong:
        raise SettingsError(f"n_gpu_layers={n_gpu_layers!r} must be a whole number, 0 for none, -1 for all, None to choose.")
    main_gpu = _check_main_gpu(main_gpu, gpus, can_offload)
    shares = _check_shares(tensor_split, gpus, can_offload)
    if main_gpu is not None and shares:
        raise SettingsError("main_gpu puts the model on one GPU, and tensor_split divides it. Give one of the two.")
    if n_gpu_layers is None:
        n_gpu_layers = _fitting_layers(need, n_layer, gpus if main_gpu is None else gpus[main_gpu : main_gpu + 1], can_offload)
    return Offload(n_gpu_layers=n_gpu_layers, main_gpu=main_gpu, tensor_split=shares)


def _fitting_layers(need: MemoryNeed, n_layer: int, gpus: Sequence[Device], can_offload: bool) -> int:
    """All layers where they fit or where that can't be told, else as many as do."""
    if not can_offload:
        return 0
    free = sum(device.free for device in gpus)
    if not free or need.total <= MARGIN * free:
        return ALL_LAYERS
    # llama.cpp counts the output layer as one more.
    layer = (need.weights + need.kv_cache) / (n_layer + 1)
    return max(int((MARGIN * free - need.compute) / layer), 0) if layer else 0


def offload_share(offload: Offload, n_layer: int, devices: Sequence[Device]) -> float:
    """The part of a model, from 0 to 1, that leaves main memory; none does where GPUs use that themselves."""
    gpus = [device for device in devices if device.is_gpu]
    shares_memory = not gpus or any(gpu.kind == "integrated gpu" or gpu.name.startswith(_UNIFIED) for gpu in gpus)
    if shares_memory or not offload.n_gpu_layers:
        return 0.0
    is_whole = offload.n_gpu_layers == ALL_LAYERS or offload.n_gpu_layers > n_layer
    return 1.0 if is_whole else offload.n_gpu_layers / (n_layer + 1)


def _check_main_gpu(main_gpu: int | None, gpus: Sequence[Device], can_offload: bool) -> int | None:
    if main_gpu is None:
        return None
    if isinstance(main_gpu, bool) or not isinstance(main_gpu, int) or main_gpu < 0:
        raise SettingsError(f"main_gpu={main_gpu!r} must be the number of a GPU, from 0 on, or None.")
    _check_gpus("main_gpu", gpus, can_offload)
    if gpus and main_gpu >= len(gpus):
        names = ", ".join(f"{number}: {gpu.description}" for number, gpu in enumerate(gpus))
        raise SettingsError(f"main_gpu={main_gpu} is no GPU here. There is {names}.")
    return main_gpu


def _check_shares(tensor_split: Sequence[float] | None, gpus: Sequence[Device], can_offload: bool) -> tuple[float, ...]:
    if tensor_split is None:
        return ()
    try:
        shares = tuple(tensor_split)
        is_valid = all(_is_share(share) for share in shares) and 0 < sum(shares) < float("inf")
    except TypeError:
        is_valid = False
    if not is_valid:
        raise SettingsError(f"tensor_split={tensor_split!r:.100} must be a share for each GPU, such as (3, 1), or None.")
    _check_gpus("tensor_split", gpus, can_offload)
    if len(shares) > (len(gpus) or llama_cpp.llama_max_devices()):
        raise SettingsError(f"tensor_split has {len(shares)} shares, and there are {len(gpus)} GPUs.")
    return shares


def _is_share(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _check_gpus(name: str, gpus: Sequence[Device], can_offload: bool) -> None:
    """Whether there is a GPU to speak of. A build that off-loads and hides its devices is believed."""
    if not can_offload:
        raise SettingsError(
            f"{name} speaks of GPUs, and the installed llama.cpp computes on the CPU. Leave it out, or install another build: "
            "`local-react doctor` says how."
        )
