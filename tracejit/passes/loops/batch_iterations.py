"""What all iterations of a counting loop compute, in front of it: a branch if there is one at all.

while_loop(i < n){ ... f(b[:m, i]) ... }
->  v = cond(0 < n){ f(b[:m, 0:n]) }{ anything of the same type }
    while_loop(i < n; v){ ... }
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.graph import Attrs, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.shape import BroadcastTo, Reshape
from tracejit.passes.analysis.counted_loops import Column, CountedLoop, Formula
from tracejit.passes.analysis.regions import constant_node, inline

__all__ = ["Lines", "in_front"]

#: Writes results into a branch, given what stands there for the body's inputs.
_Write = Callable[[GraphBuilder, dict[Value, Value]], Sequence[Value]]


def in_front(
    builder: GraphBuilder,
    loop: CountedLoop,
    formulas: Sequence[Formula],
    also: Sequence[Value],
    taken: set[str],
    some_of: _Write,
    none_of: _Write,
) -> list[Value]:
    """The results of `some_of` if there is an iteration, else of `none_of`, as nodes of `builder`.

    Both read what the formulas do, and `also`; all are inputs of the body.
    """
    read = dict.fromkeys(also)
    for f in formulas:
        read |= dict.fromkeys(c.array for c in f.columns.values())
        read |= dict.fromkeys(v for n in f.nodes for v in n.inputs if v in loop.number)
    outer = [loop.node.inputs[loop.number[v]] for v in read]
    names = free_symbols(loop.trips).union(*(type_sizes(v.type) for v in outer))
    for f in formulas:
        for c in f.columns.values():
            for d in (*c.attrs["start"], *c.attrs["size"]):
                names |= free_symbols(loop.start(d))
    regions = []
    for name, write in (("some", some_of), ("none", none_of)):
        inner = GraphBuilder(name, sorted(names))
        given = {v: inner.input(x.type, v.name) for v, x in zip(read, outer, strict=True)}
        regions.append(inner.build(write(inner, given)))
    sizes = tuple(map(symbol, sorted(names)))
    attrs: Attrs = {"sizes": (sizes, sizes), "unlikely": 1}
    operands = (_begins(builder, loop.node, taken), *outer)
    return list(builder.emit(OPS["cond"], operands, attrs, regions=tuple(regions)))


def _begins(builder: GraphBuilder, loop: Node, taken: set[str]) -> Value:
    """Whether there is a first iteration."""

    def write(made: Node) -> tuple[Value, ...]:
        builder.nodes.append(made)
        return made.outputs

    (goes,) = inline(loop.regions[0], loop.inputs, loop.attrs["sizes"][0], taken, write)
    return goes


class Lines:
    """Writes the lines of all iterations as rows, or with `turned` as columns, of a matrix."""

    def __init__(
        self, b: GraphBuilder, loop: CountedLoop, arrays: dict[Value, Value], turned: bool = False
    ) -> None:
        self.b, self.loop, self.turned = b, loop, turned
        self.made = dict(arrays)

    def write(self, v: Value, formula: Formula) -> Value:
        """The matrix of a line of the body."""
        length = substitute(formula.length, self.loop.given)
        for x, c in formula.columns.items():
            self.made[x] = self._number(c) if c.along is None else self._column(c, length)
        for node in formula.nodes:
            self.made[node.outputs[0]] = self._node(node, length)
        return self.made[v]

    def _matrix(self, length: Dim) -> tuple[Dim, Dim]:
        trips = self.loop.trips
        return (length, trips) if self.turned else (trips, length)

    def _node(self, node: Node, length: Dim) -> Value:
        (out,) = node.outputs
        if isinstance(node.op, Constant):
            self.b.nodes.append(constant := constant_node(node))
            return constant.outputs[0]
        operands = [self.made[x] for x in node.inputs]
        if isinstance(node.op, Reshape):
            return operands[0]
        if isinstance(node.op, BroadcastTo):
            return self._spread(operands[0], length)
        if not isinstance(out.type, ArrayType) and any(
            isinstance(x.type, ArrayType) for x in operands
        ):
            # A number of each iteration: so are the numbers beside it.
            operands = [self._for_each(x) for x in operands]
        (made,) = self.b.emit(node.op, operands, node.attrs, where=node.where)
        return made

    def _for_each(self, v: Value) -> Value:
        if isinstance(v.type, ArrayType):
            return v
        return self.b.one(OPS["broadcast_to"], (v,), shape=(self.loop.trips,))

    def _spread(self, v: Value, length: Dim) -> Value:
        """A number, or one of each iteration, along the lines."""
        shape = self._matrix(length)
        if isinstance(v.type, ArrayType):
            beside = (1, self.loop.trips) if self.turned else (self.loop.trips, 1)
            v = self.b.one(OPS["reshape"], (v,), shape=beside)
        return self.b.one(OPS["broadcast_to"], (v,), shape=shape)

    def _part(self, c: Column) -> tuple[Value, list[Dim]]:
        """The elements of all iterations, and the axes that are longer than one."""
        start = tuple(map(self.loop.start, c.attrs["start"]))
        size = [substitute(d, self.loop.given) for d in c.attrs["size"]]
        step = list(c.attrs["step"])
        if c.across is not None:
            size[c.across], step[c.across] = self.loop.trips, c.step
        axes = sorted(a for a in (c.along, c.across) if a is not None)
        part = self.b.one(
            OPS["slice"], (self.made[c.array],), start=start, size=tuple(size), step=tuple(step)
        )
        return part, [size[a] for a in axes]

    def _number(self, c: Column) -> Value:
        part, shape = self._part(c)
        if c.across is None:
            shape = [1]
        part = self.b.one(OPS["reshape"], (part,), shape=tuple(shape))
        if c.across is None:
            part = self.b.one(OPS["broadcast_to"], (part,), shape=(self.loop.trips,))
        return part

    def _column(self, c: Column, length: Dim) -> Value:
        part, shape = self._part(c)
        if c.across is None:
            beside = (length, 1) if self.turned else (1, length)
            part = self.b.one(OPS["reshape"], (part,), shape=beside)
            return self.b.one(OPS["broadcast_to"], (part,), shape=self._matrix(length))
        assert c.along is not None
        part = self.b.one(OPS["reshape"], (part,), shape=tuple(shape))
        if (c.along < c.across) == self.turned:
            return part
        return self.b.one(OPS["transpose"], (part,), axes=(1, 0))
