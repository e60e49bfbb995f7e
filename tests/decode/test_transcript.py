"""The transcript only grows."""

from __future__ import annotations

from local_react.decode.transcript import Transcript


def test_ids_are_added_at_the_end_and_stay() -> None:
    transcript = Transcript(1)
    transcript.append([1, 2])
    transcript.append([])
    transcript.append([3])
    assert transcript.ids == (1, 2, 3) and len(transcript) == 3


def test_pending_are_the_ids_that_are_not_held_yet() -> None:
    transcript = Transcript(1)
    transcript.append(range(10))
    transcript.n_held = 4
    assert transcript.n_pending == 6
    assert transcript.pending(3) == [4, 5, 6]
