"""Rules tied together: the words are those that the rules describe, and places in them answer as in any expression."""

from __future__ import annotations

import random
import time
from functools import cache
from itertools import product

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from local_react.errors import GrammarError
from local_react.language.ambiguity import n_ways
from local_react.language.derivative import Recogniser, accepts, random_word, shortest_word
from local_react.language.emit import is_recursive, to_gbnf, to_lark, to_regex
from local_react.language.regular import EMPTY, EPSILON, Reference, Regular, characters, choice, literal, repeat, sequence
from local_react.language.rules import MAX_WORD, Rule, tie

A, B, C = literal("a"), literal("b"), literal("c")
SHORT = [bytes(letters) for n in range(7) for letters in product(b"ab", repeat=n)]

BRACKETS: list[Rule] = [[[(literal("("), 1, 1), (0, 1, 1), (literal(")"), 1, 1)], [(A, 0, None)]]]
TWO_ENDS: list[Rule] = [[[(A, 1, 1), (0, 1, 1), (B, 1, 1)], [(A, 1, 1), (0, 1, 1), (C, 1, 1)], [(literal("x"), 1, 1)]]]
"""Of each `a` the end is known only when it comes."""

TARGETS = st.integers(0, 3) | st.sampled_from([A, B, literal("ab"), characters("ab")])
COUNTS = st.sampled_from([(1, 1)] * 5 + [(0, 1), (0, 2), (2, 2), (1, None), (0, None)])
PARTS = st.tuples(TARGETS, COUNTS).map(lambda pair: (pair[0], *pair[1]))
RULES = st.lists(st.lists(st.lists(PARTS, max_size=3), min_size=1, max_size=3), min_size=4, max_size=4)


def reader(rules: list[Rule]):
    """A reader by plain recursion: where the words of a rule that begin at a place of a text can end."""

    def read(text: bytes) -> set[int]:
        @cache
        def ends(target: int | Regular, start: int) -> frozenset[int]:
            if isinstance(target, Regular):
                return frozenset(end for end in range(start, len(text) + 1) if accepts(target, text[start:end]))
            found: set[int] = set()
            for parts in rules[target]:
                places = {start}
                for part in parts:
                    places = {end for place in places for end in repeated(part, place)}
                found |= places
            return frozenset(found)

        def repeated(part, start: int) -> set[int]:
            target, low, high = part
            found, places = {start} if not low else set(), {start}
            for n in range(1, (len(text) + 1 if high is None else high) + 1):
                places = {end for place in places for end in ends(target, place)}
                found |= places if n >= low else set()
            return found

        return set(ends(0, 0))

    return read


def is_sound(rules: list[Rule]) -> bool:
    """Whether no rule begins with itself or repeats without end what may be empty."""
    may_be_empty = [False] * len(rules)
    for _ in rules:
        may_be_empty = [
            any(all(not low or isinstance(target, int) and may_be_empty[target] for target, low, _ in parts) for parts in rule)
            for rule in rules
        ]
    everything = [part for rule in rules for parts in rule for part in parts]
    if any(high is None and isinstance(target, int) and may_be_empty[target] for target, _, high in everything):
        return False
    begins = {rule: set() for rule in range(len(rules))}
    for rule, alternatives in enumerate(rules):
        for parts in alternatives:
            for target, low, _ in parts:
                is_empty = isinstance(target, int) and may_be_empty[target]
                if isinstance(target, int):
                    begins[rule].add(target)
                if low and not is_empty:
                    break
    for _ in rules:
        begins = {rule: firsts.union(*(begins[first] for first in firsts)) for rule, firsts in begins.items()}
    return all(rule not in firsts for rule, firsts in begins.items())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(RULES)
def test_the_words_are_those_that_the_rules_describe(rules: list[Rule]) -> None:
    assume(is_sound(rules))
    language, read = tie(rules), reader(rules)
    words = [text for text in SHORT if len(text) in read(text)]
    assert [text for text in SHORT if accepts(language, text)] == words
    if language is EMPTY:
        return
    shortest = shortest_word(language)
    assert accepts(language, shortest)
    assert all(len(shortest) <= len(word) for word in words)
    for text in SHORT:
        place = Recogniser(language).feed(text)
        assert place.is_dead == (not place.is_complete and not any(place.allows(byte) for byte in range(256)) and not place.accepts)
        if place.is_dead:
            assert not any(word.startswith(text) for word in words)
            continue
        assert place.feed(place.shortest()).accepts
        assert not place.feed(place.forced()).is_dead
        forced = text + place.forced()
        assert all(word.startswith(forced) for word in words if word.startswith(text))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(RULES, st.integers(0, 5))
