"""What keeps a run from going wrong: limits and switches, each of which can be turned off for an ablation."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields

from local_react.errors import SettingsError
from local_react.language.step import Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """The guards of a run. False or None switches one off.

    stop_strings          the model's text ends where it begins a label that only the program may write
    one_action            it ends, too, at the end of the line of the first complete call
    parse_notices         a malformed step is explained to the model
    unknown_tool_notices  so is a call of a tool that doesn't exist
    repeated_calls        a call just made, or the fourth of A-B-A-B, isn't run again (unless it had failed)
    final_answer          before the last step the model is asked for its answer
    approval              tools that need approval ask for it
    tool_time_limits      each tool has its time limit
    observation_tokens    an observation is cut to this many tokens
    max_thought_tokens    under a constraint, a thought is cut to this many tokens
    max_think_tokens      a think block is cut to this many tokens
    max_steps, max_step_tokens, max_tokens (sampled in the run), time_limit_s (seconds)
    compile_limit_s       a constraint that takes more seconds to compile is refused
    min_calls             an answer before this many calls is refused
    max_malformed         so many malformed steps running end the run
    max_repeats           so many refused repetitions end the run

    Raises SettingsError for a limit below 1 (`observation_tokens`: 16, `min_calls` and those in seconds: 0).
    """

    stop_strings: bool = True
    one_action: bool = True
    parse_notices: bool = True
    unknown_tool_notices: bool = True
    repeated_calls: bool = True
    final_answer: bool = True
    approval: bool = True
    tool_time_limits: bool = True
    observation_tokens: int | None = 400
    max_steps: int | None = 10
    max_step_tokens: int = 256
    max_thought_tokens: int | None = 96
    max_think_tokens: int | None = 1024
    max_tokens: int | None = None
    time_limit_s: float | None = None
    compile_limit_s: float | None = 5.0
    min_calls: int = 0
    max_malformed: int | None = 3
    max_repeats: int | None = 3

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "bool":
                is_valid = isinstance(value, bool)
            elif value is None:
                is_valid = "None" in str(field.type)
            else:
                kinds = (int, float) if "float" in str(field.type) else int
                is_valid = isinstance(value, kinds) and not isinstance(value, bool) and value >= _LOWEST.get(field.name, 1)
            if not is_valid:
                raise SettingsError(f"{field.name}={value!r} makes no sense. {_EXPECTED.get(field.type, field.type)}.")


_LOWEST = {"min_calls": 0, "time_limit_s": 0, "compile_limit_s": 0, "observation_tokens": 16}
_EXPECTED = {
    "bool": "It is on or off",
    "int": "It is a whole number, at least 1 (min_calls: 0)",
    "int | None": "It is a whole number, at least 1 (observation_tokens: 16), or None for no limit",
    "float | None": "It is a number of seconds, or None for no limit",
}


class CallHistory:
    """The calls that were made, to tell a repetition from a new call."""

    def __init__(self) -> None:
        self._calls: list[tuple[str, bool]] = []
        self._last: Call | None = None
        self.n_repeats = 0

    @property
    def n_calls(self) -> int:
        """How many calls were run."""
        return len(self._calls)

    def add(self, call: Call, *, is_error: bool) -> None:
        """A call was run. One that failed may be made again, once for each failure."""
        self._calls.append((_key(call), is_error))
        self._last = call

    @property
    def last_success(self) -> Call | None:
        """The call just made, unless it failed: making it again would be a repetition."""
        return self._last if self._calls and not self._calls[-1][1] else None

    def is_repetition(self, call: Call) -> bool:
        """Whether the call, by name and arguments, is the one just made, or the fourth of A-B-A-B.

        Equal results never make a repetition: three different calls may well return the same.
        """
        key, calls = _key(call), self._calls
        if not calls:
            return False
        if calls[-1] == (key, False):
            return True
        if len(calls) < 3:
            return False
        (first, _), (second, failed), (third, _) = calls[-3:]
        return first == third != second == key and not failed


def _key(call: Call) -> str:
    return json.dumps([call.name, call.arguments], sort_keys=True, default=str)
