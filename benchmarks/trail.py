"""The conversation that the loops are compared on: notes in rooms, each naming the next room, the last one a word.

It is made so that small models walk it to its end: every step has the form of the exemplars' steps, with other names.
Seven notes and the answer are eight steps. Nothing here depends on time or chance.
"""

from __future__ import annotations

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


def note_reader() -> Tool:
    """The tool that reads the notes."""
    following = dict(zip(ROOMS, ROOMS[1:]))

    def read_note(room: str) -> str:
        """Read the note in a room."""
        if room not in ROOMS:
            return f"There is no room called {room}."
        return _write_note(following.get(room), WORD)

    return Tool.from_function(read_note)


def exemplars() -> tuple[Exemplar, ...]:
    """Two shorter trails through other rooms, walked to their ends."""
    return _walk(("lobby", "cabin", "bridge"), "maple"), _walk(("hall", "cellar", "attic", "cave"), "pepper")


def prompt() -> Prompt:
    """The prompt, as the runtime builds it; the other loops begin with the same text."""
    return build_prompt(QUESTION, Protocol.preset("finish"), Toolbox([note_reader()]), exemplars())


def _walk(rooms: tuple[str, ...], word: str) -> Exemplar:
    notes = [_write_note(following, word) for following in (*rooms[1:], None)]
    steps = [
        Step(Call(TOOL, {"room": room}, f"Go to {room}, so I read the note in {room}."), Observation(note))
        for room, note in zip(rooms, notes)
    ]
    return Exemplar(_write_note(rooms[0], word), (*steps, Step(Answer(word, f"Finish with {word}, so I finish with {word}."))))


def _write_note(following: str | None, word: str) -> str:
    return f"Finish with {word}." if following is None else f"Go to {following}."
