"""Grammar files: their language is what llama.cpp takes, on every engine, or they are refused with line and rule."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from local_react import GrammarError, Model
from local_react.decode.engines import make_engine
from local_react.decode.grammar_file import parse_gbnf, read_grammar
from local_react.language.derivative import Recogniser, accepts, random_word
from local_react.language.emit import to_gbnf
from local_react.language.grammar import action_language, step_language
from local_react.language.protocol import PRESETS
from local_react.language.regular import Regular
from local_react.llama.gbnf_check import check_gbnf
from local_react.llama.grammar import NativeGrammar
from local_react.llama.vocabulary import Vocabulary
from tests.llama.gbnf_texts import FAULTY, SOUND
from tests.random_models import make_model
from tests.toolboxes import FLAT, NESTED, RAW

GRAMMARS = Path(__file__).parents[2] / "grammars"
JSON = r"""
root   ::= value
value  ::= object | array | text | number | "true" | "false" | "null"
object ::= "{" ( text ":" value ("," text ":" value)* )? "}"
array  ::= "[" ( value ("," value)* )? "]"
text   ::= "\"" ( [^"\\\x00-\x1f] | "\\" ["\\/bfnrt] )* "\""
number ::= "-"? [0-9]+ ("." [0-9]+)?
"""
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(GRAMMARS.glob("*.gbnf"))} | {
    "json": JSON,
    "brackets": 'root ::= "." ( "(" root ")" | "[" root "]" )? [a-c日é]*',
    "two ends": 'root ::= "a" root "b" | "a" root "c" | "x" Lower\nLower ::= [A-Z]{2,3} | "AB"',
    "counts": 'root ::= " " name "[" Args{1,3} "]"\nname ::= [a-z]{1,20}\nArgs ::= ("x" | root){0,4} [^\\n\\]x\\[ ]',
}
TOO_LARGE = {"parentheses in literals, sets and comments", "counts multiplied that llama.cpp needn't copy", "many alternatives"}
"""Longer words than a step can hold, or more alternatives than llama.cpp follows in a test's time."""
NO_TEXT = {"a token"}
WRITTEN = {name: text for name, text in SOUND.items() if name not in TOO_LARGE | NO_TEXT} | TEXTS


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory):
    with Model.load(make_model(tmp_path_factory.mktemp("bytes") / "bytes.gguf"), n_threads=1) as model:
        yield model.vocabulary


def n_taken(matcher: object, word: bytes, vocabulary: Vocabulary) -> int:
    """How many bytes of a word a matcher takes, given byte by byte."""
    for place in range(len(word)):
        (token,) = vocabulary.tokenize(word[place : place + 1])
        if not matcher.allows(token):
            return place
        matcher.accept(token) if isinstance(matcher, NativeGrammar) else matcher.advance([token])
    return len(word)


def n_alive(language: Regular, word: bytes) -> int:
    """How many bytes of a word the reference takes."""
    return next((n for n in range(len(word)) if Recogniser(language).feed(word[: n + 1]).is_dead), len(word))


def words_and_mutations(language: Regular, source: random.Random, n: int) -> list[bytes]:
    found = []
    for _ in range(n):
        word = random_word(language, source)[:200]
        found.append(word)
        if word:
            place, byte = source.randrange(len(word)), bytes([source.choice(b'[]()"xab,\n.')])
            found += [word[:place] + word[place + 1 :], word[:place] + byte + word[place:]]
    return found


@pytest.mark.parametrize("name", WRITTEN)
def test_the_language_is_what_llama_cpp_takes(name: str, vocabulary: Vocabulary) -> None:
    """The text as it is written, byte by byte, words and their mutations."""
    language, native, source = parse_gbnf(WRITTEN[name]), NativeGrammar(WRITTEN[name], vocabulary), random.Random(name)
    end = vocabulary.end_list[0]
    for word in words_and_mutations(language, source, 6):
        state = native.copy()
        taken = n_taken(state, word, vocabulary)
        assert taken == n_alive(language, word), word
        if taken == len(word):
            assert state.allows(end) == accepts(language, word), word


@pytest.mark.parametrize("engine", ["llguidance", "gbnf"])
@pytest.mark.parametrize("name", TEXTS)
def test_every_engine_follows_it(name: str, engine: str, vocabulary: Vocabulary) -> None:
    """Regression: llguidance's own conversion of these grammars fails, or takes the longest text and gives nothing back."""
    language, source = parse_gbnf(TEXTS[name]), random.Random(name)
    made = make_engine(engine, vocabulary)
    for word in words_and_mutations(language, source, 8):
        assert n_taken(made.match(language), word, vocabulary) == n_alive(language, word), word


