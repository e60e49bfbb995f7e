"""The calculator tool: arithmetic by a walk over the syntax tree, never by evaluating text.

Invariant: every value on the way is an exact fraction below `LARGEST`, so 0.1 + 0.2 is 0.3 and no input can make the
program compute for long. Only roots, fractional powers and powers of many digits are rounded, to a float. It refuses
names, attributes, texts, comparisons and everything else that is not arithmetic on decimal numbers.

Spellings that small models use are read as they are meant: `×`, `·`, `÷` and the typographic minus are operators, `^`
is power (not exclusive or). A thousands comma is dropped outside function calls (`1,234 * 2`); inside a call it could
also separate two arguments (`max(1,234)`), so that is refused with a word on what to write.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction

LONGEST = 500
"""The most characters in an expression."""

DEEPEST = 100
"""The most operations inside one another; a sum of n terms is n - 1 deep."""

LARGEST = 10**100
"""Results and steps on the way must stay below this, either sign."""

_POWER_BITS = 8192  # an exact power may get this long before its size is judged

_Operation = Callable[[Fraction, Fraction], Fraction | int | float]

_SPELLINGS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**"})
_TOKEN = re.compile(
    r" *(?:"
    r"(?P<thousands>[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?(?![0-9A-Za-z.]|,[0-9]))"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![0-9A-Za-z.]))"
    r"|(?P<word>[A-Za-z]+)"
    r"|(?P<sign>\*\*|//|[-+*/%(),]))"
)


def calculator(expression: str) -> int | float:
    """Work out an arithmetic expression, such as (49.00 + 12.50) * 2.

    Raises ValueError for anything that is not arithmetic or too large, and ZeroDivisionError.

    Args:
        expression: Numbers with + - * / // % ** ( ) and sqrt, abs, round, min, max.
    """
    if len(expression) > LONGEST:
        raise ValueError(f"the expression is longer than {LONGEST} characters")
    text = "".join(_tokens(" ".join(expression.translate(_SPELLINGS).split())))
    if not text:
        raise ValueError("the expression is empty")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, RecursionError, MemoryError):
        raise ValueError(f"{_shown(expression)} is not complete arithmetic: check operators and brackets") from None
    value = _value(tree.body, DEEPEST)
    return value.numerator if value.denominator == 1 else _shortest(float(value))


def _tokens(text: str) -> Iterator[str]:
    """The tokens of `text`, respelled for the Python parser; whatever is not arithmetic raises ValueError."""
    calls: list[bool] = []  # for each open bracket, whether it belongs to a function
    position, previous = 0, ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ValueError(f"{_shown(text[position:].lstrip())} can't be read: write numbers and + - * / ** ( ) only")
        token, position = match[0].strip(), match.end()
        match match.lastgroup:
            case "thousands" if any(calls):
                one, several = token.replace(",", ""), token.replace(",", ", ")
                raise ValueError(f"{token} can mean two things here: write {one} or {several}")
            case "thousands":
                token = token.replace(",", "")
            case "word" if token not in _FUNCTIONS:
                raise ValueError(f"{_shown(token)} is no number: only {', '.join(_FUNCTIONS)} may stand as words")
        if token == "(":
            calls.append(previous in _FUNCTIONS)
        elif token == ")" and calls:
            calls.pop()
        if len(calls) > DEEPEST // 2:
            raise ValueError("too many brackets inside one another")
        previous = token
        # Python refuses leading zeros; the blank keeps two numbers side by side apart, so that the parser refuses them.
        yield f"{token.lstrip('0') or '0'} " if token.isdigit() else f"{token} "


def _value(node: ast.expr, depth: int) -> Fraction:
    if depth == 0:
        raise ValueError("too many operations in one expression: work it out in parts")
    match node:
        case ast.Constant(value=int() as number):
            result = Fraction(number)
        case ast.Constant(value=float() as number) if number < math.inf:
            # The shortest decimal of a float is what was written, 0.1 and not 0.1000000000000000055.
            result = Fraction(repr(number))
        case ast.Constant():
            raise ValueError("the number is too large")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_value(operand, depth - 1)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            result = _value(operand, depth - 1)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            result = Fraction(_OPERATORS[type(op)](_value(left, depth - 1), _value(right, depth - 1)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            result = Fraction(_call(name, [_value(argument, depth - 1) for argument in arguments]))
        case ast.Tuple():
            raise ValueError("a comma may only stand in a function or between thousands, as in 1,234")
        case ast.Name(id=name):
            raise ValueError(f"{name} needs brackets, as in {name}(2)")
        case _:
            raise ValueError("only + - * / // % ** and brackets can be worked out")
    return _limited(result)


def _limited(value: Fraction) -> Fraction:
    if abs(value) >= LARGEST:
        raise ValueError("the result is too large: it has more than 100 digits")
    return value


def _shortest(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def _shown(text: str) -> str:
    return repr(text if len(text) <= 30 else text[:29] + "…")


def _division(operation: _Operation) -> _Operation:
    def divide(left: Fraction, right: Fraction) -> Fraction | int | float:
        if right == 0:
            raise ZeroDivisionError("division by zero")
        return operation(left, right)

    return divide


def _power(base: Fraction, exponent: Fraction) -> Fraction | int | float:
    if base == 0 and exponent < 0:
        raise ZeroDivisionError("division by zero")
    if base < 0 and exponent.denominator > 1:
        raise ValueError("a negative number has no such power: the exponent must be whole")
    longest = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator == 1 and longest * abs(exponent) <= _POWER_BITS:
        return base**exponent.numerator
    try:
        size = math.pow(abs(base), exponent)
    except (OverflowError, ValueError):  # the latter where the float of a tiny base is 0.0
        raise ValueError("the result is too large: it has more than 100 digits") from None
    # A float can't tell odd from even beyond 2**53, so the sign comes from the exact exponent.
    return -size if base < 0 and exponent.numerator % 2 else size


def _call(name: str, arguments: list[Fraction]) -> Fraction | int | float:
    function, most = _FUNCTIONS[name]
    if not 1 <= len(arguments) <= most:
        expected = {1: "one number", 2: "one or two numbers"}.get(most, "one or more numbers")
        raise ValueError(f"{name} takes {expected}, not {len(arguments)}")
    return function(*arguments)


def _root(value: Fraction) -> Fraction | float:
    """The square root; exact where there is an exact one."""
    if value < 0:
        raise ValueError("a negative number has no square root")
    root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
    return root if root * root == value else math.sqrt(value)


def _rounded(value: Fraction, digits: Fraction = Fraction(0)) -> Fraction:
    """Rounded to `digits` decimal places, ties to even as in Python."""
    if digits.denominator > 1 or abs(digits) > 100:
        raise ValueError("round takes a whole number of decimal places from -100 to 100")
    return Fraction(round(value, digits.numerator))


_OPERATORS: dict[type[ast.operator], _Operation] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _division(operator.truediv),
    ast.FloorDiv: _division(operator.floordiv),
    ast.Mod: _division(operator.mod),
    ast.Pow: _power,
}

# Each function with the most numbers that it takes; one is the fewest for all.
_FUNCTIONS: dict[str, tuple[Callable[..., Fraction | int | float], int]] = {
    "sqrt": (_root, 1),
    "abs": (abs, 1),
    "round": (_rounded, 2),
    "min": (min, LONGEST),
    "max": (max, LONGEST),
}
