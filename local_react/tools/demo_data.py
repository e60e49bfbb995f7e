"""The rows of the demo database: a small shop's customers, orders, parcels, invoices, charges and help articles.

Invariant: the same seed gives the same rows on every machine and Python (only `Random.random()` is drawn from, whose
numbers are guaranteed to stay). The rows of the two stories are fixed by hand, and no other invoice is charged twice.
Change `DATA_VERSION` with any change to schema or rows. It knows neither where the database lies nor who asks it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from random import Random
from typing import TypeVar

DATA_VERSION = 1
"""Goes up with every change to the schema or the rows; older files are built anew."""

APPLICATION_ID = 0x4C524454
"""Written into the header of each file, so that no foreign database is ever taken for ours."""

SEED = 20240917
FIRST_DAY, LAST_DAY = date(2026, 1, 2), date(2026, 7, 31)
"""The days of the first order, and of the latest entry."""

ORDERS = range(23, 103)
"""The numbers of the orders A023 to A102; the invoice of order n is INV-(n + 1946)."""

SCHEMA = """
CREATE TABLE customers (customer_id TEXT PRIMARY KEY COLLATE NOCASE, name TEXT NOT NULL, email TEXT NOT NULL,
    city TEXT NOT NULL);
CREATE TABLE orders (order_id TEXT PRIMARY KEY COLLATE NOCASE, customer_id TEXT NOT NULL REFERENCES customers,
    item TEXT NOT NULL, quantity INTEGER NOT NULL, status TEXT NOT NULL, ordered_on TEXT NOT NULL);
CREATE TABLE parcels (tracking_id TEXT PRIMARY KEY COLLATE NOCASE, order_id TEXT NOT NULL UNIQUE COLLATE NOCASE
    REFERENCES orders, status TEXT NOT NULL, location TEXT NOT NULL, updated_on TEXT NOT NULL);
CREATE TABLE invoices (invoice_id TEXT PRIMARY KEY COLLATE NOCASE, order_id TEXT NOT NULL UNIQUE REFERENCES orders,
    customer_id TEXT NOT NULL REFERENCES customers, cents INTEGER NOT NULL, status TEXT NOT NULL,
    issued_on TEXT NOT NULL, charge_id TEXT);
CREATE TABLE charges (charge_id TEXT PRIMARY KEY COLLATE NOCASE, customer_id TEXT NOT NULL REFERENCES customers,
    invoice_id TEXT NOT NULL REFERENCES invoices, cents INTEGER NOT NULL, charged_on TEXT NOT NULL);
