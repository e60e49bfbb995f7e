"""The ledger: where the tokens of an episode went, and where those of a longer one would go.

Every token of the transcript has one purpose: a part of the prompt, a label, a notice, an observation, or what the model
wrote, kept or discarded (steps that couldn't be run). Beside it stands what a stateless API would have been sent, which gets
the whole conversation anew for each step: over n steps the prompt is a straight line, n times its tokens, and all that
came in between a square, n(n-1)/2 times the tokens of a step. Here each token is evaluated once. All counts are in
tokens of the episode's model; nothing is priced in money.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from local_react.errors import TraceError
from local_react.language.observation import indent
from local_react.trace import Trace

PURPOSES = ("labels", "notices", "observations", "completions", "discarded")
"""What tokens behind the prompt are for, in the order in which they are shown."""

HORIZONS = (5, 10, 20, 40)
"""The numbers of steps for which a prediction is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Tokens of an episode of `n_steps` like those seen: evaluated here, and sent to a stateless API, with the term that is
    largest of each, whose cutting pays most."""

    n_steps: int
    here: int
    stateless: int
    largest_here: str
    largest_stateless: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """The tokens of `n_episodes` episodes with `n_steps` steps in all.

    `parts` are those of the prompts, `purposes` all others; `sent` is what a stateless API would have been sent, by the same
    names.
    """

    n_episodes: int
    n_steps: int
    parts: Mapping[str, int]
    purposes: Mapping[str, int]
    sent: Mapping[str, int]
    n_evaluated: int
    n_sampled: int
    n_forced: int

    @property
    def n_prompt(self) -> int:
        """The tokens of the prompts."""
        return sum(self.parts.values())

    @property
    def n_tokens(self) -> int:
        """The tokens of the transcripts."""
        return self.n_prompt + sum(self.purposes.values())

    @property
    def n_sent(self) -> int:
        """All that a stateless API would have been sent."""
        return sum(self.sent.values())

    def terms(self, n_steps: int, *, stateless: bool) -> dict[str, float]:
        """What each group of tokens comes to in one episode of `n_steps`, on average over those seen."""
        groups: Counter[str] = Counter()
        for part, n in self.parts.items():
            groups[group_of(part)] += n
        times, between = (n_steps, n_steps * (n_steps - 1) / 2) if stateless else (1, n_steps)
        n_steps_seen = max(self.n_steps, 1)
        terms = {group: n / max(self.n_episodes, 1) * times for group, n in groups.items()}
        return terms | {purpose: self.purposes.get(purpose, 0) / n_steps_seen * between for purpose in PURPOSES}

    def predict(self, n_steps: int) -> Prediction:
        """The tokens of an episode of `n_steps`, if its steps are like those seen."""
        here, stateless = self.terms(n_steps, stateless=False), self.terms(n_steps, stateless=True)
        return Prediction(
            n_steps=n_steps, here=round(sum(here.values())), stateless=round(sum(stateless.values())),
            largest_here=max(here, key=here.__getitem__), largest_stateless=max(stateless, key=stateless.__getitem__),
        )

    def write(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "n_episodes": self.n_episodes, "n_steps": self.n_steps, "parts": dict(self.parts), "purposes": dict(self.purposes),
            "n_tokens": self.n_tokens, "n_evaluated": self.n_evaluated, "n_sampled": self.n_sampled, "n_forced": self.n_forced,
            "stateless": {"n_sent": self.n_sent, "sent": dict(self.sent)},
            "predictions": [
                {"n_steps": found.n_steps, "here": found.here, "stateless": found.stateless,
                 "largest_here": found.largest_here, "largest_stateless": found.largest_stateless}
                for found in map(self.predict, HORIZONS)
            ],
        }


def group_of(part: str) -> str:
    """The group of a part of the prompt: "tools" for "tool search", "exemplars" for "exemplar 2"."""
    match = re.match(r"(tool|exemplar)\b", part)
    return f"{match[1]}s" if match else part


def keep_ledger(trace: Trace) -> Ledger:
    """The ledger of one episode. Raises TraceError for a trace that doesn't tell about its prompt."""
    parts = next((event.get("parts") for event in trace.events if event["event"] == "prompt"), None)
    if not isinstance(parts, dict) or not all(isinstance(n, int) for n in parts.values()):
        raise TraceError("The trace has no prompt, or doesn't tell the tokens of its parts: it broke off before it began.")
    book = _Book(parts=_count_prompt(trace, parts))
    for event in trace.events:
        book.enter(event)
    return Ledger(
        n_episodes=1, n_steps=book.n_steps, parts=book.parts, purposes={name: book.spent[name] for name in PURPOSES},
        sent=dict(book.sent), n_evaluated=trace.evaluated, n_sampled=trace.sampled, n_forced=trace.forced,
    )


def add_ledgers(ledgers: Iterable[Ledger]) -> Ledger:
    """The sum of several ledgers, whose predictions are then those of their mean."""
    found = list(ledgers)
    return Ledger(
        n_episodes=sum(one.n_episodes for one in found), n_steps=sum(one.n_steps for one in found),
        parts=_add([one.parts for one in found]), purposes=_add([one.purposes for one in found]),
        sent=_add([one.sent for one in found]), n_evaluated=sum(one.n_evaluated for one in found),
        n_sampled=sum(one.n_sampled for one in found), n_forced=sum(one.n_forced for one in found),
    )


@dataclass(slots=True)
class _Book:
    """Goes through the events of a trace in order."""

    parts: Mapping[str, int]
    spent: Counter[str] = field(default_factory=Counter)
    sent: Counter[str] = field(default_factory=Counter)
    n_steps: int = 0
    _is_writing: bool = False  # the model has begun its step
    _n_written: int = 0
    _notice: str | None = None
    _has_prompt: bool = False

    def enter(self, event: Mapping[str, Any]) -> None:
        match event["event"]:
            case "tokens" if not self._has_prompt:
                self._has_prompt = True  # the prompt itself, which is in `parts`
            case "tokens":
                self._spend(event)
            case "completion":
                self.n_steps += 1
                self._is_writing = False
            case "action":
                if event["kind"] == "malformed":
                    self.spent["completions"] -= self._n_written
                    self.spent["discarded"] += self._n_written
                self._n_written = 0
            case "notice":
                self._notice = indent(event["text"])
            case "observation" if event["kind"] == "notice":
                self._notice = indent(event["text"])

    def _spend(self, event: Mapping[str, Any]) -> None:
        n = len(event["ids"])
        match event.get("owner"):
            case "model":
                if not self._is_writing:
                    self._is_writing = True
                    self.sent.update({group_of(part): 0 for part in self.parts})
                    for part, tokens in self.parts.items():
                        self.sent[group_of(part)] += tokens
                    self.sent.update(self.spent)
                self._n_written += n
                self.spent["completions"] += n
            case "observation":
                self.spent["observations"] += n
            case _ if self._notice is not None and event.get("text", "").strip() == self._notice.strip():
                self.spent["notices"] += n
                self._notice = None
            case _:
                self.spent["labels"] += n


def _count_prompt(trace: Trace, parts: Mapping[str, int]) -> dict[str, int]:
    """The parts, and what the tokenizer put in front of them (BOS), so that all tokens are counted."""
    first = next((event for event in trace.events if event["event"] == "tokens"), None)
    n_others = len(first["ids"]) - sum(parts.values()) if first is not None else 0
    return dict(parts) | ({"beginning of text": n_others} if n_others > 0 else {})


def _add(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for one in counts:
        total.update(one)
    return dict(total)
