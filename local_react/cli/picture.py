"""What a terminal shows, as an SVG picture.

Invariant: the file needs nothing but itself (no fonts, scripts or links are fetched), is well-formed XML whatever the text
holds, and is the same for the same text. Refuses to make anything but still pictures.
"""

from __future__ import annotations

import io

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from local_react.cli.text import make_visible

WIDTH = 96
"""Columns; longer lines are wrapped, indented as they begin."""

# rich's own template fetches its font from the web.
_SVG = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
  font-size: {char_height}px;
}}
.{unique_id}-title {{ font-family: system-ui, Arial, sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def open_recorder() -> Console:
    """A console that keeps what it is told, with its colours, for `draw`."""
    return Console(
        file=io.StringIO(), force_terminal=True, color_system="standard", no_color=False, legacy_windows=False,
        highlight=False, markup=False, emoji=False, soft_wrap=True,
    )


def title_of(text: str) -> str:
    """The text as a title: on one line, and shortened to fit."""
    title = Text(" ".join(make_visible(text).split()))
    title.truncate(WIDTH - 16, overflow="ellipsis")  # the window's buttons stand left of it
    return title.plain


def draw(recorder: Console, title: str) -> str:
    """The SVG of what `recorder` was told, under a title that `title_of` made."""
    # rich takes the width from TERM where it is not given a height too
    canvas = Console(
        file=io.StringIO(), record=True, width=WIDTH, height=1, force_terminal=True, color_system="truecolor",
        no_color=False, legacy_windows=False,
    )
    text = Text.from_ansi(_writable(recorder.file.getvalue().rstrip("\n")))
    text.expand_tabs(8)
    for line in text.split(allow_blank=True):
        indent = min(len(line.plain) - len(line.plain.lstrip(" ")), WIDTH // 2)
        canvas.print(Padding(line[indent:], (0, 0, 0, indent)))
    canvas.print(" ", end="")  # rich 15.0 refers to a clip path that it doesn't make, in whichever line is the last
    return canvas.export_svg(title=_writable(title), code_format=_SVG)


def _writable(text: str) -> str:
    """Without the two characters that `make_visible` lets pass and XML can't hold."""
    return text.translate(dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd"))
