"""What the metering puts into a template is there, once for each thing that must be counted."""

from __future__ import annotations

import pytest
from jinja2 import Environment, nodes

from local_react.language.metering import Meter, Metering


@pytest.mark.parametrize(("source", "methods"), [
    ("{{ a }}", []),
    ("{% for a in b if a %}{% endfor %}", ["tick", "tick"]),
    ("{% macro m() %}{% endmacro %}", ["tick"]),
    ("{{ a ~ b ~ c }}", ["join"]),
    ("{{ [1, [2]] }}{{ {'a': (1, 2)} }}", ["checked"] * 4),
    ("{% set a, b = c %}", []),
])
def test_each_thing_that_grows_is_counted(source: str, methods: list[str]) -> None:
    tree = Metering().visit(Environment().parse(source))
    found = [node for node in tree.find_all(nodes.ExtensionAttribute) if node.identifier == Meter.identifier]
    assert sorted(node.name for node in found) == sorted(methods)
