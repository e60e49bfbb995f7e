"""What stands behind an action label, read as a call, as the end of the run, or as a mistake.

Works on the shapes that `labels.py` found. A tool is never guessed: its name must be there, but for case and `_`/`-`,
directly before a bracket, alone on its line, or in a JSON object that is the whole text behind the label.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from local_react.language.arguments import FINISH, Misfit, ReadArguments, read_arguments, read_values
from local_react.language.labels import BLANKS, Label, Shape
from local_react.language.literals import parse_literal
from local_react.language.misfit import shown
from local_react.language.protocol import ANSWER_ALIASES, CALL_KEYS, NULL_ACTIONS, PRESETS, Protocol
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Action, Answer, Call, Malformed

_MARKS = "*`\" \t\n" + BLANKS
_OPENERS = {"(": "parentheses", "{": "braces", "[": ""}
_NULL_END = re.compile(r"[,.;:(\[–—]")
_FENCED = re.compile(r"```\w*\s*(.*?)\s*(?:```)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scope:
    """What calls are read against; `finish` is the word that ends the run, `finish_repair` what it takes to use it."""

    tools: Signatures
    protocol: Protocol
    is_truncated: bool

    @property
    def finish(self) -> str:
        """The word that ends a run; lenient reading knows one under every protocol."""
        return self.protocol.finish or str(PRESETS["finish"].finish)

    def resolve(self, name: str) -> tuple[str | None, str]:
        """The real name of what is called, None where there is no such thing, and the repair that it takes."""
        if name.lower() == self.finish.lower():
            if self.protocol.finish is None:
                return self.finish, "finish_call"
            return self.finish, "" if name == self.finish else "finish_case"
        return find_tool(name, self.tools)


def find_tool(name: str, tools: Collection[str]) -> tuple[str | None, str]:
    """The tool called `name`, but for case and `_`/`-`, None where there is none or several, and the repair that it takes."""
    if name in tools:
        return name, ""
    close = [tool for tool in tools if _plain(tool) == _plain(name)]
    return (close[0], "name_case") if len(close) == 1 else (None, "")


def is_null(text: str, scope: Scope) -> bool:
    """Whether the first line of `text` says that nothing is called."""
    line = text.lstrip(" \t\n" + BLANKS).partition("\n")[0][:SHORT].lower()
    bare = line.strip("*`_\"'.!()[]{} \t" + BLANKS)
    head = _NULL_END.split(line, maxsplit=1)[0].strip("*`_\"' \t" + BLANKS)
    names = {name.lower() for name in scope.tools}
    if head in names or bare in names:
        return False
    starts = any(" " in phrase and bare.startswith(phrase + " ") for phrase in NULL_ACTIONS)
    return bare in NULL_ACTIONS or head in NULL_ACTIONS or starts


SHORT = 200
"""Longer lines are no null actions."""


def read_action(text: str, label: Label, input_label: Label | None, input_end: int, end: int, scope: Scope) -> Action:
    """Read what stands behind `label` up to `end`, and behind the input label, if there is one, up to `input_end`.

    The reading has no thought yet, and no notes but the repairs of the call.
    """
    shape = label.shape
    if shape is None:
        return _read_bare(text, label, input_label, input_end, end, scope)
    if not shape.name:
        return _read_object(text, shape, scope)
    name, repair = scope.resolve(shape.name)
    opener = text[shape.open]
    has_blank = text[shape.open - 1] in " \t"
    if name is None:
        if opener != "[" and (opener != "(" or has_blank):
            return _malformed(text, label, scope)
        return _unclosed(None) if shape.close is None else _unknown(shape.name, scope)
    if shape.close is None:
        return _unclosed(name)
    line_end = text.find("\n", shape.close)
    rest = text[shape.close + 1 : min(end, len(text) if line_end < 0 else line_end)]
    trailing = rest.strip(_MARKS)
    if opener != "[" and has_blank and trailing.strip(".!;,"):
        return _malformed(text, label, scope)
    is_finish = name == scope.finish
    repairs = [repair, *("finish_blank" if is_finish and r == "name_blank" else r for r in shape.repairs)]
    repairs += [_OPENERS.get(opener, "fullwidth_brackets")]
    repairs += ["trailing_text" if trailing else "call_mark" if rest.strip() and not label.opened else ""]
    inner = text[shape.open + 1 : shape.close]
    if opener == "{" and (literal := parse_literal(text[shape.open : shape.close + 1])) is not None:
        inner = text[shape.open : shape.close + 1] if isinstance(literal.value, dict) else inner
    return _finish(inner, repairs, scope) if is_finish else _call(name, inner, repairs, scope)


def _read_bare(
    text: str, label: Label, input_label: Label | None, input_end: int, end: int, scope: Scope
) -> Action:
    """A name alone on its line, perhaps with its input on the next one."""
    line, line_break, _ = text[label.end : end].lstrip(_MARKS).partition("\n")
    head = line.strip(_MARKS).rstrip(".:").strip(_MARKS)
    name, repair = scope.resolve(head)
    if name is None and input_label is not None and head.lower() in {word.lower() for word in ANSWER_ALIASES}:
        name, repair = scope.finish, "finish_call"
    if input_label is not None and name is not None:
        return _read_input(text, input_label, input_end, name, [repair], scope)
    if input_label is not None and re.fullmatch(r"\S+", head):
        return _unknown(head, scope)
    if scope.is_truncated and end == len(text) and not line_break:
        return _unclosed(name)
    if name is None:
        return _malformed(text[:end], label, scope)
    return _finish("", [repair], scope) if name == scope.finish else _call(name, "", [repair, "bare_name"], scope)


def _read_input(text: str, label: Label, end: int, name: str, repairs: list[str], scope: Scope) -> Action:
    body = text[label.end : end].strip()
    repairs = [*repairs, "action_input"]
    fenced = _FENCED.fullmatch(body)
    if label.shape is not None:
        if label.shape.close is None:
            return _unclosed(name)
        body = text[label.shape.open : label.shape.close + 1]
    elif scope.is_truncated and end == len(text):
        return _unclosed(name)
    elif fenced is not None:
        body = fenced[1]
    if name == scope.finish:
        return _finish(body, repairs, scope)
    if not scope.tools[name].parameters and is_null(body, scope):
        body = ""
    return _call(name, body, repairs, scope)


def _read_object(text: str, shape: Shape, scope: Scope) -> Action:
    """A call as a JSON object that names the tool and its arguments."""
    if shape.close is None:
        return _unclosed(None)
    literal = parse_literal(text[shape.open : shape.close + 1])
    value = literal.value if literal is not None else None
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    keys = next((k for k in CALL_KEYS if isinstance(value, dict) and k[0] in value and k[1] in value), None)
    keys = keys or next((k for k in CALL_KEYS if isinstance(value, dict) and k[0] in value), None)
    if literal is None or keys is None or not isinstance(value[keys[0]], str):
        return Malformed("malformed_action", "The object behind the action label does not name a tool.")
    written, arguments = value[keys[0]].strip(), value.get(keys[1])
    name, repair = scope.resolve(written)
    repairs = [*shape.repairs, "json_body", "" if literal.is_json else "python_literal", repair]
    if written.lower() in {word.lower() for word in ANSWER_ALIASES}:
        name = scope.finish
    if name is None:
        return _unknown(written, scope)
    signature = FINISH if name == scope.finish else scope.tools[name]
    return _close(name, _read_object_arguments(arguments, signature, scope), repairs, scope)


def _read_object_arguments(arguments: Any, signature: Signature, scope: Scope) -> ReadArguments | Misfit:
    if isinstance(arguments, str):
        literal = parse_literal(arguments)
        is_object = literal is not None and isinstance(literal.value, dict)
        if signature.encoding(scope.protocol.arguments) == "raw" and not is_object:
            return read_values({signature.parameters[0].name: arguments}, signature)
        return read_arguments(arguments, signature, scope.protocol.arguments)
    if isinstance(arguments, Mapping):
        is_one = len(signature.parameters) == 1 and signature.parameters[0].name not in arguments and arguments
        if not is_one or signature.encoding("keyword") != "json":
            return read_values(arguments, signature)
    if arguments is None:
        return read_values({}, signature)
    name = signature.parameters[0].name if signature.parameters else "value"
    return read_values({name: arguments}, signature)


def _call(name: str, inner: str, repairs: list[str], scope: Scope) -> Action:
    return _close(name, read_arguments(inner, scope.tools[name], scope.protocol.arguments), repairs, scope)


def _finish(inner: str, repairs: list[str], scope: Scope) -> Action:
    return _close(scope.finish, read_arguments(inner, FINISH, scope.protocol.arguments), repairs, scope)


def _close(name: str, read: ReadArguments | Misfit, repairs: list[str], scope: Scope) -> Action:
    """The reading that a name and the arguments read for it make."""
    is_finish = name == scope.finish
    if isinstance(read, Misfit):
        if is_finish and read.code == "missing_argument":
            return Malformed("empty_answer", "The answer is empty.", tool=name)
        return Malformed(
            read.code, read.message, tool=name, parameter=read.parameter, expected=read.expected, value=read.value
        )
    takes_lines = is_finish or "action_input" in repairs
    names = tuple(dict.fromkeys(r for r in (*repairs, *read.repairs) if r and not (r == "line_break" and takes_lines)))
    if not is_finish:
        return Call(name, read.values, repairs=names)
    text = read.values.get(FINISH.parameters[0].name, "")
    if not text.strip():
        return Malformed("empty_answer", "The answer is empty.", tool=name)
    return Answer(text, repairs=names)


def _unknown(name: str, scope: Scope) -> Malformed:
    return unknown_tool(name, [*scope.tools, *([scope.finish] if scope.protocol.finish else [])])


def unknown_tool(name: str, names: Collection[str]) -> Malformed:
    """The reading of a call of something that is none of `names`, with the one that is close, if any."""
    close = difflib.get_close_matches(name[:SHORT], names, n=1)
    message = f"There is no tool called {shown(name)}."
    return Malformed("unknown_tool", message, value=shown(name), suggestion=close[0] if close else None)


def _unclosed(name: str | None) -> Malformed:
    behind = f" of {name}" if name else ""
    return Malformed("unclosed_bracket", f"The arguments{behind} never end: the closing bracket is missing.", tool=name)


def _malformed(text: str, label: Label, scope: Scope) -> Malformed:
    line = text[label.end :].strip(_MARKS).partition("\n")[0]
    if not line:
        return Malformed("malformed_action", "Nothing stands behind the action label.")
    return Malformed("malformed_action", f"The action is not a call of a tool: {shown(line)}", value=shown(line))


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def with_repairs(action: Action, repairs: tuple[str, ...]) -> Action:
    """`action` with further repairs noted before its own."""
    return replace(action, repairs=tuple(dict.fromkeys((*repairs, *action.repairs))))
