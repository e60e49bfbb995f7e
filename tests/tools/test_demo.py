"""The support desk: both stories run on it, and nothing that a model writes can break it."""

import inspect
import json
import re
import typing
from concurrent.futures import ThreadPoolExecutor
from datetime import date

import pytest
from hypothesis import given, settings, strategies as st

from local_react.tools.calculator import calculator
from local_react.tools.demo import NEEDS_APPROVAL, SupportDesk, demo_tools
from local_react.tools.demo_data import ARTICLES

JULY = {"since": date(2026, 7, 1), "until": date(2026, 7, 31)}


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    return tmp_path_factory.mktemp("demo") / "desk.sqlite3"


@pytest.fixture
def desk(database):
    return SupportDesk(database)


# The two stories, and the demo questions with their answers


def test_the_story_of_order_a100(desk):
    order = desk.lookup_order("A100")
    assert order["status"] == "shipped"
    with pytest.raises(TimeoutError, match="try again"):
        desk.get_tracking(order["tracking_id"])
    parcel = desk.get_tracking(order["tracking_id"])
    assert (parcel["status"], parcel["location"]) == ("in transit", "Lyon hub")


def test_the_story_of_the_double_charge(desk):
    invoice = desk.get_invoice("INV-2041")
    assert (invoice["customer_id"], invoice["amount"], invoice["status"]) == ("cus_8812", "49.00", "paid")
    charges = [row for row in desk.list_charges("cus_8812", **JULY) if row["invoice_id"] == "INV-2041"]
    assert [(row["charge_id"], row["amount"]) for row in charges] == [("ch_4285", "49.00"), ("ch_4286", "49.00")]
    assert invoice["charge_id"] == "ch_4285"


def test_the_demo_questions_have_the_answers_that_the_documents_give(desk):
    assert desk.get_customer("cus_8812")["city"] == "Nantes"
    assert desk.lookup_order("A095")["item"] == "desk lamp"
    assert "5 working days" in desk.search_help("How long does a refund take?").splitlines()[0]
    owner = desk.lookup_order("A100")["customer_id"]
    assert desk.get_customer(owner)["name"] == "Krüger [Süd], GmbH"
    amounts = [row["amount"] for row in desk.list_charges("cus_8812", **JULY)]
    assert calculator(" + ".join(amounts)) == 137.5


# Single tools


def test_tracking_fails_as_often_as_it_was_told_to_and_anew_for_each_desk(database):
    for failures in (0, 1, 3):
        desk = SupportDesk(database, tracking_failures=failures)
        for _ in range(failures):
            with pytest.raises(TimeoutError):
                desk.get_tracking("A100")
        assert desk.get_tracking("A100") == desk.get_tracking("TRK-5820")


def test_an_unknown_parcel_is_not_an_attempt_at_tracking(desk):
    with pytest.raises(LookupError, match="no parcel 'TRK-1'"):
        desk.get_tracking("TRK-1")
    with pytest.raises(LookupError, match="order A101 has no parcel, its status is processing"):
        desk.get_tracking("A101")
    with pytest.raises(TimeoutError):
        desk.get_tracking("A100")


@pytest.mark.parametrize(
    ("tool", "wrong", "message"),
    [
        ("lookup_order", "A999", "no order 'A999'"),
        ("get_tracking", "A999", "no parcel 'A999'"),
        ("get_customer", "cus_1", "no customer 'cus_1'"),
        ("get_invoice", "INV-9", "no invoice 'INV-9'"),
        ("list_invoices", "cus_1", "no customer 'cus_1'"),
        ("list_charges", "", "no customer ''"),
        ("lookup_order", "A100' OR '1'='1", "no order"),
        ("lookup_order", "%", "no order '%'"),
        ("lookup_order", "A100\x00", "no order"),
        ("lookup_order", "\ud800", "no order"),
        ("lookup_order", "A" * 10_000, "no order 'AAA"),
    ],
)
def test_an_unknown_id_is_a_lookup_error_that_names_it_shortly(desk, tool, wrong, message):
    with pytest.raises(LookupError, match=message) as error:
        getattr(desk, tool)(wrong)
    assert len(str(error.value)) < 80


@pytest.mark.parametrize("spelling", ["a100", " A100 ", "A100\n"])
def test_case_and_outer_blanks_of_an_id_do_not_matter(desk, spelling):
    assert desk.lookup_order(spelling) == desk.lookup_order("A100")


def test_what_a_row_does_not_have_is_left_out(desk):
    assert "tracking_id" not in desk.lookup_order("A101")
    assert "charge_id" not in desk.get_invoice("INV-2047")


@pytest.mark.parametrize("tool", ["list_invoices", "list_charges"])
def test_both_days_of_a_period_belong_to_it_and_either_may_be_left_out(desk, tool):
    listing = getattr(desk, tool)
    everything = listing("cus_8812")
    day = date(2026, 7, 12)
    on_the_day = listing("cus_8812", since=day, until=day)
    assert on_the_day and all("2026-07-12" in row.values() for row in on_the_day)
    before, after = listing("CUS_8812", until=date(2026, 7, 11)), listing("cus_8812", since=date(2026, 7, 13))
    assert before + on_the_day + after == everything
    assert listing("cus_8812", since=date(2030, 1, 1)) == []
    with pytest.raises(ValueError, match="later than"):
        listing("cus_8812", since=day, until=date(2026, 1, 1))


# The search


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("refund", "Refund times"),
        ("charged twice", "Charged twice"),
        ("What are the opening hours?", "Opening hours"),
        ("WARRANTY of a lamp", "Warranty"),
        ("cancelled orders", "Cancelling an order"),
    ],
)
def test_the_best_article_comes_first(desk, query, title):
    assert desk.search_help(query).startswith(f"{title}: ")


