"""`local-react grammar`: the language that `--constrain` holds the model to, as a text or as random words.

Invariant: what is shown is what a run is held to, built by the same function; where stdout can't hold it, that is said,
and nothing is replaced. No model is loaded.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace

import click

from local_react.cli.options import SETTINGS, TOOLS, with_settings
from local_react.cli.settings_file import with_settings_file
from local_react.cli.setup import choose_protocol
from local_react.cli.streams import Answers, open_console, say, take_stdout
from local_react.cli.text import make_visible, write_json
from local_react.cli.tool_files import load_toolbox
from local_react.decode.constraint import REGEX_BOUNDS
from local_react.language.derivative import random_word
from local_react.language.emit import to_gbnf, to_lark, to_regex
from local_react.language.grammar import BOUNDS
from local_react.language.native.formats import format_of
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.regular import Regular
from local_react.language.signature import Signatures
from local_react.language.step import Answer, Call, Malformed
from local_react.language.values import Bounds
from local_react.own_grammar import describe_cover, use_grammar
from local_react.steering import Reach, held_language

FORMS: dict[str, tuple[Callable[[Regular], str], Bounds]] = {
    "gbnf": (to_gbnf, BOUNDS),
    "lark": (to_lark, BOUNDS),
    "regex": (to_regex, REGEX_BOUNDS),
}
"""The texts that engines read and their bounds, the default first."""

LINE_BREAK = "⏎"
"""What a line break in a word is shown as, so that a word takes one line."""

LANGUAGE = (
    SETTINGS["protocol"],
    SETTINGS["native_format"],
    SETTINGS["arguments"],
    SETTINGS["reach"],
    replace(SETTINGS["seed"], help="The seed of the random words.", type=click.IntRange(min=0), default=0),
)


@click.command("grammar")
@with_settings(TOOLS, LANGUAGE)
@click.option("--as", "form", type=click.Choice(list(FORMS)),
              help=f"The text for llama.cpp, llguidance or outlines.  [default: {next(iter(FORMS))}]")
@click.option("--sample", type=click.IntRange(min=1),
              help="So many random words of the language, one a line.  [default: its text instead]")
@click.option("--check", "checked", metavar="FILE.gbnf",
              help="Say whether a run can be held to this grammar.  [default: the language of the tools is printed]")
@click.option("--read", "is_read", is_flag=True,
              help="Say below each word what the strict parser reads it as.  [default: the words alone]")
@with_settings_file
@click.pass_context
def grammar_command(
    context: click.Context, tools: tuple[str, ...], protocol: str, native_format: str, arguments: str, reach: Reach, seed: int,
    form: str | None, sample: int | None, checked: str | None, is_read: bool,
) -> None:
    """Print the language that --constrain holds the model to.

    The text goes to stdout; stderr says where in a step the model writes it. In this language every tool may be called
    and the run may end; a parameter that is grounded takes whatever its type does, since nothing has been seen yet. A
    regex has raw text without brackets, to stay short. With --check it is the language of a grammar file.
    """
    if form is not None and sample is not None:
        raise click.UsageError("Give --as or --sample, not both.")
    if is_read and sample is None:
        raise click.UsageError("--read needs --sample: only words are read.")
    if form is not None and checked is not None:
        raise click.UsageError("Give --as or --check, not both: a file is checked as it is.")
    answers, log = take_stdout(context), open_console(sys.stderr)
    format, toolbox = choose_protocol(protocol, arguments, native_format), load_toolbox(tools)
    if checked is not None:
        grammar = use_grammar(checked, format, reach, max_steps=None)
        describes = f"{grammar.file.name} describes {describe_cover(grammar.cover, format)}"
        for doubt in grammar.doubts(toolbox):
            say(log, doubt)
        if sample is None:
            answers.write(f"{describes}.")
            return
        say(log, f"Random words; {describes}", "dim")
        primed = label_before(format, "action") if grammar.cover == "call" else None
        _write_words(grammar.file.language, sample, seed, answers, (primed, format, toolbox) if is_read else None)
        return
    label = label_before(format, reach)
    line = "on the line of its action" if format.native is None else "as its message"
    place = line if label is None else f'behind "{label}"'
    if sample is None:
        write, bounds = FORMS[form or next(iter(FORMS))]
        text = write(held_language(format, toolbox, reach, bounds=bounds))
        say(log, f"What the model may write {place}", "dim")
        _write(answers, text.removesuffix("\n"))
        return
    language = held_language(format, toolbox, reach)
    say(log, f"Random words of what the model may write {place}", "dim")
    _write_words(language, sample, seed, answers, (label, format, toolbox) if is_read else None)


def _write_words(
    language: Regular, n_words: int, seed: int, answers: Answers, reading: tuple[str | None, Protocol, Signatures] | None
) -> None:
    """Random words, one a line; with `reading`, what each is read as."""
    source = random.Random(seed)
    for _ in range(n_words):
        word = random_word(language, source).decode()
        _write(answers, word.replace("\n", LINE_BREAK))
        if reading is not None:
            answers.write(f"    {describe(word, *reading, answers.encoding)}")


def _write(answers: Answers, text: str) -> None:
    """The text exactly, for a file or a pipe; on a terminal nothing in it acts."""
    if answers.is_terminal:
        answers.write(make_visible(text))
        return
    try:
        text.encode(answers.encoding)
    except UnicodeEncodeError as error:
        missing = text[error.start]
        how = "Set PYTHONUTF8=1 to have it written in UTF-8."
        raise click.UsageError(f"stdout is written in {answers.encoding}, which has no {missing!a}. {how}") from error
    answers.write(text)


def label_before(protocol: Protocol, reach: Reach) -> str | None:
    """The label behind which the model is held, in step 1; None where it is held from the start of the line."""
    if protocol.native is not None:
        return None if reach == "step" else format_of(protocol).opener
    if reach == "step":
        return protocol.label(protocol.opening)
    return None if protocol.finish is None else protocol.label("action")


def describe(word: str, label: str | None, protocol: Protocol, tools: Signatures, encoding: str) -> str:
    """What the strict parser reads a word as, in one line."""
    match parse_step(word, protocol, tools, strict=True, primed=label):
        case Call(name=name, arguments=arguments, thought=thought):
            described = f"call {name} {write_json(dict(arguments), encoding)}"
        case Answer(text=text, thought=thought):
            described = f"answer {write_json(text, encoding)}"
        case Malformed(message=message):
            return f"malformed: {make_visible(message)}"
    return described if thought is None else f"{described}, thought {write_json(thought, encoding)}"
