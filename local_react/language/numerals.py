"""Numbers, dates and times as expressions: exactly those within their limits, in the spellings that the writer uses.

Digits are compared one by one, so `[2, 130]` costs a few pieces and not 129 alternatives. Whole numbers without a limit
have up to 20 digits; decimal numbers take every spelling that a float has.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache

from local_react.language.regular import EMPTY, EPSILON, Regular, characters, choice, literal, optional, repeat, sequence

MAX_WHOLE_DIGITS = 20
"""How many digits a whole number without a limit may have."""

WHOLE_FLOAT_DIGITS = 15
"""Whole numbers of so many digits are floats without loss."""

INNER_DIGITS, FRACTION_DIGITS = 16, 20
"""The most digits that a float is written with before and behind its point, where it has no exponent."""

LARGEST = Decimal("1.7976931348623157e308")
_EXPONENTS = (-324, 308)
_USUAL = (-4, 15)
"""Exponents from and to which a float is written without one."""


def digit(low: int | str = 0, high: int | str = 9) -> Regular:
    """One digit in a range."""
    low, high = int(low), int(high)
    return characters([(0x30 + low, 0x30 + high)]) if low <= high else EMPTY


@lru_cache(maxsize=256)
def whole_number(low: int | None, high: int | None) -> Regular:
    """The whole numbers from `low` to `high`, without leading zeros, plus signs, or minus zero."""
    limit = 10**MAX_WHOLE_DIGITS - 1
    # A limit beyond the usual digits is not cut off: it says how large the numbers are meant to be.
    low = min(-limit, -limit if high is None else high - limit) if low is None else low
    high = max(limit, low + limit) if high is None else high
    negative = _natural(max(1, -high), -low) if low < 0 else EMPTY
    return choice(_natural(max(0, low), high) if high >= 0 else EMPTY, sequence("-", negative))


def _natural(low: int, high: int) -> Regular:
    if low > high:
        return EMPTY
    parts = []
    for n_digits in range(len(str(low)), len(str(high)) + 1):
        first = max(low, 10 ** (n_digits - 1) if n_digits > 1 else 0)
        parts.append(_between(str(first), str(min(high, 10**n_digits - 1))))
    return choice(*parts)


def _between(low: str, high: str) -> Regular:
    """The digit strings between two of the same length."""
    if not low:
        return EPSILON
    n_rest = len(low) - 1
    if set(low[1:]) <= {"0"} and set(high[1:]) <= {"9"}:
        return sequence(digit(low[0], high[0]), repeat(digit(), n_rest, n_rest))
    if low[0] == high[0]:
        return sequence(low[0], _between(low[1:], high[1:]))
    return choice(
        sequence(low[0], _between(low[1:], "9" * n_rest)),
        sequence(digit(int(low[0]) + 1, int(high[0]) - 1), repeat(digit(), n_rest, n_rest)),
        sequence(high[0], _between("0" * n_rest, high[1:])),
    )


@lru_cache(maxsize=256)
def decimal_number(low: float | None, high: float | None) -> Regular:
    """The decimal numbers from `low` to `high`, with and without point and exponent, that are finite as floats."""
    lower = -LARGEST if low is None else max(_exact(low), -LARGEST)
    upper = LARGEST if high is None else min(_exact(high), LARGEST)
    positive = _positive(max(lower, Decimal(0)), upper) if upper >= 0 else EMPTY
    negative = EMPTY
    if lower < 0:
        negative = _positive(max(-upper, Decimal(0)), -lower)
    elif lower == 0 and upper >= 0:
        negative = literal("0.0")
    return choice(positive, sequence("-", negative))


def _exact(limit: float) -> Decimal:
    # The shortest spelling of a float, not its exact value: reading rounds, and rounding keeps the order.
    return Decimal(repr(limit)) if isinstance(limit, float) else Decimal(limit)


def _positive(low: Decimal, high: Decimal) -> Regular:
    """The numbers between two that aren't negative."""
    if low > high:
        return EMPTY
    whole = _natural(int(low.to_integral_value("ROUND_CEILING")), min(int(high), 10**WHOLE_FLOAT_DIGITS - 1))
    return choice(whole, _pointed(low, high, 10**INNER_DIGITS - 1), *_scientific(low, high))


def _pointed(low: Decimal, high: Decimal, largest: int) -> Regular:
    """The numbers with a point, and at most `largest` before it."""
    first, last = int(low), min(int(high), largest)
    if first > last:
        return EMPTY
    low_digits = _fraction_digits(low)
    high_digits = _fraction_digits(high) if int(high) <= largest else None
    free = repeat(digit(), 1, FRACTION_DIGITS)
    if first == last:
        return sequence(str(first), ".", _fraction(low_digits, high_digits))
    parts = [sequence(str(first), ".", _fraction(low_digits, None) if low_digits else free)]
    parts.append(sequence(_natural(first + 1, last - 1), ".", free))
    parts.append(sequence(str(last), ".", free if high_digits is None else _fraction("", high_digits)))
    if not low_digits:
        parts[0:2] = [sequence(_natural(first, last - 1), ".", free)]
    return choice(*parts)


