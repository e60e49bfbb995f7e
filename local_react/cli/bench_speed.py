"""`local-react bench speed`: how fast models run here, and what each engine adds."""

from __future__ import annotations

import sys
from typing import Any

import click

from local_react.bench.environment import describe_environment, write_command
from local_react.bench.matrix import ModelOptions
from local_react.bench.speed import measure_speed, speed_document
from local_react.cli.bench_options import LOAD_OPTIONS, load_named, with_options
from local_react.cli.bench_output import write_report, write_tables
from local_react.cli.streams import Hint, open_console, say, take_stdout
from local_react.cli.text import write_json
from local_react.decode.scripted import ScriptedModel
from local_react.errors import SettingsError

PROGRAM = "local-react"

SPEED_QUESTION = "How fast is a model here, and what does each engine add?"


@click.command("speed")
@click.option("--model", "models", multiple=True, metavar="PATH|NAME",
              help="A model; may be given several times.  [default: smollm2]")
@click.option("--prompt-tokens", type=click.IntRange(min=1), default=512, show_default=True, help="Tokens of the prompt.")
@click.option("--tokens", type=click.IntRange(min=2), default=64, show_default=True, help="Tokens to write behind it.")
@click.option("--rounds", type=click.IntRange(min=1), default=5, show_default=True, help="Rounds; the median counts.")
@with_options(LOAD_OPTIONS)
@click.option("--small", is_flag=True, help="A short prompt, few tokens, one round.  [default: the sizes above]")
@click.option("--output", metavar="FOLDER", default="bench-results/speed", show_default=True, help="Where the report goes.")
@click.pass_context
def speed_command(
    context: click.Context, models: tuple[str, ...], prompt_tokens: int, tokens: int, rounds: int, small: bool, output: str,
    **load: Any,
) -> None:
    """Measure prefill, first token and decoding, and the masks of each engine.

    Wants the machine to itself: two programs that compute with all cores slow each other down many times.
    """
    answers, log = take_stdout(context), open_console(sys.stderr)
    sizes = (64, 8, 1) if small else (prompt_tokens, tokens, rounds)
    speeds = []
    for name in models or ("smollm2",):
        model = load_named(name, ModelOptions(**load), Hint(log))
        if isinstance(model, ScriptedModel):
            raise SettingsError("A scripted model computes nothing, so it has no speed. Give a real one.")
        with model:
            say(log, f"Measuring {model.name} …")
            speeds.append(measure_speed(
                model, n_prompt=sizes[0], n_tokens=sizes[1], n_rounds=sizes[2], n_words=3 if small else 20
            ))
    command = write_command([PROGRAM, *sys.argv[1:]])
    document = speed_document(speeds, command=command, environment=describe_environment())
    write_report(document, output)
    write_tables(answers, document.sections[0].tables)
    answers.write(write_json(document.data, answers.encoding))
