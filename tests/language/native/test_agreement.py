"""The native formats are defined once: what the language draws the strict reader reads, what the writer writes the language
takes, and the engines accept what the recogniser does.

The engines read bytes one by one here.
"""

from __future__ import annotations

import ast
import json
import keyword
import random
import re

import llguidance
import pytest

from local_react.errors import GrammarError
from local_react.language.derivative import Recogniser, accepts, random_word
from local_react.language.emit import to_gbnf, to_lark
from local_react.language.fit import UNFIT, fit
from local_react.language.native.formats import ESCAPE, FORMATS, NativeFormat
from local_react.language.native.language import answer_language, call_language, message_language
from local_react.language.native.read import call_end, read_message
from local_react.language.native.write import write_native_call
from local_react.language.regular import EMPTY
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.step import Answer, Call
from local_react.language.types import Text
from local_react.llama.grammar import NativeGrammar
from local_react.llama.model import Model
from local_react.llama.vocabulary import Vocabulary
from tests.random_models import make_model
from tests.test_agreement import mutate, plain
from tests.toolboxes import FLAT, NESTED, RAW, draw_arguments

BOXES = {"raw": RAW, "flat": FLAT, "nested": NESTED}
N_WORDS = 250

each_format = pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS)
each_box = pytest.mark.parametrize("box", BOXES)


def tools_of(box: str) -> Signatures:
    return {tool.name: tool for tool in BOXES[box]}


@each_box
@each_format
def test_every_drawn_call_is_read_strictly_and_written_back_to_the_same_meaning(format: NativeFormat, box: str) -> None:
    tools = tools_of(box)
    language, source = call_language(format, tools), random.Random(f"{format.name} {box}")
    seen = set()
    for _ in range(N_WORDS):
        word = random_word(language, source).decode()
        read = read_message(word, format, tools, strict=True)
        assert isinstance(read, Call), (word, read)
        signature = tools[read.name]
        seen.add(read.name)
        assert [p.name for p in signature.parameters if p.name in read.arguments] == list(read.arguments)
        assert all(fit(v, signature.parameter(k).type, []) is not UNFIT for k, v in read.arguments.items())
        again = write_native_call(read.name, read.arguments, signature, format)
        reread = read_message(again, format, tools, strict=True)
        assert plain(dict(reread.arguments)) == plain(dict(read.arguments)), (word, again)
        assert call_end(word, format) == len(word)
    assert seen == set(tools)


@each_box
@each_format
def test_every_valid_call_is_written_to_a_word(format: NativeFormat, box: str) -> None:
    tools = tools_of(box)
    language, source = call_language(format, tools), random.Random(f"calls {format.name} {box}")
    n_written = 0
    for _ in range(N_WORDS):
        signature = source.choice(list(tools.values()))
        arguments = draw_arguments(signature, source)
        try:
            word = write_native_call(signature.name, arguments, signature, format)
        except ValueError:
            assert format.notation == "escaped"
            continue
        if format.notation == "escaped" and is_not_drawn(arguments, signature):
            continue
        n_written += 1
        assert accepts(language, word), word
        read = read_message(word, format, tools, strict=True)
        assert isinstance(read, Call) and plain(dict(read.arguments)) == plain(
            {p.name: arguments[p.name] for p in signature.parameters if p.name in arguments}
        )
    assert n_written > N_WORDS / 3


def is_not_drawn(arguments: dict, signature: Signature) -> bool:
    """The two kinds of values that the format without escapes can hold, and that its language doesn't draw."""
    limited = [p.name for p in signature.parameters if p.type != Text() and p.name in arguments]
    written = json.dumps(arguments)
    has_control = re.search(r"\\u00[0189]|\\u007f|\\u202[89]|\\[bf]", written) is not None
    return has_control or any("<" in json.dumps(arguments[name]) for name in limited)


@each_format
def test_every_drawn_message_is_read_strictly_to_a_call_with_its_thought_or_to_an_answer(format: NativeFormat) -> None:
    tools = tools_of("flat")
    language, source = message_language(format, tools), random.Random(f"messages {format.name}")
    calls, answers, thoughts = 0, 0, 0
    for _ in range(N_WORDS):
        word = random_word(language, source).decode()
        read = read_message(word, format, tools, strict=True)
        assert isinstance(read, Call | Answer), (word, read)
        calls += isinstance(read, Call)
        answers += isinstance(read, Answer)
        thoughts += read.thought is not None
        assert not isinstance(read, Answer) or read.text == word.strip()
    assert min(calls, answers) > N_WORDS / 5 and thoughts > 0


