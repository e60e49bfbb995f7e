"""The language is defined once: what the grammar draws the strict parser reads, what the writer writes the grammar takes,
and every engine refuses and accepts what the recogniser does.

The engines read bytes one by one here; their tokens are another matter.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import llguidance
import outlines_core
import pytest

from local_react.language.arguments import write_answer, write_call
from local_react.language.derivative import Recogniser, accepts, random_word
from local_react.language.emit import to_gbnf, to_lark, to_regex
from local_react.language.fit import UNFIT, fit
from local_react.language.grammar import Bounds, action_language, line_language, step_language
from local_react.language.parse import parse_step
from local_react.language.protocol import PRESETS, Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Answer, Call
from local_react.llama.grammar import NativeGrammar
from local_react.llama.model import Model
from local_react.llama.vocabulary import Vocabulary
from tests.random_models import make_model
from tests.toolboxes import FLAT, NASTY, NESTED, RAW, draw_arguments

BOXES = {
    "raw": (RAW, "keyword"), "keyword": (FLAT, "keyword"), "positional": (FLAT, "positional"), "json": (NESTED, "keyword"),
}
"""A toolbox for each encoding, and the argument style that leads to it."""

some_and_many = pytest.mark.parametrize("n_words", [1_000, pytest.param(5_000, marks=pytest.mark.slow)])
few_and_some = pytest.mark.parametrize("n_words", [60, pytest.param(250, marks=pytest.mark.slow)])
each_encoding = pytest.mark.parametrize("encoding", [*BOXES, "flat json"])


def box(encoding: str) -> tuple[Protocol, Signatures]:
    tools, style = BOXES.get(encoding, (FLAT, "json"))
    return Protocol.preset("finish", arguments=style), {tool.name: tool for tool in tools}


def plain(value: Any) -> Any:
    """The value with its types spelled out, for True == 1 == 1.0."""
    match value:
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
    return type(value).__name__, value


@some_and_many
@each_encoding
def test_every_word_is_read_strictly_to_a_call_that_writes_back_to_the_same_meaning(encoding: str, n_words: int) -> None:
    protocol, tools = box(encoding)
    language, source = line_language(protocol, tools), random.Random(f"words {encoding}")
    seen = set()
    for _ in range(n_words):
        word = random_word(language, source).decode()
        read = parse_step(word, protocol, tools, strict=True)
        match read:
            case Call(name, arguments):
                seen.add(name)
                signature = tools[name]
                assert [p.name for p in signature.parameters if p.name in arguments] == list(arguments)
                assert all(fit(v, signature.parameter(k).type, []) is not UNFIT for k, v in arguments.items())
                again = f"{protocol.label('action')} {write_call(name, arguments, signature, protocol.arguments)}"
            case Answer(text):
                seen.add(protocol.finish)
                again = f"{protocol.label('action')} {protocol.finish}[{write_answer(text)}]"
            case _:
                pytest.fail(f"{word!r} is read as {read}")
        reread = parse_step(again, protocol, tools, strict=True)
        assert reread == read, (word, again)
        assert not isinstance(read, Call) or plain(dict(reread.arguments)) == plain(dict(read.arguments))
    assert seen == {*tools, protocol.finish}


@some_and_many
@each_encoding
def test_every_valid_call_is_written_to_a_word(encoding: str, n_words: int) -> None:
    protocol, tools = box(encoding)
    language, source = action_language(protocol, tools), random.Random(f"calls {encoding}")
    for _ in range(n_words):
        signature = source.choice(list(tools.values()))
        arguments = draw_arguments(signature, source)
        word = " " + write_call(signature.name, arguments, signature, protocol.arguments)
        assert accepts(language, word), word


@pytest.mark.parametrize("first", NASTY)
def test_every_answer_is_written_to_a_word(first: str) -> None:
    language = action_language(PRESETS["finish"], {})
    for text in [first, *(first + other for other in NASTY), *(first + " x " + other for other in NASTY[::3])]:
        assert accepts(language, f" finish[{write_answer(text)}]") == bool(text.strip()), text


@pytest.mark.parametrize("n_words", [250, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PRESETS)
def test_whole_steps_are_read_strictly_behind_their_label(name: str, n_words: int) -> None:
    protocol = PRESETS[name]
    _, tools = box("keyword")
    language, source = step_language(protocol, tools, number=2), random.Random(f"steps {name}")
    for _ in range(n_words):
        word = random_word(language, source).decode()
        read = parse_step(word, protocol, tools, strict=True, primed=protocol.label(protocol.opening, 2))
        assert isinstance(read, Call | Answer), (word, read)
        assert (read.thought is None) == (protocol.thought is None)
        assert protocol.has_tools or isinstance(read, Answer)


def mutate(word: bytes, source: random.Random) -> bytes:
    """The word with one byte changed, left out or put in."""
    place, kind = source.randrange(len(word)), source.randrange(3)
    byte = bytes((source.choice(b'"\\[],{}= :a0<\xe6\x97'),)) if kind != 0 else bytes((source.randrange(256),))
    return word[:place] + (b"" if kind == 1 else byte) + word[place + (kind != 2) :]


def reach(language: Regular, word: bytes) -> tuple[int, bool]:
    """How many bytes are taken, and whether a word may end behind them."""
    place = Recogniser(language)
    for index in range(len(word)):
        following = place.feed(word[index : index + 1])
        if following.is_dead:
            return index, place.accepts
        place = following
    return len(word), place.accepts


def words_and_mutations(language: Regular, n: int, seed: str) -> list[bytes]:
    source = random.Random(seed)
    words = [random_word(language, source) for _ in range(n)]
    return [*words, *(mutate(word, source) for word in words for _ in range(3))]


def check(language: Regular, words: list[bytes], engine: Callable[[bytes], tuple[int, bool]]) -> None:
    for word in words:
        assert engine(word) == reach(language, word), word


def through_llguidance(language: Regular) -> Callable[[bytes], tuple[int, bool]]:
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(to_lark(language)))
    assert not matcher.is_error(), matcher.get_error()

    def run(word: bytes) -> tuple[int, bool]:
        matcher.reset()
        return matcher.try_consume_tokens(list(word)), matcher.is_accepting()

    return run


def through_gbnf(language: Regular, vocabulary: Vocabulary) -> Callable[[bytes], tuple[int, bool]]:
    grammar = NativeGrammar(to_gbnf(language), vocabulary)
    tokens = {vocabulary.piece(token): token for token in range(vocabulary.n_tokens)}
    end = next(token for token in range(vocabulary.n_tokens) if vocabulary.is_end(token))

    def run(word: bytes) -> tuple[int, bool]:
        state, n_taken = grammar.copy(), 0
        while n_taken < len(word) and state.allows(tokens[word[n_taken : n_taken + 1]]):
            state.accept(tokens[word[n_taken : n_taken + 1]])
            n_taken += 1
        return n_taken, state.allows(end)

    return run


def through_outlines(language: Regular) -> Callable[[bytes], tuple[int, bool]]:
    vocabulary = outlines_core.Vocabulary(256, {bytes((byte,)): [byte] for byte in range(256)})
    index = outlines_core.Index(to_regex(language), vocabulary)

    def run(word: bytes) -> tuple[int, bool]:
        guide, n_taken = outlines_core.Guide(index), 0
        while n_taken < len(word) and word[n_taken] in guide.get_tokens():
            guide.advance(word[n_taken])
            n_taken += 1
        return n_taken, guide.is_finished()

    return run


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory):
    with Model.load(make_model(tmp_path_factory.mktemp("bytes") / "bytes.gguf"), n_threads=1) as model:
        yield model.vocabulary


@few_and_some
@each_encoding
def test_llguidance_takes_and_refuses_what_the_recogniser_does(encoding: str, n_words: int) -> None:
    language = line_language(*box(encoding))
    check(language, words_and_mutations(language, n_words, f"llguidance {encoding}"), through_llguidance(language))


@pytest.mark.parametrize("n_words", [25, pytest.param(100, marks=pytest.mark.slow)])
@each_encoding
def test_llama_cpp_takes_and_refuses_what_the_recogniser_does(encoding: str, n_words: int, vocabulary: Vocabulary) -> None:
    language = line_language(*box(encoding))
    words = words_and_mutations(language, n_words, f"gbnf {encoding}")
    # llama.cpp takes some sequences of bytes that are no UTF-8; its engine has to refuse them itself.
    check(language, [word for word in words if _is_utf8(word)], through_gbnf(language, vocabulary))


@pytest.mark.parametrize("tool", [RAW[0], RAW[2], RAW[3], FLAT[0], FLAT[-1]], ids=lambda tool: tool.name)
def test_outlines_takes_and_refuses_what_the_recogniser_does(tool: Signature) -> None:
    # Only tools without counted texts: from those its index explodes.
    bounds = Bounds(max_text=None, depth=1, group_depth=0)
    language = line_language(PRESETS["finish"], {tool.name: tool}, allow_answer=False, bounds=bounds)
    check(language, words_and_mutations(language, 50, f"outlines {tool.name}"), through_outlines(language))


def _is_utf8(word: bytes) -> bool:
    return word == word.decode("utf-8", "ignore").encode()


@pytest.mark.parametrize("n_words", [25, pytest.param(100, marks=pytest.mark.slow)])
def test_the_lines_of_the_answer_protocol_hold_in_all_engines(n_words: int, vocabulary: Vocabulary) -> None:
    _, tools = box("keyword")
    language = line_language(PRESETS["answer"], tools)
    words = words_and_mutations(language, n_words, "answer")
    check(language, words, through_llguidance(language))
    check(language, [word for word in words if _is_utf8(word)], through_gbnf(language, vocabulary))
