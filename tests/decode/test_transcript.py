"""The transcript only grows, and knows whose each token is."""

from __future__ import annotations

from local_react.decode.transcript import Span, Transcript


def test_spans_cover_the_ids_without_a_gap() -> None:
    transcript = Transcript(1)
    transcript.append([1, 2], "program")
    transcript.append([], "observation")
    transcript.append([3], "model")
    transcript.append([4, 5], "model")
    transcript.append([6], "program")
    assert transcript.ids == (1, 2, 3, 4, 5, 6)
    assert transcript.spans == (Span("program", 0, 2), Span("model", 2, 5), Span("program", 5, 6))


def test_pending_are_the_ids_that_are_not_held_yet() -> None:
    transcript = Transcript(1)
    transcript.append(range(10), "program")
    transcript.n_held = 4
    assert transcript.n_pending == 6
    assert transcript.pending(3) == [4, 5, 6]
