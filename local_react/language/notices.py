"""What the loop itself tells the model: short, exact, and never to be taken for a fact from a tool."""

from __future__ import annotations

from collections.abc import Iterable

from local_react.language.arguments import write_call
from local_react.language.prompt import usage
from local_react.language.protocol import Protocol
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Call, Malformed

DENIED = "The user denied this call."


def explain_malformed(malformed: Malformed, protocol: Protocol, tools: Signatures, number: int) -> str:
    """What was wrong with the step, and the exact line that was expected (of step `number`)."""
    signature = tools.get(malformed.tool) if malformed.tool is not None else None
    return f"{malformed.message} Write one line like this: {_expected(protocol, tools, signature, number)}"


def explain_unknown_tool(malformed: Malformed, protocol: Protocol, tools: Signatures) -> str:
    """The tools that there are, and the one whose name is close."""
    names = [*tools, *([protocol.finish] if protocol.finish else [])]
    hint = f" Did you mean {malformed.suggestion}?" if malformed.suggestion else ""
    return f"{malformed.message} The tools are {_join(names)}.{hint}"


def explain_repeat(call: Call, protocol: Protocol, tools: Signatures) -> str:
    """That this very call was made before, and its result stands above."""
    written = write_call(call.name, call.arguments, tools[call.name], protocol.arguments)
    return f"{written} was called before, and its result stands above. Do something else, or end with {ending(protocol)}"


def ask_for_calls(n_calls: int) -> str:
    """That an answer came too early."""
    return f"Call a tool first: at least {n_calls} {'call' if n_calls == 1 else 'calls'} must come before the answer."


def ask_for_answer(protocol: Protocol, number: int) -> str:
    """That only the last step is left, which must be the answer."""
    return f"This is the last step. Write the final answer now, as {ending(protocol, number)}"


def ending(protocol: Protocol, number: int = 1) -> str:
    """The line that ends a run, with a placeholder for the answer."""
    if protocol.finish is None:
        return f"{protocol.label('answer')} the answer"
    return f"{protocol.label('action', number)} {protocol.finish}[the answer]"


def _expected(protocol: Protocol, tools: Signatures, signature: Signature | None, number: int) -> str:
    if signature is None:
        signature = next(iter(tools.values()), None)
    if signature is None or not protocol.has_tools:
        return ending(protocol, number)
    return f"{protocol.label('action', number)} {usage(signature, protocol)}"


def _join(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
