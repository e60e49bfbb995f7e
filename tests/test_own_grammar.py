"""A grammar of the user's own: what of a step it describes, what is refused before a run, and that every text keeps to it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_react import Answer, Call, GrammarError, Guards, Malformed, Model, Protocol, Sampling, SettingsError, Trace, run
from local_react.decode.grammar_file import GrammarFile, parse_gbnf, read_grammar
from local_react.language.derivative import Recogniser, accepts
from local_react.language.protocol import PRESETS
from local_react.own_grammar import OwnGrammar
from local_react.replay import replay
from local_react.tools.toolbox import Toolbox
from local_react.trace import read_pieces
from tests.test_steering import TOOLS, ids

GRAMMARS = Path(__file__).parents[1] / "grammars"
TOOLBOX = Toolbox(TOOLS)

CALL = 'root ::= " web_search[" word "]" | " add[a=" number ", b=" number "]" | " finish[" word "]"\n'
RULES = 'word ::= [a-z日é🙂]{1,12}\nnumber ::= "0" | "-"? [1-9] [0-9]{0,4}\n'
NESTED = 'root ::= " web_search[" nest "]" | " finish[" nest "]"\nnest ::= "(" nest nest? ")" | [a-z日]{1,3}\n'
STEP = 'root ::= "Thought: " [a-z ]{1,20} "\\nAction: " ("web_search[" [a-z]+ "]" | "finish[" [a-z]+ "]")\n'


def own(text: str, protocol: str = "finish", *, is_thought_free: bool = True) -> OwnGrammar:
    return OwnGrammar(GrammarFile("own.gbnf", "", parse_gbnf(text)), PRESETS[protocol], is_thought_free)


def play(model: Model, path: Path, **options: Any) -> Trace:
    settings = {"max_steps": 3, "max_thought_tokens": 8, "max_step_tokens": 60, "final_answer": False, "repeated_calls": False}
    guards = Guards(max_malformed=None, **settings | options.pop("guards", {}))
    return run("What is it?", model=model, tools=options.pop("tools", TOOLS), exemplars=(), guards=guards, grammar=path, **options)


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "own.gbnf"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(("text", "protocol", "cover"), [
    (STEP, "finish", "step"), ('root ::= "Action: a[b]"', "finish", "line"), ('root ::= "Action: a[b]"', "act", "step"),
    (CALL + RULES, "finish", "call"), (CALL + RULES, "act", "call"), ('root ::= "Answer: x"', "answer", "line"),
    ('root ::= "Answer: x"', "finish", "call"), ('root ::= "Thought 1: x\\nAction 1: a[b]"', "numbered", "step"),
])
def test_what_it_describes_is_told_from_what_it_can_begin_with(text: str, protocol: str, cover: str) -> None:
    assert own(text, protocol).cover == cover


@pytest.mark.parametrize("protocol", [name for name in PRESETS if name != "native"])
@pytest.mark.parametrize("is_thought_free", [True, False])
def test_the_written_grammars_serve_every_reach(protocol: str, is_thought_free: bool) -> None:
    grammar = OwnGrammar(read_grammar(GRAMMARS / f"{protocol}.gbnf"), PRESETS[protocol], is_thought_free)
    grammar.check(10)
    assert list(grammar.doubts(TOOLBOX)) == []


def test_a_thought_that_the_grammar_has_is_followed_and_another_is_taken_for_one() -> None:
    text = 'root ::= "Thought: " ("a\\nAction: web_search[a]" | "b\\nAction: web_search[b]")'
    grammar = own(text)
    assert Recogniser(grammar.language(1, b" b\nAction:")).shortest() == b" web_search[b]"
    assert Recogniser(grammar.language(1, b" hm\xff\nAction:")).shortest() == b" web_search[a]"
    assert Recogniser(own(text, is_thought_free=False).language(1)).shortest() == b" a\nAction: web_search[a]"


@pytest.mark.parametrize(("text", "protocol", "is_thought_free", "match"), [
    (CALL + RULES, "finish", False, "doesn't describe a whole step"),
    (CALL + RULES, "answer", True, "must begin with `Action:` or `Answer:`"),
    ('root ::= "Thought: done"', "finish", True, "no line of thought with `Action:`"),
    ('root ::= "Thought 1: x\\nAction 1: a[b]"', "numbered", True, "can't begin step 2"),
    ('root ::= "Action 1: a[b]"', "numbered", True, "no action in step 2"),
])
def test_what_it_cannot_serve_is_refused(text: str, protocol: str, is_thought_free: bool, match: str) -> None:
    with pytest.raises(SettingsError, match=match):
        own(text, protocol, is_thought_free=is_thought_free).check(10)


@pytest.mark.parametrize(("text", "match"), [
    ("root ::= [a-z]+", "None of 30 words"), ('root ::= "Thought: done"', "None of 30 words"),
    ('root ::= " nowhere[" [a-z]+ "]"', "neither a call of any of the tools nor an answer"),
])
def test_what_looks_wrong_is_told(text: str, match: str) -> None:
    (doubt,) = own(text).doubts(TOOLBOX)
    assert match in doubt


def test_a_sound_grammar_raises_no_doubts_but_that_it_grounds_nothing() -> None:
    assert list(own(CALL + RULES).doubts(TOOLBOX)) == []
    (doubt,) = own(NESTED.replace("web_search", "lookup")).doubts(Toolbox(ids()))
    assert "grounded parameters of lookup, pay, remember" in doubt


@pytest.mark.parametrize("engine", ["llguidance", "gbnf"])
@pytest.mark.parametrize("text", [CALL + RULES, NESTED], ids=["flat", "nested"])
def test_every_text_is_a_word_of_the_grammar_in_every_budget(tiny_model: Model, written, engine: str, text: str) -> None:
    path, language = written(text), parse_gbnf(text)
    for seed, budget in enumerate(range(smallest_budget(tiny_model, path), 60, 13)):
        sampling = Sampling(temperature=[0, 0.7, 2][seed % 3], seed=seed)
        trace = play(tiny_model, path, engine=engine, sampling=sampling, guards={"max_step_tokens": budget})
        for event in trace.completions:
            assert event["reason"] == "constraint"
            pieces = read_pieces(event["pieces"])[event["n_thought_pieces"] :]
            assert accepts(language, b"".join(pieces).removeprefix(b"\n").removeprefix(b"Action:"))
            assert len(event["pieces"]) <= budget + 8, "the label isn't counted"
        assert all(isinstance(step.action, (Call, Answer)) for step in trace.steps)
        replayed = replay(trace)
        actions = [[replace(step.action, thought=None) for step in each.steps] for each in (trace, replayed)]
        assert actions[0] == actions[1] and replayed.ending == trace.ending


def smallest_budget(model: Model, path: Path) -> int:
    for budget in itertools.count(1):
        try:
            play(model, path, guards={"max_step_tokens": budget, "max_steps": 1})
        except SettingsError as error:
            assert "too small" in str(error)
            continue
        return budget
    raise AssertionError


@pytest.mark.parametrize("engine", ["llguidance", "gbnf"])
@pytest.mark.parametrize("protocol", [name for name in PRESETS if name != "native"])
def test_whole_steps_are_words_of_the_written_grammars(tiny_model: Model, engine: str, protocol: str) -> None:
    path, wire = GRAMMARS / f"{protocol}.gbnf", Protocol.preset(protocol)
    language = read_grammar(path).language
    for seed in range(2):
        sampling = Sampling(temperature=[0, 2][seed], seed=seed)
        trace = play(tiny_model, path, engine=engine, protocol=protocol, constrain="step", sampling=sampling)
        for event in trace.completions:
            assert accepts(language, wire.label(wire.opening, event["step"]) + event["text"])
        forms = {step.action.code for step in trace.steps if isinstance(step.action, Malformed)}
        assert forms <= {"unknown_tool", "empty_answer"}


def test_outlines_takes_a_grammar_without_brackets_in_brackets_and_refuses_others(tiny_model: Model, written) -> None:
    trace = play(tiny_model, written(CALL + RULES), engine="outlines", sampling=Sampling(temperature=2.0, seed=1))
    assert all(isinstance(step.action, (Call, Answer)) for step in trace.steps)
    with pytest.raises(GrammarError, match="engines llguidance and gbnf can"):
        play(tiny_model, written(NESTED), engine="outlines")


def test_a_run_tells_its_doubts_and_records_the_grammar(tiny_model: Model, written) -> None:
    path, events = written('root ::= " nowhere[" [a-z]+ "]"'), []
    with pytest.warns(UserWarning, match="neither a call of any of the tools"):
        play(tiny_model, path)
    trace = play(tiny_model, path, on_event=events.append)
    notes = [event["text"] for event in events if event["event"] == "note"]
    doubts = list(own(path.read_text()).doubts(TOOLBOX))
    assert doubts and [note for note in notes if "grammar" in note] == doubts
    recorded = trace.events[0]["settings"]["grammar"]
    assert recorded == {"name": "own.gbnf", "sha256": read_grammar(path).sha256, "cover": "call"}
    assert trace.events[0]["settings"]["constrain"] == "action"


@pytest.mark.parametrize(("options", "error", "match"), [
    ({"ground": True}, SettingsError, "Give `ground` or `grammar`, not both"),
    ({"constrain": "step"}, SettingsError, "doesn't describe a whole step"),
    ({"protocol": "native"}, SettingsError, "label"),
])
def test_options_that_do_not_go_with_it_are_refused(tiny_model: Model, written, options, error, match: str) -> None:
    with pytest.raises(error, match=match):
        play(tiny_model, written(CALL + RULES), **options)


def test_a_bad_file_is_refused_before_anything_is_decoded(tiny_model: Model, written) -> None:
    with pytest.raises(GrammarError, match="line 1, rule root"):
        play(tiny_model, written("root ::= my_rule"))