@each_format
def test_a_message_may_have_to_be_an_answer_or_to_hold_a_call(format: NativeFormat) -> None:
    tools, source = tools_of("flat"), random.Random(format.name)
    only_answer = message_language(format, tools, only_answer=True)
    only_call = message_language(format, tools, allow_answer=False)
    for _ in range(100):
        answer = random_word(only_answer, source).decode()
        call = random_word(only_call, source).decode()
        assert isinstance(read_message(answer, format, tools, strict=True), Answer)
        assert isinstance(read_message(call, format, tools, strict=True), Call)
        assert not accepts(only_answer, call)
    assert accepts(answer_language(400), "Ann lives in Nantes.\n\n- and <3 of [1] works {too}")


@each_format
def test_grounded_parameters_take_what_was_seen_and_tools_without_any_are_not_called(format: NativeFormat) -> None:
    tools = tools_of("raw")
    key = ("web_search", "query")
    language = call_language(format, tools, grounded={key: ('a "b"', "it's")}, callable_tools=["web_search"])
    words = {random_word(language, random.Random(seed)).decode() for seed in range(30)}
    read = {read_message(word, format, tools, strict=True).arguments["query"] for word in words}
    assert read == {'a "b"', "it's"}
    assert call_language(format, tools, grounded={key: ()}, callable_tools=["web_search"]) is EMPTY
    assert message_language(format, tools, grounded={key: ()}, callable_tools=["web_search"]) is answer_language(400)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Vocabulary:
    with Model.load(make_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf"), n_threads=1) as model:
        yield model.vocabulary


@each_format
def test_the_engines_take_and_refuse_the_same_bytes_as_the_recogniser(format: NativeFormat, vocabulary: Vocabulary) -> None:
    """Byte by byte; a mutation is followed up to the byte that is refused."""
    tools = {name: tool for name, tool in tools_of("flat").items() if name in ("web_search", "pick", "now")}
    language, source = message_language(format, tools), random.Random(f"engines {format.name}")
    grammar = NativeGrammar(to_gbnf(language), vocabulary)
    lark = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), to_lark(language))
    assert not lark.is_error(), lark.get_error()
    n_refused = 0
    for _ in range(25):
        word = random_word(language, source)
        for data in (word, mutate(word, source)):
            place, native, matcher = Recogniser(language), grammar.copy(), lark.deep_copy()
            for byte in data:
                place = place.feed(bytes((byte,)))
                (token,) = vocabulary.tokenize(bytes((byte,)))
                assert native.allows(token) == (matcher.validate_tokens([byte]) == 1) == (not place.is_dead), (data, byte)
                if place.is_dead:
                    n_refused += 1
                    break
                native.accept(token)
                matcher.consume_tokens([byte])
    assert n_refused > 5


@pytest.mark.parametrize("format", [FORMATS["gemma"], FORMATS["lfm2"], FORMATS["pythonic"]], ids=lambda format: format.name)
def test_names_that_a_format_cannot_write_are_refused(format: NativeFormat) -> None:
    tools = {"a b": Signature("a b", "", (Parameter("x", Text()),))}
    with pytest.raises(GrammarError, match="'a b' can't be written in the format"):
        call_language(format, tools)


def test_a_text_that_holds_the_mark_is_refused_by_the_writer_and_not_drawn() -> None:
    format, signature = FORMATS["gemma"], RAW[0]
    language = call_language(format, {signature.name: signature})
    with pytest.raises(ValueError, match="can't be written"):
        write_native_call(signature.name, {"query": f"a{ESCAPE}b"}, signature, format)
    for text in ("<", "<<", "<escape", "<esc", "a<escape<escape", "<e<", ">", "<<e>"):
        word = write_native_call(signature.name, {"query": text}, signature, format)
        assert accepts(language, word), word
        assert read_message(word, format, {signature.name: signature}, strict=True).arguments == {"query": text}
    assert not accepts(language, "<start_function_call>call:web_search{query:<escape>a<escape>b<escape>}<end_function_call>")


def test_python_literals_are_those_of_python() -> None:
    source = random.Random(3)
    for _ in range(300):
        tool = source.choice(FLAT)
        arguments = draw_arguments(tool, source)
        word = write_native_call("f", arguments, tool, FORMATS["pythonic"])
        if all(name.isidentifier() and not keyword.iskeyword(name) for name in arguments):
            call = ast.parse(word, mode="eval").body.elts[0]
            assert plain({k.arg: ast.literal_eval(k.value) for k in call.keywords}) == plain(arguments)
