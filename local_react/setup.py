"""What the episodes of one run have in common, what they wait for, and how each ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Union

from local_react.decode.generate import Generation
from local_react.form import Form
from local_react.guards import Guards
from local_react.language.native.conversation import Frames
from local_react.language.protocol import Protocol
from local_react.language.step import Call
from local_react.llama.sampling import Sampling
from local_react.recommendation import Source
from local_react.steering import Steering
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox
from local_react.trace import Ending

Approve = Callable[[Call, Tool], "bool | Call"]
"""Asked before a tool that needs approval: True runs the call, False denies it, a Call runs that one instead. One
that doesn't fit the tool is refused, and `approve` asked again, three times at most."""

Waiting = Union[Generation, "Future[Any]"]
"""What an episode yields: it goes on when this is done."""

MIN_STEP_TOKENS = 32
"""A prompt or an observation must leave at least this much room in the window for the step that follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Everything that several episodes of one run have in common.

    `sampling_from` says where each field of `sampling` comes from. `frames` are there for a run in the model's own format.
    """

    protocol: Protocol
    toolbox: Toolbox
    guards: Guards
    sampling: Sampling
    strict: bool
    n_top_logprobs: int | None
    approve: Approve | None
    steering: Steering | None
    form: Form = Form()
    frames: Frames | None = None
    sampling_from: Mapping[str, Source] = field(default_factory=dict)


class Ended(Exception):
    """Ends the episode from wherever it is. Never leaves the loop."""

    def __init__(self, ending: Ending, *, answer: str | None = None, error: str | None = None) -> None:
        super().__init__(ending)
        self.ending, self.answer, self.error = ending, answer, error
