"""One call chosen among those of several arms: the one that most of them made.

Each arm asks in its own way (encoding, exemplars, order), and its slips are its own; what several agree on is likelier to be
right (self-consistency, Wang et al. 2022, "Self-Consistency Improves Chain of Thought Reasoning"). Nothing is asked again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence

from local_react.errors import SettingsError
from local_react.language.step import Action, Call


def vote(actions: Sequence[Action]) -> Action:
    """The call that most of the arms made, by name and arguments.

    Of calls with equal votes the one named first wins; what is no call has no vote, unless there is nothing else. Raises
    SettingsError for no actions at all.
    """
    if not actions:
        raise SettingsError("Nobody has voted. Give the call of at least one arm.")
    calls = [action for action in actions if isinstance(action, Call)] or list(actions)
    votes = Counter(map(ballot, calls))
    return max(calls, key=lambda call: votes[ballot(call)])


def ballot(action: Action) -> str:
    """What two calls have in common if they are the same: name and arguments. It is empty for what is no call."""
    # JSON, so that 1, 1.0 and true are different votes, as they are for the checker.
    return json.dumps([action.name, dict(action.arguments)], sort_keys=True) if isinstance(action, Call) else ""
