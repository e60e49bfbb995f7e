"""What the loop itself tells the model: short, exact, and never to be taken for a fact from a tool."""

from __future__ import annotations

from collections.abc import Sequence

from local_react.language.arguments import write_call
from local_react.language.prompt import usage
from local_react.language.protocol import Protocol
from local_react.language.signature import Signature, Signatures
from local_react.language.step import Call, Malformed
from local_react.language.types import describe


def explain_malformed(malformed: Malformed, protocol: Protocol, tools: Signatures, number: int) -> str:
    """What was wrong with the step, and the exact line that is expected now, in step `number`; in a native format, in words
    what the tool takes, since its markup is no business of the program's."""
    signature = tools.get(malformed.tool) if malformed.tool is not None else None
    if protocol.native is not None:
        return f"{malformed.message} {_expected_call(tools, signature)}"
    return f"{malformed.message} Write one line like this: {_expected(protocol, tools, signature, number)}"


def explain_unknown_tool(malformed: Malformed, protocol: Protocol, tools: Signatures) -> str:
    """The tools that there are, and the one whose name is close."""
    names = [*(tools if protocol.has_tools else ()), *([protocol.finish] if protocol.finish else [])]
    if not names:
        return f"{malformed.message} There are no tools: end with {ending(protocol)}"
    hint = f" Did you mean {malformed.suggestion}?" if malformed.suggestion else ""
    return f"{malformed.message} {_count(names)}.{hint}"


def explain_repeat(call: Call, protocol: Protocol, tools: Signatures, number: int) -> str:
    """That this very call was made before, and its result stands above; what would end the run in step `number`."""
    if protocol.native is not None:
        return f"This very call of {call.name} was made before, and its result stands above. Do something else, or answer."
    written = write_call(call.name, call.arguments, tools[call.name], protocol.arguments)
    end = ending(protocol, number)
    return f"{written} was called before, and its result stands above. Do something else, or end with {end}"


def ask_for_calls(n_calls: int) -> str:
    """That an answer came too early."""
    return f"Call a tool first: at least {n_calls} {'call' if n_calls == 1 else 'calls'} must come before the answer."


def ask_for_answer(protocol: Protocol, number: int) -> str:
    """That only the last step is left, which must be the answer."""
    if protocol.native is not None:
        return "This is the last step. Give the final answer now, without a call."
    return f"This is the last step. Write the final answer now, as {ending(protocol, number)}"


def ending(protocol: Protocol, number: int = 1) -> str:
    """The line that ends a run, with a placeholder for the answer."""
    if protocol.native is not None:
        return "a message without a call"
    if protocol.finish is None:
        return f"{protocol.label('answer')} the answer"
    return f"{protocol.label('action', number)} {protocol.finish}[the answer]"


def _expected(protocol: Protocol, tools: Signatures, signature: Signature | None, number: int) -> str:
    if signature is None:
        signature = next(iter(tools.values()), None)
    if signature is None or not protocol.has_tools:
        return ending(protocol, number)
    return f"{protocol.label('action', number)} {usage(signature, protocol)}"


def _expected_call(tools: Signatures, signature: Signature | None) -> str:
    if signature is None:
        return f"Call one of the tools ({', '.join(tools)}), or answer without a call." if tools else "Answer without a call."
    taken = ", ".join(
        f"{parameter.name} ({describe(parameter.type)}{'' if parameter.required else ', may be left out'})"
        for parameter in signature.parameters
    )
    return f"{signature.name} takes {taken or 'no arguments'}. Call it with those, or answer without a call."


def _count(names: Sequence[str]) -> str:
    *most, last = names
    return f"The tools are {', '.join(most)} and {last}" if most else f"The only tool is {last}"
