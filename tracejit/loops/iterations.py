"""Loops whose iterations only move elements, or multiply matrices, as what all of them do at once.

    for i in range(n): patches[:, i] = x[:, i:i + m]         patches = x[:, windows], one gather
    for i in range(n): y += x[:, i:i + m] @ w[i]             y += windows as one matrix @ w as one
    for i in range(k, n): a[:, i] -= q * r[i]                a[:, k:] -= q[:, None] * r[k:]

So no iteration waits for another, a derivative keeps nothing of them, and what reads the result
may see through to `x`. The loop must count from 0 by 1 and end by its count alone. Each array that
it carries is stored into, at places that no two iterations share, or is added to; what is stored,
or added, depends on what is carried only by the elements that the iteration stores over, or by some
that none does.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from tracejit.ir.batching import BatchAdaptor
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim, bounds, free_symbols, substitute, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_substitute, sizes_read
from tracejit.ir.regions import copy_node
from tracejit.ir.types import (
    DTYPES,
    ArrayType,
    Type,
    dtype_of,
    shape_of,
    type_sizes,
    type_substitute,
)
from tracejit.loops.counted import Counted
from tracejit.loops.unrolled import written_out
from tracejit.ops.array.creation import Constant, DimValue, Iota
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import Gather, UpdateSlice
from tracejit.ops.array.reduction import ReduceSum
from tracejit.ops.array.shape import BroadcastTo, Element, Reshape, Slice, Transpose
from tracejit.ops.python.conversion import ToNpScalar

__all__ = ["at_once"]

#: Ops that move elements, or say where they are: what an iteration may consist of.
_MOVES = (BroadcastTo, Constant, DimValue, Gather, Iota, Reshape, Slice, ToNpScalar, Transpose)
_I64 = DTYPES["i64"]


def at_once(
    nodes: Sequence[Node], fresh: Callable[[], str], read: Container[str] | None = None
) -> list[Node]:
    """`nodes` with such loops, and such loops in regions, replaced; values keep their identity.

    `read` are the sizes that something reads; not given, all may be.
    """
    out: list[Node] = []
    for node in nodes:
        if node.regions:
            regions = tuple(_region(g, fresh) for g in node.regions)
            if any(a is not b for a, b in zip(regions, node.regions, strict=True)):
                node = Node(
                    node.op, node.inputs, node.attrs, node.outputs, regions, node.binds, node.where
                )
        loop = Counted.of(node)
        replaced = None
        if loop is not None:
            replaced = _AtOnce(loop).nodes(fresh, read) or written_out(loop, fresh, read)
        out += replaced or [node]
    return out


def _region(graph: Graph, fresh: Callable[[], str]) -> Graph:
    if not any(n.regions for n in graph.nodes):
        return graph
    nodes = at_once(graph.nodes, fresh, sizes_read(graph))
    if len(nodes) == len(graph.nodes) and all(map(_same, nodes, graph.nodes)):
        return graph
    return Graph(
        graph.name,
        graph.sizes,
        graph.inputs,
        tuple(nodes),
        graph.outputs,
        graph.results,
        graph.size_outputs,
    )


def _same(a: Node, b: Node) -> bool:
    return a is b


class _AtOnce:
    """What a loop's iterations do at once."""

    def __init__(self, loop: Counted) -> None:
        self.loop, self.body = loop, loop.body

    def nodes(self, fresh: Callable[[], str], read: Container[str] | None) -> list[Node] | None:
        """The nodes in place of the loop; None where an iteration does anything else."""
        iterations = _Iterations(self.loop, DerivativeBuilder(GraphBuilder(self.body.name), fresh))
        results = []
        for number in range(self.loop.carried):
            result = self._result(number, iterations)
            if result is None:
                return None
            results.append(result)
        return self.loop.replaced(iterations.c, results, read)

    def _result(self, number: int, iterations: _Iterations) -> Value | None:
        """What the loop leaves of an array that it carries."""
        before = self.body.inputs[number]
        last = self.loop.unchanged(self.body.outputs[number])
        node = self.loop.producer.get(last)
        if node is None or not isinstance(before.type, ArrayType):
            return None
        start = self.loop.node.inputs[number]
        if isinstance(node.op, UpdateSlice):
            return iterations.stored(node, start) if before in iterations.stores else None
        if node.op.arithmetic == "add" and before in node.inputs:
            other = node.inputs[1 - node.inputs.index(before)]
            return iterations.added(other, start)
        return None


def _moves(node: Node) -> bool:
    if isinstance(node.op, Elementwise):
        return dtype_of(node.outputs[0].type) == _I64
    return isinstance(node.op, _MOVES)


