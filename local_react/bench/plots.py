"""The pictures of a report: SVG texts to stand inside an HTML page, drawn without a display.

The same data give the same bytes. Every mark has its numbers in a table of the report too; a picture says nothing alone.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping, Sequence

from matplotlib import rc_context
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

COLOURS = ("#3b6ea5", "#c8553d", "#4f9d69", "#8a6fae", "#b08c2f", "#5a5a5a", "#6db3c8", "#c46a9e", "#8c6d4f", "#a3b545")
# Text as text, so that it can be searched and read aloud; no salt of the day in the ids.
STYLE = {"svg.fonttype": "none", "svg.hashsalt": "local_react", "font.size": 9, "axes.spines.top": False,
         "axes.spines.right": False, "font.family": "sans-serif"}

Interval = tuple[float | None, float | None, float | None]
"""A value with the ends of its interval; None where there is nothing to show."""


def draw_intervals(name: str, groups: Mapping[str, Mapping[str, Interval]], *, label: str, is_share: bool = True) -> str:
    """Dots with intervals: for each row (an arm) one for each series (a model), `groups[series][row]`.

    `name` becomes part of the picture's ids, so that several can stand on one page.
    """
    rows = list(dict.fromkeys(row for series in groups.values() for row in series))
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 0.9 + 0.28 * len(rows) * max(1, len(groups)) ** 0.6))
        axes = figure.add_subplot()
        for index, (series, values) in enumerate(groups.items()):
            offset = (index - (len(groups) - 1) / 2) * 0.7 / max(1, len(groups))
            shown = [(rows.index(row) + offset, interval) for row, interval in values.items() if interval[0] is not None]
            for at, (_, low, high) in shown:
                if low is not None and high is not None:
                    axes.plot([low, high], [at, at], color=COLOURS[index % len(COLOURS)], linewidth=1.6, alpha=0.75)
            axes.plot([interval[0] for _, interval in shown], [at for at, _ in shown], "o", markersize=4.5,
                      color=COLOURS[index % len(COLOURS)], label=_plain(series))
        axes.set_yticks(range(len(rows)), list(map(_plain, rows)))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(_plain(label))
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        if is_share:
            axes.set_xlim(-0.02, 1.02)
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0 %", "25 %", "50 %", "75 %", "100 %"])
        else:
            axes.set_xlim(left=0)
        if len(groups) > 1:
            axes.legend(loc="upper center", bbox_to_anchor=(0.4, -0.2 - 0.5 / max(4, len(rows))), ncols=2, frameon=False)
        return _to_svg(figure, name)


def draw_stacks(name: str, bars: Mapping[str, Mapping[str, float]], *, label: str) -> str:
    """Stacked bars, one for each row (an arm), with a colour for each part of it (a failure class)."""
    parts = list(dict.fromkeys(part for bar in bars.values() for part in bar))
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 1.3 + 0.3 * len(bars)))
        axes = figure.add_subplot()
        left = [0.0] * len(bars)
        for index, part in enumerate(parts):
            values = [bar.get(part, 0.0) for bar in bars.values()]
            axes.barh(list(map(_plain, bars)), values, left=left, color=COLOURS[index % len(COLOURS)], label=_plain(part),
                      height=0.7)
            left = [start + value for start, value in zip(left, values)]
        axes.invert_yaxis()
        axes.set_xlabel(_plain(label))
        if parts:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.02), frameon=False)
        return _to_svg(figure, name)


def draw_lines(name: str, lines: Mapping[str, Sequence[tuple[float, float]]], *, x_label: str, y_label: str) -> str:
    """Lines through points, one for each name."""
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 3.2))
        axes = figure.add_subplot()
        for index, (line, points) in enumerate(lines.items()):
            axes.plot([x for x, _ in points], [y for _, y in points], color=COLOURS[index % len(COLOURS)], label=_plain(line))
        axes.set_xlabel(_plain(x_label))
        axes.set_ylabel(_plain(y_label))
        axes.set_ylim(bottom=0)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.legend(frameon=False)
        return _to_svg(figure, name)


def draw_grid(name: str, grid: Sequence[tuple[str, Sequence[float | None]]], *, label: str) -> str:
    """A grid of shares: a row for each tool, a column for each position; what is not there stays empty."""
    with rc_context(STYLE):
        figure = Figure(figsize=(6.4, 1.2 + 0.28 * len(grid)))
        axes = figure.add_subplot()
        values = [[float("nan") if value is None else value for value in row] for _, row in grid]
        image = axes.imshow(values, aspect="auto", vmin=0, vmax=1, cmap="viridis")
        axes.set_yticks(range(len(grid)), [_plain(tool) for tool, _ in grid])
        axes.set_xlabel(_plain(label))
        figure.colorbar(image, ax=axes, fraction=0.03)
        return _to_svg(figure, name)


def _plain(text: str) -> str:
    """A name that means itself: matplotlib reads what stands between two dollar signs as a formula."""
    return text.replace("$", r"\$")


def _to_svg(figure: Figure, name: str) -> str:
    """The figure as an `svg` element of its own ids, as wide as the page lets it be."""
    buffer = io.StringIO()
    FigureCanvasSVG(figure)
    with warnings.catch_warnings():
        # The reader's browser has the glyphs; here they are only measured.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    prefix = re.sub(r"\W+", "-", name)
    text = re.sub(r'\bid="', f'id="{prefix}-', text)
    text = re.sub(r'(xlink:href="#|url\(#)', rf"\g<1>{prefix}-", text)
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for size in ("width", "height"):
        text = re.sub(rf'(<svg\b[^>]*?) {size}="[^"]*"', r"\1", text, count=1)
    return text
