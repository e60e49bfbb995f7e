"""Stops: what comes out after each token, not just at the end."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from local_react.decode.stop import StopScanner
from local_react.language.protocol import Protocol, Stop

FINISH = Protocol.preset("finish")
NUMBERED = Protocol.preset("numbered")


def scanner(protocol: Protocol = FINISH, *, line: bytes = b"", ends_after_call: bool = False) -> StopScanner:
    return StopScanner(protocol.stops(), action=protocol.stop("action"), ends_after_call=ends_after_call, line=line)


def scan(scanner: StopScanner, pieces: list[bytes]) -> tuple[list[bytes], str | None]:
    """What is released after each piece, and what fired (the released list is shorter where it fired early)."""
    released = []
    for piece in pieces:
        released.append(scanner.feed(piece))
        if scanner.fired is not None:
            return released, scanner.fired.label
    return released, None


# pieces, what comes out after each, the label that fires
STREAMS = [
    # a label over several tokens is held back until it is whole
    ([b"x]", b"\n", b"Obs", b"ervation", b":", b" 5"], [b"x]", b"\n", b"", b"", b""], "Observation:"),
    # a false alarm is released at the first byte that can't belong to the label
    ([b"x", b"\nObs", b"tacle", b"s"], [b"x", b"\n", b"Obstacle", b"s"], None),
    # a word that begins with the label isn't the label
    ([b"\nObservations", b" show"], [b"\nObservations", b" show"], None),
    # a token that goes on behind the label
    ([b"a\nObservation: 5\nAnswer"], [b"a\n"], "Observation:"),
    # only at the start of a line
    ([b"the Observation: is", b" not one"], [b"the Observation: is", b" not one"], None),
    ([b" Observation:", b" indented"], [b" Observation:", b" indented"], None),
    # several line ends in one token
    ([b"a]\n\n", b"Notice:"], [b"a]\n\n", b""], "Notice:"),
    ([b"a\r\n", b"Question:"], [b"a\r\n", b""], "Question:"),
    # multi-byte characters pass through, split or not
    ([b"\xf0\x9f", b"\x99\x82\n", b"Obs"], [b"\xf0\x9f", b"\x99\x82\n", b""], None),
    # case counts: the program writes its labels in one way only
    ([b"\nobservation: x"], [b"\nobservation: x"], None),
]


@pytest.mark.parametrize(("pieces", "released", "label"), STREAMS)
def test_text_is_released_as_soon_as_it_can_be_no_label(pieces: list[bytes], released: list[bytes], label: str | None) -> None:
    assert scan(scanner(), pieces) == (released, label)


def test_bytes_behind_the_stop_are_counted() -> None:
    stops = scanner()
    stops.feed(b"a\nObservation: x")
    assert stops.fired is not None and stops.fired.n_excess == 2


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (b"\nObservation 3:", "Observation 3:"), (b"\nObservation:", "Observation:"), (b"\nObservation 12:", "Observation 12:"),
        (b"\nObservation 3a:", None), (b"\nObservation  3:", None), (b"\nNotice 3:", None), (b"\nNotice:", "Notice:"),
    ],
)
def test_numbered_labels_stop_with_any_number_or_none(text: bytes, label: str | None) -> None:
    """Regression: a stop string without a number never fires on numbered labels, which let models forge observations."""
    assert scan(scanner(NUMBERED), [text])[1] == label


def test_a_stop_fires_across_the_border_between_prompt_and_completion() -> None:
    stops = scanner(line=b"Obs")
    assert stops.feed(b"ervation") == b""
    assert stops.feed(b": 4") == b""
    assert stops.fired is not None and stops.fired.label == "Observation:"
    assert stops.held == b"ervation:", "only what the model wrote"


def test_what_the_program_wrote_of_a_line_is_never_released() -> None:
    stops = scanner(line=b"Obs")
    assert stops.feed(b"tacle") == b"tacle"


def test_flush_releases_what_was_held_back() -> None:
    stops = scanner()
    assert stops.feed(b"x\nObserv") == b"x\n"
    assert stops.held == b"Observ"
    assert stops.flush() == b"Observ"


@pytest.mark.parametrize(
    "pieces",
    [
        [b' note["a\n', b"Observation: b", b'"]'],
        [b' note[text="a\nObservation: b", n=1]'],
        [b' note["say \\"x\\" \nObservation: b"]'],
    ],
)
def test_a_label_in_a_quoted_argument_is_content(pieces: list[bytes]) -> None:
    released, label = scan(scanner(line=b"Action:"), pieces)
    assert label is None
    assert b"".join(released) == b"".join(pieces)


def test_a_label_in_an_unquoted_argument_stops() -> None:
    assert scan(scanner(line=b"Action:"), [b" run[print(1\nObservation: 1"])[1] == "Observation:"


def test_quotes_outside_of_a_call_mean_nothing() -> None:
    assert scan(scanner(line=b"Thought:"), [b' he said: "foo\nObservation: 1'])[1] == "Observation:"


def test_quotes_stop_meaning_anything_once_the_call_has_closed() -> None:
    assert scan(scanner(line=b"Action:"), [b' a["x"] "\nObservation: 1'])[1] == "Observation:"


# text behind "Thought:", what is left of it
CALLS = [
    (b" hm\nAction: a[b]\nThought: more", b" hm\nAction: a[b]\n"),
    (b" hm\nAction: a[b] and then\nmore", b" hm\nAction: a[b] and then\n"),
    (b" hm\nAction: a[\n1,\n2]\nmore", b" hm\nAction: a[\n1,\n2]\n"),
    (b' hm\nAction: a["]\n"]\nmore', b' hm\nAction: a["]\n"]\n'),
    (b" hm\nAction: a\nAction Input: {\"b\": 1}\nmore", b" hm\nAction: a\nAction Input: {\"b\": 1}\n"),
    (b" f[1] is a call\nAction: a(b)\nmore", b" f[1] is a call\nAction: a(b)\n"),
]


@pytest.mark.parametrize(("text", "kept"), CALLS)
def test_a_step_ends_with_the_line_of_its_first_complete_call(text: bytes, kept: bytes) -> None:
    stops = scanner(line=b"Thought:", ends_after_call=True)
    released = b"".join(stops.feed(text[i : i + 1]) if stops.fired is None else b"" for i in range(len(text)))
    assert stops.fired is not None and stops.fired.label == ""
    assert released == kept


def test_without_that_guard_the_text_goes_on() -> None:
    assert scan(scanner(line=b"Thought:"), [CALLS[0][0]])[1] is None


def test_an_empty_stop_is_refused() -> None:
    with pytest.raises(ValueError, match="empty stop"):
        StopScanner([Stop(label="")])


FRAGMENTS = st.sampled_from([
    b"Observation", b":", b"\n", b"Obs", b"Notice:", b"Question", b" 3", b"Action:", b" a[", b"]", b'"', b"x", b"\xf0\x9f", b"\\",
])


@given(st.lists(FRAGMENTS, max_size=20), st.booleans(), st.sampled_from([b"", b"Thought:", b"Action:", b"Obser"]), st.data())
def test_the_split_into_tokens_changes_nothing(fragments: list[bytes], ends: bool, line: bytes, data: st.DataObject) -> None:
    text = b"".join(fragments)
    whole, split = (scanner(NUMBERED, line=line, ends_after_call=ends) for _ in range(2))
    expected = whole.feed(text) if text else b""
    released, position = b"", 0
    while position < len(text) and split.fired is None:
        size = data.draw(st.integers(1, 4))
        released += split.feed(text[position : position + size])
        position += size
    assert released == expected
    assert split.held == whole.held
    assert (split.fired is None) == (whole.fired is None)
    if whole.fired is not None and split.fired is not None:
        assert split.fired.label == whole.fired.label


@given(st.lists(FRAGMENTS, max_size=20))
def test_nothing_is_lost(fragments: list[bytes]) -> None:
    text = b"".join(fragments)
    stops = scanner()
    released = stops.feed(text)
    if stops.fired is None:
        assert released + stops.flush() == text
    else:
        end = len(text) - stops.fired.n_excess
        assert released + stops.fired.label.encode() == text[:end]
