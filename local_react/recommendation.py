"""Where the sampling of a run comes from: the caller, else the model's author, else the default, which is greedy.

The author's word stands in the metadata of the file. Invariant: each field of a run's `Sampling` has one source, and the
trace names it. A `Sampling` that the caller gives is taken whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Literal

from local_react.errors import SettingsError
from local_react.form import AnyModel
from local_react.llama.metadata import author_sampling
from local_react.llama.model import Model
from local_react.llama.sampling import Sampling

Source = Literal["caller", "author", "default"]
"""Who chose a value."""

NAMES = tuple(field.name for field in fields(Sampling))


def choose_sampling(
    given: Sampling | Mapping[str, Any] | None, model: AnyModel, further: Mapping[str, Any]
) -> tuple[Sampling, dict[str, Source]]:
    """The sampling of a run, and where each field comes from.

    `given` is a `Sampling`, or some fields of one; `further` are single fields given beside it, which win. The fields that
    nobody gave are the author's. Raises SettingsError for a value that makes no sense; one of the author's is left out.
    """
    if isinstance(given, Sampling):
        return replace(given, **further), dict.fromkeys(NAMES, "caller")
    own = {**(given or {}), **further}
    if unknown := [name for name in own if name not in NAMES]:
        raise SettingsError(f"sampling has no field {unknown[0]!r}. The fields are {', '.join(NAMES)}.")
    recommended = _recommended(model)
    sources: dict[str, Source] = {
        name: "caller" if name in own else "author" if name in recommended else "default" for name in NAMES
    }
    return Sampling(**recommended | own), sources


def _recommended(model: AnyModel) -> dict[str, Any]:
    """The author's values, those that make sense."""
    if not isinstance(model, Model):
        return {}
    kept = {}
    for name, value in author_sampling(model.metadata).items():
        try:
            Sampling(**{name: value})
        except SettingsError:
            continue
        kept[name] = value
    return kept
