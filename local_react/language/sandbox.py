"""The sandbox that renders the chat template of a model file, which may be anybody's.

Invariant: a template reaches nothing but the values that it is given, and all that it makes is bounded: its own length,
each text and list, its output, and its work in all, which is counted and not timed, so that it ends alike on every machine.
Everything that goes wrong is a TemplateError. Filters that chat templates don't use are not there. Bounds are kept where
values grow (`~`, `+`, `*`, filters, methods of texts); that is a guard against broken and careless templates first.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import TemplateError as JinjaError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.filters import FILTERS
from jinja2.meta import find_undeclared_variables
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment

from local_react.errors import TemplateError
from local_react.language.metering import Meter, Metering

SOURCE_LIMIT = 1 << 17
"""Characters of a template; the longest in use have some 30,000."""

TEXT_LIMIT = 1 << 21
"""Characters of any text, and elements of any list, that a template makes."""

RANGE_LIMIT = 10_000
"""Numbers in a range."""

WORK_LIMIT = 100_000
"""Turns of loops, calls and operations in one rendering; a thousand characters of new text count as one more."""

WIDTH_LIMIT = 1000
"""Numbers that are given to the methods of a text: widths, counts."""

KEPT_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "forceescape", "int",
    "items", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "safe",
    "select", "selectattr", "sort", "title", "trim", "unique", "upper", "wordcount",
)
"""The filters of jinja2 that can't make much out of little."""

ELEMENT_FILTERS = frozenset((
    "dictsort", "list", "map", "max", "min", "reject", "rejectattr", "select", "selectattr", "sort", "unique", "wordcount",
))
"""Those that do something with each element, of a text with each character."""


class Sandbox:
    """One compiled template. Raises TemplateError for one that is too long or no template.

    `variables` are the names that it asks for.
    """

    def __init__(self, source: str) -> None:
        if len(source) > SOURCE_LIMIT:
            raise TemplateError(
                f"The chat template has {len(source):,} characters, and {SOURCE_LIMIT:,} is the limit. Give another one."
            )
        self._environment = _Environment()
        self._lock = threading.Lock()
        try:
            tree = self._environment.parse(source)
            self.variables = frozenset(find_undeclared_variables(tree))
            self._template = self._environment.from_string(source)
        except (JinjaError, SyntaxError, RecursionError, MemoryError, ValueError) as error:
            line = f" in line {error.lineno}" if isinstance(getattr(error, "lineno", None), int) else ""
            raise TemplateError(f"The chat template is broken{line}: {_first_line(error)}. Give another one.") from error

    def render(self, variables: Mapping[str, Any]) -> str:
        """The template's text. Raises TemplateError where it fails, refuses, or goes past a limit."""
        try:
            with self._lock:
                self._environment.n_left = WORK_LIMIT
                return self._template.render(variables)
        except TemplateError:
            raise
        except Exception as error:  # a template can do all that goes wrong in Python
            what = f"{type(error).__name__}: {_first_line(error)}"
            raise TemplateError(f"The chat template fails on these messages ({what}). Give another one.") from error