def _fraction_digits(number: Decimal) -> str:
    """The digits behind the point, without zeros at the end."""
    return f"{number:f}".partition(".")[2].rstrip("0")


def _fraction(low: str, high: str | None) -> Regular:
    """The digits behind the point, at least one, of the fractions from 0.low to 0.high."""
    return _some_digits(low, high, max(FRACTION_DIGITS, len(low), len(high or "")))


def _some_digits(low: str, high: str | None, room: int) -> Regular:
    """At least one digit."""
    first = int(low[0]) if low else 0
    last = 9 if high is None else int(high[0]) if high else 0
    if first > last or room == 0:
        return EMPTY
    if first == last:
        return sequence(str(first), _digits_from(low[1:], None if high is None else high[1:], room - 1))
    parts = [sequence(str(first), _digits_from(low[1:], None, room - 1))]
    parts.append(sequence(digit(first + 1, last if high is None else last - 1), repeat(digit(), 0, room - 1)))
    if high is not None:
        parts.append(sequence(str(last), _digits_from("", high[1:], room - 1)))
    return choice(*parts)


def _digits_from(low: str, high: str | None, room: int) -> Regular:
    """Any number of digits, none included where that isn't below `low`."""
    if not low and high is None:
        return repeat(digit(), 0, room)
    if not low and not high:
        return repeat("0", 0, room)
    more = _some_digits(low, high, room)
    return choice(EPSILON, more) if not low.strip("0") else more


def _scientific(low: Decimal, high: Decimal) -> list[Regular]:
    """The numbers with an exponent, as floats are written that are very large or very small."""
    found = []
    whole: dict[bool, list[int]] = {True: [], False: []}
    with localcontext() as context:
        context.prec = 800
        for exponent in range(_EXPONENTS[0], _EXPONENTS[1] + 1):
            if _USUAL[0] <= exponent <= _USUAL[1]:
                continue
            scale = Decimal(1).scaleb(exponent)
            if low <= scale and scale * 10 <= high:
                whole[exponent > 0].append(abs(exponent))
            elif scale <= high and low < scale * 10:
                mantissa = _mantissa(max(low / scale, Decimal(1)), high / scale)
                found.append(sequence(mantissa, f"e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"))
    any_mantissa = sequence(digit(1, 9), optional(".", repeat(digit(), 1, INNER_DIGITS)))
    for is_large, exponents in whole.items():
        if exponents:
            sign = "e+" if is_large else "e-"
            low_e, high_e = min(exponents), max(exponents)
            short = _between(f"{low_e:02d}", f"{min(high_e, 99):02d}") if low_e < 100 else EMPTY
            long = _natural(max(low_e, 100), high_e)
            found.append(sequence(any_mantissa, sign, choice(short, long)))
    return found


def _mantissa(low: Decimal, high: Decimal) -> Regular:
    """The numbers from 1 to below 10 between two."""
    whole = _natural(int(low.to_integral_value("ROUND_CEILING")), min(int(high), 9))
    return choice(whole, _pointed(low, min(high, Decimal("9.99999999999999999999")), 9))


def _day_of(months: str, last: str) -> Regular:
    """The days of each of these months, from 01 to `last`."""
    first, second = int(last[0]), int(last[1])
    full = [sequence("0", digit(1)), sequence(digit(1, first - 1), digit()), sequence(str(first), digit(0, second))]
    return sequence(choice(*(literal(month) for month in months.split())), "-", choice(*full))


@lru_cache(maxsize=256)
def date() -> Regular:
    """The days of the calendar that exist, from 0001-01-01 to 9999-12-31."""
    year = choice(
        sequence("000", digit(1)), sequence("00", digit(1), digit()), sequence("0", digit(1), digit(), digit()),
        sequence(digit(1), digit(), digit(), digit()),
    )
    day = choice(
        _day_of("01 03 05 07 08 10 12", "31"), _day_of("04 06 09 11", "30"), _day_of("02", "28"),
    )
    odd = characters("13579")
    # Two digits that a number divisible by four ends in, "00" left out.
    fours = choice(
        sequence("0", characters("48")), sequence(characters("2468"), characters("048")), sequence(odd, characters("26"))
    )
    leap = choice(sequence(digit(), digit(), fours), sequence(fours, "00"))
    return choice(sequence(year, "-", day), sequence(leap, "-02-29"))


@lru_cache(maxsize=256)
def date_time() -> Regular:
    """The times of day on such days, with and without seconds, fractions of them, and an offset."""
    hour = choice(sequence(characters("01"), digit()), sequence("2", digit(0, 3)))
    minute = sequence(digit(0, 5), digit())
    time = sequence(hour, ":", minute, optional(":", minute, optional(".", repeat(digit(), 1, 6))))
    offset = choice(EPSILON, literal("Z"), sequence(characters("+-"), hour, ":", minute))
    return sequence(date(), characters("T "), time, offset)
