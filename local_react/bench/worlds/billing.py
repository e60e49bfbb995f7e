"""The support desk of a shop with some thousand rows: look-ups, hops, sums, failures, odd names, injections.

Each seed has a shop of its own, written once to a temporary folder and only read. Refunds go to the desk's own journal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Lock

from local_react.bench.answers import is_match
from local_react.bench.task import Task
from local_react.bench.worlds.draws import Draws
from local_react.bench.worlds.series import number_tasks, series
from local_react.bench.worlds.shop_questions import KINDS, Shop
from local_react.bench.worlds.shop_rows import build_shop
from local_react.bench.worlds.shop_tools import shop_toolbox
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step
from local_react.tools.demo_exemplars import demo_exemplars
from local_react.tools.demo_file import connect
from local_react.tools.toolbox import Toolbox


class BillingWorld:
    """Questions about a shop's customers, orders, parcels, invoices and charges."""

    name = "billing"

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._lock = Lock()

    def tasks(self, n: int, seed: int = 0) -> list[Task]:
        """The first `n` tasks of a seed, the kinds in turn; fewer, where the shop holds no more."""
        with closing(connect(self.database(seed))) as connection:
            shop = Shop(connection)
            kinds = {kind: partial(make, shop) for kind, make in KINDS.items()}
            return number_tasks(self.name, seed, series(kinds, n, Draws(self.name, seed)))

    def toolbox(self, task: Task) -> Toolbox:
        """The desk's tools on the shop of the task's seed, nothing refunded yet; tracking fails the first time."""
        return shop_toolbox(self.database(task.seed))

    def exemplars(self) -> Sequence[Exemplar]:
        """A smooth run, and one with a failure, about rows that no shop has."""
        return EXEMPLARS

    def judge(self, task: Task, answer: str) -> bool:
        """Whether the answer says the acceptable one, and no other number that isn't in the question."""
        return is_match(answer, task.answers, question=task.question)

    def database(self, seed: int) -> Path:
        """The file with the shop of a seed, made now if there is none."""
        with self._lock:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="local_react-")
            path = Path(self._folder.name) / f"shop-{seed}.sqlite3"
            if not path.exists():
                build_shop(path, seed)
        return path


_CHARGES = (
    '[{"charge_id": "ch_0007", "invoice_id": "INV-0007", "amount": "22.60", "charged_on": "2024-11-03"}, '
    '{"charge_id": "ch_0008", "invoice_id": "INV-0008", "amount": "34.00", "charged_on": "2024-12-09"}]'
)

EXEMPLARS = (
    *demo_exemplars(),
    Exemplar(
        "How much was charged to the card of customer cus_0007 in December 2024?",
        (
            Step(Call("list_charges", {"customer_id": "cus_0007"}, "I need the charges of the customer."),
                 Observation(_CHARGES)),
            Step(Answer("34.00", "Only charge ch_0008 was made in December 2024.")),
        ),
    ),
)  # fmt: skip
"""The demo's two, and one with a list."""
