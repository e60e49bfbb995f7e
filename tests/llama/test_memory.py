"""How much memory a model needs, against what llama.cpp takes; and how much there is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from local_react.llama import log
from local_react.llama.context import Context
from local_react.llama.files import ModelHeader, judge_model_file
from local_react.llama.memory import KV_TYPES, MemoryNeed, available_memory, estimate_memory
from local_react.llama.model import Model

MIB = 1 << 20


def header(**metadata: object) -> ModelHeader:
    """The header of a llama with these sizes; lists are arrays."""
    scalars = {f"llama.{key}": value for key, value in metadata.items() if not isinstance(value, tuple)}
    arrays = {f"llama.{key}": value for key, value in metadata.items() if isinstance(value, tuple)}
    return ModelHeader(
        architecture="llama", name="x", size_bytes=1000, n_tensors=1, version=3, n_ctx_train=None, n_vocab=100,
        metadata=scalars, arrays=arrays,
    )


SMALL = {"block_count": 2, "embedding_length": 64, "attention.head_count": 4, "attention.head_count_kv": 2}


def taken(model: Model, n_parallel: int, **changes: object) -> tuple[float, float]:
    """The MiB that llama.cpp reports for the KV cache (with recurrent states), and for computing and output."""
    with log.recorded() as record:
        Context(model._pointer, model.vocabulary.n_tokens, replace(model.options, **changes), n_parallel).close()
    sizes = re.findall(r"(\w+) buffer size = +([\d.]+) MiB", "".join(record))
    kept = sum(float(size) for kind, size in sizes if kind in ("KV", "RS"))
    return kept, sum(float(size) for kind, size in sizes if kind in ("compute", "output"))


def check_against_llama(model: Model, n_parallel: int, *, least_compute: float, **changes: object) -> None:
    options = {name: changes.get(name, getattr(model.options, name)) for name in ("n_ctx", "n_batch", "type_k", "type_v")}
    need = estimate_memory(judge_model_file(model.path), n_parallel=n_parallel, **options)
    kept, compute = taken(model, n_parallel, **changes)
    assert need.kv_cache / MIB == pytest.approx(kept, abs=0.011), "the log rounds to hundredths"
    assert least_compute * need.compute / MIB <= compute <= need.compute / MIB + 0.011
    assert need.weights == model.path.stat().st_size


@pytest.mark.parametrize("n_parallel", [1, 8])
@pytest.mark.parametrize("changes", [{"n_ctx": 256}, {"n_ctx": 2048}, {"n_ctx": 1000}, {"type_k": "q8_0", "type_v": "q4_0"}])
def test_a_tiny_model_takes_what_is_estimated(tiny_model, n_parallel, changes):
    check_against_llama(tiny_model, n_parallel, least_compute=0.5, **changes)


def test_a_recurrent_model_takes_states_for_each_sequence_and_no_keys(recurrent_model):
    header = judge_model_file(recurrent_model.path)
    need = estimate_memory(header, n_ctx=1024, n_parallel=4)
    assert need.kv_cache == estimate_memory(header, n_ctx=4096, n_parallel=4).kv_cache > 0
    assert need.kv_cache / MIB == pytest.approx(taken(recurrent_model, 4)[0], abs=0.011)


@pytest.mark.parametrize("n_ctx", [512, 4096, 16384])
def test_a_real_model_takes_what_is_estimated(real_model, n_ctx):
    check_against_llama(real_model, 1, n_ctx=n_ctx, least_compute=0.8)


def test_a_need_is_the_sum_of_its_parts():
    assert MemoryNeed(weights=1, kv_cache=20, compute=300).total == 321


@pytest.mark.parametrize(
    ("metadata", "n_values"),  # of keys and values in one cell
    [
        (SMALL, 2 * 2 * (16 + 16)),
        ({**SMALL, "attention.head_count_kv": None}, 2 * 4 * (16 + 16)),
        ({**SMALL, "attention.key_length": 32}, 2 * 2 * (32 + 16)),
        ({**SMALL, "attention.head_count_kv": (3, 0)}, 3 * (16 + 16)),
        ({**SMALL, "attention.shared_kv_layers": 1}, 2 * (16 + 16)),
        ({**SMALL, "full_attention_interval": 2}, 2 * (16 + 16)),
        ({}, 0),
    ],
)
def test_keys_and_values_are_counted_by_layer_and_head(metadata, n_values):
    need = estimate_memory(header(**{key: value for key, value in metadata.items() if value is not None}), n_ctx=512)
    assert need.kv_cache == 512 * n_values * 2


@pytest.mark.parametrize(("type_name", "bits"), [("f32", 32), ("f16", 16), ("bf16", 16), ("q8_0", 8.5), ("q4_0", 4.5)])
def test_the_cache_has_the_size_of_its_types(type_name, bits):
    need = estimate_memory(header(**SMALL), n_ctx=256, type_k=type_name, type_v=type_name)
    assert need.kv_cache == 256 * 2 * 2 * 2 * 16 * bits / 8


def test_scores_are_kept_without_flash_attention_only():
    with_it, without = (
        estimate_memory(header(**SMALL), n_ctx=4096, flash_attention=choice).compute for choice in (None, False)
    )
    assert without - with_it == 512 * 4096 * (4 * (1 + 4) - 2)


values = st.one_of(st.integers(), st.floats(), st.booleans(), st.text(max_size=3), st.lists(st.integers() | st.floats()).map(tuple))
keys = st.sampled_from([*SMALL, "attention.key_length", "feed_forward_length", "ssm.inner_size", "full_attention_interval"])


@given(st.dictionaries(keys, values), st.integers(1, 1 << 31), st.integers(1, 64), st.sampled_from(sorted(KV_TYPES)))
def test_any_header_gives_an_estimate(metadata, n_ctx, n_parallel, type_name):
    need = estimate_memory(header(**metadata), n_ctx=n_ctx, n_parallel=n_parallel, type_k=type_name, type_v=type_name)
    assert need.weights == 1000 and need.kv_cache >= 0 and need.compute >= 0
    assert isinstance(need.total, int)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


MEMINFO = {"proc/meminfo": "MemTotal:  9000 kB\nMemFree: 100 kB\nMemAvailable:    4000 kB\n"}


@pytest.mark.skipif("sys.platform == 'win32'", reason="Windows has no /proc")
@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 4000 * 1024),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n", "sys/fs/cgroup/memory.current": "5\n"}, 4000 * 1024),
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1000\n", "sys/fs/cgroup/a/memory.current": "400\n",
          "sys/fs/cgroup/a/memory.stat": "anon 300\ninactive_file 60\nactive_file 40\n"}, 700),
        ({"proc/self/cgroup": "0::/only/outside\n", "sys/fs/cgroup/memory.max": "1000", "sys/fs/cgroup/memory.current": "1400"}, 0),
        ({"proc/self/cgroup": "5:cpu:/a\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
          "sys/fs/cgroup/memory/a/memory.usage_in_bytes": "100\n", "sys/fs/cgroup/memory/a/memory.stat": "total_active_file x\n"},
         900),
        ({"proc/self/cgroup": "nonsense\n\n:::\n"}, 4000 * 1024),
        ({"proc/meminfo": "MemAvailable:\nMemAvailable: many kB\n", "proc/self/cgroup": "0::/\n",
          "sys/fs/cgroup/memory.max": "7", "sys/fs/cgroup/memory.current": "1"}, 6),
    ],
)  # fmt: skip
def test_memory_is_what_the_kernel_and_the_control_groups_leave(tmp_path, files, expected):
    assert available_memory(root=write(tmp_path, MEMINFO | files)) == expected


def test_without_proc_all_memory_is_taken_as_available(tmp_path):
    assert available_memory(root=tmp_path) > 1 << 27


def test_some_memory_is_available_here():
    assert 1 << 24 < available_memory() < 1 << 50
