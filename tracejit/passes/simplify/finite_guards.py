"""Sums of products in another form where an operand is finite, and as they were where it is not.

    s = reduce_sum(multiply_no_nan(g, x))
    ->  s = cond(all(isfinite(x))){ contract(g, x) }{ reduce_sum(multiply_no_nan(g, x)) }

A zero times an infinity is NaN. Where nothing was to be added, or a factor of 0 counts as nothing,
the shorter form is right only for finite operands: they are looked at, which takes a small part of
the time, and the second branch is hardly ever taken.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, free_symbols, symbol
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice, Transpose
from tracejit.passes.analysis.effects import may_raise

__all__ = ["Guarded", "as_they_were", "emit_guarded"]


#: Ops that give elements of their first operand in other places.
_MOVES = (BroadcastTo, Gather, Reshape, Slice, Transpose)


@dataclass(frozen=True)
class Guarded:
    """A sum of the products that `product` makes, by `as_it_was` under the name that it has now.

    Where `finite` are it is `value`, of nodes that no graph holds: a contraction, perhaps reshaped.
    """

    value: Value
    finite: Sequence[Value]
    product: Node
    as_it_was: Node


def as_they_were(
    made: Mapping[Value, Node], guarded: Mapping[Value, Guarded]
) -> Mapping[Value, Node]:
    """The nodes by what they make, the guarded ones as they were."""
    return ChainMap({v: g.as_it_was for v, g in guarded.items()}, dict(made))


def emit_guarded(
    builder: GraphBuilder,
    node: Node,
    sources: Sequence[Value],
    finite: Sequence[Value],
    product: Node,
    made: Mapping[Value, Node],
    dims: Sequence[Dim],
    write: Callable[[GraphBuilder, Sequence[Value]], Value],
) -> Value:
    """What `write` makes of `sources` if `finite` are, else the node itself.

    `dims` are read by what `write` writes. Then the node is computed with all between it and the
    operands of `product`, so that nothing of that is needed elsewhere.
    """
    slow = _Slice(node, product, made)
    captured = list(dict.fromkeys([*sources, *slow.read]))
    sizes = slow.sizes.union(*(type_sizes(v.type) for v in captured), *map(free_symbols, dims))
    regions: list[Graph] = []
    for name in ("sums", "products"):
        inner = GraphBuilder(name, sorted(sizes))
        given = {v: inner.input(v.type, v.name) for v in captured}
        if name == "sums":
            result = write(inner, [given[v] for v in sources])
        else:
            result = slow.write(inner, given)
        regions.append(inner.build((result,)))
    names = tuple(map(symbol, sorted(sizes)))
    attrs: Attrs = {"sizes": (names, names), "unlikely": 1}
    operands = (_all_finite(builder, finite), *captured)
    (out,) = builder.emit(
        OPS["cond"], operands, attrs, regions=(regions[0], regions[1]), where=node.where
    )
    return out


def _all_finite(builder: GraphBuilder, values: Sequence[Value]) -> Value:
    certain: Value | None = None
    for v in dict.fromkeys(values):
        finite = builder.one(OPS["isfinite"], (v,))
        assert isinstance(v.type, ArrayType)
        everywhere = builder.one(OPS["reduce_all"], (finite,), axes=tuple(range(v.type.ndim)))
        number = builder.one(OPS["read_item"], (everywhere,), at=())
        both = () if certain is None else (certain, number)
        certain = builder.one(OPS["logical_and"], both) if both else number
    assert certain is not None
    return certain


class _Slice:
    """What a node is computed from: the product, views of it, and indices."""

    def __init__(self, node: Node, product: Node, made: Mapping[Value, Node]) -> None:
        self.node = node
        found: dict[Node, None] = {}
        self.read: dict[Value, None] = {}
        behind = set(product.inputs)
        stack = [(v, False) for v in reversed(node.inputs)]
        seen: set[Value] = set()
        while stack:
            v, done = stack.pop()
            inner = made.get(v)
            if done and inner is not None:
                found[inner] = None
            elif v not in seen:
                seen.add(v)
                moves = inner is not None and isinstance(inner.op, _MOVES)
                outside = inner is None or inner.regions or may_raise(inner)
                if inner is None or outside or (v in behind and not moves):
                    self.read[v] = None
                    continue
                if v in behind:
                    behind.add(inner.inputs[0])
                stack += [(v, True), *((x, False) for x in reversed(inner.inputs))]
        self.nodes = list(found)
        self.sizes: set[str] = set().union(node.sizes(), *(n.sizes() for n in self.nodes))
        for n in (node, *self.nodes):
            for v in n.outputs:
                self.sizes |= type_sizes(v.type)

    def write(self, builder: GraphBuilder, given: dict[Value, Value]) -> Value:
        """The node, as one of `builder`."""
        table = dict(given)
        for n in (*self.nodes, self.node):
            inputs = [table[v] for v in n.inputs]
            outputs = builder.emit(n.op, inputs, n.attrs, where=n.where)
            table.update(zip(n.outputs, outputs, strict=True))
        return table[self.node.outputs[0]]
