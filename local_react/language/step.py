"""What one step of an episode is made of: frozen values, compared with ==.

A reading of the model's text is a `Call`, an `Answer` or a `Malformed`. Token ids, timings and exceptions
don't belong here; the trace keeps those. How a text was spelled (repairs, what was dropped) is noted beside the
meaning and takes no part in the comparison.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Union

Code = Literal[
    "empty_completion",  # nothing but white space, or nothing before the first stop
    "no_action_or_answer",  # text without a labelled action or answer
    "null_action",  # "Action: None" and the like, and no answer
    "malformed_action",  # an action line that is not name[...]
    "unclosed_bracket",  # the arguments never close
    "unclosed_think",  # a think block that never closes, nothing usable after it
    "hallucinated_observation",  # the text begins with an Observation label
    "unknown_tool",  # a well-formed call of a tool that doesn't exist
    "missing_argument",  # the next four: the call doesn't fit the tool's signature
    "too_many_arguments",
    "unknown_argument",
    "bad_argument",
    "empty_answer",  # finish[], or an answer label with nothing behind it
]


def _note(default: Any) -> Any:
    return field(default=default, kw_only=True, compare=False)


@dataclass(frozen=True, slots=True)
class Notes:
    """How a text was spelled: noted beside its meaning, left out of ==."""

    repairs: tuple[str, ...] = _note(())  # names of what lenient reading had to overlook, in text order
    extra_steps: int = _note(0)  # labelled actions after the first, dropped
    answer_after_action: bool = _note(False)  # an answer followed the action, and was dropped
    forged_observation: bool = _note(False)  # the text was cut at an observation that the model invented
    thinking: str | None = _note(None)  # content of a think block; never executed


@dataclass(frozen=True, slots=True)
class Call(Notes):
    """The model calls a tool. `arguments` holds JSON values by parameter name, in signature order.

    Arguments are JSON values (a date is its ISO text), so that a call means the same in a trace; the tool turns
    them into the Python types of its function.
    """

    name: str
    arguments: Mapping[str, Any]
    thought: str | None = None


@dataclass(frozen=True, slots=True)
class Answer(Notes):
    """The model ends the run with its answer."""

    text: str
    thought: str | None = None


@dataclass(frozen=True, slots=True)
class Malformed(Notes):
    """The text is no step that can be run. `message` says to the model what was wrong.

    The last five fields are evidence: which tool, which of its parameters, what type it expects, the value that was
    given (as text), and the real name that the unknown one is close to.
    """

    code: Code
    message: str
    thought: str | None = None
    tool: str | None = _note(None)
    parameter: str | None = _note(None)
    expected: str | None = _note(None)
    value: str | None = _note(None)
    suggestion: str | None = _note(None)


Action = Union[Call, Answer, Malformed]
"""The reading of one completion."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What the model is told after its action, as it stands in the prompt (without the label).

    `kind` is "observation" for what a tool returned, "notice" for what the loop itself has to say. `is_error` tells
    that the tool failed. `full` is the whole result where `text` was cut to the observation budget.
    """

    text: str
    kind: Literal["observation", "notice"] = "observation"
    is_error: bool = False
    full: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One Thought and one Action, then what came back. The last step of a run has no observation."""

    action: Action
    observation: Observation | None = None

    @property
    def thought(self) -> str | None:
        """The text of the Thought line, None where there was none."""
        return self.action.thought
