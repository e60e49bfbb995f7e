"""The mark of a grounded parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from local_react.language.keywords import GROUNDED_KEY


@dataclass(frozen=True, slots=True)
class Grounded:
    """Marks a text parameter as grounded: `Annotated[str, Grounded(r"cus_\\d+")]`.

    Under a constraint it can only take a value that the question or an observation has shown: a match of the pattern, or
    without one, a run of whole words of one line. An id that the model never saw can't be written. Without a constraint
    the mark changes nothing.
    """

    pattern: str = ""

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return handler(core_schema) | {GROUNDED_KEY: self.pattern or True}
