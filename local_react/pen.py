"""The program's part of a transcript: labels, observations, notices. Text is tokenized here once, and only appended."""

from __future__ import annotations

from collections.abc import Sequence

from local_react.decode.completion import Completion
from local_react.decode.generate import Decoder
from local_react.decode.transcript import Owner, Transcript
from local_react.errors import ContextOverflow
from local_react.form import encode_pieces, encode_text
from local_react.language.observation import NOTHING_RUN, indent
from local_react.language.prompt import Piece
from local_react.language.protocol import LabelKind, Protocol
from local_react.language.step import Action, Observation
from local_react.language.thinking import ThinkTags
from local_react.recorder import Recorder


class Pen:
    """Writes behind what the model has written.

    Raises ContextOverflow where the window has no room for what is to be written and a token behind it.
    """

    def __init__(self, transcript: Transcript, decoder: Decoder, protocol: Protocol, recorder: Recorder) -> None:
        self._transcript = transcript
        self._decoder = decoder
        self._protocol = protocol
        self._recorder = recorder
        self._last: Completion | None = None  # what the transcript ends with, if the model wrote it

    def follow(self, completion: Completion) -> None:
        """The model has just written this."""
        self._last = completion

    def take(self, action: Action) -> None:
        """What the model has just written was read as this."""

    def opening(self, number: int) -> str:
        """What the program writes to open step `number`."""
        return self._protocol.label(self._protocol.opening, number)

    def write_label(self, kind: LabelKind, number: int) -> None:
        """Begin a line with a label; what the model has already written of it isn't written again."""
        label = self._protocol.label(kind, number)
        begun = self._last.label if self._last is not None else ""
        if not begun:
            self.begin_line(label)
        elif label.startswith(begun):
            self.write(label[len(begun) :], "program")
        elif not (begun.endswith(":") and begun.startswith(label.split(" ")[0].rstrip(":"))):
            # The model began another label; the same one with a number of its own is left as it is.
            self.write(f" {NOTHING_RUN}\n{label}", "program")
        self._last = None

    def begin_line(self, text: str) -> str:
        """Write at the start of a line; returns all that was written for it."""
        is_fresh = self._last is not None and self._last.text.endswith("\n")
        written = text if is_fresh else f"\n{text}"
        self.write(written, "program")
        return written

    def begin_action(self, number: int | None) -> str:
        """Begin the action line of a step behind its thought; None where the model chooses the label. Returns the text."""
        return self.begin_line("" if number is None else self._protocol.label("action", number))

    def end_thinking(self, block: Completion, tags: ThinkTags) -> None:
        """Close the think block that the model has just written, where it hasn't itself, and open the first step."""
        closing = ""
        if block.reason != "stop":
            is_fresh = block.label or not tags.lead or block.text.endswith(tags.lead)
            closing = ("" if is_fresh else tags.lead) + tags.closing[len(block.label) :]
        self.write_pieces([Piece("thinking", closing + tags.gap, True), Piece("step", self.opening(1))])

    def write_pieces(self, pieces: Sequence[Piece]) -> None:
        """Append text of the program's, of which the trusted pieces may hold control tokens."""
        ids, _ = encode_pieces(pieces, self._decoder.vocabulary)
        self._append(ids, "".join(piece.text for piece in pieces), "program")

    def write_observation(self, observation: Observation, number: int) -> None:
        """Write what came back, with its label; further lines are indented."""
        self.write_label(observation.kind, number)
        self.write(f" {indent(observation.text)}", "observation" if observation.kind == "observation" else "program")

    def write(self, text: str, owner: Owner) -> None:
        """Append a text."""
        if not text:
            return
        self._append(encode_text(text, self._decoder.vocabulary), text, owner)

    def _append(self, ids: list[int], text: str, owner: Owner) -> None:
        window, needed = self._decoder.window, len(self._transcript) + len(ids)
        if needed >= window:
            raise ContextOverflow("The run", needed=needed + 1, available=window, window=window)
        self._transcript.append(ids)
        self._recorder.record("tokens", owner=owner, text=text, ids=ids)
        self._last = None
