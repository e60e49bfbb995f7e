"""Embedded models are found without importing anything, and joined so that no half file stays."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from local_react.errors import ModelFileError
from local_react.llama import embedded
from local_react.llama.embedded import EMBEDDED, EmbeddedModel, assemble_model, locate_model

PACKAGE = '''
from pathlib import Path
PARTS = [Path(__file__).with_name(name) for name in ("a.part", "b.part")]
def chunk_paths():
    return PARTS
def assemble(output_path):
    output_path.write_bytes(b"".join(part.read_bytes() for part in PARTS))
    if output_path.read_bytes() != b"GGUF and the rest":
        raise ValueError("Assembled file sha256 did not match expected value")
    return output_path
'''


@pytest.fixture
def package(tmp_path, monkeypatch, request) -> Path:
    """A package of two parts, registered as the model "parts"; its name is new for each test."""
    name = f"parts_{abs(hash(request.node.name))}"
    folder = tmp_path / "site" / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(PACKAGE)
    (folder / "a.part").write_bytes(b"GGUF and ")
    (folder / "b.part").write_bytes(b"the rest")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setitem(EMBEDDED, "parts", EmbeddedModel(package=name, file="x.gguf", extra="parts-gguf", in_parts=True))
    return folder


def test_parts_are_joined_on_first_use_only(package, tmp_path):
    path = assemble_model("parts")
    assert path == locate_model("parts")
    assert path.read_bytes() == b"GGUF and the rest"
    assert tmp_path / "home" in path.parents
    before = path.stat().st_mtime_ns, path.stat().st_ino
    assert assemble_model("parts") == path
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == before


def test_looking_for_a_model_in_parts_writes_and_imports_nothing(package, tmp_path):
    assert locate_model("parts") is not None
    assert not (tmp_path / "home").exists()
    assert EMBEDDED["parts"].package not in sys.modules


def test_what_an_interrupted_joining_left_is_replaced(package):
    path = locate_model("parts")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF an")
    assert assemble_model("parts").read_bytes() == b"GGUF and the rest"
    assert list(path.parent.iterdir()) == [path]


def test_a_user_without_a_home_has_the_parts_joined_elsewhere(package, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", no_home)
    assert locate_model("parts").is_relative_to(tempfile.gettempdir())


@pytest.mark.parametrize("fault", ["damaged", "missing"])
def test_parts_that_do_not_fit_leave_nothing_under_the_name(package, fault):
    (package / "b.part").write_bytes(b"the r3st") if fault == "damaged" else (package / "b.part").unlink()
    with pytest.raises(ModelFileError, match="can't be joined"):
        assemble_model("parts")
    assert not locate_model("parts").exists()


def test_a_model_that_is_not_installed_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(EMBEDDED, "none", EmbeddedModel(package="no_such_package", file="x", extra="local_react[none]"))
    assert locate_model("none") is None
    with pytest.raises(ModelFileError, match=r"pip install 'local_react\[none\]'"):
        assemble_model("none")


def test_a_package_without_its_file_is_not_installed(package, monkeypatch):
    monkeypatch.setitem(EMBEDDED, "parts", EmbeddedModel(package=package.name, file="x.gguf", extra="parts-gguf"))
    assert locate_model("parts") is None
    (package / "x.gguf").write_bytes(b"GGUF")
    assert assemble_model("parts") == package / "x.gguf"


def test_the_installed_models_are_found_without_importing_their_packages():
    packages = [model.package for model in EMBEDDED.values()]
    code = (
        "import sys; from local_react.llama.files import installed_models; installed_models(); "
        f"print([name for name in {packages!r} + ['llama_cpp', 'numpy'] if name in sys.modules])"
    )
    root = Path(embedded.__file__).parents[2]
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=60)
    assert child.stdout.strip() == "[]", child.stderr
