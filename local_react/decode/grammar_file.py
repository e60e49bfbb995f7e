"""A grammar of the user's own, in llama.cpp's GBNF notation, as an expression that every engine takes.

Invariant: the expression has the words that llama.cpp would take, or the text is refused, with line and rule. Refused
beyond what `llama/gbnf_check.py` refuses: tokens in angle brackets, whose text depends on the vocabulary, and characters
that no text can have. A set of what it doesn't hold never holds the zero character, as in llama.cpp.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from local_react.errors import GrammarError
from local_react.language.codepoints import SURROGATES, invert, unite, without
from local_react.language.regular import EMPTY, Regular, any_character, characters, literal
from local_react.language.rules import MAX_WORD, Part as BuiltPart, tie
from local_react.llama.gbnf_characters import codes_of_literal, codes_of_set
from local_react.llama.gbnf_check import ROOT, check_gbnf, read_gbnf
from local_react.llama.gbnf_reader import Part, Rule, read_rules, refusal

_ZERO = ((0, 0),)
_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class GrammarFile:
    """A grammar that was read: the file's name without its folder, the SHA-256 of its text, and its language."""

    name: str
    sha256: str
    language: Regular


def read_grammar(path: str | Path) -> GrammarFile:
    """The grammar in a file. Raises GrammarError for one that can't be used."""
    text = read_gbnf(path)
    return GrammarFile(Path(path).name, hashlib.sha256(text.encode()).hexdigest(), parse_gbnf(text))


def parse_gbnf(text: str) -> Regular:
    """The language of a grammar's text. Raises GrammarError for one that can't be used."""
    check_gbnf(text)
    rules = read_rules(text)
    known: dict[str, Regular] = {}
    built = [[[_build(part, rule, text, known) for part in parts] for parts in rule.alternatives] for rule in rules]
    root = next(index for index, rule in enumerate(rules) if rule.name == ROOT)
    language = tie(built, root)
    if language is EMPTY:
        raise _impossible(f"its shortest word has more than {MAX_WORD:,} bytes, which no step can hold", rules[root], text)
    return language


def _build(part: Part, rule: Rule, text: str, known: dict[str, Regular]) -> BuiltPart:
    target, low, high = part
    if isinstance(target, str):
        if target not in known:
            known[target] = _expression(target, rule, text)
        return known[target], low, high
    return target, low, high


def _expression(written: str, rule: Rule, text: str) -> Regular:
    """What a literal, a set, or the sign for any character takes."""
    if written.startswith('"'):
        codes = codes_of_literal(written)
        if wrong := next((code for code in codes if not _is_character(code)), None):
            raise _impossible(f"its literal {_shown(written)} holds U+{wrong:04X}, which no text can hold", rule, text)
        if 0 in codes:
            raise _impossible(f"its literal {_shown(written)} holds U+0000, which llama.cpp never takes", rule, text)
        return literal("".join(map(chr, codes)))
    if written.startswith("["):
        ranges, is_negated = codes_of_set(written)
        members = unite((low, min(high, _LAST)) for low, high in ranges if low <= _LAST)
        expression = characters(without(invert(members) if is_negated else members, _ZERO))
        if expression is EMPTY:
            raise _impossible(f"its set {_shown(written)} has no character that a text can hold", rule, text)
        return expression
    if written == ".":
        return any_character()
    raise _impossible(f"it takes the token {_shown(written)}, which only one model knows. Write its text", rule, text)


def _is_character(code: int) -> bool:
    return code <= _LAST and not SURROGATES[0] <= code <= SURROGATES[1]


def _shown(written: str) -> str:
    return written if len(written) < 40 else f"{written[:40]}…"


def _impossible(what: str, rule: Rule, text: str) -> GrammarError:
    return refusal(text, rule.place, what[0].upper() + what[1:], rule.name)
