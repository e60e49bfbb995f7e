"""The command on a pseudo-terminal: colours, hints, approval, Ctrl-C and Ctrl-D."""

import re

import pytest

from local_react.trace import Trace
from tests.cli.terminal import END, FINISH, TOOLS, interrupt, run_on_terminal, write_script
from tests.random_models import make_model

ESCAPE = "\x1b"
REMOVE = " Away with it.\nAction: remove[name=cup, count=2]\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


def run_scripted(folder, *completions, question="What?", options=(), **how):
    model = write_script(folder / "script.json", *completions)
    args = ("run", question, "--model", model, "--tools", "tools.py", "--trace", "trace.jsonl", *options)
    return run_on_terminal(*args, cwd=folder, **how)


# Colours


def test_thoughts_are_dim_and_actions_bold(folder):
    output = run_scripted(folder, FINISH).output
    assert f"{ESCAPE}[2m I{ESCAPE}[0m" in output
    assert f"{ESCAPE}[1mAction:{ESCAPE}[0m" in output
    assert output.endswith("blue\r\n")


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours_there_is_no_escape_and_no_hint(folder, variable):
    output = run_scripted(folder, " x\nAction: colour[sky]\n", FINISH, **variable).output
    assert ESCAPE not in output and "\r\r" not in output and "…" not in output
    assert "Action: colour[sky]" in output


def test_escapes_from_model_and_tool_do_nothing(folder):
    completion = f" {ESCAPE}[31mred \x07 [bold]x[/bold] \x9b2J\nAction: colour[{ESCAPE}]0;title\x07]\n"
    output = run_scripted(folder, completion, f" x\nAction: finish[{ESCAPE}[2J gone]\n", NO_COLOR="1").output
    assert not re.search("[\x1b\x07\x9b]", output)
    assert "[bold]x[/bold]" in output and "␛[31mred" in output and "␛[2J gone" in output


# Approval


def approve(*replies):
    return [("[e]dit: ", reply) for reply in replies]


def test_an_approved_call_runs(folder):
    session = run_scripted(folder, REMOVE, FINISH, replies=approve(b"y\n"))
    assert session.code == 0
    assert "removed 2 cup" in session.output


@pytest.mark.parametrize("reply", [b"n\n", b"no\n", END])
def test_a_denied_call_ends_the_run(folder, reply):
    session = run_scripted(folder, REMOVE, FINISH, replies=approve(reply))
    assert session.code == 1
    assert "removed" not in session.output and "(denied)" in session.output


def test_an_unclear_reply_is_asked_about_again(folder):
    session = run_scripted(folder, REMOVE, FINISH, replies=approve(b"\n", b"sure\n", b"y\n"))
    assert session.output.count("[e]dit: ") == 3
    assert session.code == 0


def test_an_edited_call_runs_as_edited(folder):
    replies = [("[e]dit: ", b"e\n"), ("leave them): ", b"name=mug, count=5\n"), ("[e]dit: ", b"y\n")]
    session = run_scripted(folder, REMOVE, FINISH, replies=replies)
    assert session.code == 0
    assert "removed 5 mug" in session.output
    events = Trace.read(folder / "trace.jsonl").events
    assert [event["decision"] for event in events if event["event"] == "approval"] == ["edited"]


def test_an_edit_that_does_not_fit_is_explained_and_asked_about_again(folder):
    replies = [("[e]dit: ", b"e\n"), ("leave them): ", b"name=mug, count=many\n"), ("must be", b""), ("[e]dit: ", b"n\n")]
    session = run_scripted(folder, REMOVE, FINISH, replies=replies)
    assert session.code == 1 and "removed" not in session.output


def test_escapes_in_the_call_to_approve_do_nothing(folder):
    completion = f" x\nAction: remove[name=\"{ESCAPE}[2Kcup\"]\n"
    session = run_scripted(folder, completion, FINISH, replies=approve(b"n\n"), NO_COLOR="1")
    assert ESCAPE not in session.output


def test_yes_asks_nothing(folder):
    session = run_scripted(folder, REMOVE, FINISH, options=["--yes"])
    assert session.code == 0
    assert "[e]dit" not in session.output and "removed 2 cup" in session.output


# Ctrl-C


def test_interrupted_in_a_tool(folder):
    session = run_scripted(folder, " x\nAction: sleep[seconds=60]\n", FINISH, replies=[("Calling sleep", interrupt)])
    trace = Trace.read(folder / "trace.jsonl")
    assert session.code == 130
    assert trace.ending == "interrupted"
    assert trace.steps[-1].action.name == "sleep"
    assert "Traceback" not in session.output


def test_interrupted_while_a_model_decodes(folder):
    model = make_model(folder / "tiny.gguf", n_ctx_train=200_000, n_embd=128, n_layer=4)
    session = run_on_terminal(
        "run", "What?", "--model", str(model), "--n-ctx", "60000", "--max-step-tokens", "50000", "--trace", "trace.jsonl",
        "--temperature", "2", "--no-stop-strings", "--no-one-action", "--no-parse-notices", "--max-malformed", "none",
        "--max-steps", "none", cwd=folder, replies=[("Thought:", interrupt)],
    )
    assert session.code == 130
    assert Trace.read(folder / "trace.jsonl").ending == "interrupted"
    assert "Traceback" not in session.output


def test_interrupted_at_an_approval(folder):
    session = run_scripted(folder, REMOVE, FINISH, replies=[("[e]dit: ", interrupt)])
    assert session.code == 130
    assert Trace.read(folder / "trace.jsonl").ending == "interrupted"


# Chat


def chat(folder, *completions, replies):
    model = write_script(folder / "script.json", *completions)
    args = ("chat", "--model", model, "--tools", "tools.py", "--trace", "trace.jsonl")
    return run_on_terminal(*args, cwd=folder, replies=replies)


def test_chat_answers_until_ctrl_d(folder):
    replies = [("? ", b"one\n"), ("blue\r\n", b""), ("? ", b"two\n"), ("blue\r\n", b""), ("? ", END)]
    session = chat(folder, FINISH, FINISH, replies=replies)
    assert session.code == 0
    assert [Trace.read(folder / f"trace-{n}.jsonl").question for n in (1, 2)] == ["one", "two"]


def test_ctrl_c_in_a_chat_ends_the_question_only(folder):
    replies = [
        ("? ", b"one\n"), ("Calling sleep", interrupt), ("? ", b"two\n"), ("blue\r\n", b""), ("? ", END),
    ]
    session = chat(folder, " x\nAction: sleep[seconds=60]\n", FINISH, replies=replies)
    assert session.code == 0
    assert [Trace.read(folder / f"trace-{n}.jsonl").ending for n in (1, 2)] == ["interrupted", "answered"]


def test_ctrl_c_at_the_prompt_of_a_chat_drops_the_line(folder):
    session = chat(folder, replies=[("? ", interrupt), ("? ", END)])
    assert session.code == 0
    assert "Traceback" not in session.output
