"""Elements that an iteration stores and the next one reads are handed on as scalars.

    while_loop(i; a){ i; a -> x = read_item(a, i); b = write_item(a, v, i + 1) }
    ->  x0 = cond(there is an iteration){ read_item(a, 0) }{ 0 }
        while_loop(i; a, x0){ i; a, x -> b = write_item(a, v, i + 1); b, v }

A recurrence then waits for its arithmetic alone, not for memory to give back what it was given.
The stores stay. Places are compared as polynomials: what the iteration stores after `v` must be at
other places for certain, and so must what the next one has stored when it reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, free_symbols, substitute, symbol
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.control.regions import WhileLoop
from tracejit.passes.analysis.effects import may_bail
from tracejit.passes.analysis.regions import copied, inline, with_nodes, with_values
from tracejit.passes.simplify.fold import emit_constant

__all__ = ["load_forwarding"]

#: The most elements that one loop hands on, and operations of a condition that is tested twice.
_MOST, _MOST_TESTED = 8, 8

_Place = tuple[Dim, ...]


@dataclass(frozen=True)
class _Stored:
    """What an iteration stores in a carried array: its number, and the value."""

    number: int
    value: Value


def load_forwarding(graph: Graph) -> Graph:
    """`graph` whose loops hand on the elements that they store."""
    if not any(n.op.kind == "control" for n in graph.nodes):
        return graph
    taken = {*graph.sizes, *(s for n in graph.nodes for s in n.binds)}

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        if isinstance(node.op, WhileLoop):
            found = _Loop(node).found()
            outputs = node.outputs
            if found:
                node = _HandingOn(builder, node, taken).write(found)
            builder.nodes.append(node)
            return outputs
        return keep(builder, node)

    return replay(graph, emit, region=load_forwarding)


def _difference(a: _Place, b: _Place) -> bool | None:
    """Whether two places are different for certain, or for certain the same; None for neither."""
    differences = [x - y for x, y in zip(a, b, strict=True)]
    if any(type(d) is int and d != 0 for d in differences):
        return True
    return False if all(d == 0 for d in differences) else None


def _place(node: Node) -> _Place | None:
    """Where a node reads or writes one element, if sizes tell."""
    at: tuple[Dim | None, ...] = node.attrs["at"]
    return None if None in at else tuple(d for d in at if d is not None)


class _Loop:
    """A loop whose elements are looked through: which reads are of what was stored just before."""

    def __init__(self, loop: Node) -> None:
        self.condition, self.body = loop.regions
        self.number = {v: k for k, v in enumerate(self.body.inputs[: loop.attrs["carried"]])}
        self.producer = self.body.producers()
        counted = self.body.sizes[: len(self.body.size_outputs)]
        self.following = dict(zip(counted, self.body.size_outputs, strict=True))

    def found(self) -> dict[Node, _Stored]:
        """The reads of elements that the iteration before has stored, with these."""
        if not _is_short(self.condition):
            return {}
        out: dict[Node, _Stored] = {}
        for node in self.body.nodes:
            if isinstance(node.op, ReadItem) and len(out) < _MOST:
                stored = self.stored_before(node)
                if stored is not None:
                    out[node] = stored
        return out

    def stored_before(self, read: Node) -> _Stored | None:
        """What the iteration before has stored where a node reads."""
        place = _place(read)
        # What the body binds may be another number in each iteration.
        if place is None or not set().union(*map(free_symbols, place)) <= set(self.body.sizes):
            return None
        array, _ = self.behind(read.inputs[0], place)
        if array not in self.number:
            return None
        place = tuple(substitute(d, self.following) for d in place)
        number = self.number[array]
        _, stored = self.behind(self.body.outputs[number], place)
        if stored is None or stored.type != read.outputs[0].type:
            return None
        return _Stored(number, stored)

    def behind(self, array: Value, place: _Place) -> tuple[Value, Value | None]:
        """The state of an array in front of stores to other places, and what was stored here."""
        while (node := self.producer.get(array)) is not None and isinstance(node.op, WriteItem):
            at = _place(node)
            different = None if at is None else _difference(at, place)
            if not different:
                return array, node.inputs[1] if different is False else None
            array = node.inputs[0]
        return array, None


def _is_short(condition: Graph) -> bool:
    """Whether a loop's condition may be tested once more: a few operations on scalars."""
    return len(condition.nodes) <= _MOST_TESTED and not any(
        may_bail(n)
        or n.regions
        or n.binds
        or any(isinstance(v.type, ArrayType) for v in (*n.inputs, *n.outputs))
        for n in condition.nodes
    )


