"""Numbers and dates: exactly those within their limits, in every spelling that the writer uses."""

from __future__ import annotations

import datetime
import json
import random

import pytest
from hypothesis import assume, given, strategies as st

from local_react.language.derivative import accepts, random_word
from local_react.language.fit import UNFIT, fit
from local_react.language.numerals import date, date_time, decimal_number, whole_number
from local_react.language.regular import EMPTY
from local_react.language.types import Date, DateTime, Number

LIMITS = st.none() | st.integers(-2000, 2000)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NEAR = FLOATS | st.integers(-100, 100).map(lambda n: n / 8) | st.integers(-40, 40).map(lambda n: 10.0**n)


@given(LIMITS, LIMITS, st.integers(-2500, 2500))
def test_whole_numbers_are_those_within_the_limits(low: int | None, high: int | None, number: int) -> None:
    assume(low is None or high is None or low <= high)
    is_within = (low is None or low <= number) and (high is None or number <= high)
    assert accepts(whole_number(low, high), str(number)) == is_within
    assert not accepts(whole_number(low, high), f"0{abs(number)}")


@given(st.integers(-(10**20) + 1, 10**20 - 1))
def test_whole_numbers_without_limits_have_twenty_digits(number: int) -> None:
    assert accepts(whole_number(None, None), str(number))
    assert not accepts(whole_number(None, None), str(number * 10**20)) or number == 0


@pytest.mark.parametrize("text", ["-0", "+1", "1.0", "", "-", "00", "1e3", "١"])
def test_other_spellings_of_whole_numbers_are_none(text: str) -> None:
    assert not accepts(whole_number(None, None), text)


@pytest.mark.parametrize("limits", [(10**30, None), (None, -(10**30)), (10**30, 10**30 + 5)])
def test_limits_beyond_the_usual_digits_leave_some_numbers(limits: tuple[int | None, int | None]) -> None:
    word = random_word(whole_number(*limits), random.Random(1)).decode()
    assert (limits[0] is None or int(word) >= limits[0]) and (limits[1] is None or int(word) <= limits[1])


@given(st.none() | NEAR, st.none() | NEAR, NEAR)
def test_decimal_numbers_are_those_within_the_limits(low: float | None, high: float | None, number: float) -> None:
    assume(low is None or high is None or low <= high)
    is_within = (low is None or low <= number) and (high is None or number <= high)
    # Minus zero is zero, and spelled only where zero is the lower limit or numbers below it are allowed.
    if str(number) != "-0.0" or not is_within:
        assert accepts(decimal_number(low, high), json.dumps(number)) == is_within


@given(st.none() | NEAR, st.none() | NEAR, st.integers(0, 2**32))
def test_every_decimal_number_drawn_fits(low: float | None, high: float | None, seed: int) -> None:
    assume(low is None or high is None or low <= high)
    language, source = decimal_number(low, high), random.Random(seed)
    for _ in range(5):
        word = random_word(language, source).decode()
        assert fit(json.loads(word), Number(low, high), []) is not UNFIT, word


def test_nothing_lies_between_limits_that_exclude_each_other() -> None:
    assert whole_number(3, 2) is EMPTY and decimal_number(3.5, 2) is EMPTY


@given(st.dates())
def test_every_day_is_a_date(day: datetime.date) -> None:
    assert accepts(date(), day.isoformat())


@pytest.mark.parametrize("year", [0, 1, 4, 100, 400, 1900, 2000, 2023, 2024, 9999])
def test_days_that_do_not_exist_are_no_dates(year: int) -> None:
    for month in range(14):
        for day in range(33):
            text = f"{year:04}-{month:02}-{day:02}"
            assert accepts(date(), text) == (fit(text, Date(), []) is not UNFIT), text


@given(st.datetimes(), st.sampled_from(["", "Z", "+02:00", "-23:59"]), st.booleans())
def test_every_moment_is_a_date_time(moment: datetime.datetime, offset: str, has_blank: bool) -> None:
    text = moment.isoformat(" " if has_blank else "T") + offset
    assert accepts(date_time(), text)
    assert accepts(date_time(), moment.strftime("%Y").zfill(4) + moment.strftime("-%m-%dT%H:%M") + offset)


def test_every_date_time_drawn_exists() -> None:
    source = random.Random(7)
    for _ in range(500):
        word = random_word(date_time(), source).decode()
        assert fit(word, DateTime(), []) is not UNFIT, word
