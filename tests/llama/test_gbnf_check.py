"""Checking a grammar's text: each fault is told with line and rule, and what passes is what llama.cpp takes."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from local_react.errors import GrammarError
from local_react.language.emit import to_gbnf
from local_react.language.grammar import action_language, line_language, step_language
from local_react.language.protocol import PRESETS
from local_react.llama.gbnf_check import FILE_LIMIT, check_gbnf, read_gbnf
from local_react.llama.grammar import NativeGrammar
from local_react.llama.model import Model
from tests.llama.gbnf_texts import FAULTY, SOUND
from tests.random_models import make_model
from tests.toolboxes import FLAT, NESTED, RAW

ROOT = Path(__file__).parents[2]
GRAMMARS = sorted((ROOT / "grammars").glob("*.gbnf"))
TOOLBOXES = {"raw": RAW, "flat": FLAT, "nested": NESTED}
LANGUAGES = {"action": action_language, "line": line_language, "step": step_language}


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("bytes") / "bytes.gguf")


@pytest.fixture(scope="module")
def vocabulary(model_path: Path):
    with Model.load(model_path, n_threads=1) as model:
        yield model.vocabulary


@cache
def refusal(name: str) -> GrammarError:
    """What the check says of a faulty text; some of them are long."""
    with pytest.raises(GrammarError) as caught:
        check_gbnf(FAULTY[name][0])
    return caught.value.with_traceback(None)


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_told_with_its_line_and_rule(name: str) -> None:
    _text, line, rule, message = FAULTY[name]
    error = refusal(name)
    assert message in str(error)
    assert (error.line, error.rule) == (line, rule)
    assert len(str(error)) < 300
    assert line is None or f"line {line:d}" in str(error)


@pytest.mark.parametrize("name", FAULTY)
def test_the_position_of_a_fault_is_in_its_line(name: str) -> None:
    text, line, _rule, _message = FAULTY[name]
    position = refusal(name).position
    assert (position is None) == (line is None)
    assert line is None or text[:position].count("\n") == line - 1


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_text_passes_and_llama_cpp_takes_it(name: str, vocabulary) -> None:
    check_gbnf(SOUND[name])
    NativeGrammar(SOUND[name], vocabulary)


SURVIVOR = """
import sys
from local_react.errors import GrammarError
from local_react.llama.grammar import NativeGrammar
from local_react.llama.model import Model
from tests.llama.gbnf_texts import FAULTY

with Model.load(sys.argv[1], n_threads=1) as model:
    for name in sys.argv[2:] or FAULTY:
        try:
            NativeGrammar(FAULTY[name][0], model.vocabulary)
        except GrammarError:
            print("refused", name, flush=True)
        else:
            print("taken", name, flush=True)
    NativeGrammar('root ::= "a"', model.vocabulary)
    print("alive", flush=True)
