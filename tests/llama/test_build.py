"""What llama.cpp says about itself."""

from importlib.metadata import version

import pytest

from local_react.llama.build import RECIPES, describe_build, fitting_recipe
from local_react.llama.model import default_threads


def test_a_build_tells_version_flags_and_threads():
    build = describe_build()
    assert build.binding_version == version("llama-cpp-python")
    assert "=" in build.flags and not build.flags.endswith("|")
    assert build.n_threads == default_threads() >= 1
    assert isinstance(build.has_gpu_offload, bool) and isinstance(build.has_mmap, bool)


@pytest.mark.parametrize(
    ("traces", "system", "machine", "expected"),
    [
        ([], "linux", "x86_64", None), (["dev/nvidia0"], "linux", "x86_64", "CUDA"),
        (["proc/driver/nvidia/version", "dev/dri/renderD128"], "linux", "aarch64", "CUDA"),
        (["dev/kfd", "dev/dri/renderD128"], "linux", "x86_64", "ROCm"), (["dev/dri/renderD128"], "linux", "x86_64", "Vulkan"),
        (["Windows/System32/nvcuda.dll"], "win32", "AMD64", "CUDA"), ([], "darwin", "arm64", "Metal"),
        ([], "darwin", "x86_64", None),
    ],
)
def test_the_build_for_this_machine_is_told_by_what_its_drivers_leave(tmp_path, traces, system, machine, expected):
    for trace in traces:
        (tmp_path / trace).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / trace).touch()
    assert fitting_recipe(root=tmp_path, system=system, machine=machine) == expected
    assert expected is None or RECIPES[expected].flag in RECIPES[expected].command


def test_every_recipe_sets_one_flag_of_cmake():
    assert all(recipe.flag.startswith("-DGGML_") and recipe.flag.endswith("=on") for recipe in RECIPES.values())