def test_random_words_are_words(rules: list[Rule], seed: int) -> None:
    assume(is_sound(rules))
    language = tie(rules)
    assume(language is not EMPTY)
    word = random_word(language, random.Random(seed))
    # The second reading is slow for long words, and so is the first for the most ambiguous rules.
    assume(len(word) <= 10)
    assert accepts(language, word) and len(word) in reader(rules)(word)


def test_rules_without_a_circle_give_the_expression_that_is_built_by_hand() -> None:
    rules: list[Rule] = [[[(A, 1, 1), (1, 0, 3)], [(2, 1, 1)]], [[(B, 1, 1)], [(C, 1, 1)]], [[(B, 1, None)]]]
    assert tie(rules) is choice(sequence(A, repeat(choice(B, C), 0, 3)), repeat(B, 1))
    assert not is_recursive(tie(rules))


def test_only_what_leads_back_to_itself_is_a_reference() -> None:
    rules: list[Rule] = [[[(A, 1, 1), (1, 1, 1)]], [[(literal("("), 1, 1), (2, 1, 1)]], [[(1, 1, 1), (literal(")"), 1, 1)], [(B, 1, 1)]]]
    language = tie(rules)
    assert is_recursive(language)
    assert not isinstance(language, Reference)
    assert accepts(language, "a((b)") and not accepts(language, "a((b))")


@pytest.mark.parametrize("rules", [
    [[[(A, 1, 1), (0, 1, 1)]]], [[[(1, 1, 1)]], [[(A, 1, 1), (0, 1, 1)]]], [[]], [[[(EMPTY, 1, 1)]]],
    [[[(literal("a" * (MAX_WORD + 1)), 1, 1)]]], [[[(1, 200, 200)]], [[(2, 200, 200)]], [[(A, 1, 1)]]],
    [[[(place + 1, 999, 999)]] for place in range(200)] + [[[(A, 1, 1)]]],
], ids=["itself", "a pair", "no alternative", "nothing", "too long", "too long, multiplied", "beyond all numbers"])
def test_rules_without_a_word_of_a_step_are_empty(rules: list[Rule]) -> None:
    assert tie(rules) is EMPTY


def test_an_alternative_without_a_word_is_left_out() -> None:
    rules: list[Rule] = [[[(A, 1, 1)], [(1, 1, 1)], [(B, 1, 1), (1, 0, 1)]], [[(1, 1, 1), (A, 1, 1)]]]
    assert tie(rules) is choice(A, B)


def test_what_may_be_empty_repeats_as_often_as_it_may() -> None:
    rules: list[Rule] = [[[(1, 0, 3), (C, 1, 1)]], [[(A, 1, 1), (0, 0, 1)], []]]
    language = tie(rules)
    for word in (b"c", b"ac", b"aac", b"aaac", b"acc", b"aaccac"):
        assert accepts(language, word) == (len(word) in reader(rules)(word)), word


def test_what_may_be_empty_cannot_repeat_without_end() -> None:
    with pytest.raises(ValueError, match="without end"):
        tie([[[(1, 0, None)]], [[(A, 0, 1), (0, 0, 1)]]])


def test_no_depth_is_too_deep() -> None:
    language = tie(BRACKETS)
    place = Recogniser(language).feed(b"(" * 20_000)
    assert place.shortest() == b")" * 20_000
    assert place.feed(b")" * 19_999).forced() == b")"
    assert place.feed(b")" * 20_000).is_complete


def test_many_ways_to_read_cost_little() -> None:
    """Two readings of each letter: 2 to the power of 3,000 in all, and one is left."""
    started = time.process_time()
    place = Recogniser(tie(TWO_ENDS)).feed(b"a" * 3000 + b"x")
    assert len(place.shortest()) == 3000
    assert place.feed(b"bc" * 1500).is_complete
    assert time.process_time() - started < 3


def test_ways_are_counted_without_following_them() -> None:
    place = Recogniser(tie(TWO_ENDS))
    assert n_ways(place.rest) == 3
    assert n_ways(place.feed(b"a").rest) == 6
    assert n_ways(place.feed(b"a" * 200).rest) == 3 * 2**200
    assert n_ways(place.feed(b"ax").rest) == 2
    assert n_ways(EPSILON) == 1 and n_ways(EMPTY) == 0


def test_a_regex_cannot_spell_what_leads_back_to_itself() -> None:
    with pytest.raises(GrammarError, match="Take another engine"):
        to_regex(tie(BRACKETS))


def test_a_lark_text_of_rules_has_only_single_characters() -> None:
    """Regression: llguidance's lexer takes the longest text that it can, and never gives some of it back."""
    text = to_lark(tie(TWO_ENDS))
    assert text == 'start: r1\nr1: "a" r1 "b" | "a" r1 "c" | "x"\n'
    assert to_gbnf(tie(TWO_ENDS)) == 'root ::= r1\nr1 ::= "a" r1 "b" | "a" r1 "c" | "x"\n'
