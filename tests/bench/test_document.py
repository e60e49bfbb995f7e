"""The three forms of a report: text from models stays text, and the page stands alone."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from local_react.bench.document import Document, Plot, Section, Shown, Table, render_html, render_markdown, visible

EVIL = "<script>document.title = 'hacked'</script><img src=x onerror=alert(1)>&amp; {{ 7 * 7 }} `code` | [x](http://e.vil) \x1b[31m\ud800"


def document(text: str = EVIL, svg: str = "<svg><g/></svg>") -> Document:
    return Document(
        title=text, lead=text,
        sections=(Section(
            title=text, paragraphs=(text,), lines=(text,), tables=(Table(title=text, head=(text,), rows=((text,),), note=text),),
            plots=(Plot(title=text, svg=svg),), shown=(Shown(title=text, lines=((text, text), ("call 1", text))),),
        ),),
    )


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))


def tags(html: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(html)
    return parser.seen


def test_text_from_outside_makes_no_tag():
    evil, harmless = tags(render_html(document())), tags(render_html(document("x")))
    assert [tag for tag, _ in evil] == [tag for tag, _ in harmless]
    assert "49" not in render_html(document())


def test_the_page_loads_nothing():
    html = render_html(document())
    for tag, attributes in tags(html):
        assert tag not in ("script", "link", "iframe", "img", "object", "base")
        assert not {"src", "href", "srcset", "action"} & set(attributes)
    assert "Content-Security-Policy" in html and "default-src 'none'" in html
    assert 'name="viewport"' in html
    assert "url(" not in html and "@import" not in html


def test_the_page_is_text_that_can_be_written():
    assert render_html(document()).encode("utf-8")
    assert "\x1b" not in render_html(document()) and "\x1b" not in render_markdown(document())
    assert visible("a\tb\nc\x00") == "a\tb\nc\ufffd"


def test_pictures_are_taken_as_they_are():
    assert "<svg><g/></svg>" in render_html(document())


@pytest.mark.parametrize("text", [EVIL, "a | b", "```", "````\n```", "*bold* _it_ # no", "two\n\nlines"])
def test_markdown_acts_on_nothing_from_outside(text):
    markdown = render_markdown(document(text))
    bare = re.sub(r"^(`{3,})text\n.*?^\1$", "", markdown, flags=re.DOTALL | re.MULTILINE)
    rows = [line for line in bare.splitlines() if line.startswith("|")]
    assert len(rows) == 3 and all(len(re.findall(r"(?<!\\)\|", row)) == 2 for row in rows)
    assert len([line for line in bare.splitlines() if line.startswith("#")]) == 2
    assert not re.search(r"(?<!\\)[<`\[]", bare)