def _place(node: Node) -> tuple[tuple[Dim, ...], tuple[Dim, ...], tuple[int, ...]]:
    """Where a node reads or stores a slice."""
    return node.attrs["start"], node.attrs["size"], node.attrs["step"]


def _is_natural(d: Dim) -> bool:
    low, _ = bounds(d, {})
    return low is not None and low >= 0


def _linear(d: Dim, name: str) -> bool:
    """Whether a size moves by the same from each iteration to the next."""
    move = substitute(d, {name: symbol(name) + 1}) - d
    return name not in free_symbols(move)


class _Iterations:
    """Records the values of all iterations, each with an axis for them in front."""

    def __init__(self, loop: Counted, c: DerivativeBuilder) -> None:
        self.loop, self.c = loop, c
        #: For a value of the body what stands for it, and whether that has the axis.
        self.table: dict[Value, tuple[Value, bool]] = {}
        outer = loop.node.inputs
        for v, x in zip(loop.body.inputs[loop.carried :], outer[loop.carried :], strict=True):
            self.table[v] = x, False
        #: Of arrays that are carried and stored into, all at one place: what they begin with, the
        #: stores, the last first.
        self.stores: dict[Value, tuple[Value, list[Node]]] = {}
        for before, last, x in zip(loop.body.inputs, loop.body.outputs, outer, strict=False):
            base, stores = loop.stored(last)
            if base is before and len({_place(n) for n in stores}) == 1:
                self.stores[before] = x, stores

    def stored(self, update: Node, start: Value) -> Value | None:
        """The array `start` with what every iteration stores."""
        attrs = update.attrs
        across = self._across(attrs["start"], attrs["size"], attrs["step"])
        value = self._of(update.inputs[1], products=True)
        if across is None or value is None:
            return None
        axis, step = across
        c, trips = self.c, self.loop.trips
        whole, flag = value
        begin = [self._outside(substitute(d, {self.loop.counter: 0})) for d in attrs["start"]]
        size = [self._outside(d) for d in attrs["size"]]
        if not flag:
            whole = c.op("broadcast_to", whole, shape=(trips, *size))
        order = [*range(1, axis + 1), 0, *range(axis + 1, len(size) + 1)]
        whole = c.transpose(whole, order)
        length, steps = size[axis], list(attrs["step"])
        if length == 1:
            steps[axis] = step
        size[axis] = trips * length
        whole = c.op("reshape", whole, shape=tuple(size))
        t = start.type
        assert isinstance(t, ArrayType)
        everything = all(d == 0 for d in begin) and tuple(size) == t.shape
        if everything and all(s == 1 for s in steps):
            return c.laid_out(whole, t)
        return c.op(
            "update_slice", start, whole, start=tuple(begin), size=tuple(size), step=tuple(steps)
        )

    def added(self, v: Value, start: Value) -> Value | None:
        """The array `start` plus what every iteration adds: one product, or a view of it."""

        from tracejit.ops.array.linalg import MatMul

        views: list[Node] = []
        while (node := self.loop.producer.get(v)) is not None and isinstance(
            node.op, (Reshape, Transpose)
        ):
            views.append(node)
            v = node.inputs[0]
        # The sum of all products may be past float16's range where one after another is not.
        if node is None or not isinstance(node.op, MatMul) or dtype_of(v.type) == DTYPES["f16"]:
            return None
        shapes = [shape_of(x.type) for x in node.inputs]
        if min(map(len, shapes)) < 2:
            return None
        operands = [self._of(x, products=False) for x in node.inputs]
        a, b = operands
        if a is None or b is None or not (a[1] or b[1]):
            return None
        left, right = self._along_rows(a, shapes[0]), self._along_columns(b, shapes[1])
        total = self.c.op("matmul", left, right)
        for view in reversed(views):
            attrs = {k: attr_substitute(d, self.loop.given) for k, d in view.attrs.items()}
            (total,) = self.c.builder.emit(view.op, (total,), attrs, where=view.where)
        if shape_of(total.type) != shape_of(start.type):
            return None
        return self.c.laid_out(self.c.op("add", start, total), start.type)

    def _along_rows(self, x: tuple[Value, bool], shape: Sequence[Dim]) -> Value:
        """Matrices side by side: (trips, ..., m, k) as (..., m, trips * k)."""
        whole, (*stack, m, k) = self._whole(x, shape), map(self._outside, shape)
        n = len(stack)
        whole = self.c.transpose(whole, [*range(1, n + 2), 0, n + 2])
        return self.c.op("reshape", whole, shape=(*stack, m, self.loop.trips * k))

    def _along_columns(self, x: tuple[Value, bool], shape: Sequence[Dim]) -> Value:
        """Matrices one below the other: (trips, ..., k, m) as (..., trips * k, m)."""
        whole, (*stack, k, m) = self._whole(x, shape), map(self._outside, shape)
        n = len(stack)
        whole = self.c.transpose(whole, [*range(1, n + 1), 0, n + 1, n + 2])
        return self.c.op("reshape", whole, shape=(*stack, self.loop.trips * k, m))

    def _whole(self, x: tuple[Value, bool], shape: Sequence[Dim]) -> Value:
        own = tuple(map(self._outside, shape))
        return x[0] if x[1] else self.c.op("broadcast_to", x[0], shape=(self.loop.trips, *own))

    # Values -------------------------------------------------------------------------------------

    def _of(self, v: Value, products: bool) -> tuple[Value, bool] | None:
        """A value for all iterations; None where it is made of anything but moved elements.

        With `products`, of matrix products of such, too.
        """
        if v in self.table:
            return self.table[v]
        node = self.loop.producer.get(v)
        if node is not None and products and isinstance(node.op, Slice):
            base, stores = self.loop.stored(node.inputs[0])
            if base in self.stores:
                return self._of_stored(node, *self.stores[base], stores)
        if node is None or not (_moves(node) or products and self._computes(node)):
            return None
        operands = [self._of(x, products) for x in node.inputs]
        found: tuple[Value, bool] | None = None
        known = [x for x in operands if x is not None]
        if len(known) == len(operands) and self._keeps_sizes(v.type):
            found = self._made(node, known)
        if found is not None:
            self.table[v] = found
        return found

    def _of_stored(
        self, read: Node, start: Value, stores: Sequence[Node], passed: Sequence[Node]
    ) -> tuple[Value, bool] | None:
        """What is read of an array behind the stores `passed`, of all `stores` into it."""
        place = _place(stores[0])
        if any(_place(n) != place for n in passed):
            return None
        if _place(read) == place and passed:
            return self._of(passed[0].inputs[1], products=True)
        if _place(read) != place and not self._apart(read, stores[0]):
            return None
        if self._across(*place) is None or not self._keeps_sizes(read.outputs[0].type):
            return None
        return self._made(read, [(start, False)])

    def _apart(self, read: Node, store: Node) -> bool:
        """Whether no iteration stores where any reads: along an axis all stores are beyond."""
        for axis in zip(*_place(read), *_place(store), strict=True):
            first, second = self._span(*axis[:3]), self._span(*axis[3:])
            if first is not None and second is not None:
                if _is_natural(first[0] - second[1]) or _is_natural(second[0] - first[1]):
                    return True
        return False

    def _span(self, start: Dim, size: Dim, step: int) -> tuple[Dim, Dim] | None:
        """Where the places of all iterations along an axis begin, and where they end."""
        counter = self.loop.counter
        move = substitute(start, {counter: symbol(counter) + 1}) - start
        if step < 1 or not isinstance(move, int) or counter in free_symbols(size):
            return None
        first = self._outside(substitute(start, {counter: 0}))
        last = first + move * (self.loop.trips - 1)
        low, high = (last, first) if move < 0 else (first, last)
        return low, high + (self._outside(size) - 1) * step + 1

    def _computes(self, node: Node) -> bool:
        """Whether a node computes each element from those at its place, or sums of products."""

        from tracejit.ops.array.linalg import MatMul

        if isinstance(node.op, (Elementwise, MatMul, Element)):
            return True
        if isinstance(node.op, ReduceSum):
            v = node.inputs[0]
            while (made := self.loop.producer.get(v)) is not None:
                if not isinstance(made.op, (Reshape, Transpose)):
                    return made.op.arithmetic == "multiply"
                v = made.inputs[0]
        return False

    def _made(
        self, node: Node, operands: Sequence[tuple[Value, bool]]
    ) -> tuple[Value, bool] | None:
        counter = self.loop.counter
        moves = counter in node.sizes()
        if isinstance(node.op, Slice):
            fixed = (*node.attrs["size"], *node.attrs["step"])
            if any(counter in free_symbols(d) for d in fixed):
                return None
            if not all(_linear(d, counter) for d in node.attrs["start"]):
                return None
        flags = [flag for _, flag in operands]
        if isinstance(node.op, Slice) and moves:
            return self._windows(node, *operands[0]), True
        if isinstance(node.op, DimValue) and moves and _linear(node.attrs["dim"], counter):
            return self._places(node.attrs["dim"]), True
        if moves:
            return None
        values = [x for x, _ in operands]
        if not any(flags):
            return copy_node(self.c, node, values, dict(self.loop.given))[0], False
        attrs = {k: attr_substitute(a, self.loop.given) for k, a in node.attrs.items()}
        inputs = [type_substitute(x.type, self.loop.given) for x in node.inputs]
        outputs = [type_substitute(x.type, self.loop.given) for x in node.outputs]
        if not node.op.vectorises(attrs, inputs, flags):
            return None
        at = BatchAdaptor(self.c, attrs, inputs, outputs, values, flags, self.loop.trips)
        return node.op.batch(self.c, at)[0], True

    def _windows(self, node: Node, x: Value, flag: bool) -> Value:
        """The parts of an array that iterations see, from other places on in each."""
        c, attrs = self.c, node.attrs
        size = tuple(map(self._outside, attrs["size"]))
        shape = (self.loop.trips, *size)
        across = self._across(attrs["start"], size, attrs["step"])
        if across is not None and not flag and size[across[0]] == 1:
            return self._lines(node, x, *across)
        numbers = self._counting(self.loop.trips, 0, len(shape))
        indices = [c.op("broadcast_to", numbers, shape=shape)] if flag else []
        for axis, (start, step) in enumerate(zip(attrs["start"], attrs["step"], strict=True)):
            own = self._times(self._counting(size[axis], axis + 1, len(shape)), step)
            if self.loop.counter in free_symbols(start):
                first = c.op("reshape", self._places(start), shape=shape_of(numbers.type))
                place = self._plus(own, first)
            else:
                place = self._from(own, self._outside(start))
            indices.append(c.op("broadcast_to", place, shape=shape))
        return c.op("gather", x, *indices, checked=False)

    def _lines(self, node: Node, x: Value, axis: int, step: int) -> Value:
        """Parts that lie side by side along an axis: a slice of all of them."""
        start = [self._outside(substitute(d, {self.loop.counter: 0})) for d in node.attrs["start"]]
        size, steps = list(map(self._outside, node.attrs["size"])), list(node.attrs["step"])
        size[axis], steps[axis] = self.loop.trips, step
        part = self.c.op("slice", x, start=tuple(start), size=tuple(size), step=tuple(steps))
        rest = [k for k in range(len(size)) if k != axis]
        turned = self.c.transpose(part, (axis, *rest))
        size[axis] = 1
        return self.c.op("reshape", turned, shape=(self.loop.trips, *size))

    def _places(self, d: Dim) -> Value:
        """What a size is in each iteration: first + move * the number of the iteration."""
        counter, c = self.loop.counter, self.c
        first = self._outside(substitute(d, {counter: 0}))
        move = self._outside(substitute(d, {counter: 1})) - first
        place = self._times(c.op("iota", size=self.loop.trips, dtype="i64"), move)
        return self._from(place, first)

    def _from(self, v: Value, first: Dim) -> Value:
        if first == 0:
            return v
        return self.c.op("add", v, self.c.shaped(self.c.size(first, _I64), v.type))

    def _counting(self, size: Dim, axis: int, ndim: int) -> Value:
        numbers = self.c.op("iota", size=size, dtype="i64")
        shape = tuple(size if k == axis else 1 for k in range(ndim))
        return self.c.op("reshape", numbers, shape=shape)

    def _times(self, v: Value, factor: Dim) -> Value:
        if factor == 1:
            return v
        return self.c.op("multiply", v, self.c.shaped(self.c.size(factor, _I64), v.type))

    def _plus(self, a: Value, b: Value) -> Value:
        pairs = zip(shape_of(a.type), shape_of(b.type), strict=True)
        shape = tuple(n if m == 1 else m for m, n in pairs)
        spread = [
            x if shape_of(x.type) == shape else self.c.op("broadcast_to", x, shape=shape)
            for x in (a, b)
        ]
        return self.c.op("add", *spread)

    def _across(
        self, start: Sequence[Dim], size: Sequence[Dim], step: Sequence[int]
    ) -> tuple[int, int] | None:
        """The axis along which stores follow one another, and how far apart they are."""
        found: tuple[int, int] | None = None
        counter = self.loop.counter
        for axis, d in enumerate(start):
            if counter not in free_symbols(d):
                continue
            move = substitute(d, {counter: symbol(counter) + 1}) - d
            if found is not None or not isinstance(move, int) or move == 0:
                return None
            if size[axis] != 1 and (move != size[axis] or step[axis] != 1):
                return None
            found = axis, move
        sizes = set().union(*map(free_symbols, size))
        return None if counter in sizes else found

    def _outside(self, d: Dim) -> Dim:
        return substitute(d, self.loop.given)

    def _keeps_sizes(self, t: Type) -> bool:
        return self.loop.counter not in type_sizes(t)