@pytest.mark.parametrize("name", TEXTS)
def test_its_own_text_has_the_same_language(name: str) -> None:
    language, source = parse_gbnf(TEXTS[name]), random.Random(name)
    again = to_gbnf(language)
    check_gbnf(again)
    other = parse_gbnf(again)
    for word in words_and_mutations(language, source, 10):
        assert accepts(other, word) == accepts(language, word)
        assert accepts(language, random_word(other, source))


@pytest.mark.parametrize("make", [action_language, step_language])
@pytest.mark.parametrize("tools", [RAW, FLAT, NESTED], ids=["raw", "flat", "nested"])
def test_what_is_made_from_tools_comes_back_from_its_text(make, tools) -> None:
    language = make(PRESETS["finish"], {tool.name: tool for tool in tools})
    back, source = parse_gbnf(to_gbnf(language)), random.Random(7)
    assert len(Recogniser(back).shortest()) == len(Recogniser(language).shortest())
    assert Recogniser(back).forced() == Recogniser(language).forced()
    for word in words_and_mutations(language, source, 15):
        one, other = Recogniser(language), Recogniser(back)
        cut = source.randrange(len(word) + 1)
        one, other = one.feed(word[:cut]), other.feed(word[:cut])
        assert (one.is_dead, one.accepts, one.forced()) == (other.is_dead, other.accepts, other.forced()), word[:cut]
        if not one.is_dead:
            assert len(one.shortest()) == len(other.shortest())
        assert accepts(language, word) == accepts(back, word)


@pytest.mark.parametrize("name", [name for name, (text, *_) in FAULTY.items() if len(text) < 50_000])
def test_a_fault_is_refused_here_too(name: str) -> None:
    with pytest.raises(GrammarError):
        parse_gbnf(FAULTY[name][0])


@pytest.mark.parametrize(("text", "line", "rule", "message"), [
    ('root ::= "x" a\na ::= <[5]>', 2, "a", "takes the token <[5]>, which only one model knows"),
    ("root ::= !<end>", 1, "root", "takes the token !<end>"),
    (r'root ::= "\uD800"', 1, "root", "U+D800, which no text can hold"),
    (r'root ::= "\UFFFFFFFF"', 1, "root", "which no text can hold"),
    (r'root ::= "a\x00"', 1, "root", "U+0000, which llama.cpp never takes"),
    (r"root ::= [\x00]", 1, "root", "no character that a text can hold"),
    (r"root ::= [\uD800-\uDFFF]", 1, "root", "no character that a text can hold"),
    ('root ::= a{1000}\na ::= b{1000}\nb ::= "x"', 1, "root", "more than 10,000 bytes"),
])
def test_what_no_step_can_hold_is_refused_with_line_and_rule(text: str, line: int, rule: str, message: str) -> None:
    check_gbnf(text)
    with pytest.raises(GrammarError) as caught:
        parse_gbnf(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.rule) == (line, rule)


@pytest.mark.parametrize(("text", "words", "others"), [
    (r'root ::= [^"\n]', ["a", "日", "\\", "\U0010ffff"], ['"', "\n", "\x00", "ab", ""]),
    (r"root ::= [a\-z]", ["a", "-", "z"], ["b", "\\"]),
    (r"root ::= [a-]", ["a", "-"], ["b"]),
    (r"root ::= [\u00e9-\u00eb\U0001F642]", ["é", "ê", "🙂"], ["e", "ì"]),
    (r'root ::= "\x41\n\"\\" [\]\[]', ['A\n"\\]', 'A\n"\\['], ["A\\n"]),
    ("root ::= .", ["\n", "日"], ["", "ab"]),
    (r"root ::= [^\UFFFFFFF0-\UFFFFFFFF]", ["a"], ["\x00"]),
])
def test_sets_and_escapes_mean_what_they_mean_in_llama_cpp(text: str, words: list[str], others: list[str]) -> None:
    language = parse_gbnf(text)
    assert [word for word in words + others if accepts(language, word)] == words


def test_a_file_is_known_by_its_name_and_the_hash_of_its_text(tmp_path: Path) -> None:
    path = tmp_path / "x.gbnf"
    path.write_text('root ::= "a"\n', encoding="utf-8")
    one = read_grammar(path)
    assert (one.name, accepts(one.language, "a")) == ("x.gbnf", True)
    path.write_text('root ::= "a" \n', encoding="utf-8")
    assert read_grammar(path).sha256 != one.sha256 and len(one.sha256) == 64
    with pytest.raises(GrammarError, match="can't be read"):
        read_grammar(tmp_path / "none.gbnf")
