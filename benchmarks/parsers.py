"""How readers of ReAct steps do on published steps and on cases from public reports: right, repaired, refused, wrong.

    python -m benchmarks.parsers [--steps FILE] [--cases FILE] [--output FILE]

Why it matters: a refusal costs a step, since the model is told and may try again; a wrong reading runs a call that nobody
wrote. *Repaired* is a malformed step in which the reader found the call that was meant.

Two regimes. *As written*: the texts as their models wrote them, which a reader made for another layout can only refuse; that
is what happens when a model falls back into the layout of the paper. *In its own layout*: the same thoughts, names and
arguments, written as each reader wants them, so that only the content of the arguments makes the difference.

A reader whose package isn't installed is skipped, with the reason. The last line of stdout is one JSON document.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.peers import introduction_anywhere, introduction_line, langchain_brackets, langchain_single_input, llamaindex
from benchmarks.peers.reading import REFUSED, Reading
from local_react.language.parse import parse_step
from local_react.language.protocol import Protocol
from local_react.language.signature import Parameter, Signature
from local_react.language.step import Answer, Call
from local_react.language.types import Text

SHARED = Path(__file__).resolve().parents[2] / "shared"
RESULTS = Path(__file__).parent / "results" / "parsers.json"
PEERS: tuple[ModuleType, ...] = (
    introduction_line, introduction_anywhere, langchain_brackets, langchain_single_input, llamaindex,
)
N_WRONG = 20
"""So many ids of wrong readings are kept; the texts themselves stay where they are."""

OUTCOMES = ("right", "repaired", "refused", "wrong")


@dataclass(frozen=True)
class Sample:
    """A completion, what it says, and the tools that it may call, with the name of the one text that each takes.

    `meant` is the call that a forgiving reader may find in a malformed step. `thought` is that of a call that can be written
    in another layout; None where it can't be.
    """

    id: str
    text: str
    expected: Reading
    tools: Mapping[str, str]
    protocol: Protocol
    thought: str | None = None
    meant: Reading | None = None


Reader = Callable[[str, Sample], Reading]


def published_steps(path: Path) -> Iterator[Sample]:
    """The steps that language models wrote in the runs of the ReAct paper's notebooks."""
    tools = {"webshop": ("search", "click", "think", "exit"), "fever": ("Search", "Lookup"), "hotpotqa": ("Search", "Lookup")}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        protocol = Protocol.preset("act" if row["task"] == "webshop" else "numbered", finish="Finish")
        takes = dict.fromkeys(tools[row["task"]], "text")
        if "error" in row["expect"]:
            meant = row["expect"]["lenient"] and _expected(row["expect"]["lenient"])
            yield Sample(row["id"], row["raw"], REFUSED, takes, protocol, meant=meant)
        else:
            yield Sample(row["id"], row["raw"], _expected(row["expect"]), takes, protocol, "I go on.")


def _expected(told: Mapping[str, str]) -> Reading:
    name, argument = told["name"], told["arg"]
    return Reading("answer", None, argument) if name == "Finish" else Reading("call", name, argument)


def reported_cases(path: Path) -> Iterator[Sample]:
    """The cases from public reports whose tools each take one text, which every reader here can serve."""
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row.get("primed") or row.get("think_open") or any(len(parameters) != 1 for parameters in row["tools"].values()):
            continue
        match row["expect"]:
            case {"kind": "action", "name": str(name), "args": dict(arguments)} if len(arguments) == 1:
                expected = Reading("call", name, str(next(iter(arguments.values()))))
            case {"kind": "answer", "answer": str(text)}:
                expected = Reading("answer", None, text)
            case {"kind": "error"}:
                expected = REFUSED
            case _:
                continue
        protocol = Protocol.preset("answer" if row["format"] == "A" else "numbered")
        takes = {name: parameters[0].partition(":")[0].partition("=")[0] for name, parameters in row["tools"].items()}
        yield Sample(row["id"], row["completion"], expected, takes, protocol)


def ours(*, strict: bool) -> Reader:
    """The reading of this project."""

    def read(text: str, sample: Sample) -> Reading:
        tools = {name: Signature(name, "", (Parameter(parameter, Text()),)) for name, parameter in sample.tools.items()}
        match parse_step(text, sample.protocol, tools, strict=strict):
            case Call(name=name, arguments=arguments):
                return Reading("call", name, str(next(iter(arguments.values()))))
            case Answer(text=answer):
                return Reading("answer", None, answer)
        return REFUSED

    return read


def write_ours(sample: Sample) -> str:
    """A step in this project's own layout; the value is written raw, as a model writes it."""
    name = str(sample.protocol.finish if sample.expected.kind == "answer" else sample.expected.name)
    label, thought = sample.protocol.label("action", 1), sample.protocol.label("thought", 1) if sample.protocol.thought else ""
    head = f"{thought} {sample.thought}\n" if thought else ""
    return f"{head}{label} {name}[{sample.expected.argument}]"


