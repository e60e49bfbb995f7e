"""Sums in words, and a calculator: the plainest world, where one call gives the answer.

Every answer is computed from the numbers that the question was made of, in exact fractions, and not by the calculator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from local_react.bench.answers import is_match
from local_react.bench.task import Task
from local_react.bench.worlds.draws import Draws
from local_react.bench.worlds.series import Draft, number_tasks, series
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step
from local_react.tools.calculator import calculator
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

TOOL = "calculator"


class ArithmeticWorld:
    """Questions for a calculator."""

    name = "arithmetic"

    def tasks(self, n: int, seed: int = 0) -> list[Task]:
        """The first `n` tasks of a seed, the kinds in turn; fewer, where the world holds no more."""
        return number_tasks(self.name, seed, series(KINDS, n, Draws(self.name, seed)))

    def toolbox(self, task: Task) -> Toolbox:
        """The calculator; it has no state."""
        return Toolbox([Tool.from_function(calculator)])

    def exemplars(self) -> Sequence[Exemplar]:
        """One smooth run, and one where the first call fails."""
        return EXEMPLARS

    def judge(self, task: Task, answer: str) -> bool:
        """Whether the answer says the number, and no other one that isn't in the question."""
        return is_match(answer, task.answers, question=task.question)


def write_number(value: Fraction) -> str:
    """A number as the calculator writes it: 12, or 12.5. Raises ValueError for one without a short decimal form."""
    if value.denominator == 1:
        return str(value.numerator)
    if 10**6 % value.denominator:
        raise ValueError(f"{value} has no short decimal form")
    return repr(float(value))


def _sum(expression: str, value: int | Fraction, question: str) -> Draft:
    written = write_number(Fraction(value))
    return Draft(question, (written,), (Call(TOOL, {"expression": expression}),), (written,))


def _add(draws: Draws) -> Draft:
    first, second, third = (draws.whole(100, 9999) for _ in range(3))
    return _sum(f"{first} + {second} + {third}", first + second + third, f"What is {first} + {second} + {third}?")


def _multiply(draws: Draws) -> Draft:
    boxes, jars, loose = draws.whole(12, 99), draws.whole(12, 99), draws.whole(2, 11)
    question = f"A shelf has {boxes} boxes of {jars} jars each, and {loose} single jars. How many jars are there?"
    return _sum(f"{boxes} * {jars} + {loose}", boxes * jars + loose, question)


def _subtract(draws: Draws) -> Draft:
    liters, taken = draws.whole(500, 9000), [draws.whole(10, 99) for _ in range(3)]
    question = (
        f"A tank holds {liters} liters. {taken[0]}, {taken[1]} and {taken[2]} liters are taken out. How many liters are left?"
    )
    return _sum(f"{liters} - {taken[0]} - {taken[1]} - {taken[2]}", liters - sum(taken), question)


def _decimals(draws: Draws) -> Draft:
    cents, count = draws.whole(101, 9999), draws.whole(3, 40)
    price = f"{cents // 100}.{cents % 100:02}"
    return _sum(f"{price} * {count}", Fraction(cents * count, 100), f"One ticket costs {price}. What do {count} tickets cost?")


def _percent(draws: Draws) -> Draft:
    rate, amount = draws.whole(2, 49), 20 * draws.whole(10, 400)
    question = f"What is {rate}% of {amount}?"
    return _sum(f"{amount} * {rate} / 100", Fraction(amount * rate, 100), question)


def _brackets(draws: Draws) -> Draft:
    a, b, c = draws.whole(11, 99), draws.whole(11, 99), draws.whole(3, 19)
    return _sum(f"({a} + {b}) * {c}", (a + b) * c, f"What do you get if you add {a} and {b}, and multiply the sum by {c}?")


def _average(draws: Draws) -> Draft:
    values = [draws.whole(10, 500) for _ in range(4)]
    listed = f"{values[0]}, {values[1]}, {values[2]} and {values[3]}"
    expression = f"({' + '.join(map(str, values))}) / 4"
    return _sum(expression, Fraction(sum(values), 4), f"What is the average of {listed}?")


def _power(draws: Draws) -> Draft:
    number, exponent = draws.whole(3, 25), draws.whole(3, 5)
    return _sum(f"{number} ** {exponent}", number**exponent, f"What is {number} to the power of {exponent}?")


def _two_steps(draws: Draws) -> Draft:
    rows, seats, sold = draws.whole(11, 40), draws.whole(11, 40), draws.whole(20, 99)
    question = (
        f"A hall has {rows} rows of {seats} seats. {sold} tickets are sold. "
        "How many seats are free, if 2 free seats are kept for the staff and don't count?"
    )
    return _sum(f"{rows} * {seats} - {sold} - 2", rows * seats - sold - 2, question)


def _remainder(draws: Draws) -> Draft:
    eggs, size = draws.whole(100, 9999), draws.whole(6, 24)
    question = f"{eggs} eggs are packed into boxes of {size}. How many eggs are left over?"
    return _sum(f"{eggs} % {size}", eggs % size, question)


KINDS: dict[str, Callable[[Draws], Draft]] = {
    "sum": _add, "product": _multiply, "difference": _subtract, "decimals": _decimals, "percent": _percent,
    "brackets": _brackets, "average": _average, "power": _power, "two_steps": _two_steps, "remainder": _remainder,
}  # fmt: skip
"""What makes a question of each kind."""


EXEMPLARS = (
    Exemplar(
        "A baker sells 7 loaves at 3.20 each. How much is that?",
        (
            Step(Call(TOOL, {"expression": "7 * 3.20"}, "I need to multiply the number of loaves by the price."),
                 Observation("22.4")),
            Step(Answer("22.4", "The result is the answer.")),
        ),
    ),
    Exemplar(
        "How much is half of 90, and 5 more?",
        (
            Step(Call(TOOL, {"expression": "half of 90 + 5"}, "I need to work out half of 90 and add 5."),
                 Observation("Error: ValueError: 'half' is no number: only sqrt, abs, round, min, max may stand as words",
                             is_error=True)),
            Step(Call(TOOL, {"expression": "90 / 2 + 5"}, "The tool takes only numbers and signs. Half of 90 is 90 / 2."),
                 Observation("50")),
            Step(Answer("50", "Now I have the result.")),
        ),
    ),
)  # fmt: skip
