"""Pictures: well-formed SVG with ids of their own, the same for the same data, whatever the names in them are."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from local_react.bench import plots

EVIL = "</svg><script>alert(1)</script> $\\frac{$ _$x$ & \" '"
DRAWN = {
    "intervals": lambda name, text: plots.draw_intervals(
        name, {text: {"free": (0.5, 0.4, 0.6), text: (0.0, 0.0, 0.1)}, "b": {"free": (None, None, None)}}, label=text),
    "means": lambda name, text: plots.draw_intervals(name, {"a": {text: (30.0, 20.0, 40.0)}}, label=text, is_share=False),
    "stacks": lambda name, text: plots.draw_stacks(name, {"free": {text: 0.2, "x": 0.3}, "constrained": {}}, label=text),
    "lines": lambda name, text: plots.draw_lines(name, {text: [(1, 2), (2, 3)]}, x_label=text, y_label="y"),
    "grid": lambda name, text: plots.draw_grid(name, [(text, [0.1, None, 0.9]), ("b", [None, None, 1.0])], label=text),
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("text", ["plain", EVIL, "日本 é", "x" * 200])
def test_a_picture_is_well_formed_and_acts_on_no_name(kind, text):
    root = ElementTree.fromstring(DRAWN[kind]("one", text))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert not [element for element in root.iter() if element.tag.endswith(("script", "foreignObject", "}a"))]
    assert "width" not in root.attrib and "viewBox" in root.attrib
    links = [value for element in root.iter() for name, value in element.attrib.items() if name.endswith("href")]
    assert all(link.startswith(("#", "data:image/png")) for link in links)


@pytest.mark.parametrize("kind", DRAWN)
def test_the_same_data_give_the_same_bytes(kind):
    assert DRAWN[kind]("one", "a") == DRAWN[kind]("one", "a")


@pytest.mark.parametrize("kind", DRAWN)
def test_two_pictures_on_a_page_share_no_id(kind):
    one, other = (set(re.findall(r'\bid="([^"]+)"', DRAWN[kind](name, "a"))) for name in ("one", "other"))
    assert one and other and not one & other
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', DRAWN[kind]("one", "a")))
    assert used <= one


def test_nothing_to_show_is_no_error():
    for text in (plots.draw_intervals("x", {}, label="l"), plots.draw_stacks("x", {}, label="l")):
        ElementTree.fromstring(text)
