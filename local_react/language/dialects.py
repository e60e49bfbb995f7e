"""How each notation spells the parts of an expression: GBNF for llama.cpp, Lark for llguidance, a regex for outlines.

All spell sets of characters in code points. What is no letter or digit is escaped wherever a reader could take it for a
sign. How the parts are put together is none of this module's business.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_COUNT = 1000
"""The largest number of repetitions that is written as one: llama.cpp refuses from 2000 on."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one notation spells the parts. `rule_name` makes a name of a number; without it there are no rules."""

    literal: Callable[[str], str]
    range: Callable[[int, int], str]
    set_of: Callable[[str], str]
    group: tuple[str, str]
    joint: str
    rule_name: Callable[[int], str] | None = None
    max_count: int | None = None


def _code(code: int) -> str:
    """A code point in GBNF."""
    if code < 0x80 and chr(code).isalnum():
        return chr(code)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _gbnf_literal(text: str) -> str:
    return '"' + re.sub(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029]', lambda match: _code(ord(match[0])), text) + '"'


def _gbnf_range(low: int, high: int) -> str:
    return _code(low) if low == high else f"{_code(low)}-{_code(high)}"


def _rust_code(code: int) -> str:
    return chr(code) if code < 0x80 and chr(code).isalnum() else f"\\x{{{code:X}}}"


def _rust_literal(text: str) -> str:
    return re.sub(r"[^\w ]|[\x00-\x1f\x7f-\x9f]", lambda match: _rust_code(ord(match[0])), text)


def _rust_range(low: int, high: int) -> str:
    return _rust_code(low) if low == high else f"{_rust_code(low)}-{_rust_code(high)}"


def _in_brackets(ranges: str) -> str:
    return f"[{ranges}]"


def _in_slashes(ranges: str) -> str:
    return f"/[{ranges}]/"


def _lark_literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lark_letters(text: str) -> str:
    return " ".join(map(_lark_literal, text)) or _lark_literal("")


GBNF = Dialect(_gbnf_literal, _gbnf_range, _in_brackets, ("(", ")"), " ", lambda number: f"r{number}", MAX_COUNT)
LARK = Dialect(_lark_literal, _rust_range, _in_slashes, ("(", ")"), " ", lambda number: f"T{number}")
LARK_RULES = Dialect(_lark_letters, _rust_range, _in_slashes, ("(", ")"), " ", lambda number: f"r{number}")
REGEX = Dialect(_rust_literal, _rust_range, _in_brackets, ("(?:", ")"), "")
