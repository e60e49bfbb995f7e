"""Models for the tests. One process loads them, one at a time: ggml's threads spin."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_react.llama.model import Model
from tests.random_models import make_model

N_THREADS = 1
"""ggml's threads wait by spinning: on a machine that does something else too, a second one makes all of it slower."""

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores Ctrl-C, and would hand that down to the programs that the tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the settings of whoever runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "config"))
    for name in ("LOCAL_REACT_MODEL", "LOCAL_REACT_TOOLS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def smollm2() -> Iterator[Model]:
    """SmolLM2-135M-Instruct: a BPE vocabulary of 49,152 tokens."""
    with Model.load("smollm2", n_threads=N_THREADS) as model:
        yield model


@pytest.fixture(scope="session")
def gemma() -> Iterator[Model]:
    """Gemma-3-270m, the base model: a SentencePiece vocabulary of 262,144 tokens."""
    with Model.load("gemma3-270m", n_threads=N_THREADS) as model:
        yield model


@pytest.fixture(scope="session", params=["smollm2", "gemma"])
def real_model(request: pytest.FixtureRequest) -> Model:
    """Each of the two real models."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session", params=["bpe", "sentencepiece"])
def tiny_model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """A tiny random-weight model, with each kind of vocabulary."""
    path = make_model(tmp_path_factory.mktemp("tiny") / f"{request.param}.gguf", tokenizer=request.param, add_bos_token=True)
    with Model.load(path, n_threads=1) as model:
        yield model


@pytest.fixture(scope="session")
def recurrent_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Model]:
    """A tiny random-weight recurrent model, whose memory can't be cut back."""
    path = make_model(tmp_path_factory.mktemp("tiny") / "mamba.gguf", architecture="mamba")
    with Model.load(path, n_threads=1) as model:
        yield model


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the project's shared data; tests that need it are skipped where it is absent."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the folder with the shared test data is absent")
    return folder