"""


def test_a_process_survives_every_fault(model_path: Path) -> None:
    command = [sys.executable, "-c", SURVIVOR, str(model_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=60)
    lines = done.stdout.splitlines()
    assert lines == [*(f"refused {name}" for name in FAULTY), "alive"], done.stderr[-500:]
    assert done.returncode == 0


@pytest.mark.parametrize("path", GRAMMARS, ids=lambda path: path.stem)
def test_the_written_grammars_pass(path: Path) -> None:
    assert read_gbnf(path) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("tools", TOOLBOXES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("protocol", PRESETS)
def test_the_generated_grammars_pass(tools: str, language: str, protocol: str) -> None:
    signatures = {tool.name: tool for tool in TOOLBOXES[tools]}
    check_gbnf(to_gbnf(LANGUAGES[language](PRESETS[protocol], signatures)))


@pytest.mark.parametrize("n_tools", [1, 50, 500])
def test_the_grammars_of_many_tools_pass_quickly(n_tools: int) -> None:
    tools = (*RAW, *FLAT, *NESTED)
    signatures = {f"{place}_{tools[place % len(tools)].name}": tools[place % len(tools)] for place in range(n_tools)}
    text = to_gbnf(action_language(PRESETS["finish"], signatures))
    start = time.process_time()
    check_gbnf(text)
    # Measured: 15 ms for 50 tools.
    assert time.process_time() - start < 0.05 + 0.002 * n_tools


SLOW_IF_NOT_LINEAR = {
    "quotes": 'root ::= "' + '\\"' * 200_000,
    "brackets": "root ::= [" + "\\[" * 200_000,
    "a name": "root ::= " + "a" * 400_000 + "_",
    "parts": "root ::= " + '"a" ' * 100_000,
    "optional parts": "root ::= " + '"a"? ' * 100_000,
    "rules": "root ::= r0\n" + "".join(f'r{place} ::= "a" r{place + 1}\n' for place in range(50_000)) + 'r50000 ::= ""',
    "empty rules": "root ::= r0\n" + "".join(f"r{place} ::= r{place + 1}\n" for place in range(50_000)) + 'r50000 ::= ""',
    "undefined rules": "root ::= " + "".join(f"r{place} " for place in range(50_000)),
    "lines": "\n" * 400_000 + "root",
    "braces": 'root ::= "a"' + "{1}" * 100_000,
    "signs": "root ::= " + "<" * 200_000,
}


@pytest.mark.parametrize("name", SLOW_IF_NOT_LINEAR)
def test_the_check_takes_linear_time(name: str) -> None:
    start = time.process_time()
    try:
        check_gbnf(SLOW_IF_NOT_LINEAR[name])
    except GrammarError as error:
        assert len(str(error)) < 300
    assert time.process_time() - start < 5


def test_a_file_is_read_as_utf8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "own.gbnf"
    path.write_bytes('\ufeffroot ::= "日本é🙂"\n'.encode())
    code = "import sys; from local_react.llama.gbnf_check import read_gbnf; sys.stdout.buffer.write(read_gbnf(sys.argv[1]).encode())"
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], cwd=ROOT, capture_output=True, timeout=60,
        env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert done.stdout.decode() == 'root ::= "日本é🙂"\n', done.stderr


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b'root ::= "a"\n# caf\xe9\n', 2, "no UTF-8"),
        ('root ::= "é"'.encode("utf-16"), 1, "no UTF-8"),
        (b'root ::= "a"\nb ::= c', 2, "defined nowhere"),
        (b"", None, "empty"),
    ],
)
def test_a_file_that_is_no_grammar_is_refused(tmp_path: Path, data: bytes, line: int | None, message: str) -> None:
    path = tmp_path / "own.gbnf"
    path.write_bytes(data)
    with pytest.raises(GrammarError, match=message) as caught:
        read_gbnf(path)
    assert caught.value.line == line


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.gbnf"):
        with pytest.raises(GrammarError, match="can't be read"):
            read_gbnf(path)


PIECES = (
    "root", "a", "b-1", "::=", ":=", "::= ", '"x"', '""', '"', "[a-z]", "[^\\n]", "[", "]", "\\", "(", ")", "|", "*", "+",
    "?", "{2}", "{0,3}", "{2,}", "{0,60}", "{", "}", ".", "<[3]>", "!", "_", "é", "\n", "\n", "\r\n", " ", "# c", "\t",
)


@st.composite
def likely_texts(draw: st.DrawFn) -> str:
    """Rules of parts in any order, mostly well-formed as far as single signs go."""
    names = ["root", "a", "b", "c"][: draw(st.integers(1, 4))]
    parts = st.sampled_from(['"x"', '""', "[a-z]", "(", ")", "|", "*", "+", "?", "{2}", "{0,3}", "{0,60}", ".", " ", *names])
    return "\n".join(f"{name} ::= {' '.join(draw(st.lists(parts, max_size=9)))}" for name in names)


def check_agrees(text: str, vocabulary) -> None:
    """What passes the check is taken by llama.cpp, which would else say so by NULL."""
    try:
        check_gbnf(text)
    except GrammarError:
        return
    NativeGrammar(text, vocabulary)


@settings(max_examples=300, deadline=None)
@given(likely_texts())
def test_llama_cpp_takes_whatever_passes(vocabulary, text: str) -> None:
    check_agrees(text, vocabulary)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join) | st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_text_is_refused_or_taken(vocabulary, text: str) -> None:
    check_agrees(f"root ::= {text}", vocabulary)
    check_agrees(text, vocabulary)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_no_text_at_all_makes_the_check_fail_otherwise(vocabulary, text: str) -> None:
    check_agrees(text, vocabulary)
    check_agrees(f'root ::= "{text}"', vocabulary)
    check_agrees(f"root ::= [{text}]", vocabulary)


def test_a_written_grammar_with_a_slip_is_refused_or_taken(vocabulary) -> None:
    source = random.Random(5)
    for path in GRAMMARS:
        text = path.read_text(encoding="utf-8")
        for _ in range(60):
            place = source.randrange(len(text))
            check_agrees(text[:place] + source.choice(("", *PIECES)) + text[place + 1 :], vocabulary)


def test_a_file_without_an_end_is_refused(tmp_path: Path) -> None:
    """Regression: /dev/zero was read until the memory was full."""
    endless = tmp_path / "endless.gbnf"
    with endless.open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    with pytest.raises(GrammarError, match="more than 16,777,216 bytes"):
        read_gbnf(endless)
    with pytest.raises(GrammarError, match="can't be read"):
        read_gbnf("a\0b")
