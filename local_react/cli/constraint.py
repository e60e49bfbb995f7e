"""The settings of the constraint: which of them hold, and which would do nothing.

Invariant: what is said on the command line about a constraint that isn't there is a usage error; in a settings file or an
environment variable it waits until there is one.
"""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from local_react.cli.options import CONSTRAINT, SETTINGS

ABOUT = (*(setting.name for setting in CONSTRAINT if setting.name != "constrain"), "compile_limit", "max_thought_tokens")
"""The settings that say something about the constraint."""


def settle_constraint(context: click.Context, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with `constrain` as it is meant: on with a grammar of one's own, unless it is switched off.

    Without a constraint there is no grammar, and nothing is grounded or explained. Raises UsageError for an option that
    would do nothing.
    """
    is_off = not settings["constrain"] and _is_given(context, "constrain")
    if settings["constrain"] or settings["grammar"] is not None and not is_off:
        return settings | {"constrain": True}
    given = next((name for name in ABOUT if _is_given(context, name)), None)
    if given is not None:
        how = "which --no-constrain switches off" if is_off else "and there is none. Give --constrain, too"
        raise click.UsageError(f"{SETTINGS[given].flags.split('/')[0]} says something about the constraint, {how}.")
    return settings | {"constrain": False, "grammar": None, "ground": False, "explain": False}


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
