"""Wire formats: presets, labels and stops, and which protocols are refused."""

from __future__ import annotations

import ast
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

import local_react
from local_react.errors import SettingsError
from local_react.language.parse import parse_step
from local_react.language.protocol import AUTO, CONTROL_TOKEN, NULL_ACTIONS, PRESETS, RESERVED_NAMES, Protocol, Stop, presets
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call
from local_react.language.types import Text

TOOLS = {"search": Signature("search", "", (Parameter("query", Text()),))}

ROWS = [
    # preset, opening, labels of step 3 (thought, action, observation, notice), ending word, whether there are tools
    ("finish", "thought", ("Thought:", "Action:", "Observation:", "Notice:"), "finish", True),
    ("numbered", "thought", ("Thought 3:", "Action 3:", "Observation 3:", "Notice:"), "finish", True),
    ("answer", "thought", ("Thought:", "Action:", "Observation:", "Notice:"), None, True),
    ("act", "action", (None, "Action:", "Observation:", "Notice:"), "finish", True),
    ("think", "thought", ("Thought:", "Action:", "Observation:", "Notice:"), "finish", False),
]


@pytest.mark.parametrize(("name", "opening", "labels", "finish", "has_tools"), ROWS)
def test_the_presets_are_those_of_the_design(name: str, opening: str, labels: tuple, finish: Any, has_tools: bool) -> None:
    protocol = Protocol.preset(name)
    assert (protocol.name, protocol.opening, protocol.finish, protocol.has_tools) == (name, opening, finish, has_tools)
    for kind, label in zip(("thought", "action", "observation", "notice"), labels):
        if label is None:
            assert kind not in protocol.words
        else:
            assert protocol.label(kind, 3) == label
    assert protocol.label("question", 3) == "Question:"
    assert (protocol.answer is None) == (finish is not None)


def test_the_default_comes_first() -> None:
    assert list(presets()) == [*(row[0] for row in ROWS), "native"]
    assert Protocol.preset(next(presets())) == Protocol()


def test_the_native_preset_is_changed_to_a_format() -> None:
    assert Protocol.preset("native").native == AUTO
    assert Protocol.preset("native", native="hermes").native == "hermes"


def test_a_preset_can_be_changed_and_stays_as_it_was() -> None:
    changed = Protocol.preset("numbered", arguments="json", thought="Idea")
    assert (changed.numbered, changed.arguments, changed.thought) == (True, "json", "Idea")
    assert PRESETS["numbered"].thought == "Thought"
    with pytest.raises(FrozenInstanceError):
        changed.thought = "x"  # type: ignore[misc]
    assert replace(changed, thought="Thought", arguments="keyword") == PRESETS["numbered"]


@pytest.mark.parametrize("name", ["xml", "", "Finish", "native "])
def test_an_unknown_preset_is_refused_with_the_names_there_are(name: str) -> None:
    with pytest.raises(SettingsError, match="finish, numbered, answer, act, think"):
        Protocol.preset(name)


def test_an_unknown_field_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="labels"):
        Protocol.preset("finish", labels="x")


REFUSED = [
    ({"finish": None}, "exactly one"),
    ({"answer": "Answer"}, "exactly one"),
    ({"answer": "Answer", "finish": "finish", "name": "both"}, "exactly one"),
    ({"arguments": "xml"}, "no argument style"),
    ({"thought": "Action"}, "different words"),
    ({"thought": "ACTION"}, "different words"),
    ({"notice": "observation"}, "different words"),
    ({"question": "Question "}, "outer blanks"),
    ({"action": ""}, "different words"),
    ({"action": "Act\nion"}, "one line"),
    ({"action": "Act\u2028ion"}, "one line"),
    ({"action": "Action:"}, "colon"),
    ({"finish": ""}, "can't be called"),
    ({"finish": "fin[ish"}, "can't be called"),
    ({"finish": "the end"}, "can't be called"),
    ({"aliases": {"Aktion": "act"}}, "kinds of labels are question, thought, action"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_a_protocol_that_could_not_be_read_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        Protocol(**changes)


def test_labels_and_finish_may_be_words_of_any_language() -> None:
    protocol = Protocol(thought="Gedanke", action="Aktion", observation="Beobachtung", finish="完了")
    text = " weil\nAktion: 完了[ja]"
    assert parse_step(text, protocol, {}, strict=True, primed="Gedanke:") == Answer("ja", "weil")


def test_aliases_are_read_leniently_and_never_written() -> None:
    protocol = Protocol(aliases={"Aktion": "action", "Gedanke": "thought"})
    text = "Gedanke: weil\nAktion: search[x]"
    assert parse_step(text, protocol, TOOLS) == Call("search", {"query": "x"}, "weil")
    assert not isinstance(parse_step(text, protocol, TOOLS, strict=True), Call)
    assert protocol.label("action") == "Action:"
    assert "Aktion" not in {stop.label for stop in protocol.stops()}


def test_a_generation_stops_at_the_labels_that_only_the_program_writes() -> None:
    assert Protocol().stops() == (Stop(label="Observation"), Stop(label="Notice"), Stop(label="Question"))
    numbered = Protocol.preset("numbered").stops()
    assert numbered == (Stop(label="Observation", numbered=True), Stop(label="Notice"), Stop(label="Question"))
    renamed = Protocol(observation="Result", notice="Hint", question="Task")
    assert [stop.label for stop in renamed.stops()] == ["Result", "Hint", "Task"]


def test_notices_may_be_written_as_observations() -> None:
    assert Protocol(notices_as_observation=True).label("notice", 2) == "Observation:"
    assert Protocol.preset("numbered", notices_as_observation=True).label("notice", 2) == "Observation 2:"
    assert Protocol(notices_as_observation=True).stops() == Protocol().stops()


@pytest.mark.parametrize(
    "text", ["<|im_end|>", "<|eot_id|>", "</s>", "<end_of_turn>", "<start_of_turn>", "<eos>", "<｜end▁of▁sentence｜>"]
)
def test_chat_control_tokens_are_known(text: str) -> None:
    assert re.fullmatch(CONTROL_TOKEN, text)


@pytest.mark.parametrize("text", ["<|>", "<s>", "<b>", "<|a b|>", "< /s>", "a <| b"])
def test_other_text_is_no_control_token(text: str) -> None:
    assert re.search(CONTROL_TOKEN, text) is None


def test_reserved_words_are_lower_case_and_bare() -> None:
    """They are compared so."""
    assert all(word == word.lower().strip() for word in NULL_ACTIONS | RESERVED_NAMES)
    assert {Protocol().finish, "answer", "none"} == RESERVED_NAMES


def test_no_label_is_spelled_outside_of_the_protocol() -> None:
    package = Path(local_react.__file__).parent
    words = "|".join(sorted({word for name in presets() for word in Protocol.preset(name).words.values()}))
    label = re.compile(rf"(?:^|\n)(?:{words})(?: \d+)?:")
    found = []
    for path in package.rglob("*.py"):
        if path.name == "protocol.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        found += [
            f"{path.name}:{node.lineno}: {node.value!r}" for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings
            and label.search(node.value)
        ]
    assert found == []
