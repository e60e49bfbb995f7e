"""The action language: what a model may write where a step's action stands, built from a protocol and its tools.

Three languages, each with the next inside:

- `step_language`: what follows the label that opens a step. One line of thought, then the action line.
- `line_language`: the whole action line with its label, from the start of the line. Where a run ends with an answer label
  of its own, the choice between the two labels is part of it; else its only beginning is the action label, so the
  program can write that (it is what `Recogniser.forced` gives). An answer may end with a line break, a call ends with
  its bracket.
- `action_language`: what follows the action label: a blank, then `name[arguments]` or the call that ends the run. It
  doesn't depend on the number of the step, so one compiled form serves a whole episode.

Every word is read by the strict parser to a call that fits the tool's signature or to an answer, and every call that the
writer writes is a word, within `Bounds`. Objects with free keys may repeat one: the last value counts. A language that
admits nothing is refused, never returned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from local_react.errors import GrammarError
from local_react.language.arguments import FINISH, write_arguments, write_value
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.literals import write_string
from local_react.language.plain import answer_line, thought_line
from local_react.language.protocol import Protocol
from local_react.language.regular import EMPTY, EPSILON, Regular, choice, one_of_words, optional, sequence
from local_react.language.signature import Encoding, Parameter, Signature, Signatures
from local_react.language.values import Bounds, Place, answer_value, json_value, raw_value, some_of, token_value

Grounded = Mapping[tuple[str, str], Sequence[str]]
"""The only texts that may be given for a parameter, by the names of tool and parameter."""

LABEL_MARKS = 32
"""How many marks, blanks and digits may stand round the word of a label in lenient reading."""


BOUNDS = Bounds()
"""The usual bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a step may do: call `tools`, or answer.

    With `only_answer` nothing is called, without `allow_answer` the run can't end. `callable_tools` leaves all others
    out. A tool that requires a grounded parameter without candidates can't be called; an optional one is left out.
    """

    allow_answer: bool = True
    only_answer: bool = False
    grounded: Grounded | None = None
    callable_tools: Collection[str] | None = None
    bounds: Bounds = BOUNDS


def action_language(
    protocol: Protocol, tools: Signatures, *, allow_answer: bool = True, only_answer: bool = False,
    grounded: Grounded | None = None, callable_tools: Collection[str] | None = None, bounds: Bounds = BOUNDS,
) -> Regular:
    """What may follow the action label, from its blank to the closing bracket.

    Raises GrammarError where nothing may be called, or a parameter has a type that can't be drawn.
    """
    scope = Scope(
        allow_answer=allow_answer, only_answer=only_answer, grounded=grounded, callable_tools=callable_tools,
        bounds=bounds,
    )
    return _checked(_calls(protocol, tools, scope), tools)


def line_language(
    protocol: Protocol, tools: Signatures, *, number: int = 1, allow_answer: bool = True, only_answer: bool = False,
    grounded: Grounded | None = None, callable_tools: Collection[str] | None = None, bounds: Bounds = BOUNDS,
) -> Regular:
    """The whole action line of step `number`, label included. Raises GrammarError as `action_language` does."""
    scope = Scope(
        allow_answer=allow_answer, only_answer=only_answer, grounded=grounded, callable_tools=callable_tools,
        bounds=bounds,
    )
    line = sequence(protocol.label("action", number), _calls(protocol, tools, scope))
    if protocol.finish is None and (allow_answer or only_answer):
        answer = sequence(protocol.label("answer"), " ", answer_line(bounds.max_text), optional("\n"))
        line = choice(line, answer)
    return _checked(line, tools)


def step_language(
    protocol: Protocol, tools: Signatures, *, number: int = 1, max_thought: int | None = 400, allow_answer: bool = True,
    only_answer: bool = False, grounded: Grounded | None = None, callable_tools: Collection[str] | None = None,
    bounds: Bounds = BOUNDS,
) -> Regular:
    """What may follow the label that opens step `number`: a thought of up to `max_thought` characters and the action line.

    Without a thought in the protocol that is the action itself. Raises GrammarError as `action_language` does.
    """
    line = line_language(
        protocol, tools, number=number, allow_answer=allow_answer, only_answer=only_answer, grounded=grounded,
        callable_tools=callable_tools, bounds=bounds,
    )
    if protocol.thought is not None:
        return sequence(" ", _thought(protocol, max_thought), "\n", line)
    return action_language(
        protocol, tools, allow_answer=allow_answer, only_answer=only_answer, grounded=grounded,
        callable_tools=callable_tools, bounds=bounds,
    )


def _checked(language: Regular, tools: Signatures) -> Regular:
    if language is EMPTY:
        raise GrammarError(
            f"The language of this step admits nothing: none of the {len(tools)} tools can be called now, and no answer "
            "may be given. Allow the answer, or give a tool whose parameters can have a value."
        )
    return language


def _calls(protocol: Protocol, tools: Signatures, scope: Scope) -> Regular:
    calls = []
    if protocol.has_tools and not scope.only_answer:
        for name in tools:
            if scope.callable_tools is None or name in scope.callable_tools:
                calls.append(sequence(f"{name}[", _arguments(name, tools[name], protocol, scope), "]"))
    if protocol.finish is not None and (scope.allow_answer or scope.only_answer):
        calls.append(sequence(f"{protocol.finish}[", answer_value(FINISH.parameters[0], scope.bounds), "]"))
    return sequence(" ", choice(*calls))


def _arguments(tool: str, signature: Signature, protocol: Protocol, scope: Scope) -> Regular:
    """What may stand between the brackets; EMPTY where the tool can't be called."""
    encoding = signature.encoding(protocol.arguments)
    parts = []
    for parameter in signature.parameters:
        value = _value(tool, parameter, signature, encoding, scope)
        if value is not EMPTY or parameter.required:
            parts.append((parameter, value))
    match encoding:
        case "raw":
            value = parts[0][1] if parts else EMPTY
            return value if signature.parameters[0].required else optional(value)
        case "json":
            fields = [(sequence(f"{write_string(p.name)}: ", value), p.required) for p, value in parts]
            written = sequence("{", some_of(fields), "}")
            # Without any argument nothing is written, not even braces.
            return written if any(p.required for p, _ in parts) else choice(EPSILON, _some("{", fields, "}"))
        case "positional":
            return _positional(parts, signature)
    return some_of([(sequence(f"{p.name}=", value), p.required) for p, value in parts])


