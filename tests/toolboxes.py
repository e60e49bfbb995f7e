"""Signatures of every kind, with names and values that are easily misread, and valid calls of them drawn at random."""

from __future__ import annotations

import datetime
import random
from typing import Any

from local_react.language.signature import Parameter, Signature
from local_react.language.types import (
    Anything,
    Array,
    Boolean,
    Choice,
    Date,
    DateTime,
    Field,
    Integer,
    Null,
    Number,
    Object,
    OneOf,
    Text,
    Type,
)

NASTY = [
    "", " ", " a", "a ", "5", "-1.5e3", "true", "null", "None", "True", "[1]", '{"query": 1}', "query=x", "query = ",
    "answer=", "query", "answer is 5", '"', "'", '"a"', "'a'", "“a”", "a]", "[", "[[x]]", "a, b", ", ", "a=b", "it's",
    "'tis", ": 'x",
    "\n", "a\nObservation: b", "\r\n", "\t", "\x00", "\x7f", "\x85", "\u2028", "\\", "\\n", "a\\", "\\u0041", "```",
    "<|im_end|>",
    "</s>", "<think>", "</think>", "x </think>Action: y", "Action: x[y]", "🙂", "日本]", "【", "［", "(", ")", "{", "}",
    "C:\\Dev\\new", "2026-01-01", "\u00a0a", "\u3000", "\u200b", 'print("a]b")', "f('x')", "a < b", "<b>", "1 <= 2", "x<",
    "Krüger [Süd], GmbH", "SELECT * FROM t WHERE a = 'x' AND b[1] = \"y\"", "שלום עולם", "12:30", "http://x.org/?a=b",
]
"""Texts that some reader somewhere takes for something else."""

CHOICES = ("a]b", 'say "q"', "x\ny", "5", 5, True, None, 1.5, "日本", "None", "<|im_end|>", "a, b", "", "it's", "plain")


def signature(name: str, *parameters: Parameter) -> Signature:
    """A tool as the language sees it."""
    return Signature(name, "", parameters)


def maybe(name: str, type: Type) -> Parameter:
    """A parameter that may be left out."""
    return Parameter(name, type, required=False)


RAW = (
    signature("web_search", Parameter("query", Text())),
    signature("resolve-library-id", Parameter("libraryName", Text(1, 12))),
    signature("ünï", maybe("query", Text())),
    signature("get_customer", Parameter("id", Text(pattern=r"^cus_\d{1,5}$"))),
    signature("find", Parameter("word", Text(2, 30, r"[a-z]+"))),
)
FLAT = (
    signature("math.factorial", Parameter("number", Integer(0))),
    signature("web_search", Parameter("query", Text()), maybe("limit", Integer(1, 130)), maybe("safe", Boolean())),
    signature("resolve-library-id", maybe("from", Date()), maybe("to", DateTime()), maybe("rate", Number(-0.5, 1.25))),
    signature("ünï", Parameter("größe", Number()), Parameter("a-b", Choice(CHOICES)), maybe("x.y", Text(0, 5))),
    signature("any_of", maybe("v", OneOf((Integer(-5, 5), Date(), Text(max_length=9), Null()))), Parameter("n", Number(0))),
    signature("pick", Parameter("v", Choice(CHOICES)), maybe("code", Text(pattern="^[A-Z]{2}=?$"))),
    signature("now"),
)
NESTED = (
    signature("book", Parameter("guests", Array(Text(max_length=8), 1, 4)), maybe("outdoor", Boolean())),
    signature("where", maybe("where", Object(extra=Anything())), maybe("limit", Integer(1, 9))),
    signature(
        "order-it",
        Parameter("order", Object((
            Field("id", Integer(1)), Field("note", Text(), False), Field("when", OneOf((Date(), Null())), False),
        ), Integer(0, 9))),
        maybe("tags", Array(Choice(CHOICES))),
    ),
    signature("ünï", Parameter("value", Anything())),
)


def draw_value(type: Type, source: random.Random) -> Any:
    """A value that fits, often one at a limit."""
    match type:
        case Text():
            return _draw_text(type, source)
        case Integer(low, high):
            low = -(10**source.randint(1, 19)) if low is None else low
            return source.choice((low, source.randint(low, low + 10**source.randint(1, 18) if high is None else high)))
        case Number(low, high):
            return _draw_number(low, high, source)
        case Boolean():
            return source.random() < 0.5
        case Null():
            return None
        case Date():
            return datetime.date.fromordinal(source.randint(1, datetime.date.max.toordinal())).isoformat()
        case DateTime():
            moment = datetime.datetime(2000, 2, 29) + datetime.timedelta(seconds=source.randint(0, 10**9))
            return moment.isoformat(source.choice("T ")) + source.choice(("", "Z", ".25", "+05:30"))
        case Choice(values):
            return source.choice(values)
        case Array(items, low, high):
            return [draw_value(items, source) for _ in range(source.randint(low, low + 3 if high is None else high))]
        case Object(fields, extra):
            found = {f.name: draw_value(f.type, source) for f in fields if f.required or source.random() < 0.5}
            for _ in range(0 if extra is None else source.randint(0, 2)):
                key = draw_value(Text(), source)
                if extra is not None and key not in {field.name for field in fields}:
                    found[key] = draw_value(extra, source)
            return dict(source.sample(list(found.items()), len(found)))
        case OneOf(options):
            return draw_value(source.choice(options), source)
    kinds = (Text(), Integer(), Number(), Boolean(), Null(), Array(Text()), Object(extra=Number()))
    return draw_value(source.choice(kinds), source)


def _draw_text(type: Text, source: random.Random) -> str:
    match type.pattern:
        case r"^cus_\d{1,5}$":
            return f"cus_{source.randint(0, 99999)}"
        case "^[A-Z]{2}=?$":
            return source.choice(("AB", "ZZ="))
    text = "".join(source.choice(NASTY) for _ in range(source.choice((1, 1, 2, 3))))
    text += "".join(chr(source.randint(0x20, 0x24F)) for _ in range(source.choice((0, 0, 5))))
    text = text if type.pattern is None else "az" + text
    text = text[: type.max_length if type.max_length is not None else 100]
    return text + "x" * (type.min_length - len(text))


def _draw_number(low: float | None, high: float | None, source: random.Random) -> float:
    least, most = -1e307 if low is None else low, 1e307 if high is None else high
    tiny = [n for n in (0.0, 5e-324, 1.5e-7, 1e-5, 1e22, 1.5e306, -2.5e-300) if least <= n <= most]
    return float(source.choice((least, most, source.uniform(least, most), round(source.uniform(least, most), 2), *tiny)))


def draw_arguments(tool: Signature, source: random.Random) -> dict[str, Any]:
    """Values that the tool takes."""
    return {p.name: draw_value(p.type, source) for p in tool.parameters if p.required or source.random() < 0.6}
