"""`local-react prompt`: the prompt as the model gets it, what each part costs, and whether it has changed."""

from __future__ import annotations

import difflib
import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from local_react.cli.options import MODEL, PROMPT, TOOLS, with_settings
from local_react.cli.settings_file import with_settings_file
from local_react.cli.setup import DEFAULT_MODEL, Settings, Wording, load_model, read_wording
from local_react.cli.streams import Answers, Hint, open_console, say, take_stdout
from local_react.cli.text import make_visible
from local_react.episodes import make_prompts
from local_react.form import NONE, AnyModel, Form, choose_form, encode
from local_react.language.prompt import Piece, Prompt
from local_react.llama.files import installed_models
from local_react.native import choose, template_for

NO_QUESTION = "…"


@click.command("prompt")
@click.argument("question", required=False)
@with_settings(TOOLS, MODEL, PROMPT)
@click.option("--text", "only_text", is_flag=True, help="Print the prompt and nothing else.  [default: with its costs]")
@click.option("--lock", metavar="FILE", help="Write the prompt's fingerprint and parts to this file.  [default: no]")
@click.option("--check", metavar="FILE", help="Exit with 1, and show the difference, if it isn't as locked.  [default: no]")
@with_settings_file
@click.pass_context
def prompt_command(
    context: click.Context, question: str | None, only_text: bool, lock: str | None, check: str | None, **settings: Any
) -> None:
    """Print the prompt, with the tokens that each part costs.

    What a chat template adds, which alone may hold control tokens, stands between ⟦ and ⟧. The fingerprint that --lock
    writes and --check compares covers everything but the question.
    """
    if lock is not None and check is not None:
        raise click.UsageError("Give --lock or --check, not both.")
    answers = take_stdout(context)
    log = open_console(sys.stderr)
    wording = read_wording(settings)
    template = template_for(wording.protocol, settings["template"])
    model = None if template == NONE else _find_model(settings, log)
    if model is None and wording.protocol.native is not None:
        raise click.UsageError("The native prompt depends on the model's chat template. Give --model.")
    form = Form() if model is None else _choose_form(model, template, settings, log)
    prompt = _build(question, wording, form, model)
    if lock is not None:
        _write_lock(Path(lock), prompt, wording)
        return
    if check is not None:
        context.exit(_check(_read_lock(Path(check)), prompt, wording, answers))
    pieces = prompt.pieces if only_text or question else prompt.shared_pieces
    answers.write(_shown("".join(piece.text if only_text else _mark(piece) for piece in pieces), answers))
    if not only_text:
        _show_costs(prompt, question, model or _find_model(settings, log), answers)


def _choose_form(model: AnyModel, template: str, settings: Settings, log: Console) -> Form:
    form = choose_form(model, template, think=settings["think"])
    if form.note is not None:
        say(log, form.note)
    return form


def _mark(piece: Piece) -> str:
    """The text of a piece; what is trusted with control tokens stands between marks."""
    return f"⟦{piece.text}⟧" if piece.is_trusted else piece.text


def _build(question: str | None, wording: Wording, form: Form, model: AnyModel | None) -> Prompt:
    protocol = wording.protocol
    if model is not None and protocol.native is not None:
        protocol, form = choose(protocol, form, model)
    (prompt,), _ = make_prompts(
        protocol, form, wording.toolbox, [NO_QUESTION if question is None else question], wording.exemplars,
        instructions=wording.instructions, today=datetime.now(),
    )
    return prompt


def _shown(text: str, answers: Answers) -> str:
    """The text exactly, for a file or a pipe; on a terminal nothing in it acts."""
    return make_visible(text) if answers.is_terminal else text


def _find_model(settings: Settings, log: Console) -> AnyModel | None:
    """The model that counts the tokens; None where none was given and the default one isn't there."""
    if settings["model"] is None and DEFAULT_MODEL not in installed_models():
        say(log, "Tokens are not counted: no --model was given, and the default one is not installed.")
        return None
    return load_model(settings, Hint(log))


def _show_costs(prompt: Prompt, question: str | None, model: AnyModel | None, answers: Answers) -> None:
    """A table of the parts with their tokens, and the sum as a share of the window."""
    if model is None:
        return
    tokens = encode(prompt, model.vocabulary)
    counts = dict(tokens.parts)
    if tokens.has_bos:
        counts["begin of text"] = 1
    if question is None:
        del counts["question"]
    total = sum(counts.values())
    rows = [*counts.items(), ("total", total)]
    width = max(len(make_visible(part)) for part, _ in rows)
    answers.write("")
    for part, count in rows:
        answers.write(f"{make_visible(part):<{width}}  {count:>7,}")
    answers.write(f"{total / model.window:.1%} of the window of {model.window:,} tokens ({model.name})")


def _describe(prompt: Prompt, wording: Wording) -> dict[str, Any]:
    parts = [{"part": piece.part, "text": piece.text} for piece in prompt.pieces if piece.part != "question"]
    return {"fingerprint": prompt.fingerprint, "toolbox_fingerprint": wording.toolbox.fingerprint, "parts": parts}


def _write_lock(path: Path, prompt: Prompt, wording: Wording) -> None:
    text = json.dumps(_describe(prompt, wording), indent=2)
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{path} can't be written: {error.strerror}.") from error


def _read_lock(path: Path) -> dict[str, Any]:
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
        "".join(part["part"] + part["text"] for part in lock["parts"])
        return {"fingerprint": lock["fingerprint"], "toolbox_fingerprint": lock["toolbox_fingerprint"], "parts": lock["parts"]}
    except OSError as error:
        raise click.UsageError(f"{path} can't be read: {error.strerror}. Write it with --lock.") from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise click.UsageError(f"{path} is no lock file. Write it with --lock.") from error


def _check(lock: dict[str, Any], prompt: Prompt, wording: Wording, answers: Answers) -> int:
    """0 where the prompt is as locked; else 1, with the difference written."""
    now = _describe(prompt, wording)
    if lock == now:
        return 0
    if lock["parts"] == now["parts"]:
        answers.write("The text of the prompt is as locked, but what the tools take has changed. Lock it again with --lock.")
        return 1
    for line in difflib.unified_diff(_lines(lock), _lines(now), "locked", "now", lineterm=""):
        answers.write(make_visible(line))
    return 1


def _lines(described: dict[str, Any]) -> list[str]:
    return "".join(part["text"] for part in described["parts"]).split("\n")
