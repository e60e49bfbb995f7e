"""Whether an answer is one of the acceptable ones, decided by rules and never by a model.

Two rules. `is_exact` is the one of the HotpotQA and FEVER notebooks: equal after lower-casing and dropping articles,
punctuation and extra blanks. `is_match` also takes a sentence that says the acceptable answer, so that nobody is marked
down for speaking in sentences. It is strict where a sentence could hedge: every number in the answer must belong to the
acceptable answer or to the question, every id of the same sort too, and a yes or a no must come first. A long text that
mentions everything is no answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_WORDS = 60
"""Longer answers are none."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december",
)

_NUMBER_WORDS = {
    word: str(value) for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
_MONTH = "|".join(f"{month[:3]}(?:{month[3:]})?" for month in MONTHS)
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH})\.?,? (\d{{4}})\b")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})\b")
_ISO_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_DATE_WORD = re.compile(r"d\d{8}")  # how a date is spelled among the words
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_AMOUNT = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?!\w)")
_ID = re.compile(r"([^\W\d_]+)[-_]?\d[\w-]*")  # such as INV-2041 or cus_4417: no number
_TOKEN = re.compile(r"[^\W\d_]+[-_]?\d[\w-]*|-?\d+(?:\.\d+)?(?!\w)|[^\W_]+")
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
_NONE_FOUND = re.compile(
    r"\b(?:no|not|cannot|never|\w+nt) (?:[\w-]+ ){0,3}?(?:found|find|exists?|known|listed|available)\b"
    r"|\b(?:no such|unknown|there (?:is|are|was|were) no|there isnt|^no)\b"
    r"|\bno (?:order|parcel|customer|invoice|charge|file|folder|document|entry|one|\w+ with)\b"
)

NOT_FOUND = "not found"
"""The acceptable answer where what was asked for does not exist: any plain way of saying so matches it."""


def is_exact(answer: str, acceptable: Iterable[str]) -> bool:
    """Whether the answer equals an acceptable one by the rule of the HotpotQA evaluation."""
    return _bare(answer) in {_bare(each) for each in acceptable}


def is_match(answer: str, acceptable: Iterable[str], *, question: str = "") -> bool:
    """Whether the answer is an acceptable one, or a sentence that says it and no other number than the question's."""
    words = _words(answer)
    if not words or len(words) > MAX_WORDS:
        return False
    return any(_says(words, each, question) for each in acceptable)


def _says(words: list[str], acceptable: str, question: str) -> bool:
    wanted = _words(acceptable)
    if acceptable == NOT_FOUND:
        return _NONE_FOUND.search(" ".join(words)) is not None
    if wanted in (["yes"], ["no"]):
        return words[:1] == wanted
    if not wanted or not _contains(words, wanted):
        return False
    allowed = {*wanted, *_words(question)}
    kinds = {kind for word in wanted if (kind := _kind(word))}
    return all(word in allowed for word in words if _is_number(word) or _kind(word) in kinds)


def _contains(words: list[str], wanted: list[str]) -> bool:
    return any(words[start : start + len(wanted)] == wanted for start in range(len(words) - len(wanted) + 1))


def _words(text: str) -> list[str]:
    """The words of a text, with numbers and dates in one spelling: 1,200.50 as 1200.5, two as 2, 3 May 2026 as 2026-05-03."""
    text = unicodedata.normalize("NFKC", text).casefold().replace("−", "-")
    text = _DAY_FIRST.sub(lambda match: _date(match[3], match[2], match[1]), text)
    text = _MONTH_FIRST.sub(lambda match: _date(match[3], match[1], match[2]), text)
    text = _ISO_DATE.sub(lambda match: f" d{match[0].replace('-', '')} ", text)
    text = _THOUSANDS.sub("", _ARTICLES.sub(" ", text).replace("'", ""))
    return [_number(word) for word in _TOKEN.findall(text)]


def _date(year: str, month: str, day: str) -> str:
    number = next(number for number, name in enumerate(MONTHS, 1) if name.startswith(month[:3]))
    return f"{year}-{number:02}-{int(day):02}"


def _number(word: str) -> str:
    word = _NUMBER_WORDS.get(word, word)
    if _AMOUNT.fullmatch(word) and "." in word:
        return word.rstrip("0").rstrip(".")
    return word


def _is_number(word: str) -> bool:
    """Whether the word is a number or a date."""
    return _AMOUNT.fullmatch(word) is not None or _DATE_WORD.fullmatch(word) is not None


def _kind(word: str) -> str | None:
    """The letters that an id begins with; None for what is no id."""
    match = _ID.match(word)
    return None if match is None or _DATE_WORD.fullmatch(word) else match[1]


def _bare(text: str) -> str:
    return " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub("", text.lower())).split())
