"""What a docstring says about a function: its first paragraph, and a line on each parameter.

Google, NumPy, Sphinx and Epydoc sections are read. A docstring in no known form is never refused: what can't be
read is left out.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field

import docstring_parser


@dataclass(frozen=True, slots=True)
class Documentation:
    """The first paragraph of a docstring, and its descriptions of parameters by name; each is one line."""

    summary: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)


def read_docstring(text: str | None) -> Documentation:
    """What the docstring `text` says, empty where there is none."""
    if not text or not text.strip():
        return Documentation()
    clean = inspect.cleandoc(text)
    try:
        # The parser cleans once more, and would pull a section on the first line flat without the line break.
        parsed = docstring_parser.parse("\n" + clean)
    except Exception:  # docstring_parser 0.18 has more than its ParseError: ": :" is an IndexError
        return Documentation(_one_line(clean.split("\n\n")[0]))
    summary = parsed.short_description or ""
    if parsed.long_description and not parsed.blank_after_short_description:
        summary += " " + parsed.long_description.split("\n\n")[0]
    parameters = {
        name.strip().lstrip("*"): _one_line(part.description or "")
        for part in parsed.params
        for name in part.arg_name.split(",")
    }
    return Documentation(_one_line(summary), parameters)


def _one_line(text: str) -> str:
    return " ".join(text.split())
