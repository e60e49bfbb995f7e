"""What llama.cpp says about itself."""

from importlib.metadata import version

from local_react.llama.build import describe_build
from local_react.llama.model import default_threads


def test_a_build_tells_version_flags_and_threads():
    build = describe_build()
    assert build.binding_version == version("llama-cpp-python")
    assert "=" in build.flags and not build.flags.endswith("|")
    assert build.n_threads == default_threads() >= 1
    assert isinstance(build.has_gpu_offload, bool) and isinstance(build.has_mmap, bool)