def judge(reading: Reading, sample: Sample) -> str:
    """One of `OUTCOMES`. One pair of quotes round a value doesn't count, nor do outer blanks."""
    if reading.kind == "refused":
        return "right" if sample.expected.kind == "refused" else "refused"
    if _same(reading, sample.expected):
        return "right"
    return "repaired" if sample.meant is not None and _same(reading, sample.meant) else "wrong"


def _same(reading: Reading, expected: Reading) -> bool:
    same = (reading.kind, reading.name) == (expected.kind, expected.name)
    return same and _bare(reading.argument) == _bare(expected.argument)


def _bare(argument: Any) -> Any:
    if not isinstance(argument, str):
        return argument
    text = argument.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def load_readers() -> tuple[dict[str, tuple[Reader, Callable[[Sample], str]]], dict[str, str]]:
    """The readers by name, each with how it wants steps written; and why the others are skipped."""
    readers: dict[str, tuple[Reader, Callable[[Sample], str]]] = {
        "local_react, strict": (ours(strict=True), write_ours), "local_react, lenient": (ours(strict=False), write_ours),
    }
    skipped: dict[str, str] = {}
    for peer in PEERS:
        try:
            read = peer.load()
        except ModuleNotFoundError as error:
            skipped[peer.NAME] = f"{peer.PACKAGE} isn't installed ({error.name}); see benchmarks/peers/requirements.txt"
            continue
        readers[peer.NAME] = (_with_tools(read), _in_layout(peer))
    return readers, skipped


def _with_tools(read: Callable[[str], Reading]) -> Reader:
    """A reader that isn't told the tools: a call of what there isn't is refused later, by whoever runs it."""

    def read_with_tools(text: str, sample: Sample) -> Reading:
        found = read(text)
        return REFUSED if found.kind == "call" and found.name not in sample.tools else found

    return read_with_tools


def _in_layout(peer: ModuleType) -> Callable[[Sample], str]:
    def write(sample: Sample) -> str:
        name = "Finish" if sample.expected.kind == "answer" else str(sample.expected.name)
        return peer.write(str(sample.thought), name, str(sample.expected.argument))

    return write


def measure(samples: Sequence[Sample], readers: Mapping[str, tuple[Reader, Callable[[Sample], str]]]) -> dict[str, Any]:
    """What each reader makes of the samples, as written and in its own layout, with the ids of some wrong readings."""
    figures: dict[str, Any] = {}
    for name, (read, write) in readers.items():
        figures[name] = {"as_written": _count(read, [(sample, sample.text) for sample in samples])}
        rewritten = [(sample, write(sample)) for sample in samples if sample.thought is not None]
        if rewritten:
            figures[name]["own_layout"] = _count(read, rewritten)
    return figures


def _count(read: Reader, texts: Sequence[tuple[Sample, str]]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    started = time.process_time()
    readings = [(sample, read(text, sample)) for sample, text in texts]
    seconds = time.process_time() - started
    for sample, reading in readings:
        outcome = judge(reading, sample)
        counts[outcome] += 1
        if outcome == "wrong" and len(wrong) < N_WRONG:
            wrong.append(sample.id)
    return {"n": len(texts)} | {name: counts[name] for name in OUTCOMES} | {
        "microseconds": round(1e6 * seconds / max(len(texts), 1), 1), "wrong_ids": wrong,
    }


def show(what: str, figures: Mapping[str, Any]) -> None:
    """A table for people."""
    keys = ("n", *OUTCOMES, "microseconds")
    print(f"{what}\n{'reader':26} {'texts':12} {' '.join(f'{key:>12}' for key in keys)}")
    for name, regimes in figures.items():
        for regime, found in regimes.items():
            print(f"{name:26} {regime.replace('_', ' '):12} {' '.join(f'{found[key]:>12}' for key in keys)}")
    print()


def main() -> None:
    """Measure, print tables for people, then one JSON document; write it too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=Path, default=SHARED / "data" / "react_steps.jsonl", help="the published steps")
    parser.add_argument("--cases", type=Path, default=SHARED / "cases" / "parser_cases.jsonl", help="the reported cases")
    parser.add_argument("--output", type=Path, default=RESULTS, help="write the results to this file (default %(default)s)")
    chosen = parser.parse_args()
    for path in (chosen.steps, chosen.cases):
        if not path.is_file():
            parser.error(f"{path} is missing: these texts don't come with the code. Give --steps FILE and --cases FILE.")
    readers, skipped = load_readers()
    document: dict[str, Any] = {"command": "python -m benchmarks.parsers", "skipped": skipped, "packages": {
        peer.PACKAGE: version(peer.PACKAGE) for peer in PEERS if peer.PACKAGE and peer.NAME in readers
    }}
    for name, reason in skipped.items():
        print(f"{name} is skipped: {reason}")
    document["steps"] = measure(list(published_steps(chosen.steps)), readers)
    show("Published steps", document["steps"])
    document["cases"] = measure(list(reported_cases(chosen.cases)), readers)
    show("Cases from public reports", document["cases"])
    chosen.output.parent.mkdir(exist_ok=True)
    chosen.output.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(json.dumps(document, ensure_ascii=False))


if __name__ == "__main__":
    main()
