"""Worked examples on the demo's tools: one smooth run, and one failure with recovery.

Their orders and parcels are those of no row of the demo, so that no answer can be copied from them; the observations
have exactly the shape that the tools return (a test compares them).
"""

from __future__ import annotations

from local_react.language.prompt import Exemplar
from local_react.language.step import Answer, Call, Observation, Step

_ORDER = (
    '{"order_id": "A007", "status": "delivered", "tracking_id": "TRK-0007", "item": "garden hose", "quantity": 1, '
    '"ordered_on": "2025-11-03", "customer_id": "cus_0007", "invoice_id": "INV-0007"}'
)
_PARCEL = (
    '{"tracking_id": "TRK-0008", "order_id": "A008", "status": "in transit", "location": "Ghent hub", '
    '"updated_on": "2025-11-09"}'
)
_TIMEOUT = "Error: TimeoutError: the tracking service did not answer in time, try again"


def demo_exemplars() -> tuple[Exemplar, Exemplar]:
    """The two exemplars; they fit any toolbox with `lookup_order` and `get_tracking`."""
    smooth = Exemplar(
        "What was in order A007?",
        (
            Step(Call("lookup_order", {"order_id": "A007"}, "I need to look up the order."), Observation(_ORDER)),
            Step(Answer("Order A007 was a garden hose.", "The order names its item.")),
        ),
    )
    tracking = {"tracking_id": "TRK-0008"}
    failing = Exemplar(
        "Where is parcel TRK-0008?",
        (
            Step(Call("get_tracking", tracking, "I need to ask the tracking service."), Observation(_TIMEOUT, is_error=True)),
            Step(Call("get_tracking", tracking, "The tracking service failed. I should try it again."), Observation(_PARCEL)),
            Step(Answer("Parcel TRK-0008 is in transit, at the Ghent hub.", "Now I know where the parcel is.")),
        ),
    )
    return smooth, failing
