"""A thought and an action, joined to one completion."""

from __future__ import annotations

import pytest

from local_react.decode.completion import Completion, join_step


def completion(*pieces: bytes, n_cut_bytes: int = 0) -> Completion:
    text = b"".join(pieces).decode("utf-8", "replace")
    return Completion(text, "stop", "", pieces, len(pieces), 0, len(pieces), len(pieces), n_cut_bytes=n_cut_bytes)


@pytest.mark.parametrize(
    ("pieces", "n_cut_bytes", "kept"),
    [
        ([b"a", b"b"], 0, [b"a", b"b"]),
        ([b"a", b"\xe2\x82"], 2, [b"a"]),
        ([b"a\xe2", b"\x82"], 2, [b"a"]),
        ([b"a", b"\xdf", b"\xe2"], 1, [b"a"]),  # a replay cut one byte more than the run
        ([b"\xe2"], 1, []),
    ],
)
def test_half_a_character_at_the_end_of_a_thought_is_cut_until_none_is_left(
    pieces: list[bytes], n_cut_bytes: int, kept: list[bytes]
) -> None:
    joined = join_step(completion(*pieces, n_cut_bytes=n_cut_bytes), "\nAction:", completion(b" f[]"))
    assert joined.pieces == (*kept, b"\nAction:", b" f[]")
    assert joined.n_thought_pieces == len(kept)
