"""How a model is divided between devices, and what can't be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from local_react.errors import SettingsError
from local_react.llama.devices import Device, Offload, choose_offload, list_devices, offload_share
from local_react.llama.memory import MemoryNeed

GIB = 1 << 30
NEED = MemoryNeed(weights=8 * GIB, kv_cache=2 * GIB, compute=GIB)


def gpu(free: int, name: str = "CUDA0", kind: Any = "gpu") -> Device:
    return Device(name=name, description=f"GPU {name}", kind=kind, free=free, total=free)


CPU = Device(name="CPU", description="CPU", kind="cpu", free=64 * GIB, total=64 * GIB)


def choose(
    devices: Sequence[Device], layers: int | None = None, main: Any = None, split: Any = None, *, can_offload: bool = True
) -> Offload:
    return choose_offload(layers, main, split, need=NEED, n_layer=19, can_offload=can_offload, devices=devices)


@pytest.mark.parametrize(
    ("devices", "layers"),
    [
        ([CPU, gpu(24 * GIB)], -1),
        ([CPU, gpu(7 * GIB), gpu(7 * GIB, "CUDA1")], -1),
        ([CPU, gpu(7 * GIB)], 10),  # (0.9 * 7 - 1) / (10 / 20)
        ([CPU, gpu(GIB)], 0),
        ([CPU, gpu(0)], -1),  # it doesn't say how much it has
        ([], -1),  # a build that hides its devices
    ],
)
def test_as_many_layers_are_off_loaded_as_there_is_room_for(devices: list[Device], layers: int) -> None:
    assert choose(devices).n_gpu_layers == layers
    assert choose(devices, can_offload=False).n_gpu_layers == 0
    assert choose(devices, 7).n_gpu_layers == 7, "what is given counts"


def test_the_main_gpu_alone_must_have_the_room() -> None:
    devices = [CPU, gpu(24 * GIB), gpu(7 * GIB, "CUDA1")]
    assert choose(devices, main=0) == Offload(n_gpu_layers=-1, main_gpu=0)
    assert choose(devices, main=1) == Offload(n_gpu_layers=10, main_gpu=1)
    assert choose(devices, split=[3, 1]) == Offload(n_gpu_layers=-1, tensor_split=(3, 1))


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"layers": -2}, "n_gpu_layers"), ({"layers": True}, "n_gpu_layers"), ({"layers": "all"}, "n_gpu_layers"),
        ({"layers": 1 << 31}, "n_gpu_layers"), ({"main": -1}, "main_gpu"), ({"main": True}, "main_gpu"),
        ({"main": "0"}, "main_gpu"), ({"main": 2}, "main_gpu=2 is no GPU here. There is 0: GPU CUDA0"),
        ({"split": "31"}, "tensor_split"), ({"split": 3}, "tensor_split"), ({"split": ()}, "tensor_split"),
        ({"split": (0, 0)}, "tensor_split"), ({"split": (1, -1)}, "tensor_split"), ({"split": (1, float("nan"))}, "tensor_split"),
        ({"split": (1, float("inf"))}, "tensor_split"), ({"split": (1, 1, 1)}, "3 shares, and there are 2 GPUs"),
        ({"split": (1, 1), "main": 0}, "one of the two"),
    ],
)
def test_what_can_not_be_is_refused_by_name(options: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        choose([CPU, gpu(GIB), gpu(GIB, "CUDA1")], **options)


@pytest.mark.parametrize("options", [{"main": 0}, {"split": (1,)}])
def test_without_a_gpu_nothing_is_said_about_one(options: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="computes on the CPU.*doctor"):
        choose([CPU], can_offload=False, **options)


@pytest.mark.parametrize(
    ("layers", "devices", "share"),
    [
        (-1, [CPU, gpu(GIB)], 1.0), (20, [CPU, gpu(GIB)], 1.0), (10, [CPU, gpu(GIB)], 0.5), (0, [CPU, gpu(GIB)], 0.0),
        (-1, [CPU], 0.0), (-1, [CPU, gpu(GIB, "MTL0")], 0.0), (-1, [CPU, gpu(GIB, "Vulkan0", "integrated gpu")], 0.0),
    ],
)
def test_main_memory_keeps_what_is_not_on_gpus_of_their_own(layers: int, devices: list[Device], share: float) -> None:
    assert offload_share(Offload(n_gpu_layers=layers), 19, devices) == share
    assert NEED.on_host(share).total == round((1 - share) * 10 * GIB) + GIB


def test_this_machine_has_a_cpu() -> None:
    devices = list_devices()
    assert not devices or any(device.kind == "cpu" and device.name for device in devices)
