"""The table of native formats: what each model family writes when it calls a tool.

All markup of a format is spelled in its row and nowhere else. A call is written `opener head NAME middle ARGUMENTS tail
closer`; everything that reads, writes or draws calls works from these parts. Formats that aren't in the table are refused,
never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from local_react.errors import SettingsError
from local_react.language.protocol import AUTO, TOOL_CALL_TAGS, Protocol

Notation = Literal["json", "python", "escaped"]
"""How values are written: one JSON object; Python keyword arguments; FunctionGemma's fields with `<escape>` round texts."""

PYTHON_TAG = "<|python_tag|>"
"""What Llama 3 models may write before a call."""

ESCAPE = "<escape>"
"""What stands on both sides of a text in FunctionGemma's notation, which has no other escapes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeFormat:
    """One format.

    `opener` begins a call: anywhere in a message, or only at the start of a line (`opens`), where it is no markup of its own
    but a bare bracket. `results` are what only the program writes: they begin the result of a call.
    `known_by` are groups of texts: a template that has all of one group speaks this format, unless it has one of `not_by`.
    """

    name: str
    models: str
    opener: str
    head: str
    middle: str
    tail: str
    closer: str
    notation: Notation
    opens: Literal["anywhere", "line"] = "anywhere"
    arguments_key: str = ""
    is_list: bool = False
    results: tuple[str, ...] = ()
    known_by: tuple[tuple[str, ...], ...] = ()
    not_by: tuple[str, ...] = ()
    further_markup: tuple[str, ...] = ()

    @property
    def markup(self) -> tuple[str, ...]:
        """The texts of a call that may be control tokens of the vocabulary; in a message of the model they are text."""
        parts = (self.opener, self.closer, *self.further_markup)
        return tuple(part for part in parts if len(part) > 2)

    @property
    def opening(self) -> re.Pattern[str]:
        """What begins a call in the text of a message; it ends where the opener begins.

        For formats without markup of their own, what follows the bracket must look like a call as well.
        """
        if self.opens == "anywhere":
            return re.compile(f"(?={re.escape(self.opener)})")
        call = r'\{\s*"(?:name|type|function)"\s*:' if self.notation == "json" else r"\[\s*[^\W\d][\w.-]*\s*\("
        return re.compile(rf"(?:\A|\n)\s*(?:{re.escape(PYTHON_TAG)})?\s*(?={call})")

    @property
    def forging(self) -> re.Pattern[str]:
        """What begins a result, which no model may write."""
        return re.compile("|".join(map(re.escape, self.results)) or r"(?!)")


FORMATS = {
    format.name: format
    for format in (
        NativeFormat(
            name="hermes", models="Hermes 2 and 3, Qwen 2.5, Qwen 3, Hammer",
            opener=TOOL_CALL_TAGS[0], head='\n{"name": "', middle='", "arguments": ', tail="}\n", closer=TOOL_CALL_TAGS[1],
            notation="json", arguments_key="arguments", results=("<tool_response>",),
            known_by=((TOOL_CALL_TAGS[0], '"arguments"'), (TOOL_CALL_TAGS[0], '\\"arguments\\"')),
            not_by=("<function=", "<arg_key>"),
        ),
        NativeFormat(
            name="llama", models="Llama 3.1, 3.2 and 3.3",
            opener='{"', head='name": "', middle='", "parameters": ', tail="}", closer="",
            notation="json", opens="line", arguments_key="parameters", results=("<|start_header_id|>",),
            known_by=(("<|start_header_id|>", '"parameters": '), (PYTHON_TAG, '"parameters": ')),
            further_markup=(PYTHON_TAG,),
        ),
        NativeFormat(
            name="pythonic", models="Llama 3.2 and 4 where the template asks for it",
            opener="[", head="", middle="(", tail=")]", closer="",
            notation="python", opens="line", is_list=True, results=("<|start_header_id|>", "<|header_start|>"),
            known_by=(("<|start_header_id|>", "func_name1("), ("<|header_start|>", "func_name1(")),
            further_markup=(PYTHON_TAG, "<|python_start|>", "<|python_end|>"),
        ),
        NativeFormat(
            name="mistral", models="Mistral 7B v0.3, Nemo, Small 3 and 3.1",
            opener="[TOOL_CALLS]", head='[{"name": "', middle='", "arguments": ', tail="}]", closer="",
            notation="json", arguments_key="arguments", is_list=True, results=("[TOOL_RESULTS]",),
            known_by=(("[TOOL_CALLS]",),), not_by=("[ARGS]", "[CALL_ID]"),
        ),
        NativeFormat(
            name="gemma", models="FunctionGemma",
            opener="<start_function_call>", head="call:", middle="{", tail="}", closer="<end_function_call>",
            notation="escaped", results=("<start_function_response>",), known_by=(("<start_function_call>",),),
            further_markup=(ESCAPE,),
        ),
        NativeFormat(
            name="lfm2", models="LFM2 and LFM2.5",
            opener="<|tool_call_start|>", head="[", middle="(", tail=")]", closer="<|tool_call_end|>",
            notation="python", is_list=True, results=("<|tool_response_start|>",),
            known_by=(("<|tool_list_start|>",), ("<|tool_call_start|>",)), not_by=("<|tool_calls_section_begin|>",),
        ),
    )
}
"""Every format by name."""

_ORDER = ("gemma", "lfm2", "mistral", "hermes", "pythonic", "llama")
"""The rarer the markup, the earlier it is looked for."""


def formats() -> Iterator[str]:
    """The names of the formats."""
    return iter(FORMATS)


def find_format(name: str) -> NativeFormat:
    """The format called `name`. Raises SettingsError for an unknown one."""
    if name not in FORMATS:
        raise SettingsError(f"There is no native format called {name!r}. The formats are {', '.join(FORMATS)}.")
    return FORMATS[name]


def format_of(protocol: Protocol) -> NativeFormat:
    """The format of a native protocol. Raises SettingsError where none has been chosen yet."""
    if protocol.native in (None, AUTO):
        raise SettingsError(
            "Which format the native protocol has depends on the model's chat template. Name one: "
            f'Protocol.preset("native", native="hermes"), or --native-format. The formats are {", ".join(FORMATS)}.'
        )
    return find_format(str(protocol.native))


def choose_format(template: str | None, *, where: str = "The model") -> NativeFormat:
    """The format that the text of a chat template shows; `where` names its source in errors.

    Raises SettingsError where there is no template, where it knows no tools, and where its format isn't in the table.
    """
    names = ", ".join(FORMATS)
    remedy = f"Give one that does with --template FILE, or another protocol. The native formats are {names}."
    if not template:
        raise SettingsError(f"{where} has no chat template, which would tell it about the tools. {remedy}")
    for name in _ORDER:
        format = FORMATS[name]
        is_known = any(all(text in template for text in group) for group in format.known_by)
        if is_known and not any(text in template for text in format.not_by):
            return format
    if "tools" not in template:
        raise SettingsError(f"{where} has a chat template that knows no tools. {remedy}")
    raise SettingsError(
        f"{where} has a chat template whose tool calls are in none of the known formats. "
        f"Give another one with --template FILE, or name the nearest format with --native-format ({names})."
    )