def _some(opening: str, fields: list[tuple[Regular, bool]], closing: str) -> Regular:
    """At least one of fields that may all be left out."""
    options = [
        sequence(opening, field, some_of(fields[place + 1 :], is_first=False), closing)
        for place, (field, _) in enumerate(fields)
    ]
    return choice(*options)


def _positional(parts: list[tuple[Parameter, Regular]], signature: Signature) -> Regular:
    """Values by their places; behind one that was left out, by their names."""
    named = [(sequence(f"{parameter.name}=", value), parameter.required) for parameter, value in parts]
    n_placed = next(
        (place for place, (parameter, _) in enumerate(parts) if parameter != signature.parameters[place]), len(parts)
    )
    rest = some_of(named[n_placed:], is_first=n_placed == 0)
    for place in range(n_placed - 1, -1, -1):
        parameter, value = parts[place]
        rest = sequence(value if place == 0 else sequence(", ", value), rest)
        if not parameter.required:
            rest = choice(rest, some_of(named[place + 1 :], is_first=place == 0))
    return rest


def _value(tool: str, parameter: Parameter, signature: Signature, encoding: Encoding, scope: Scope) -> Regular:
    place = Place(tool, parameter.name, scope.bounds)
    seen = (scope.grounded or {}).get((tool, parameter.name))
    if seen is not None:
        return one_of_words(_written(text, parameter, encoding) for text in seen if _fits(text, parameter))
    match encoding:
        case "raw":
            value = raw_value(parameter, place)
        case "json":
            value = json_value(parameter.type, place)
        case _:
            value = token_value(parameter.type, place)
    if value is EMPTY and parameter.required:
        raise place.refusal("no value has this type and keeps within its limits", "Correct its schema.")
    return value


def _fits(text: str, parameter: Parameter) -> bool:
    return fit_exactly(text, parameter.type) is not UNFIT


def _written(text: str, parameter: Parameter, encoding: Encoding) -> str:
    match encoding:
        case "raw":
            return write_arguments({parameter.name: text}, Signature("", parameters=(parameter,)))
        case "json":
            return write_string(text)
    return write_value(text, parameter)


def _thought(protocol: Protocol, max_thought: int | None) -> Regular:
    """One line that reading takes for a thought: it doesn't begin with what could be a label."""
    return thought_line(max_thought, max(map(len, [*protocol.words.values(), *protocol.aliases])) + LABEL_MARKS)
