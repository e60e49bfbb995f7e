"""More worked examples of a world, for the arms that ask for a number of them. No run shows them by default.

They are about rows that no shop has, and their observations have the shape that the tools return.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_react.bench.task import World
from local_react.bench.worlds.billing import BillingWorld
from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step

_CUSTOMER = '{"customer_id": "cus_0009", "name": "Ada Lindqvist", "email": "ada.lindqvist@example.org", "city": "Turku"}'
_INVOICE = (
    '{"invoice_id": "INV-0009", "amount": "18.40", "status": "open", "issued_on": "2024-11-12", "order_id": "A009", '
    '"customer_id": "cus_0009"}'
)

SPARES: Mapping[type, Sequence[Exemplar]] = {
    BillingWorld: (
        Exemplar(
            "In which city does customer cus_0009 live?",
            (
                Step(Call("get_customer", {"customer_id": "cus_0009"}, "I need to look up the customer."),
                     Observation(_CUSTOMER)),
                Step(Answer("Turku", "The customer's city is there.")),
            ),
        ),
        Exemplar(
            "Has invoice INV-0009 been paid?",
            (
                Step(Call("get_invoice", {"invoice_id": "INV-0009"}, "I need to look up the invoice."), Observation(_INVOICE)),
                Step(Answer("No, it is open.", "Its status is open, and no charge is named.")),
            ),
        ),
    ),
}
"""The spare exemplars of each world that has some."""



def spare_exemplars(world: World) -> Sequence[Exemplar]:
    """The spare exemplars of a world, which may be none."""
    return SPARES.get(type(world), ())
