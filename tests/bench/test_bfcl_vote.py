"""The call that most arms made."""

from __future__ import annotations

import pytest

from local_react.bench.bfcl_vote import vote
from local_react.errors import SettingsError
from local_react.language.step import Call, Malformed

A = Call("f", {"x": 1, "y": "a"})
SAME = Call("f", {"y": "a", "x": 1}, thought="another thought")
FLOAT = Call("f", {"x": 1.0, "y": "a"})
B = Call("f", {"x": 2})
NOTHING = Malformed("no_action_or_answer", "nothing")


@pytest.mark.parametrize(
    ("actions", "chosen"),
    [
        ([A], A),
        ([A, B, A], A),
        ([B, A, A], A),
        ([B, A, SAME], A),
        ([B, A], B),
        ([FLOAT, B, A, B], B),
        ([A, FLOAT, FLOAT], FLOAT),
        ([NOTHING, NOTHING, A], A),
        ([NOTHING, NOTHING], NOTHING),
    ],
)
def test_the_call_of_most_arms_wins_and_the_first_of_equals(actions, chosen):
    assert vote(actions) is chosen


def test_nobody_can_elect_nothing():
    with pytest.raises(SettingsError, match="Nobody"):
        vote([])