def test_each_article_is_found_by_its_title(desk):
    for title, text in ARTICLES:
        assert f"{title}: {text}" in desk.search_help(title).splitlines()


def test_at_most_three_articles_come_back(desk):
    assert len(desk.search_help("order card parcel invoice delivery days").splitlines()) == 3


@pytest.mark.parametrize("query", ["zebra", "", "  ", '"', "_", "who is the", "²", "\ud800", "'; DROP TABLE articles; --"])
def test_a_search_without_a_find_says_so(desk, query):
    assert desk.search_help(query).startswith("No help article about ")


SYNTAX = ["AND", "OR", "NOT", "NEAR(", "title:", "refund*", '"', "^refund", "{title text}:", "-", "+", "(", ")", "\x00"]


@settings(deadline=None)  # each example opens the file, on machines of any speed
@given(st.one_of(st.text(), st.lists(st.sampled_from(SYNTAX), max_size=40).map(" ".join)))
def test_no_query_is_search_syntax(database, query):
    assert SupportDesk(database).search_help(query)


def test_a_query_of_any_length_is_answered(desk):
    assert desk.search_help("refund " * 10_000).startswith("Refund times")
    assert desk.search_help(" ".join(f"word{n}" for n in range(10_000))).startswith("No help")


# Refunds


def test_a_refund_shows_in_the_list_of_charges_of_this_desk_alone(database):
    desk = SupportDesk(database)
    before = desk.list_charges("cus_8812")
    refund = desk.refund("ch_4286", 49.0)
    assert refund == {"refund_id": "re_1", "charge_id": "ch_4286", "amount": "49.00", "status": "refunded"}
    assert [row["charge_id"] for row in desk.list_charges("cus_8812") if "refunded" in row] == ["ch_4286"]
    assert SupportDesk(database).list_charges("cus_8812") == before


def test_no_more_than_the_charge_is_refunded_in_all(desk):
    desk.refund("CH_4286", 12.5)
    with pytest.raises(ValueError, match=r"36\.50 is left of ch_4286"):
        desk.refund("ch_4286", 36.51)
    assert desk.refund("ch_4286", 36.5)["refund_id"] == "re_2"
    with pytest.raises(ValueError, match=r"0\.00 is left"):
        desk.refund("ch_4286", 0.01)


@pytest.mark.parametrize("amount", [0, -1, 0.001, 1e300, float("nan"), float("inf"), -float("inf"), True])
def test_an_amount_is_positive_and_has_two_decimals(desk, amount):
    with pytest.raises(ValueError, match="is no amount"):
        desk.refund("ch_4286", amount)


@settings(deadline=None)
@given(st.integers(1, 4900))
def test_every_amount_in_cents_can_be_refunded_exactly(database, cents):
    refund = SupportDesk(database).refund("ch_4286", cents / 100)
    assert refund["amount"] == f"{cents // 100}.{cents % 100:02}"


# The tools as a set


def test_the_tools_are_functions_that_any_registration_can_read(database):
    tools = demo_tools(database)
    assert {tool.__name__ for tool in tools} > NEEDS_APPROVAL
    for tool in tools:
        first = inspect.getdoc(tool).split("\n\n")[0]
        assert len(first) < 90 and "\n" not in first
        hints = typing.get_type_hints(tool)
        parameters = inspect.signature(tool).parameters
        assert hints.keys() == parameters.keys() | {"return"}
        assert all(f"{name}: " in inspect.getdoc(tool).split("Args:")[1] for name in parameters)
    assert len({tool.__name__ for tool in tools}) == len(tools) == 9


def test_the_ids_in_the_descriptions_are_those_of_no_row(desk, database):
    text = " ".join(inspect.getdoc(tool) for tool in demo_tools(database))
    ids = set(re.findall(r"\b(?:A|TRK-|INV-|cus_|ch_)[0-9]+", text))
    assert len(ids) == 5
    for example in ids:
        for find in (desk.lookup_order, desk.get_tracking, desk.get_customer, desk.get_invoice):
            with pytest.raises(LookupError):
                find(example)
    with pytest.raises(LookupError):
        desk.refund("ch_0007", 1)


def test_each_call_of_demo_tools_starts_afresh(database):
    for _ in range(2):
        tracking = {tool.__name__: tool for tool in demo_tools(database)}["get_tracking"]
        with pytest.raises(TimeoutError):
            tracking("A100")
        assert tracking("A100")


def test_every_result_is_json_and_short(desk):
    results = [
        desk.lookup_order("A100"), desk.get_customer("cus_4417"), desk.get_invoice("INV-2041"),
        desk.list_invoices("cus_8812"), desk.list_charges("cus_8812"), desk.search_help("invoice"),
    ]  # fmt: skip
    for result in results:
        assert json.loads(json.dumps(result)) == result
        assert len(json.dumps(result)) < 500


def test_threads_share_a_desk_and_the_tracking_service_fails_once_in_all(desk):
    def ask(number):
        desk.refund("ch_4286", 0.01)
        try:
            return desk.get_tracking("A100")["location"]
        except TimeoutError:
            return "timeout"

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(100)))
    assert (answers.count("timeout"), answers.count("Lyon hub")) == (1, 99)
    assert desk.refund("ch_4286", 0.01)["refund_id"] == "re_101"
    assert {row["charge_id"]: row.get("refunded") for row in desk.list_charges("cus_8812")}["ch_4286"] == "1.01"
