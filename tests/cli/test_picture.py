"""Pictures of what a terminal shows."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from hypothesis import given, strategies as st

from local_react.cli.picture import WIDTH, draw, open_recorder, title_of
from local_react.cli.streams import say

SVG = "{http://www.w3.org/2000/svg}"


def picture(text: str, *, style: str = "", title: str = "") -> str:
    recorder = open_recorder()
    say(recorder, text, style)
    return draw(recorder, title_of(title))


def lines_in(svg: str) -> list[str]:
    """What stands in the picture, line by line, by the height of each text."""
    lines: dict[float, str] = {}
    for text in ElementTree.fromstring(svg).iter(f"{SVG}text"):
        if "clip-path" in text.attrib and text.text != "\n":
            lines.setdefault(float(text.attrib["y"]), "")
            lines[float(text.attrib["y"])] += (text.text or "").replace("\xa0", " ")
    return [lines[y] for y in sorted(lines)]


def test_a_picture_holds_the_text_and_its_colours() -> None:
    svg = picture("Action: finish[it]", style="bold", title="What?")
    assert lines_in(svg) == ["Action: finish[it]"]
    assert "font-weight: bold" in svg and ">What?</text>" in svg


@pytest.mark.parametrize(
    "text",
    [
        "</text><script>alert(1)</script>",
        "&amp; &lt; \"quoted\" 'too'",
        "]]> <!-- --> <![CDATA[",
        "{unique_id} {{chrome}} %s",
        "\x1b[31mred\x1b]8;;https://example.com\x07link\x1b\\",
        "NUL \x00 half \ud800 not for XML \ufffe \uffff",
        "[red]markup[/red] :smile:",
    ],
)
def test_text_from_outside_is_content_and_nothing_else(text: str) -> None:
    plain = ElementTree.fromstring(picture("plain", title="plain"))
    hostile = ElementTree.fromstring(picture(text, title=text))
    assert {element.tag for element in hostile.iter()} == {element.tag for element in plain.iter()}
    assert not any(name.startswith("on") or "href" in name for element in hostile.iter() for name in element.attrib)


@given(st.text(), st.text())
def test_every_text_makes_a_picture_that_is_well_formed(text: str, title: str) -> None:
    assert ElementTree.fromstring(picture(text, title=title).encode()).tag == f"{SVG}svg"


def test_a_picture_fetches_nothing() -> None:
    svg = picture("text", title="title").replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|@font-face|@import|url\((?!#)|<image|<script|<!--", svg)


def test_every_line_has_its_clip_path() -> None:
    svg = picture("one\ntwo\nthree")
    assert set(re.findall(r'url\(#([^)]*)\)', svg)) <= set(re.findall(r'<clipPath id="([^"]*)"', svg))


def test_long_lines_are_wrapped_and_keep_their_indent() -> None:
    words = " ".join(["word"] * 50)
    lines = lines_in(picture(f"  {words}"))
    assert len(lines) > 2 and max(map(len, lines)) <= WIDTH
    assert " ".join(line.strip() for line in lines) == words
    starts = re.findall(r'<text class="[^"]*" x="([^"]*)"[^>]*>word', picture(f"  {words}"))
    assert len(starts) == len(lines) and set(starts) == {"24.4"}


def test_nothing_of_a_line_is_lost_that_has_no_blanks() -> None:
    assert "".join(lines_in(picture("x" * 250))) == "x" * 250


def test_a_title_is_one_line_that_fits() -> None:
    assert title_of("two\n  lines") == "two lines"
    assert title_of("a" * 500).endswith("a…") and len(title_of("a" * 500)) < WIDTH
    assert title_of("\x1b[2J") == "␛[2J"


def test_the_same_text_is_the_same_picture_whatever_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    first = picture("text", style="red", title="title")
    for name, value in {"NO_COLOR": "1", "COLUMNS": "20", "TERM": "dumb", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    assert picture("text", style="red", title="title") == first
