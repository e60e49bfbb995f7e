"""The texts of a question that may be values: what a small model copies when it is told to copy something.

A constraint to any run of words of the question still lets it write "the", "current weather" or the parameter's own name. So a
span doesn't begin or end with a word that only joins others, doesn't go past the end of a sentence, and has a word that isn't
one of the names at hand. What stands in quotation marks is a span as it is, and a date written out is one in ISO 8601, too.
English only, as far as words are concerned; where nothing is left of a question, all its runs of words are spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date

MAX_WORDS = 8
"""The longest span outside of quotation marks."""

MAX_SPANS = 1000
"""So many spans of a question are kept, the short ones first: a grammar has to hold them all."""

JOINING = frozenset(
    "a an the this that these those my your our their his her its of in on at to from for by with about into as and or but if "
    "than then so is are was were be been am has have had do does did can could would should will may might must shall i you "
    "he she it we they me him us them what which who whom whose where when why how there here please".split()
)
"""Words that join others or point at something, as they are written inside of a sentence: the US is not us."""

ASKING = frozenset("find get give tell show calculate compute determine help let want need like know set make using".split())
"""What a question asks to be done; no value begins or ends with it."""

LETTERS = re.compile(r"[^_\W]+")
"""A word: letters and digits, in any script."""

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "|".join(f"{name}|{name[:3]}" for name in _MONTHS) + "|sept"
_DAY_LAST = re.compile(rf"\b({_MONTH})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+(\d{{4}})\b", re.IGNORECASE)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\.?,?\s+(\d{{4}})\b", re.IGNORECASE)
_QUOTED = re.compile(r"(?<!\w)(?:'.+?'|\".+?\"|‘.+?’|“.+?”|`.+?`)(?!\w)")
# A dot behind a capital and up to two small letters is an abbreviation: Dr. Smith, St. Louis, D.C.
_SENTENCE_END = re.compile(r"(?<=[.!?;])(?<!\b[A-Z]\.)(?<!\b[A-Z][a-z]\.)(?<!\b[A-Z][a-z]{2}\.)\s+")
_OUTER = " \t.,;:!?\"'<>`“”‘’"
_BRACKETS = ("()", "[]", "{}")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def spans(question: str, names: Iterable[str] = ()) -> tuple[str, ...]:
    """The spans of a question, those that stand out first; `names` are those of the tool and the parameter."""
    known = {word for name in names for word in words_of(name)}
    found = list(dict.fromkeys((*_quoted(question), *_dates(question), *_runs(question, known))))
    return tuple(found[:MAX_SPANS] or dict.fromkeys(run for run, _ in _all_runs(question)))


def words_of(name: str) -> list[str]:
    """The words that a name is made of, in small letters: `getUserName` and `get_user_name` have the same ones."""
    return [word.casefold() for word in LETTERS.findall(_CAMEL.sub(" ", name))]


def _quoted(question: str) -> Iterator[str]:
    return (match[0][1:-1] for match in _QUOTED.finditer(question))


def _dates(question: str) -> Iterator[str]:
    dates = [(match[3], match[1], match[2]) for match in _DAY_LAST.finditer(question)]
    dates += [(match[3], match[2], match[1]) for match in _DAY_FIRST.finditer(question)]
    for year, name, day in dates:
        month = next(number for number, full in enumerate(_MONTHS, 1) if full.startswith(name[:3].lower()))
        with suppress(ValueError):  # there is no 31 February
            yield date(int(year), month, int(day)).isoformat()


def _runs(question: str, known: set[str]) -> list[str]:
    """The runs that stand for themselves, the short ones first."""
    found = []
    for run, is_first in _all_runs(question):
        first, last = (_bare(run.split()[at]) for at in (0, -1))
        outer = {first.casefold() if is_first or first == "I" else first, last.casefold() if last == "I" else last}
        words = words_of(run)
        if not outer & (JOINING | ASKING) and not (words and known.issuperset(words)):
            found.append(run)
    return sorted(found, key=lambda run: run.count(" "))


def _all_runs(question: str) -> Iterator[tuple[str, bool]]:
    """Runs of whole words of a sentence of one line, inside of quotation marks or outside, without what is around them; each
    with whether it begins the sentence."""
    for line in _QUOTED.sub(lambda match: f"\n{match[0][1:-1]}\n", question).splitlines():
        for sentence in _SENTENCE_END.split(line):
            words = sentence.split()
            for start in range(len(words)):
                for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
                    if run := _bare(" ".join(words[start:end])):
                        yield run, start == 0


def _bare(text: str) -> str:
    """The text without what only stands around it: `(so)` is `so`, and `f(x)` stays."""
    while True:
        bare = text.strip(_OUTER)
        for opening, closing in _BRACKETS:
            if bare.startswith(opening) and (closing not in bare or bare.find(closing) == len(bare) - 1):
                bare = bare[1:].removesuffix(closing)
            elif bare.endswith(closing) and opening not in bare:
                bare = bare[:-1]
            elif bare.endswith(opening):
                bare = bare[:-1]
        if bare == text:
            return bare
        text = bare