CREATE VIRTUAL TABLE articles USING fts5(title, text, tokenize = 'porter unicode61 remove_diacritics 2');
"""

_CITIES = ("Lyon", "Nantes", "Bremen", "Ghent", "Porto", "Graz", "Turin", "Malmö", "Cork", "Brno")
_FIRST_NAMES = ("Ada", "Boris", "Chiara", "Dilan", "Emre", "Freya", "Goran", "Hana", "Ivo", "Jana", "Karim", "Lotte")
_LAST_NAMES = ("Almeida", "Berg", "Costa", "Dupont", "Eriksen", "Fischer", "Gallo", "Horák", "Ivanov", "Jensen", "Kaya")
_ITEMS = {
    "desk lamp": 4900, "wool blanket": 3950, "coffee grinder": 6450, "tea kettle": 2875, "cutting board": 1990,
    "wall clock": 3400, "garden hose": 2260, "bicycle bell": 1275, "travel mug": 1825, "picnic basket": 5520,
}  # fmt: skip

ARTICLES = (
    ("Refund times", "A refund reaches the card 5 working days after it was approved."),
    ("Charged twice", "If the list of charges shows an invoice twice, the second charge is refunded in full."),
    ("Returns", "Goods can be sent back within 30 days of delivery. The return label is free."),
    ("Tracking a parcel", "Each shipped order has a tracking id. If the tracking service doesn't answer, ask again."),
    ("Missing parcel", "If a parcel has not moved for 7 days, the carrier starts a search. It takes up to 10 days."),
    ("Delivery times", "Delivery takes 3 to 5 working days. Orders placed before noon leave the same day."),
    ("Shipping costs", "Shipping costs 4.90 for each order. It is free for orders from 50.00."),
    ("Changing the address", "The address of an order can be changed until the order has shipped."),
    ("Cancelling an order", "An order can be cancelled while its status is processing. Its invoice is then void."),
    ("Damaged goods", "Send a photo of the damage within 48 hours, and a new item is sent at no cost."),
    ("Paying an invoice", "Invoices can be paid by card or bank transfer within 14 days."),
    ("Copies of invoices", "A copy of each invoice is in the account, under Documents. It can be sent by e-mail."),
    ("Warranty", "Lamps, clocks and kettles have a warranty of 3 years, everything else 2 years."),
    ("Gift cards", "Gift cards are valid for 4 years and can't be paid out in cash."),
    ("Forgotten password", "Choose Reset on the login page. The link in the e-mail works for one hour."),
    ("Opening hours", "The support desk answers from Monday to Friday, 8 am to 6 pm."),
)  # fmt: skip
"""Title and text of each help article."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order before it is spread over the tables."""

    number: int
    customer_id: str
    item: str
    quantity: int
    status: str
    ordered_on: date

    @property
    def order_id(self) -> str:
        return f"A{self.number:03}"

    @property
    def invoice_id(self) -> str:
        return f"INV-{self.number + 1946}"

    @property
    def cents(self) -> int:
        return _ITEMS[self.item] * self.quantity

    @property
    def row(self) -> tuple[str | int, ...]:
        return self.order_id, self.customer_id, self.item, self.quantity, self.status, self.day(0)

    def day(self, days_later: int) -> str:
        return (self.ordered_on + timedelta(days=days_later)).isoformat()


STORY_CUSTOMERS = (
    ("cus_4417", "Krüger [Süd], GmbH", "office@krueger.example", "Bremen"),
    ("cus_8812", "Ines Moreau", "ines.moreau@example.com", "Nantes"),
)
"""The customers of the two stories. The brackets and the comma in a name are there to be met in practice."""

_STORY_ORDERS = {
    30: ("cus_4417", "wall clock", 2, "delivered"),
    47: ("cus_8812", "tea kettle", 1, "delivered"),
    61: ("cus_4417", "coffee grinder", 1, "delivered"),
    95: ("cus_8812", "desk lamp", 1, "delivered"),  # its invoice, INV-2041, is charged twice
    98: ("cus_8812", "wool blanket", 1, "delivered"),
    100: ("cus_4417", "coffee grinder", 2, "shipped"),
}
_STORY_PARCELS = {100: ("TRK-5820", "Lyon hub")}
_CHARGED_TWICE = 95

_Item = TypeVar("_Item")
_Row = tuple["str | int | None", ...]


def fill(connection: sqlite3.Connection, *, seed: int = SEED) -> None:
    """Create the tables in an empty database and write all rows."""
    random = Random(seed)
    connection.executescript(SCHEMA)
    customers = list(_customers(random))
    others = [customer_id for customer_id, *_ in customers[len(STORY_CUSTOMERS) :]]
    orders = [_order(number, others, random) for number in ORDERS]
    homes = {customer_id: city for customer_id, _, _, city in customers}
    parcels = list(_parcels(orders, homes, random))
    invoices, charges = _billing(orders, random)
    tables: dict[str, Sequence[_Row]] = {
        "customers": customers,
        "orders": [order.row for order in orders],
        "parcels": parcels,
        "invoices": invoices,
        "charges": charges,
        "articles": ARTICLES,
    }
    with connection:
        for table, rows in tables.items():
            connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {DATA_VERSION}")