class _Environment(ImmutableSandboxedEnvironment):
    """jinja2 with the settings that templates on the Hugging Face hub are written for
    (transformers, `utils/chat_template_utils.py`), and with bounds."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, extensions=[LoopControlExtension, _Generation, Meter],
            # Constants would be computed while the template is compiled, past all bounds.
            optimized=False, finalize=self.checked,
        )
        self.n_left = WORK_LIMIT
        self.filters = {name: self._metered(name) for name in KEPT_FILTERS} | {
            "join": self._join, "replace": self._replace, "indent": self._indent, "string": self.text,
            "tojson": self._write_json,
        }
        self.globals = {
            "range": self._range, "dict": dict, "namespace": self.globals["namespace"], "raise_exception": _refuse,
            "joiner": self.globals["joiner"], "cycler": self.globals["cycler"],
        }

    def spend(self, size: int = 0) -> None:
        """Count an operation that makes a value of `size`. Raises TemplateError past a limit."""
        if size > TEXT_LIMIT:
            raise TemplateError(f"The chat template makes a text or list of {size:,}, and {TEXT_LIMIT:,} is the limit.")
        self.n_left -= 1 + size // 1000
        if self.n_left < 0:
            raise TemplateError(f"The chat template doesn't end within {WORK_LIMIT:,} operations. Does it loop?")

    def checked(self, value: Any) -> Any:
        """The value, if its text stays within the limit."""
        self._measure(value)
        return value

    def text(self, value: Any) -> str:
        """The value as a text."""
        text = value if isinstance(value, str) else str(self.checked(value))
        self.spend(len(text))
        return text

    def concat(self, parts: Iterable[str]) -> str:  # type: ignore[override]
        """What jinja2 joins its output with."""
        kept, size = [], 0
        for part in parts:
            size += len(part)
            self.spend(max(size - TEXT_LIMIT, 0) and size)
            kept.append(part)
        self.spend(size)
        return "".join(kept)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        """`+`, `*`, `**` and `%`, each within bounds."""
        sizes = [len(value) if isinstance(value, (str, list, tuple)) else None for value in (left, right)]
        match operator, sizes:
            case "+", [int(one), int(other)]:
                self.spend(one + other)
            case "*", [None, int(size)] | [int(size), None]:
                times = right if sizes[1] is None else left
                self.spend(size * times if isinstance(times, int) and times > 0 else 0)
            case "%", [int(), _]:
                _check_format(left)
            case ("*" | "**"), [None, None]:
                _check_numbers(operator, left, right)
        self.spend()
        return self.checked(super().call_binop(context, operator, left, right))

    def call(__self, __context: Any, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call something, within bounds. The names of the parameters are jinja2's: keyword arguments may have any other."""
        receiver, name = getattr(__obj, "__self__", None), getattr(__obj, "__name__", "")
        if isinstance(receiver, str):
            __self._check_text_method(receiver, name, [*args, *kwargs.values()])
            __self.spend(len(receiver))
        elif isinstance(__obj, Macro) and (__obj.catch_varargs or __obj.catch_kwargs):
            __self.checked((args, kwargs))
        value = super().call(__context, __obj, *args, **kwargs)
        __self.spend(len(value) if isinstance(value, (str, list, tuple)) else 0)
        return __self.checked(value) if isinstance(value, dict) else value

    def _check_text_method(self, text: str, name: str, arguments: list[Any]) -> None:
        if any(isinstance(argument, int) and abs(argument) > WIDTH_LIMIT for argument in arguments):
            raise TemplateError(f"The chat template gives {name} a number above {WIDTH_LIMIT:,}, which is the limit.")
        match name, arguments:
            case "replace", [str(old), str(new), *_]:
                self.spend(text.count(old) * len(new))
            case "join", [[*parts]]:
                self.spend(sum(len(part) for part in parts if isinstance(part, str)) + len(text) * len(parts))
            case "translate", [dict(table)]:
                self.spend(len(text) * max((len(new) for new in table.values() if isinstance(new, str)), default=0))
            case "expandtabs", [int(size)]:
                self.spend(text.count("\t") * size)

    def wrap_str_format(self, value: Any) -> Any:
        """The sandbox's own `str.format`, within bounds."""
        if getattr(value, "__name__", "") in ("format", "format_map"):
            _check_format(getattr(value, "__self__", None))
        return super().wrap_str_format(value)

    def _metered(self, name: str) -> Callable[..., Any]:
        """A filter of jinja2 that counts what it is given."""
        filter, by_element = FILTERS[name], name in ELEMENT_FILTERS

        @wraps(filter)  # with jinja2's mark of those that want the environment first
        def metered(*args: Any, **kwargs: Any) -> Any:
            for value in args:
                size = len(value) if isinstance(value, (str, list, tuple, dict, range)) else 0
                self.spend(size)
                # What is done with each element takes far longer than what is done with all characters at once.
                self.n_left -= size // 10 if by_element else 0
            return filter(*args, **kwargs)

        return metered

    def _measure(self, value: Any) -> None:
        """Count a nested value, each time that a part of it occurs."""
        left = [value] if isinstance(value, (list, tuple, dict)) else []
        while left:
            part = left.pop()
            self.spend(len(part) if isinstance(part, str) else 0)
            if isinstance(part, dict):
                left += [*part.keys(), *part.values()]
            elif isinstance(part, (list, tuple)):
                left += part

    def _range(self, *bounds: int) -> range:
        numbers = range(*bounds)
        if len(numbers) > RANGE_LIMIT:
            raise TemplateError(f"The chat template counts to {len(numbers):,}, and a range may have {RANGE_LIMIT:,} numbers.")
        return numbers

    def _join(self, values: Iterable[Any], d: str = "", attribute: str | int | None = None) -> str:
        if attribute is not None:
            values = [self.getitem(value, attribute) for value in values]
        texts = [self.text(value) for value in values]
        self.spend(sum(map(len, texts)) + len(d) * len(texts))
        return d.join(texts)

    def _replace(self, text: Any, old: str, new: str, count: int | None = None) -> str:
        text = self.text(text)
        self.spend(text.count(old) * len(new))
        return text.replace(old, new, -1 if count is None else count)

    def _indent(self, text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        text, by = self.text(text), width if isinstance(width, str) else " " * min(width, WIDTH_LIMIT)
        start, *lines = text.split("\n")
        self.spend(len(text) + len(by) * (len(lines) + 1))
        return "\n".join([by + start if first else start, *(by + line if line or blank else line for line in lines)])

    def _write_json(
        self, value: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None,
        sort_keys: bool = False,
    ) -> str:
        """As transformers has it: plain JSON, without jinja2's escapes for HTML."""
        self._measure(value)
        layout: dict[str, Any] = {"indent": indent, "separators": separators, "sort_keys": sort_keys}
        return self.text(json.dumps(value, ensure_ascii=ensure_ascii, **layout))

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        tree = super()._parse(source, name, filename)
        Metering().visit(tree)
        tree.set_environment(self)
        return tree


class _Generation(Extension):
    """`{% generation %}…{% endgeneration %}` marks what the assistant says, for training; here it is its content."""

    tags = {"generation"}

    def parse(self, parser: Parser) -> nodes.Node:
        """The block as a scope of its own."""
        lineno = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True), lineno=lineno)


def _refuse(message: Any) -> None:
    raise TemplateError(f"The chat template refuses these messages: {_first_line(message)}", is_refusal=True)


def _check_numbers(operator: str, left: Any, right: Any) -> None:
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * right if operator == "**" else left.bit_length() + right.bit_length()
        if bits > WIDTH_LIMIT:
            raise TemplateError(f"The chat template makes a number of {bits:,} bits, and {WIDTH_LIMIT:,} is the limit.")


def _check_format(text: Any) -> None:
    """A format may ask for a width; one from an argument is no less one."""
    if isinstance(text, str) and re.search(r"\d{4}|\*|\{[^{}]*\{", text):
        raise TemplateError(f"The chat template formats to a width above {WIDTH_LIMIT:,}, which is the limit.")


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or [""])[0][:200].rstrip(".")
