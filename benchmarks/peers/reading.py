"""What a reader makes of a completion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Reading:
    """A call of `name`, an answer, or a refusal. `argument` is the text between the brackets, or arguments by name."""

    kind: Literal["call", "answer", "refused"]
    name: str | None = None
    argument: str | Mapping[str, Any] | None = None


REFUSED = Reading("refused")
