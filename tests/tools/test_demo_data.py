"""The demo's rows: the same everywhere, a few hundred, and with the two stories in them."""

import hashlib
import sqlite3
from contextlib import closing

import pytest

from local_react.tools.demo_data import ARTICLES, DATA_VERSION, LAST_DAY, SEED, fill

TABLES = ("customers", "orders", "parcels", "invoices", "charges", "articles")

DIGESTS = {1: "49f4ae06f140d476902f130fefebc4ebcbf36d8be3b6ce4c1275f63ee9cbe8e0"}
"""SHA-256 of all rows by data version. Rows that change need a new version, or cached files would go stale."""


@pytest.fixture
def database():
    with closing(sqlite3.connect(":memory:")) as connection:
        fill(connection)
        yield connection


def dump(seed):
    with closing(sqlite3.connect(":memory:")) as connection:
        fill(connection, seed=seed)
        return "\n".join(connection.iterdump())


def rows(database, query):
    return database.execute(query).fetchall()


def test_two_builds_give_equal_dumps_and_another_seed_another_one():
    assert dump(SEED) == dump(SEED)
    assert dump(SEED) != dump(SEED + 1)


def test_the_rows_are_those_of_the_data_version(database):
    everything = {table: rows(database, f"SELECT * FROM {table} ORDER BY rowid") for table in TABLES}
    assert hashlib.sha256(repr(everything).encode()).hexdigest() == DIGESTS[DATA_VERSION]


def test_there_are_a_few_hundred_rows(database):
    counts = {table: rows(database, f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}
    assert 200 <= sum(counts.values()) <= 500
    assert counts["articles"] == len(ARTICLES)
    assert min(counts.values()) > 10


def test_every_reference_leads_somewhere(database):
    assert rows(database, "PRAGMA foreign_key_check") == []
    unknown = "SELECT invoice_id FROM invoices WHERE charge_id NOT IN (SELECT charge_id FROM charges)"
    assert rows(database, unknown) == []


@pytest.mark.parametrize("seed", [SEED, 1, 2, 3])
def test_only_the_invoice_of_the_story_is_charged_twice_whatever_the_seed(seed):
    with closing(sqlite3.connect(":memory:")) as connection:
        fill(connection, seed=seed)
        twice = rows(connection, "SELECT invoice_id, count(*) FROM charges GROUP BY invoice_id HAVING count(*) > 1")
    assert twice == [("INV-2041", 2)]


def test_amounts_of_charges_and_invoices_agree(database):
    query = "SELECT c.cents, i.cents, c.customer_id, i.customer_id FROM charges c JOIN invoices i USING (invoice_id)"
    compared = rows(database, query)
    assert compared
    assert all(row[0] == row[1] and row[2] == row[3] for row in compared)


def test_a_parcel_exists_just_for_the_orders_that_left_the_house(database):
    states = rows(database, "SELECT o.status, p.status FROM orders o LEFT JOIN parcels p USING (order_id)")
    sent = {("delivered", "delivered"), ("shipped", "in transit")}
    assert set(states) == sent | {("processing", None), ("cancelled", None)}


def test_an_invoice_is_paid_just_if_billing_knows_its_charge(database):
    states = rows(database, "SELECT DISTINCT status, charge_id IS NULL FROM invoices")
    assert set(states) == {("paid", 0), ("open", 1), ("void", 1)}


def test_ids_of_orders_and_charges_rise_with_the_days_and_no_day_lies_past_the_last(database):
    for table, key, day in [("orders", "order_id", "ordered_on"), ("charges", "charge_id", "charged_on")]:
        days = [row[0] for row in rows(database, f"SELECT {day} FROM {table} ORDER BY {key}")]
        assert days == sorted(days)
        assert days[-1] <= LAST_DAY.isoformat()
    assert rows(database, "SELECT max(updated_on) FROM parcels")[0][0] <= LAST_DAY.isoformat()
