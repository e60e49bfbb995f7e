"""What a model may write in its native format: the calls of its tools, or a message without a call, which is the answer.

`call_language` is a whole call with its markup; `answer_language` is a message that reading takes for an answer, whatever it
says; `message_language` is a whole message: a thought, perhaps, and then a call, or the answer; `held_message` is what a step
is held to. Every word is read strictly
to a call that fits or to an answer, and every call that the writer writes is a word, within `Bounds`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

from local_react.errors import GrammarError
from local_react.language.codepoints import EVERY, Ranges, of_text, unite, without
from local_react.language.derivative import Recogniser
from local_react.language.fit import UNFIT, fit_exactly
from local_react.language.native.formats import ESCAPE, NativeFormat
from local_react.language.native.notation import BARE_KEY, JOINTS, write_key, write_native
from local_react.language.native.values import in_native_order, native_value, sorted_parameters
from local_react.language.native.write import begin_call, end_call
from local_react.language.plain import CONTROLS, VISIBLE
from local_react.language.regular import EMPTY, Regular, characters, choice, one_of_words, optional, repeat, sequence
from local_react.language.reshape import ending_in
from local_react.language.signature import Parameter, Signature, Signatures
from local_react.language.values import Bounds, Place, some_of

Grounded = Mapping[tuple[str, str], Sequence[str]]
"""The only texts that may be given for a parameter, by the names of tool and parameter."""

BOUNDS = Bounds()
"""The usual bounds."""


def call_language(
    format: NativeFormat, tools: Signatures, *, grounded: Grounded | None = None,
    callable_tools: Collection[str] | None = None, bounds: Bounds = BOUNDS,
) -> Regular:
    """One call, from opener to closer; EMPTY where nothing can be called now.

    Raises GrammarError for a parameter that can't be drawn or named in this format.
    """
    calls = []
    for name, signature in tools.items():
        if callable_tools is None or name in callable_tools:
            _check_names(signature, format)
            arguments = _arguments(signature, format, grounded, bounds)
            calls.append(sequence(begin_call(name, format), arguments, end_call(format)))
    return choice(*calls)


def message_language(
    format: NativeFormat, tools: Signatures, *, max_thought: int | None = 400, allow_answer: bool = True,
    only_answer: bool = False, grounded: Grounded | None = None, callable_tools: Collection[str] | None = None,
    bounds: Bounds = BOUNDS,
) -> Regular:
    """A whole message: a call, perhaps with a thought of up to `max_thought` characters before it, or an answer.

    Where nothing can be called, it is an answer.
    """
    call = EMPTY if only_answer else call_language(
        format, tools, grounded=grounded, callable_tools=callable_tools, bounds=bounds
    )
    answer = answer_language(bounds.max_text)
    if call is EMPTY:
        return answer
    thought = optional(answer_language(max_thought), "\n")
    return choice(sequence(thought, call), answer) if allow_answer else sequence(thought, call)


def held_message(
    format: NativeFormat, tools: Signatures, *, is_whole: bool = False, allow_answer: bool = True, only_answer: bool = False,
    grounded: Grounded | None = None, bounds: Bounds = BOUNDS,
) -> Regular:
    """What a message is held to: what follows the opener of a call; with `is_whole`, the message from its beginning.

    Where it can only be an answer, it is `answer_language`.
    """
    if is_whole:
        return message_language(
            format, tools, allow_answer=allow_answer, only_answer=only_answer, grounded=grounded, bounds=bounds
        )
    call = EMPTY if only_answer else call_language(format, tools, grounded=grounded, bounds=bounds)
    return answer_language(bounds.max_text) if call is EMPTY else Recogniser(call).feed(format.opener.encode()).rest


def _check_names(signature: Signature, format: NativeFormat) -> None:
    """Names stand bare in two of the notations, so they can't hold their signs."""
    if format.notation == "json":
        return
    names = [signature.name, *(p.name for p in signature.parameters)] if format.notation == "escaped" else [signature.name]
    wrong = next((name for name in names if BARE_KEY.fullmatch(name) is None), None)
    if wrong is not None:
        raise GrammarError(
            f"Tool {signature.name}: the name {wrong!r} can't be written in the format {format.name}. "
            "Take letters, digits, _, - and ., and a letter first."
        )


def _arguments(signature: Signature, format: NativeFormat, grounded: Grounded | None, bounds: Bounds) -> Regular:
    """What stands where the arguments do; EMPTY where the tool can't be called."""
    notation = format.notation
    item_joint, key_joint = JOINTS[notation]
    fields = []
    for parameter in sorted_parameters(signature, notation):
        value = _value(signature.name, parameter, format, grounded, bounds)
        key = f"{parameter.name}=" if notation == "python" else f"{write_key(parameter.name, notation)}{key_joint}"
        if value is not EMPTY or parameter.required:
            fields.append((sequence(key, value), parameter.required))
    written = some_of(fields, joint=item_joint)
    return sequence("{", written, "}") if notation == "json" else written


def _value(
    tool: str, parameter: Parameter, format: NativeFormat, grounded: Grounded | None, bounds: Bounds
) -> Regular:
    seen = (grounded or {}).get((tool, parameter.name))
    if seen is not None:
        fitting = (text for text in seen if fit_exactly(text, parameter.type) is not UNFIT)
        return one_of_words(
            write_native(text, format.notation) for text in fitting if format.notation != "escaped" or ESCAPE not in text
        )
    place = Place(tool, parameter.name, bounds)
    value = native_value(in_native_order(parameter.type, format.notation), format.notation, place)
    if value is EMPTY and parameter.required:
        raise place.refusal("no value has this type and keeps within its limits", "Correct its schema.")
    return value


_SIGNS = of_text("<[{")
_ORDINARY = without(EVERY, unite(CONTROLS + _SIGNS))
_AFTER: dict[str, Ranges] = {
    # No control token, tag or markup of a format goes on so.
    "<": without(_ORDINARY, of_text("|\uff5c/bestBEST")),
    "[": without(_ORDINARY, of_text("T")),
}
_FIRST = without(VISIBLE, unite(_SIGNS + of_text("\u200b\u200c\u200d\u2060\ufeff")))


@lru_cache(maxsize=8)
def answer_language(max_text: int | None) -> Regular:
    """Texts of up to `max_text` characters and half as many lines that hold no markup and look like no call.

    Their lines begin with a visible character that opens no bracket. The bound counts a line break with the character
    behind it as one.
    """
    signed = (sequence(sign, characters(after)) for sign, after in _AFTER.items())
    character = choice(characters(_ORDINARY), *signed, "{")
    line_break = sequence(repeat("\n", 1, 2), characters(_FIRST))
    rest = repeat(choice(character, line_break), 0, None if max_text is None else max(max_text - 1, 0))
    return ending_in(sequence(characters(_FIRST), rest), VISIBLE)
