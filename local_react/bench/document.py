"""A report as a value, and its three forms: one HTML file, Markdown, JSON.

The three say the same: every number of the pictures stands in a table. The HTML needs no network and no script, fits a
phone, and shows all text from models and tools as text: the template escapes whatever isn't marked, and only pictures are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATE = "report.html.jinja"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of texts; `note` says what its columns mean."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A picture as SVG, and what it shows, in words."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """An episode to open and read: its lines are pairs of a kind (a word for the style) and a text."""

    title: str
    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report; paragraphs first, then tables, pictures and examples."""

    title: str
    paragraphs: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    shown: tuple[Shown, ...] = ()
    lines: tuple[str, ...] = ()  # shown as they stand, such as commands


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report. `data` is what a program reads: JSON values."""

    title: str
    lead: str
    sections: tuple[Section, ...]
    data: Mapping[str, Any] = field(default_factory=dict)


def render_html(document: Document) -> str:
    """The report as one HTML file without anything from outside."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["picture"] = Markup  # plots.py drew it, and escapes the names in it
    return environment.get_template(TEMPLATE).render(document=document, visible=visible)


def render_markdown(document: Document) -> str:
    """The report as Markdown: all but the pictures."""
    lines = [f"# {_inline(document.title)}", "", _inline(document.lead), ""]
    for section in document.sections:
        lines += [f"## {_inline(section.title)}", ""]
        for paragraph in section.paragraphs:
            lines += [_inline(paragraph), ""]
        if section.lines:
            lines += [*_block(section.lines), ""]
        for table in section.tables:
            lines += [f"**{_inline(table.title)}**", ""] if table.title else []
            lines += [*_table(table), ""]
            lines += [_inline(table.note), ""] if table.note else []
        for shown in section.shown:
            lines += [f"**{_inline(shown.title)}**", "", *_block([f"{kind}: {text}" for kind, text in shown.lines]), ""]
    return "\n".join(lines)


def visible(text: str) -> str:
    """The text without characters that HTML or a reader's terminal can't hold: they become U+FFFD."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def _table(table: Table) -> list[str]:
    rows = [table.head, tuple("---" for _ in table.head), *table.rows]
    return [f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows]


def _cell(text: str) -> str:
    return _inline(text).replace("|", "\\|")


def _inline(text: str) -> str:
    """On one line, and with nothing that Markdown or HTML would act on."""
    text = " ".join(visible(text).split())
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", text)


def _block(lines: Sequence[str]) -> list[str]:
    """Lines as they stand, in a fence longer than any in them."""
    text = visible("\n".join(lines))
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", text, fence]
