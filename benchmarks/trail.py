"""The conversations that the loops are compared on: notes in rooms, each naming the next room, the last one a word.

They are made so that small models walk them to their end: every step has the form of the exemplars' steps, with other
names. Seven notes and the answer are eight steps. Nothing here depends on time or chance. There are two: in `SHORT` a call
has one text, in `LONG` it has four arguments by keyword, the way tools with several parameters are called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from local_react.language.prompt import Exemplar, Prompt, build_prompt
from local_react.language.protocol import Protocol
from local_react.language.step import Answer, Call, Observation, Step
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

ROOMS = ("kitchen", "library", "garden", "tower", "chapel", "stable", "bakery")
WORD = "silver"
N_STEPS = len(ROOMS) + 1
QUESTION = "Go to kitchen."
TOOL = "read_note"


@dataclass(frozen=True, slots=True)
class Trail:
    """One conversation: the function that reads a note, and what is always given to it beside the room."""

    reader: Callable[..., str]
    more: dict[str, Any]

    @property
    def tool(self) -> Tool:
        """The tool that reads the notes."""
        return Tool.from_function(self.reader)

    def exemplars(self) -> tuple[Exemplar, ...]:
        """Two shorter trails through other rooms, walked to their ends."""
        return self._walk(("lobby", "cabin", "bridge"), "maple"), self._walk(("hall", "cellar", "attic", "cave"), "pepper")

    def prompt(self) -> Prompt:
        """The prompt, as the runtime builds it; the other loops begin with the same text."""
        return build_prompt(QUESTION, Protocol.preset("finish"), Toolbox([self.tool]), self.exemplars())

    def _walk(self, rooms: tuple[str, ...], word: str) -> Exemplar:
        notes = [_write_note(following, word) for following in (*rooms[1:], None)]
        steps = [
            Step(Call(TOOL, {"room": room, **self.more}, f"Go to {room}, so I read the note in {room}."), Observation(note))
            for room, note in zip(rooms, notes)
        ]
        last = Step(Answer(word, f"Finish with {word}, so I finish with {word}."))
        return Exemplar(_write_note(rooms[0], word), (*steps, last))


def _read(room: str) -> str:
    following = dict(zip(ROOMS, ROOMS[1:]))
    return f"There is no room called {room}." if room not in ROOMS else _write_note(following.get(room), WORD)


def _write_note(following: str | None, word: str) -> str:
    return f"Finish with {word}." if following is None else f"Go to {following}."


def _short() -> Callable[..., str]:
    def read_note(room: str) -> str:
        """Read the note in a room."""
        return _read(room)

    return read_note


def _long() -> Callable[..., str]:
    def read_note(room: str, visitor: Literal["guest", "owner"], language: Literal["en", "de"], max_lines: int) -> str:
        """Read the note in a room."""
        return _read(room)

    return read_note


SHORT = Trail(_short(), {})
LONG = Trail(_long(), {"visitor": "guest", "language": "en", "max_lines": 10})
TRAILS = {"short": SHORT, "long": LONG}
"""Both by name."""
