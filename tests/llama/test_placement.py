"""Where a model lies, read from logs: of this machine, and texts of the shape that CUDA and Metal builds write."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from local_react.llama.model import Model
from local_react.llama.placement import Buffer, Placement, read_placement

MIB = 1 << 20

CUDA = """\
ggml_cuda_init: found 2 CUDA devices:
llama_prepare_model_devices: using device CUDA0 (NVIDIA GeForce RTX 3090) (0000:01:00.0) - 23306 MiB free
llama_prepare_model_devices: using device CUDA1 (NVIDIA GeForce RTX 3060) (0000:02:00.0) - 11800 MiB free
load_tensors: layer   0 assigned to device CUDA0, is_swa = 0
load_tensors: offloading output layer to GPU
load_tensors: offloading 28 repeating layers to GPU
load_tensors: offloaded 29/29 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   136.50 MiB
load_tensors:        CUDA0 model buffer size =   700.25 MiB
load_tensors:        CUDA1 model buffer size =   251.00 MiB
llama_context: n_ctx_seq             = 4096
llama_context: flash_attn            = auto
llama_context:  CUDA_Host  output buffer size =     1.16 MiB
llama_kv_cache:      CUDA0 KV buffer size =    84.00 MiB
llama_kv_cache:      CUDA1 KV buffer size =    28.00 MiB
sched_reserve: Flash Attention was auto, set to enabled
sched_reserve:      CUDA0 compute buffer size =   300.00 MiB
sched_reserve:      CUDA0 compute buffer size =   298.50 MiB
sched_reserve:  CUDA_Host compute buffer size =    12.00 MiB
"""

PARTLY = """\
load_tensors: offloading 12 repeating layers to GPU
load_tensors: offloaded 12/31 layers to GPU
load_tensors:      Vulkan0 model buffer size =    31.75 MiB
load_tensors:          CPU model buffer size =    60.50 MiB
llama_kv_cache:    Vulkan0 KV buffer size =    18.00 MiB
llama_kv_cache:        CPU KV buffer size =    27.00 MiB
llama_context: flash_attn            = disabled
"""

METAL = """\
llama_model_load_from_file_impl: using device MTL0 (Apple M2 Pro) (unknown id) - 10922 MiB free
load_tensors: offloaded 19/19 layers to GPU
load_tensors:   CPU_Mapped model buffer size =   170.00 MiB
load_tensors:  MTL0_Mapped model buffer size =   235.25 MiB
llama_kv_cache_iswa: creating non-SWA KV cache, size = 2048 cells
llama_kv_cache:       MTL0 KV buffer size =     6.00 MiB
llama_kv_cache_iswa: creating     SWA KV cache, size = 2048 cells
llama_kv_cache:       MTL0 KV buffer size =    30.00 MiB
llama_memory_recurrent:       MTL0 RS buffer size =     2.00 MiB
llama_context:       MTL0 compute buffer size =    60.00 MiB
"""

OLD = """\
llm_load_tensors: offloaded 31/31 layers to GPU
llm_load_tensors:        CPU buffer size =   297.00 MiB
llm_load_tensors:      CUDA0 buffer size =  7317.71 MiB
llama_new_context_with_model: flash_attn = 1
llama_kv_cache_init:      CUDA0 KV buffer size =   180.00 MiB
"""


def sizes(placement: Placement) -> dict[tuple[str, str], float]:
    return {(buffer.device, buffer.kind): buffer.size / MIB for buffer in placement.buffers}


def test_a_model_on_two_gpus() -> None:
    placement = read_placement(CUDA)
    assert (placement.n_offloaded, placement.n_layers, placement.n_ctx) == (29, 29, 4096)
    assert placement.flash_attention is True
    assert placement.devices == ("CUDA0 (NVIDIA GeForce RTX 3090)", "CUDA1 (NVIDIA GeForce RTX 3060)")
    assert sizes(placement) == {
        ("CPU_Mapped", "weights"): 136.5, ("CUDA0", "weights"): 700.25, ("CUDA1", "weights"): 251.0,
        ("CUDA_Host", "output"): pytest.approx(1.16, abs=1e-5), ("CUDA0", "kv_cache"): 84.0, ("CUDA1", "kv_cache"): 28.0,
        ("CUDA0", "compute"): 298.5, ("CUDA_Host", "compute"): 12.0,
    }, "the last size of a compute buffer counts"
    assert placement.size("kv_cache") == 112 * MIB


def test_a_model_that_is_partly_off_loaded() -> None:
    placement = read_placement(PARTLY)
    assert (placement.n_offloaded, placement.n_layers, placement.flash_attention) == (12, 31, False)
    assert placement.n_ctx is None and placement.devices == ()


def test_a_model_on_metal_with_two_caches() -> None:
    placement = read_placement(METAL)
    assert (placement.n_offloaded, placement.devices) == (19, ("MTL0 (Apple M2 Pro)",))
    assert sizes(placement)["MTL0", "kv_cache"] == 36.0, "both caches"
    assert sizes(placement)["MTL0", "state"] == 2.0
    assert placement.flash_attention is None


def test_the_lines_of_older_versions_are_read_too() -> None:
    placement = read_placement(OLD)
    assert sizes(placement)["CUDA0", "weights"] == pytest.approx(7317.71, abs=1e-3)
    assert (placement.n_offloaded, placement.flash_attention) == (31, True)


@given(st.lists(st.sampled_from(CUDA.splitlines() + METAL.splitlines() + ["", "flash_attn", "buffer size = x MiB"]), max_size=9))
def test_any_log_is_read(lines: list[str]) -> None:
    placement = read_placement("\n".join(lines))
    assert all(buffer.size > 0 for buffer in placement.buffers)
    assert placement.describe()["n_offloaded"] == placement.n_offloaded


def test_a_placement_with_its_context() -> None:
    weights = Placement(n_layers=3, buffers=(Buffer("CPU", "weights", 5),))
    both = weights.with_context(Placement(buffers=(Buffer("CPU", "kv_cache", 7),), flash_attention=False, n_ctx=256))
    assert (both.n_layers, both.n_ctx, both.flash_attention) == (3, 256, False)
    assert both.size("weights") == 5 and both.size("kv_cache") == 7
    assert both.describe()["buffers"] == [["CPU", "weights", 5], ["CPU", "kv_cache", 7]]


def test_this_machines_own_log_is_read(tiny_model: Model) -> None:
    with Model.load(tiny_model.path, n_threads=1, n_ctx=512) as model:
        assert model.placement.size("weights") > 0 and model.placement.n_ctx is None
        with model.context(2) as context:
            assert context.placement.size("kv_cache") > 0
        placement = model.placement
    assert placement.n_layers == 3, "two and the output layer"
    assert placement.n_ctx is not None and placement.n_ctx >= 512
    assert placement.flash_attention is not None
    assert {buffer.kind for buffer in placement.buffers} >= {"weights", "kv_cache", "compute", "output"}
    assert model.describe()["placement"] == placement.describe()
