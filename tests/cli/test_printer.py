"""The printer: every way of cutting a text into pieces looks the same."""

import io
from dataclasses import asdict

import pytest
from hypothesis import given, strategies as st
from rich.console import Console

from local_react.cli.printer import Printer
from local_react.cli.streams import Hint, open_console
from local_react.language.protocol import Protocol


def show(events, protocol="finish", colour=False):
    file = io.StringIO()
    console = Console(file=file, color_system="standard" if colour else None, force_terminal=colour)
    printer = Printer(console, Hint(open_console(None)))
    printer.show({"event": "start", "protocol": asdict(Protocol.preset(protocol))})
    for event in events:
        printer.show(event)
    printer.leave_line()
    return file.getvalue()


def stream(*pieces, step=1):
    return [*({"event": "delta", "step": step, "text": piece} for piece in pieces), {"event": "completion", "step": step}]


STYLED = [
    (" I think.\nAction: f[x]\n", ["Action: f[x]"]),
    (" I think.\n**Action:** f[x]\n", ["**Action:** f[x]"]),
    (" Act now\nActivity: f[x]\n", []),
    (" one\nAc", []),
    (" no action: here", []),
]


def bold(output):
    """The text that stands in bold, line by line."""
    shown, is_bold = "", False
    for part in output.split("\x1b["):
        code, sign, text = part.partition("m")
        if sign and code in ("0", "1", "2", "33"):
            is_bold, part = code == "1", text
        shown += part if is_bold else ""
    return [line for line in shown.split("\n") if line]


@pytest.mark.parametrize(("text", "lines"), STYLED)
def test_action_lines_are_bold_however_the_text_is_cut(text, lines):
    for size in (1, 2, 3, len(text)):
        pieces = [text[start : start + size] for start in range(0, len(text), size)]
        assert bold(show(stream(*pieces), colour=True)) == lines


@given(st.lists(st.text(st.characters(exclude_categories=("C", "Zl", "Zp"), include_characters="\n")), max_size=8))
def test_all_text_is_shown_in_order(pieces):
    text = "".join(pieces)
    assert show(stream(*pieces)) == f"Thought:{text}" + ("" if text.endswith("\n") else "\n")


def test_a_protocol_without_thoughts_begins_with_the_action():
    assert bold(show(stream(" f[x]"), "act", colour=True)) == ["Action: f[x]"]


def test_a_numbered_protocol_numbers_its_steps():
    events = [*stream(" x", step=2), {"event": "observation", "step": 2, "kind": "observation", "text": "a\nb"}]
    assert show(events, "numbered") == "Thought 2: x\n  Observation 2: a\n    b\n"


def test_notices_malformed_steps_and_repairs_are_told():
    output = show([
        {"event": "action", "kind": "malformed", "code": "null_action", "message": "m"},
        {"event": "action", "kind": "answer", "text": "a", "repairs": ["bold_label"]},
        {"event": "observation", "step": 1, "kind": "notice", "text": "Look."},
        {"event": "notice", "step": 1, "text": "The last."},
        {"event": "approval", "decision": "denied"},
    ])
    assert output.splitlines() == [
        "  (malformed: null_action)", "  (repaired: bold_label)", "  Notice: Look.", "  Notice: The last.", "  (denied)",
    ]


def test_an_interrupted_line_is_ended():
    assert show([{"event": "delta", "step": 1, "text": " half"}]) == "Thought: half\n"
    assert show([{"event": "delta", "step": 1, "text": " x\nActi"}]) == "Thought: x\nActi\n"
