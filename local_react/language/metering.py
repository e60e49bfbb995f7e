"""Metering of a chat template: what is put into its parsed form, so that it is counted as it runs.

Invariant: no turn of a loop, no call of a macro, no joined text, and no list or dict that the template builds goes uncounted.
Refuses to know any limit: the environment of the sandbox counts.
"""

from __future__ import annotations

from typing import Any

from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.visitor import NodeTransformer


class Meter(Extension):
    """What the metered template calls: `tick` at each turn of a loop, `join` for `~`, `checked` for what it builds."""

    def __init__(self, environment: Any) -> None:
        super().__init__(environment)
        self._bounds: Any = environment  # a sandbox's, which can count

    def tick(self) -> bool:
        """Count one turn."""
        self._bounds.spend()
        return True

    def join(self, *values: Any) -> str:
        """The values as one text."""
        texts = [self._bounds.text(value) for value in values]
        self._bounds.spend(sum(map(len, texts)))
        return "".join(texts)

    def checked(self, value: Any) -> Any:
        """The value, measured. A list that holds another twice, and so on, is small and has no end when it is compared."""
        return self._bounds.checked(value)


class Metering(NodeTransformer):
    """Puts a tick into each loop, loop condition and macro, replaces `~`, and measures lists and dicts as they are built."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _tick_statement(node.lineno))
        if node.test is not None:
            node.test = nodes.And(_call_meter("tick", [], node.lineno), node.test, lineno=node.lineno)
        return node

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _tick_statement(node.lineno))
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _call_meter("join", node.nodes, node.lineno)

    def visit_List(self, node: nodes.List) -> nodes.Node:
        self.generic_visit(node)
        return _call_meter("checked", [node], node.lineno)

    def visit_Dict(self, node: nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return _call_meter("checked", [node], node.lineno)

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        # `for a, b in …` and `set a, b = …` have one, too.
        return _call_meter("checked", [node], node.lineno) if node.ctx == "load" else node


def _call_meter(method: str, arguments: list[nodes.Expr], lineno: int) -> nodes.Call:
    attribute = nodes.ExtensionAttribute(Meter.identifier, method, lineno=lineno)
    return nodes.Call(attribute, arguments, [], None, None, lineno=lineno)


def _tick_statement(lineno: int) -> nodes.ExprStmt:
    return nodes.ExprStmt(_call_meter("tick", [], lineno), lineno=lineno)
