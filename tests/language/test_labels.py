"""Labels: where they are found, where they are content, and what they take to be read."""

from __future__ import annotations

import pytest

from local_react.language.labels import find_labels, match_label
from local_react.language.protocol import Protocol

PLAIN, NUMBERED = Protocol.preset("answer"), Protocol.preset("numbered")


@pytest.mark.parametrize(
    ("text", "protocol", "repairs"),
    [
        ("Action: x", PLAIN, ()),
        ("Action 12: x", NUMBERED, ()),
        ("Action: x", NUMBERED, ()),
        ("Action12: x", NUMBERED, ("step_number",)),
        ("**action 1** ：x", PLAIN, ("bold_label", "label_case", "step_number", "label_blank", "fullwidth_colon")),
        ("- `Action`: x", PLAIN, ("label_mark", "backtick_label")),
    ],
)
def test_a_label_names_what_it_takes_to_be_read(text: str, protocol: Protocol, repairs: tuple[str, ...]) -> None:
    label = match_label(text, 0, protocol)
    assert label is not None
    assert (label.kind, label.repairs) == ("action", repairs)
    assert text[label.end :].strip() == "x"


@pytest.mark.parametrize(
    "text", ["Actions: x", "Action x", "Action", "My Action: x", "Action taken: x",
             "     Action: x", "Aktion: x", "ſ:"],
)
def test_other_words_are_no_labels(text: str) -> None:
    assert match_label(text, 0, PLAIN) is None


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Thought: a Action: b\nAction: c[d]", ["thought", "action"]),
        ('Action: a["\nAnswer: b"]\nAnswer: c', ["action", "answer"]),
        ("Action: a[b\nAnswer: c]", ["action", "answer"]),
        ("Answer: a\n```\nAction: b[c]\n```\nThought: d", ["answer", "thought"]),
        ("Answer: a\n- Action: b\naction: c\n**Action:** d", ["answer", "action"]),
        ("Thought: a\nObservation: b\nAction: c[d]", ["thought"]),
        ("Thought: a\nNotice: b\nAction: c[d]", ["thought"]),
        ("Thought: a</s>\nAction: c[d]", ["thought"]),
        ("Answer: a\nObservations: b", ["answer"]),
    ],
)
def test_labels_are_found_at_line_starts_and_outside_of_content(text: str, kinds: list[str]) -> None:
    assert [label.kind for label in find_labels(text, PLAIN, ()).labels] == kinds


def test_tools_with_odd_names_are_called_by_them() -> None:
    (label,) = find_labels('Action: say"hi"[a [b]]', PLAIN, ('say"hi"',)).labels
    assert label.shape is not None
    assert (label.shape.name, label.shape.close) == ('say"hi"', 21)