class _HandingOn:
    """A loop that is written anew; what is in front of it goes into `builder`."""

    def __init__(self, builder: GraphBuilder, loop: Node, taken: set[str]) -> None:
        self.builder, self.loop, self.taken = builder, loop, taken
        self.goes: Value | None = None

    def write(self, found: dict[Node, _Stored]) -> Node:
        """The loop with the elements among what it carries."""
        condition, body = self.loop.regions
        count = self.loop.attrs["carried"]
        first = [self.first(read, stored.number) for read, stored in found.items()]
        types = [v.type for v in first]
        table = {r.outputs[0]: Value(t, "x") for r, t in zip(found, types, strict=True)}
        inner = with_values(with_nodes(body, (n for n in body.nodes if n not in found)), table)
        last = [table.get(stored.value, stored.value) for stored in found.values()]
        inner = replace(
            inner,
            inputs=(*body.inputs[:count], *table.values(), *body.inputs[count:]),
            outputs=(*inner.outputs, *last),
        )
        tested = (*condition.inputs[:count], *map(Value, types), *condition.inputs[count:])
        return copied(
            self.loop,
            inputs=(*self.loop.inputs[:count], *first, *self.loop.inputs[count:]),
            attrs={**self.loop.attrs, "carried": count + len(first)},
            outputs=(*self.loop.outputs, *map(Value, types)),
            regions=(replace(condition, inputs=tested), inner),
        )

    def first(self, read: Node, number: int) -> Value:
        """What the first iteration reads, if there is one; else nobody reads it."""
        array = self.loop.inputs[number]
        assert isinstance(array.type, ArrayType)
        starts = dict(zip(self.loop.regions[1].sizes, self.loop.attrs["sizes"][1], strict=True))
        place = tuple(substitute(d, starts) for d in read.attrs["at"])
        pairs = list(zip(place, array.type.shape, strict=True))
        known = [0 <= d < n for d, n in pairs if isinstance(d, int) and isinstance(n, int)]
        zero = array.type.dtype.type(0)
        if not all(known):
            return emit_constant(self.builder, zero, read.outputs[0].type)
        if len(known) == len(place):
            return self.builder.one(OPS["read_item"], (array,), at=place)
        names = sorted(type_sizes(array.type).union(*map(free_symbols, place)))
        some, none = GraphBuilder("some", names), GraphBuilder("none", names)
        element = some.one(OPS["read_item"], (some.input(array.type),), at=place)
        none.input(array.type)
        regions = (
            some.build((element,)),
            none.build((emit_constant(none, zero, element.type),)),
        )
        sizes = tuple(map(symbol, names))
        operands = (self.begins(), array)
        attrs: Attrs = {"sizes": (sizes, sizes), "unlikely": 1}
        (out,) = self.builder.emit(OPS["cond"], operands, attrs, regions=regions)
        return out

    def begins(self) -> Value:
        """Whether there is a first iteration."""

        def write(made: Node) -> tuple[Value, ...]:
            self.builder.nodes.append(made)
            return made.outputs

        if self.goes is None:
            condition, sizes = self.loop.regions[0], self.loop.attrs["sizes"][0]
            (self.goes,) = inline(condition, self.loop.inputs, sizes, self.taken, write)
        return self.goes
