"""`local-react models inspect`: what a model file says about itself, without loading it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict

import click

from local_react.cli.models.named import find_file, in_megabytes
from local_react.cli.text import make_visible, write_json
from local_react.llama.inspection import Inspection, SpecialToken, inspect_model_file

SHOWN = 120
"""Characters of a value that are shown on a line."""


@click.command("inspect")
@click.argument("name", metavar="NAME|FILE")
@click.option("--json", "as_json", is_flag=True, help="One line of JSON, with the chat templates.  [default: a list]")
@click.option("--template", metavar="TEMPLATE", help="Print this chat template alone.  [default: their names and lengths]")
def inspect_command(name: str, as_json: bool, template: str | None) -> None:
    """Print what a model file says about itself.

    Architecture, sizes, types of tensors, window, tokenizer, special tokens, chat templates and the author's sampling
    defaults, read from the header; no weight is loaded.
    """
    path, _ = find_file(name)
    found = inspect_model_file(path)
    encoding = getattr(sys.stdout, "encoding", "utf-8") or "utf-8"
    if template is not None:
        _print_template(found, template)
    elif as_json:
        click.echo(write_json(asdict(found), encoding))
    else:
        for line in describe(found):
            click.echo(make_visible(line))


def _print_template(found: Inspection, template: str) -> None:
    text = found.chat_templates.get(template)
    if text is None:
        names = ", ".join(found.chat_templates) or "none"
        raise click.UsageError(f"There is no chat template {template!r} in the file that can be shown. It has: {names}.")
    click.echo(make_visible(text) if sys.stdout.isatty() else text)


def describe(found: Inspection) -> Iterator[str]:
    """The inspection in lines."""
    yield f"file            {found.path}"
    yield f"size            {in_megabytes(found.size_bytes)} ({found.size_bytes:,} bytes), GGUF version {found.version}"
    yield f"architecture    {found.architecture or 'not told'}"
    yield f"parameters      {found.n_parameters:,}"
    yield f"quantization    {found.quantization or 'not told'}"
    counts = sorted(found.tensor_types.items(), key=lambda item: -item[1].n_parameters)
    yield from _lines({kind: f"{count.n_tensors:,} tensors, {count.n_parameters:,} parameters" for kind, count in counts})
    yield f"window          {f'{found.n_ctx_train:,} tokens in training' if found.n_ctx_train is not None else 'not told'}"
    yield from _section("general", found.general)
    yield from _section("sizes", found.sizes)
    yield f"tokenizer       {f'{found.n_tokens:,} tokens' if found.n_tokens is not None else 'none'}"
    yield from _lines(found.tokenizer)
    yield from _section("special tokens", {name: _token(token) for name, token in found.special_tokens.items()})
    yield from _section("chat templates", {name: _length(text) for name, text in found.chat_templates.items()})
    yield from _section("sampling", found.sampling)


def _token(token: SpecialToken) -> str:
    return f"{token.id} {token.text!r}" if token.text is not None else f"{token.id} (no such token)"


def _length(text: str | None) -> str:
    return f"{len(text):,} characters" if text is not None else "too long to show"


def _section(title: str, values: Mapping[str, object]) -> Iterator[str]:
    yield title if values else f"{title:<15} none"
    yield from _lines(values)


def _lines(values: Mapping[str, object]) -> Iterator[str]:
    width = max(map(len, values), default=0)
    for key, value in values.items():
        text = str(value).replace("\n", " ")
        yield f"    {key:<{width}}  {text if len(text) <= SHOWN else text[:SHOWN] + ' …'}"
