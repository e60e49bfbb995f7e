"""The tables of the README that are made from code.

    python -m tests.readme_tables --write

Between `<!-- generated: NAME -->` and `<!-- end -->` stands what the function of that name returns; tests/test_readme.py
fails where text and code differ. Refuses to touch anything outside the markers.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import get_args

import click

from local_react.cli import main
from local_react.cli.ask import Desk, describe_ending, report
from local_react.cli.models.named import in_megabytes
from local_react.cli.options import GUARD_FIELDS, GUARDS
from local_react.cli.streams import Answers, Hint, open_console
from local_react.guards import Guards
from local_react.language.native.formats import FORMATS
from local_react.language.native.write import write_native_call
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol, presets
from local_react.language.step import Code, Malformed
from local_react.llama.registry import read_registry, shipped_registry_path
from local_react.tools.tool import Tool, tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import Ending, Trace
from tests.abuses import cases, play, refused_at

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

MALFORMED: dict[str, str] = {
    "empty_completion": "",
    "no_action_or_answer": "I think it is in Lyon.",
    "null_action": "Action: None",
    "malformed_action": "Action: look at order A100",
    "unclosed_bracket": "Action: lookup_order[A100",
    "unclosed_think": "<think>The user wants",
    "hallucinated_observation": "Observation: It is in Lyon.",
    "unknown_tool": "Action: find_order[A100]",
    "missing_argument": "Action: list_charges[since=2026-07-01]",
    "too_many_arguments": 'Action: list_charges["cus_8812", 2026-07-01, 5]',
    "unknown_argument": 'Action: list_charges[customer_id="cus_8812", month=7]',
    "bad_argument": 'Action: list_charges[customer_id="cus_8812", since=July]',
    "empty_answer": "Action: finish[]",
}
"""An example of each way in which a step can be malformed."""


@tool
def lookup_order(order_id: str) -> str:
    """Look up an order."""


@tool
def list_charges(customer_id: str, since: date | None = None) -> str:
    """List charges."""


def commands() -> str:
    """Every command of the command line, with the first sentence of its help."""
    return _table(("command", "what it does"), ((f"`{name}`", help) for name, help in _walk(main, "local-react")))


def _walk(command: click.Command, name: str) -> Iterable[tuple[str, str]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for part in command.list_commands(context):
            yield from _walk(command.get_command(context, part), f"{name} {part}")
    else:
        yield name, command.get_short_help_str(limit=200)


def registry() -> str:
    """The models that have names, as they ship."""
    rows = (
        (f"`{entry.name}`", in_megabytes(entry.size) if entry.size else "unknown", entry.quantization or "unknown",
         f"{entry.licence}, gated" if entry.gated else entry.licence, "known" if entry.sha256 else "unknown",
         "yes" if entry.tried else "no")
        for entry in read_registry(shipped_registry_path())
    )
    return _table(("name", "size", "quantization", "licence", "SHA-256", "tried"), rows)


def protocols() -> str:
    """The presets: what a step looks like, and how a run ends."""
    return _table(("preset", "a step", "the end of a run"), (_describe_preset(name) for name in presets()))


def _describe_preset(name: str) -> tuple[str, str, str]:
    protocol = Protocol.preset(name)
    if protocol.native is not None:
        return f"`{name}`", "a message in the model's own tool-call format", "a message without a call"
    call = f"`{protocol.label('action', 1)} name[args]`"
    lines = [f"`{protocol.label('thought', 1)} …`"] if protocol.thought else []
    if protocol.has_tools:
        lines += [call, f"`{protocol.label('observation', 1)} …`"]
    if protocol.finish is None:
        return f"`{name}`", "<br>".join(lines), f"`{protocol.label('answer')} …`"
    return f"`{name}`", "<br>".join(lines) or "", f"`{protocol.label('action', 2)} {protocol.finish}[…]`"


def formats() -> str:
    """The native formats: whose they are, and what a call looks like."""
    example = _example_arguments(list_charges)
    rows = (
        (f"`{format.name}`", format.models, _shown(write_native_call("list_charges", example, list_charges, format)))
        for format in FORMATS.values()
    )
    return _table(("format", "models", "a call"), rows)


def _example_arguments(tool: Tool) -> dict[str, object]:
    """Arguments for the example of a call."""
    values = {"customer_id": "cus_8812", "since": "2026-07-01"}
    return {parameter.name: values[parameter.name] for parameter in tool.parameters}


def abuses() -> str:
    """What each design does with each abuse of a call, freely written and under the constraint."""
    rows = []
    for abuse, design in cases():
        malformed = play(design, abuse).steps[0].action
        if not isinstance(malformed, Malformed) or malformed.code != abuse.code:
            raise ValueError(f"{design.step(abuse)!r} is no example of {abuse.name}: {malformed}")
        _, refused = refused_at(design, abuse)
        rows.append((
            abuse.name, design.name, _shown(design.step(abuse)), f"`{malformed.code}`, told to the model; not run",
            f"can't be written from `{refused.split(chr(10))[0]}` on",
        ))
    return _table(("abuse", "design", "the model writes", "freely", "under the constraint"), rows)


def endings() -> str:
    """How a run can end, and what the command line makes of it."""
    return _table(("ending", "meaning", "exit code"), ((f"`{name}`", *_describe_ending(name)) for name in get_args(Ending)))


def _describe_ending(name: str) -> tuple[str, str]:
    trace = Trace([{"event": "end", "ending": name}])
    silent = open_console(None)
    code = report(Desk(Answers(None), silent, silent, Hint(silent), {}, False), trace)
    if name == "answered":
        return "the model gave its answer", str(code)
    return describe_ending(trace).removesuffix(f" ({name})."), str(code)


def malformed() -> str:
    """Every way in which a step can be malformed, with an example and what the reader says about it."""
    rows = ((f"`{code}`", _shown(MALFORMED[code]), _complaint(code)) for code in get_args(Code))
    return _table(("code", "the model writes, say", "what is wrong"), rows)


def _complaint(code: str) -> str:
    read = parse_step(MALFORMED[code], Protocol(), Toolbox([lookup_order, list_charges]))
    if not isinstance(read, Malformed) or read.code != code:
        raise ValueError(f"{MALFORMED[code]!r} is no example of {code}: {read}")
    return read.message


def _shown(text: str) -> str:
    return "<br>".join(f"`{line}`" for line in text.split("\n")) if text else "(nothing)"


def guards() -> str:
    """Every guard: field of `Guards`, option, default, and what it does."""
    settings = {GUARD_FIELDS.get(setting.name, setting.name): setting for setting in GUARDS}
    if set(settings) != {field.name for field in fields(Guards)}:
        raise ValueError("The guards of the command line aren't those of `Guards`.")
    rows = []
    for field in fields(Guards):
        setting = settings[field.name]
        option, help = setting.flags.split("/")[-1], setting.help.split("  [")[0]
        rows.append((f"`{field.name}`", f"`{option}`", _shown_value(field.default), help))
    return _table(("guard", "option", "default", "what it does"), rows)


def _shown_value(value: object) -> str:
    return {True: "on", False: "off", None: "none"}[value] if value is None or isinstance(value, bool) else str(value)


def a100() -> str:
    """What each model made of the classic example, under each arm."""
    rows = json.loads((ROOT / "benchmarks" / "results" / "order_a100.json").read_text(encoding="utf-8"))
    return _table(
        ("model", "decoding", "what it did", "what came out", "right"),
        (
            (
                row["model"].split(".")[0].split("-q4")[0], row["arm"], " → ".join(f"`{name}`" for name in row["calls"]),
                row["answer"] or f"(`{row['ending']}`)", "yes" if row["is_right"] else "no",
            )
            for row in rows
        ),
    )


def demo() -> str:
    """What the embedded model makes of the demo's questions."""
    results = json.loads((ROOT / "benchmarks/results/demo_questions.json").read_text(encoding="utf-8"))["questions"]
    n_right = sum(result["is_right"] for result in results)
    rows = (
        (result["question"], result["answer"] or f"(`{result['ending']}`)", "yes" if result["is_right"] else "no")
        for result in sorted(results, key=lambda result: not result["is_right"])
    )
    return f"{n_right} of {len(results)} right.\n\n" + _table(("question", "what came out", "right"), rows)


GENERATED: dict[str, Callable[[], str]] = {
    made.__name__: made for made in (registry, commands, a100, protocols, formats, endings, malformed, abuses, guards, demo)
}
"""What may stand between markers, by name."""


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *(tuple(cell.replace("|", "\\|") for cell in row) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def regenerate(text: str) -> str:
    """The text with everything between markers made anew. Raises KeyError for a name that nothing makes."""
    return _BLOCK.sub(lambda found: f"{found[1]}{GENERATED[found[2]]()}{found[3]}", text)


if __name__ == "__main__":
    before = README.read_text(encoding="utf-8")
    after = regenerate(before)
    if "--write" in sys.argv[1:]:
        README.write_text(after, encoding="utf-8")
    sys.exit(0 if "--write" in sys.argv[1:] or before == after else "README.md is out of date: run it with --write.")
