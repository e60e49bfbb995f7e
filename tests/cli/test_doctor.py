"""`local-react doctor`: well, or what is wrong."""

import json

import pytest
from click.testing import CliRunner

from local_react.cli import doctor, main
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