def _draw(random: Random, items: Sequence[_Item]) -> _Item:
    # choice() and sample() may change with the Python version, random() may not.
    return items[int(random.random() * len(items))]


def _numbers(random: Random, count: int, first: int, last: int, taken: Sequence[int] = ()) -> list[int]:
    """`count` different numbers from `first` to `last`, none of them in `taken`."""
    numbers: list[int] = []
    while len(numbers) < count:
        number = first + int(random.random() * (last - first + 1))
        if number not in numbers and number not in taken:
            numbers.append(number)
    return numbers


def _customers(random: Random) -> Iterator[tuple[str, ...]]:
    yield from STORY_CUSTOMERS
    names = [(first, last) for first in _FIRST_NAMES for last in _LAST_NAMES]
    numbers = _numbers(random, 38, 1000, 9999, taken=[4417, 8812])
    for number, index in zip(numbers, _numbers(random, 38, 0, len(names) - 1)):
        first, last = names[index]
        yield f"cus_{number}", f"{first} {last}", f"{first.lower()}.{number}@example.com", _draw(random, _CITIES)


def _order(number: int, customers: Sequence[str], random: Random) -> Order:
    days = (LAST_DAY - FIRST_DAY).days * (number - ORDERS[0]) // (len(ORDERS) - 1)
    ordered_on = FIRST_DAY + timedelta(days=days)
    if number in _STORY_ORDERS:
        return Order(number, *_STORY_ORDERS[number], ordered_on)
    customer_id, item, quantity = _draw(random, customers), _draw(random, list(_ITEMS)), _draw(random, (1, 1, 1, 2, 3))
    age = (LAST_DAY - ordered_on).days
    if age < 5:
        status = "processing"
    elif random.random() < 0.08:
        status = "cancelled"
    else:
        status = "shipped" if age < 12 else "delivered"
    return Order(number, customer_id, item, quantity, status, ordered_on)


def _parcels(orders: Sequence[Order], homes: dict[str, str], random: Random) -> Iterator[tuple[str, ...]]:
    numbers = iter(_numbers(random, len(orders), 1000, 9999, taken=[5820]))
    for order in orders:
        tracking_id, hub = _STORY_PARCELS.get(order.number, (f"TRK-{next(numbers)}", f"{_draw(random, _CITIES)} hub"))
        if order.status == "shipped":
            yield tracking_id, order.order_id, "in transit", hub, order.day(3)
        if order.status == "delivered":
            yield tracking_id, order.order_id, "delivered", homes[order.customer_id], order.day(4)


def _billing(orders: Sequence[Order], random: Random) -> tuple[list[_Row], list[_Row]]:
    """The invoices and the charges, charge ids rising with the days."""
    charges: list[_Row] = []
    for order in orders:
        is_late = random.random() < 0.1 and order.number not in _STORY_ORDERS
        if order.status in ("shipped", "delivered") and not is_late:
            for attempt in range(2 if order.number == _CHARGED_TWICE else 1):
                # Made from the order's number, so that the ids of the story are the same under any seed.
                charge_id = f"ch_{4000 + 3 * order.number + attempt}"
                charges.append((charge_id, order.customer_id, order.invoice_id, order.cents, order.day(0)))
    # Billing records the first charge of an invoice only; a second one shows in the list of charges alone.
    recorded = {str(invoice_id): charge_id for charge_id, _, invoice_id, *_ in reversed(charges)}
    invoices: list[_Row] = [
        (order.invoice_id, order.order_id, order.customer_id, order.cents, _invoice_status(order, recorded),
         order.day(0), recorded.get(order.invoice_id))
        for order in orders
    ]  # fmt: skip
    return invoices, charges


def _invoice_status(order: Order, recorded: Container[str]) -> str:
    if order.invoice_id in recorded:
        return "paid"
    return "void" if order.status == "cancelled" else "open"
