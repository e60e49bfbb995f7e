"""The tools of the billing world: those of the demo on the larger shop, and three more.

A desk is as fresh as the demo's: refunds are forgotten with it, and its tracking service fails the first time. Texts of a
model are bound as parameters and never become SQL. The file is never written.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from local_react.tools.calculator import calculator
from local_react.tools.demo import CustomerId, OrderId, Record, SupportDesk
from local_react.tools.demo_file import connect
from local_react.tools.tool import Tool
from local_react.tools.toolbox import Toolbox

MOST_ROWS = 10


class Shelves:
    """What the larger shop can look up beside the demo's tools."""

    def __init__(self, database: Path) -> None:
        self._path = database

    def find_customer(self, name: str) -> Record:
        """Find a customer by name.

        Args:
            name: The whole name of the person or firm.
        """
        found = self._rows(
            "SELECT customer_id, name, email, city FROM customers WHERE name = ? COLLATE NOCASE", name.strip()
        )
        if not found:
            raise LookupError(f"no customer called {name.strip()!r}")
        return found[0]

    def list_orders(self, customer_id: CustomerId, item: str) -> list[Record]:
        """List the orders of one item by a customer, oldest first.

        Args:
            customer_id: The customer's id, like cus_0007.
            item: The item's whole name.
        """
        return self._rows(
            "SELECT order_id, item, quantity, status, ordered_on FROM orders WHERE customer_id = ? COLLATE NOCASE"
            " AND item = ? COLLATE NOCASE ORDER BY ordered_on, order_id LIMIT ?",
            customer_id.strip(), item.strip(), MOST_ROWS,
        )  # fmt: skip

    def read_note(self, order_id: OrderId) -> str:
        """Read the note that the customer left with an order.

        Args:
            order_id: The order's id, like A007.
        """
        found = self._rows("SELECT text FROM notes WHERE order_id = ?", order_id.strip())
        if not found:
            raise LookupError(f"no order {order_id.strip()!r}")
        return str(found[0]["text"])

    def _rows(self, query: str, *values: str | int) -> list[Record]:
        bound = [value.encode("utf-8", "replace").decode() if isinstance(value, str) else value for value in values]
        with closing(connect(self._path)) as connection:
            return [dict(row) for row in connection.execute(query, bound)]


def shop_toolbox(database: Path) -> Toolbox:
    """The tools of one episode, bound to a new desk; only refunding needs approval."""
    desk, shelves = SupportDesk(database), Shelves(database)
    return Toolbox([
        desk.lookup_order, desk.get_tracking, desk.get_customer, shelves.find_customer, desk.get_invoice, desk.list_invoices,
        desk.list_charges, shelves.list_orders, shelves.read_note, Tool.from_function(desk.refund, needs_approval=True),
        calculator,
    ])  # fmt: skip
