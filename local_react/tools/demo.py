"""Demo tools: a support desk over a real SQLite file, and a calculator.

Plain functions that any way of registering tools can take: `demo_tools()` returns them, bound to a fresh desk.
Invariant: the same calls in the same order give the same results. No text of a model becomes SQL or FTS5 syntax: it is
bound as a parameter, and searched for as quoted words. The file is never written: refunds go to the desk's own journal
and are forgotten with it.

`get_tracking` takes the tracking id that `lookup_order` returns, and also the order's own id, so that a model that goes
there at once isn't sent back for a formality. The tracking service behind it fails the first time it is asked.

The ids in the tools' descriptions are those of no row, so that an id that a model copies from there isn't mistaken for
one that it found.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from threading import Lock
from typing import Annotated

from local_react.tools.calculator import calculator
from local_react.tools.demo_file import connect, demo_file
from local_react.tools.grounded import Grounded

NEEDS_APPROVAL = frozenset({"refund"})
"""The names of the demo tools that change something: register these with `needs_approval=True`."""

_MOST_ARTICLES = 3
# These match every article and say nothing.
_COMMON_WORDS = frozenset({
    "a", "about", "am", "an", "and", "are", "at", "be", "been", "by", "can", "did", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "is", "it", "me", "my", "of", "on", "or", "our", "that", "the",
    "their", "there", "they", "this", "to", "was", "we", "were", "what", "when", "where", "which", "who", "why",
    "will", "with", "you", "your",
})  # fmt: skip
_MOST_CENTS = 10**11

OrderId = Annotated[str, Grounded(r"A\d{3}")]
TrackingId = Annotated[str, Grounded(r"TRK-\d{4}")]
CustomerId = Annotated[str, Grounded(r"cus_\d{4}")]
InvoiceId = Annotated[str, Grounded(r"INV-\d{4}")]
ChargeId = Annotated[str, Grounded(r"ch_\d{4}")]
# Under a constraint these take only ids that the run has shown.

Record = dict[str, str | int]
"""A row as the model sees it. Columns without a value are left out; amounts are texts like 49.00."""


def demo_tools(database: Path | None = None, *, tracking_failures: int = 1) -> list[Callable[..., object]]:
    """The demo tools, bound to a new desk, so that refunds and the failing tracking service start afresh.

    The database is built on first use, in the user's cache directory if `database` is None. `tracking_failures` is how
    often the tracking service fails before it works. Raises SettingsError where the database can't be built there.
    """
    desk = SupportDesk(database, tracking_failures=tracking_failures)
    return [
        desk.lookup_order, desk.get_tracking, desk.get_customer, desk.get_invoice, desk.list_invoices,
        desk.list_charges, desk.search_help, desk.refund, calculator,
    ]  # fmt: skip


class SupportDesk:
    """A shop's support desk; its methods are the tools. May be used from several threads.

    An unknown id is a LookupError, a value that makes no sense a ValueError; both say what was wrong in one sentence.
    """

    def __init__(self, database: Path | None = None, *, tracking_failures: int = 1) -> None:
        self._path = demo_file(database)
        self._lock = Lock()
        self._failures_left = tracking_failures
        self._refunds: list[tuple[str, int]] = []  # charge id and cents, in the order they were made

    def lookup_order(self, order_id: OrderId) -> Record:
        """Look up an order: its status, tracking id, item, customer and invoice.

        Args:
            order_id: The order's id, like A007.
        """
        return self._find(
            "SELECT order_id, o.status, tracking_id, item, quantity, ordered_on, o.customer_id, invoice_id"
            " FROM orders o JOIN invoices USING (order_id) LEFT JOIN parcels USING (order_id) WHERE order_id = :key",
            "order", order_id,
        )  # fmt: skip

    def get_tracking(self, tracking_id: TrackingId) -> Record:
        """Ask the tracking service where a parcel is now.

        Raises TimeoutError when the service doesn't answer; asking again may help.

        Args:
            tracking_id: The parcel's id, like TRK-0007. An order id does too, once the order has shipped.
        """
        parcel = self._find(
            "SELECT tracking_id, order_id, p.status, location, updated_on, o.status AS order_status"
            " FROM orders o LEFT JOIN parcels p USING (order_id) WHERE tracking_id = :key OR order_id = :key",
            "parcel", tracking_id,
        )  # fmt: skip
        order_status = parcel.pop("order_status")
        if "tracking_id" not in parcel:
            raise LookupError(f"order {parcel['order_id']} has no parcel, its status is {order_status}")
        with self._lock:
            if self._failures_left > 0:
                self._failures_left -= 1
                raise TimeoutError("the tracking service did not answer in time, try again")
        return parcel

    def get_customer(self, customer_id: CustomerId) -> Record:
        """Look up a customer: name, e-mail and city.

        Args:
            customer_id: The customer's id, like cus_0007.
        """
        return self._find(
            "SELECT customer_id, name, email, city FROM customers WHERE customer_id = :key",
            "customer", customer_id,
        )  # fmt: skip

    def get_invoice(self, invoice_id: InvoiceId) -> Record:
        """Look up an invoice in billing: amount, status, and the charge that paid it.

        Args:
            invoice_id: The invoice's id, like INV-0007.
        """
        return self._find(
            "SELECT invoice_id, cents AS amount, status, issued_on, charge_id, order_id, customer_id FROM invoices"
            " WHERE invoice_id = :key",
            "invoice", invoice_id,
        )  # fmt: skip

    def list_invoices(self, customer_id: CustomerId, since: date | None = None, until: date | None = None) -> list[Record]:
        """List a customer's invoices, oldest first.

        Args:
            customer_id: The customer's id, like cus_0007.
            since: The first day.
            until: The last day.
        """
        return self._list(
            "SELECT invoice_id, cents AS amount, status, issued_on FROM invoices"
            " WHERE customer_id = ? COLLATE NOCASE AND issued_on BETWEEN ? AND ? ORDER BY issued_on, invoice_id",
            customer_id, since, until,
        )  # fmt: skip

    def list_charges(self, customer_id: CustomerId, since: date | None = None, until: date | None = None) -> list[Record]:
        """List the charges to a customer's card, oldest first.

        Args:
            customer_id: The customer's id, like cus_0007.
            since: The first day.
            until: The last day.
        """
        charges = self._list(
            "SELECT charge_id, invoice_id, cents AS amount, charged_on FROM charges"
            " WHERE customer_id = ? COLLATE NOCASE AND charged_on BETWEEN ? AND ? ORDER BY charged_on, charge_id",
            customer_id, since, until,
        )  # fmt: skip
        with self._lock:
            for charge in charges:
                if refunded := self._refunded(str(charge["charge_id"])):
                    charge["refunded"] = _amount(refunded)
        return charges

    def search_help(self, query: str) -> str:
        """Search the help articles; the best come first.

        Args:
            query: A few words, like refund time.
        """
        # Quoted, a word is a word: none can be an FTS5 operator, column or syntax error. Any of them may match.
        words = [word for word in re.findall(r"[^\W_]+", query.lower()) if word not in _COMMON_WORDS]
        expression = " OR ".join(f'"{word}"' for word in words)
        with closing(connect(self._path)) as connection:
            found = connection.execute(
                "SELECT title || ': ' || text AS article FROM articles WHERE articles MATCH ?"
                " ORDER BY bm25(articles, 2.0, 1.0), rowid LIMIT ?",
                (expression or '""', _MOST_ARTICLES),
            ).fetchall()
        return "\n".join(row["article"] for row in found) or f"No help article about {_shown(query)}."

    def refund(self, charge_id: ChargeId, amount: float) -> Record:
        """Pay back a charge, in full or in part.

        Args:
            charge_id: The charge's id, like ch_0007.
            amount: How much to pay back, like 49.00.
        """
        charge = self._find("SELECT charge_id, cents FROM charges WHERE charge_id = :key", "charge", charge_id)
        name, cents = str(charge["charge_id"]), _cents(amount)
        with self._lock:
            left = int(charge["cents"]) - self._refunded(name)
            if cents > left:
                raise ValueError(f"{_amount(left)} is left of {name}, so {_amount(cents)} can't be refunded")
            self._refunds.append((name, cents))
            number = len(self._refunds)
        return {"refund_id": f"re_{number}", "charge_id": name, "amount": _amount(cents), "status": "refunded"}

    def _refunded(self, charge_id: ChargeId) -> int:
        return sum(cents for refunded, cents in self._refunds if refunded == charge_id)

    def _find(self, query: str, kind: str, key: str) -> Record:
        """The one row whose key is `key`, outer blanks and case aside."""
        # A connection for each call: tools run in worker threads, and there is nothing to close in the end.
        with closing(connect(self._path)) as connection:
            row = connection.execute(query, {"key": _bindable(key)}).fetchone()
        if row is None:
            raise LookupError(f"no {kind} {_shown(key)}")
        return _record(row)

    def _list(self, query: str, customer_id: CustomerId, since: date | None, until: date | None) -> list[Record]:
        if since and until and since > until:
            raise ValueError(f"since={since} is later than until={until}")
        customer = self.get_customer(customer_id)["customer_id"]
        with closing(connect(self._path)) as connection:
            rows = connection.execute(query, (customer, str(since or date.min), str(until or date.max))).fetchall()
        return [_record(row) for row in rows]


def _record(row: sqlite3.Row) -> Record:
    return {name: _amount(value) if name == "amount" else value for name, value in dict(row).items() if value is not None}


def _amount(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _cents(amount: float) -> int:
    try:
        cents = Decimal(str(amount)) * 100
        if 0 < cents <= _MOST_CENTS and cents == int(cents):
            return int(cents)
    except InvalidOperation:
        pass  # no number, or not a finite one
    raise ValueError(f"{_shown(str(amount))} is no amount: give more than 0, with two decimals at most")


def _bindable(text: str) -> str:
    # SQLite takes no lone surrogates, and a model can write one as \ud800.
    return text.strip().encode("utf-8", "replace").decode()


def _shown(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 40 else text[:39] + "…")
