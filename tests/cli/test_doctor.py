"""`local-react doctor`: well, or what is wrong."""

import json
import re

import pytest
from click.testing import CliRunner

from local_react.cli import doctor, main
from local_react.llama import model as model_module
from tests.cli.terminal import write_script
from tests.random_models import make_model


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


def invoke(*args):
    return CliRunner().invoke(main, ["doctor", *map(str, args)])


def test_a_model_that_writes_is_well(tiny):
    result = invoke("--model", tiny, "--threads", "1")
    assert result.exit_code == 0
    assert all(line.startswith("ok ") for line in result.stdout.splitlines())
    for name in ("local_react", "python", *doctor.PACKAGES, "llama.cpp build", "GPU offload", "threads: 1"):
        assert name in result.stdout


def test_json_has_every_check(tiny):
    document = json.loads(invoke("--model", tiny, "--json").stdout)
    assert document["is_well"] is True
    assert {"local_react", "llama.cpp build", "embedded models", "model"} <= {check["name"] for check in document["checks"]}


@pytest.mark.parametrize("completion", ["", "  \n"])
def test_a_model_that_writes_nothing_is_not_well(tmp_path, completion):
    result = invoke("--model", write_script(tmp_path / "s.json", completion))
    assert result.exit_code == 1
    assert "BAD  model: scripted writes nothing" in result.stdout


def test_weights_that_give_no_numbers_are_not_well(tiny, tmp_path):
    damaged = tmp_path / "damaged.gguf"
    data = bytearray(tiny.read_bytes())
    data[-4096:] = b"\xff" * 4096  # NaN, in every float format
    damaged.write_bytes(data)
    result = invoke("--model", damaged)
    assert result.exit_code == 1
    assert "BAD  model:" in result.stdout and "damaged" in result.stdout


def test_a_model_that_can_not_be_loaded_is_not_well(tmp_path):
    result = invoke("--model", tmp_path / "missing.gguf", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["is_well"] is False


def test_a_missing_package_is_not_well(tiny, monkeypatch):
    monkeypatch.setattr(doctor, "PACKAGES", ("no-such-package-here",))
    result = invoke("--model", tiny)
    assert result.exit_code == 1
    assert "pip install no-such-package-here" in result.stdout


def test_it_tells_where_the_model_lies_and_how_to_get_another_build(tiny):
    lines = invoke("--model", tiny, "--threads", "1", "--n-ctx", "512").stdout.splitlines()
    found = dict(line[5:].split(": ", 1) for line in lines)
    assert re.fullmatch(r"\d+ of 3 on GPUs.*", found["layers"])
    assert found["window"] == "512 tokens" and found["flash attention"] in ("on", "off")
    assert {name.split()[0] for name in found if " on " in name} == {"weights", "kv", "compute", "output"}
    assert "available" in found["memory"] and found["devices"]
    for flag in ("-DGGML_CUDA=on", "-DGGML_METAL=on", "-DGGML_HIP=on", "-DGGML_VULKAN=on"):
        assert any("CMAKE_ARGS" in line and flag in line and "pip install" in line for line in lines), flag


def test_a_machine_with_a_gpu_is_told_which_build_fits(monkeypatch):
    monkeypatch.setattr(doctor, "fitting_recipe", lambda: "CUDA")
    checks = {check.name: check.found for check in doctor._check_offload(False)}
    assert checks["GPU offload"].endswith("the build for CUDA would fit this machine")
    assert {check.name: check.found for check in doctor._check_offload(True)}["GPU offload"] == "yes"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gpu-layers", "many"], ["gpu-layers", "many", "auto"]), (["--tensor-split", "a,b"], ["tensor-split", "3,1"]),
        (["--main-gpu", "x"], ["main-gpu"]), (["--type-v", "q8_0", "--no-flash-attention"], ["type_v", "flash attention"]),
        (["--gpu-layers", "-2"], ["n_gpu_layers=-2"]),
    ],
)
def test_a_wrong_option_is_told_by_name(tiny, options, words):
    result = invoke("--model", tiny, *options)
    assert result.exit_code in (1, 2)
    assert all(word in result.output for word in words)


@pytest.mark.parametrize("layers", ["auto", "all", "ALL", "0", "7"])
def test_layers_are_a_number_or_a_word(tiny, layers):
    assert invoke("--model", tiny, "--threads", "1", "--gpu-layers", layers).exit_code == 0


def test_a_doubt_about_the_window_is_told_once_on_stderr(tiny):
    result = invoke("--model", tiny, "--threads", "1", "--n-ctx", "4096")
    assert result.stderr.count("Warning: The window of 4,096 tokens is longer than the 2,048") == 1
    assert "Warning" not in result.stdout and "UserWarning" not in result.stderr


def test_too_little_memory_is_told_and_can_be_forced(tiny, monkeypatch):
    monkeypatch.setattr(model_module, "available_memory", lambda: 1_000_000)
    refused = invoke("--model", tiny, "--threads", "1")
    assert refused.exit_code == 1 and "--force-memory" in refused.stdout
    assert invoke("--model", tiny, "--threads", "1", "--force-memory").exit_code == 0
