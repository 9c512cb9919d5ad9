"""Loops that count from 0 by 1 and end by their count alone, with bodies that cannot fail."""

from __future__ import annotations

from collections.abc import Container, Sequence

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, free_symbols, maximum, substitute, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import shape_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.shape import Reshape
from tracejit.ops.control.regions import WhileLoop
from tracejit.ops.python.comparisons import PyLess

__all__ = ["Counted"]


class Counted:
    """A loop that counts up to `end`, a size in front of it."""

    def __init__(self, node: Node, end: Dim) -> None:
        self.node = node
        self.trips = maximum(end, 0)
        self.body = node.regions[1]
        self.counter, *fixed = self.body.sizes
        self.given = dict(zip(fixed, node.attrs["sizes"][1][1:], strict=True))
        self.carried: int = node.attrs["carried"]
        self.producer = self.body.producers()

    @classmethod
    def of(cls, node: Node) -> Counted | None:
        """The loop, if it ends by its count alone and nothing in it can fail or has an effect."""
        if not isinstance(node.op, WhileLoop):
            return None
        condition, body = node.regions
        made = condition.producers()
        test = made.get(condition.outputs[0])
        if len(body.size_outputs) != 1 or test is None or not isinstance(test.op, PyLess):
            return None
        if body.size_outputs[0] != symbol(body.sizes[0]) + 1 or node.attrs["sizes"][1][0] != 0:
            return None
        counter, end = (_number(made.get(v)) for v in test.inputs)
        if end is None or counter != symbol(condition.sizes[0]):
            return None
        given = dict(zip(condition.sizes[1:], node.attrs["sizes"][0][1:], strict=True))
        if not free_symbols(end) <= set(given) or not all(map(_is_plain, body.nodes)):
            return None
        return cls(node, substitute(end, given))

    def unchanged(self, v: Value) -> Value:
        """The value that `v` is another name of, by reshapes that change nothing."""
        while (node := self.producer.get(v)) is not None and isinstance(node.op, Reshape):
            if node.inputs[0].type != v.type or "assume" in node.attrs:
                break
            v = node.inputs[0]
        return v

    def stored(self, v: Value) -> tuple[Value, list[Node]]:
        """The array that slices are stored into to give `v`, and the stores, the last first."""
        stores: list[Node] = []
        v = self.unchanged(v)
        while (node := self.producer.get(v)) is not None and isinstance(node.op, UpdateSlice):
            stores.append(node)
            v = self.unchanged(node.inputs[0])
        return v, stores

    def live(self) -> list[Node]:
        """The nodes of the body that its results are made of."""
        wanted = set(self.body.outputs)
        found = []
        for node in reversed(self.body.nodes):
            if not wanted.isdisjoint(node.outputs):
                found.append(node)
                wanted.update(node.inputs)
        return found[::-1]

    def replaced(
        self, c: DerivativeBuilder, results: Sequence[Value], read: Container[str] | None
    ) -> list[Node] | None:
        """The nodes that `c` has recorded, in place of the loop; None where types are others.

        `results` are the values that it leaves, `read` the sizes that something reads.
        """
        nodes = c.builder.nodes
        if len(set(results)) < len(results):
            return None
        for v, out in zip(results, self.node.outputs, strict=True):
            if v.type != out.type:
                return None
            if not any(v in n.outputs for n in nodes):
                (v,) = c.builder.emit(OPS["reshape"], (v,), {"shape": shape_of(v.type)})
            nodes[:] = [_named(n, v, out) for n in nodes]
        if any(read is None or s in read for s in self.node.binds):
            count = c.op("dim_value", dim=self.trips)
            c.ops("bind_size", (count,), binds=self.node.binds)
        for n in nodes:
            n.where = n.where or self.node.where
        return nodes


def _number(node: Node | None) -> Dim | None:
    if node is None:
        return None
    if isinstance(node.op, DimValue):
        dim: Dim = node.attrs["dim"]
        return dim
    value = node.attrs.get("value") if isinstance(node.op, Constant) else None
    return value if type(value) is int else None


def _is_plain(node: Node) -> bool:
    pure = node.op.pure and not node.regions and not node.binds
    return pure and not node.op.may_raise(node)


def _named(node: Node, v: Value, name: Value) -> Node:
    """The node with the value `v` under another identity."""
    if v not in node.outputs and v not in node.inputs:
        return node
    inputs = tuple(name if x is v else x for x in node.inputs)
    outputs = tuple(name if x is v else x for x in node.outputs)
    return Node(node.op, inputs, node.attrs, outputs, node.regions, node.binds, node.where)
