"""Products that are added to overlapping windows, as sums for each element.

    v1 = matmul(y, k)                            y: (n * h * w, o), k: (o, c * 3 * 3)
    v2 = scatter_apply(0, reshape(v1, ...), n, c, rows + window_rows, columns + window_columns)
    ->  v3 = update_slice(0, y, ...)             y with a frame of zeros two elements wide
        v2 = contract(v3, k, ...)                v2[n, c, p, q] += y[n, p - i, q - j] * k[c, i, j]

That is the adjoint of a convolution. Where windows are some elements apart, so are the elements of
the result that the same products reach: each such part is a sum of its own. A zero of the frame
times an infinity would be NaN where nothing was to be added, so the weights are looked at, and a
branch that is hardly ever taken adds products to windows as before.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tracejit.ir.dims import Dim, Poly, bounds, free_symbols, prod, substitute, symbol, total
from tracejit.ir.graph import Attrs, Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType, type_sizes
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.shape import BroadcastTo, Reshape, Transpose
from tracejit.passes.analysis.affine_places import Index, LoopAxes, digits, indexed, origin
from tracejit.passes.simplify.few_terms import emit_contraction
from tracejit.passes.simplify.products import Factor, factors, is_product, places

__all__ = ["sum_of_windows"]

#: How much more may be multiplied than where products are added to windows.
_MOST_WASTE = 1.6
#: Elements of the result that are sums of their own: as many for windows four apart on two axes.
_MOST_PARTS = 16


def sum_of_windows(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The update as contractions; None where it is not certain what it adds up."""
    base, values, *indices = node.inputs
    t, v = base.type, values.type
    assert isinstance(t, ArrayType) and isinstance(v, ArrayType)
    if node.attrs["function"] != "add" or t.dtype != v.dtype or not _is_zero(base, made):
        return None
    if t.dtype not in (DTYPES["f32"], DTYPES["f64"]):
        return None
    axes = LoopAxes()
    own = tuple(symbol(axes.add(n)) for n in v.shape)
    targets = indexed(indices, t, own, axes, made)
    product, index = origin(values, own, axes, made)
    source = made.get(product)
    if targets is None or source is None or not is_product(source):
        return None
    operands, _ = factors(source, index, axes, made)
    whole, targets = _unflattened(t, targets, axes)
    found = _Solver(axes, whole, tuple(axes.now(d) for d in targets), operands).solve()
    if found is None:
        return None
    plan = _Plan(node, whole, operands, found)
    if not plan.padded():
        return (plan.write(builder, [x.source for x in operands]),)
    return (_guarded(builder, node, source, plan, made),)


def _unflattened(t: ArrayType, targets: Index, axes: LoopAxes) -> tuple[ArrayType, Index]:
    """Places in a flat array as places along the axes that their steps tell of, where they do."""
    form = axes.form(targets[0]) if t.ndim == 1 else None
    if form is None:
        return t, targets
    steps = sorted({c for c in form[1].values() if isinstance(c, int)}, reverse=True)
    size = t.shape[0]
    if len(steps) < 2 or steps[-1] != 1 or not isinstance(size, int):
        return t, targets
    whole = [size, *steps]
    if any(a % b for a, b in itertools.pairwise(whole)):
        return t, targets
    shape = tuple(a // b for a, b in itertools.pairwise(whole))
    found = digits(targets[0], shape, axes)
    return (t, targets) if found is None else (ArrayType(t.dtype, shape), tuple(found))


def _is_zero(v: Value, made: dict[Value, Node]) -> bool:
    node = made.get(v)
    while node is not None and isinstance(node.op, (BroadcastTo, Transpose)):
        node = made.get(node.inputs[0])
    if node is None or not isinstance(node.op, Constant):
        return False
    # A sum of nothing is 0.0, not -0.0.
    value = node.attrs["value"]
    return bool(value == 0) and math.copysign(1.0, value) > 0


@dataclass(frozen=True)
class _Part:
    """Elements of the result `step` apart from `start` on, and the sums that they are."""

    start: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    step: tuple[int, ...]
    summed: tuple[Dim, ...]
    left: tuple[tuple[Dim, tuple[Dim, ...]], ...]
    right: tuple[tuple[Dim, tuple[Dim, ...]], ...]


@dataclass(frozen=True)
class _Found:
    """The parts of the result, and the frame of each operand: by axis, what is before and after."""

    parts: list[_Part]
    frames: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]]


@dataclass
class _Axis:
    """An axis of the result. `solved` is the loop axis whose place follows from the others."""

    solved: str
    step: int
    offset: Dim
    others: dict[str, Dim]
    #: The operand that has the loop axis as an axis of its own, and which one that is.
    owner: int = -1
    place: int = -1


class _Solver:
    """Solves place = offset + step * solved + others for `solved`, on each axis of the result."""

    def __init__(
        self, axes: LoopAxes, t: ArrayType, targets: Index, operands: Sequence[Factor]
    ) -> None:
        self.axes, self.t, self.operands = axes, t, operands
        self.targets = targets
        self.indices = [tuple(axes.now(d) for d in x.index) for x in operands]

    def solve(self) -> _Found | None:
        """The sums for each element of the result; None where they are not certain."""
        solved: list[_Axis] = []
        for number, place in enumerate(self.targets):
            axis = self._axis(number, place)
            if axis is None:
                return None
            solved.append(axis)
        names = [axis.solved for axis in solved if axis.solved]
        if len(set(names)) < len(names):
            return None
        if any(name in axis.others for name in names for axis in solved):
            return None
        if math.prod(axis.step for axis in solved) > _MOST_PARTS:
            return None
        # Along the diagonal of two axes: each would be summed by itself.
        others = [name for axis in solved for name in axis.others]
        if len(set(others)) < len(others):
            return None
        parts = list(self._parts(solved))
        frames = self._frames(solved)
        if not parts or None in parts or frames is None or self._wastes(solved, parts):
            return None
        shifted = [self._shifted(p, frames, solved) for p in parts if p is not None]
        return _Found(shifted, frames)

    # Axes ---------------------------------------------------------------------------------------

    def _axis(self, number: int, place: Dim) -> _Axis | None:
        form = self.axes.form(place)
        if form is None:
            return None
        offset, factors_ = form
        size = self.t.shape[number]
        if len(factors_) == 1 and offset == 0:
            ((name, factor),) = factors_.items()
            if factor == 1 and self.axes.sizes[name] == size:
                return _Axis(name, 1, 0, {})
        if not factors_:
            return _Axis("", 1, 0, {}) if size == 1 and offset == 0 else None
        best: _Axis | None = None
        for name, factor in factors_.items():
            owner = self._owner(name)
            if owner is None or type(factor) is not int or factor < 1:
                continue
            others = {k: c for k, c in factors_.items() if k != name}
            known = all(type(c) is int and c > 0 for c in others.values())
            if not known or (factor > 1 and not self._all_known(size, offset, name, others)):
                continue
            if best is None or self._is_larger(name, best.solved):
                best = _Axis(name, factor, offset, others, *owner)
        return best

    def _all_known(self, size: Dim, offset: Dim, name: str, others: dict[str, Dim]) -> bool:
        sizes = (size, offset, self.axes.sizes[name], *(self.axes.sizes[k] for k in others))
        return len(others) <= 1 and all(type(d) is int for d in sizes)

    def _is_larger(self, name: str, other: str) -> bool:
        a, b = self.axes.sizes[name], self.axes.sizes[other]
        if isinstance(a, int) and isinstance(b, int):
            return a > b
        return isinstance(a, Poly) and isinstance(b, int)

    def _owner(self, name: str) -> tuple[int, int] | None:
        """The only operand with this loop axis, and the axis of it that is that alone."""
        inside = [
            (k, a)
            for k, index in enumerate(self.indices)
            for a, d in enumerate(index)
            if isinstance(d, Poly) and name in d.symbols
        ]
        if len(inside) != 1 or sum(name in free_symbols(d) for d in self.targets) != 1:
            return None
        ((k, a),) = inside
        source = self.operands[k].source.type
        assert isinstance(source, ArrayType)
        whole = source.shape[a] == self.axes.sizes[name]
        return (k, a) if whole and self.indices[k][a] == symbol(name) else None

    # Parts --------------------------------------------------------------------------------------

    def _parts(self, solved: Sequence[_Axis]) -> Iterator[_Part | None]:
        choices = [range(axis.step) for axis in solved]
        for phases in itertools.product(*choices):
            part = self._part(solved, phases)
            if part is not _NOTHING:
                yield part

    def _part(self, solved: Sequence[_Axis], phases: Sequence[int]) -> _Part | None:
        axes = LoopAxes(dict(self.axes.sizes))
        now: dict[str, Dim] = {}
        names, sizes = [], []
        kept: list[str] = []
        for size, axis, phase in zip(self.t.shape, solved, phases, strict=True):
            count: Dim = size
            if axis.step > 1:
                assert isinstance(size, int)
                count = -(-(size - phase) // axis.step)
            name = axes.add(count)
            names.append(name)
            sizes.append(count)
            if not axis.solved:
                continue
            if axis.owner < 0:
                now[axis.solved] = symbol(name)
                continue
            place: Dim = symbol(name)
            rest: Dim = phase - axis.offset
            for other, factor in axis.others.items():
                first, step, trips = 0, 1, axes.sizes[other]
                if axis.step > 1:
                    assert isinstance(rest, int) and isinstance(factor, int)
                    found = _congruent(rest, factor, axis.step, trips)
                    if found is None:
                        return _NOTHING
                    first, step, trips = found
                moved = axes.add(trips)
                kept.append(moved)
                now[other] = first + symbol(moved) * step
                rest = rest - factor * first
                place = place - symbol(moved) * _quotient(factor * step, axis.step)
            if axis.step > 1:
                assert isinstance(rest, int)
                if rest % axis.step:
                    return _NOTHING
                rest = rest // axis.step
            now[axis.solved] = place + rest
        gone = set(now)
        # Also those that nothing is read along: the same is then added as often.
        summed = [s for s in self._loops() if s not in gone]
        loops = [*names, *summed, *kept]
        left, right = (
            places(tuple(substitute(d, now) for d in index), loops, axes) for index in self.indices
        )
        if left is None or right is None:
            return None
        return _Part(
            tuple(phases),
            tuple(sizes),
            tuple(axis.step for axis in solved),
            tuple(axes.sizes[s] for s in (*summed, *kept)),
            left,
            right,
        )

    def _loops(self) -> list[str]:
        """The axes of all products that are added, those that were taken apart as their parts."""
        sizes, parts = self.axes.sizes, self.axes.parts
        return [s for s in sizes if s not in parts and sizes[s] != 1]

    def _frames(
        self, solved: Sequence[_Axis]
    ) -> tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]] | None:
        """How far the solved places reach outside of their operands."""
        out: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]] = ({}, {})
        for size, axis in zip(self.t.shape, solved, strict=True):
            if axis.owner < 0:
                continue
            reach = total([c * (self.axes.sizes[k] - 1) for k, c in axis.others.items()])
            before, after = axis.offset + reach, size - 1 - axis.offset
            if axis.step > 1:
                assert isinstance(before, int) and isinstance(after, int)
                before, after = before // axis.step, after // axis.step
            after = after - (self.axes.sizes[axis.solved] - 1)
            if not (_is_positive(before) and _is_positive(after)):
                if not isinstance(before, int) or not isinstance(after, int):
                    return None
                before, after = max(before, 0), max(after, 0)
            if before != 0 or after != 0:
                out[axis.owner][axis.place] = before, after
        return out

    def _shifted(
        self,
        part: _Part,
        frames: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]],
        solved: Sequence[_Axis],
    ) -> _Part:
        def moved(
            own: tuple[tuple[Dim, tuple[Dim, ...]], ...], frame: dict[int, tuple[Dim, Dim]]
        ) -> tuple[tuple[Dim, tuple[Dim, ...]], ...]:
            return tuple(
                (offset + frame[a][0] if a in frame else offset, steps)
                for a, (offset, steps) in enumerate(own)
            )

        left, right = moved(part.left, frames[0]), moved(part.right, frames[1])
        return _Part(part.start, part.sizes, part.step, part.summed, left, right)

    def _wastes(self, solved: Sequence[_Axis], parts: Sequence[_Part | None]) -> bool:
        """Whether zeros of the frames are too much of what would be multiplied."""
        before = prod([self.axes.sizes[s] for s in self._loops()])
        work = total([prod([*p.sizes, *p.summed]) for p in parts if p is not None])
        if not isinstance(before, int) or not isinstance(work, int):
            return False
        return work > _MOST_WASTE * before


#: A part of the result that nothing is added to.
_NOTHING = _Part((), (), (), (), (), ())


def _quotient(a: Dim, b: int) -> Dim:
    if b == 1:
        return a
    assert isinstance(a, int)
    return a // b


def _congruent(rest: int, factor: int, modulus: int, trips: Dim) -> tuple[int, int, int] | None:
    """First, step and count of the k < trips with factor * k = rest modulo `modulus`, if any."""
    assert isinstance(trips, int)
    step = modulus // math.gcd(factor, modulus)
    for first in range(min(step, trips)):
        if (rest - factor * first) % modulus == 0:
            return first, step, -(-(trips - first) // step)
    return None


def _is_positive(d: Dim) -> bool:
    low = d if isinstance(d, int) else bounds(d, {})[0]
    return low is not None and low >= 0


@dataclass
class _Plan:
    """What is written in place of an update."""

    node: Node
    t: ArrayType
    operands: Sequence[Factor]
    found: _Found

    def padded(self) -> list[int]:
        """The operands that get a frame."""
        return [k for k in (0, 1) if self.found.frames[k]]

    def write(self, builder: GraphBuilder, sources: Sequence[Value]) -> Value:
        """The result, as a node of `builder`."""
        where = self.node.where

        def emit(name: str, inputs: Sequence[Value], attrs: Attrs) -> Value:
            return builder.emit(OPS[name], inputs, attrs, where=where)[0]

        given = [self._framed(builder, v, k) for k, v in enumerate(sources)]
        order, parts = self.t.order, self.found.parts
        whole: Value | None = None
        shape = tuple(self.t.shape[a] for a in order)
        if len(parts) > 1 or parts[0].step != (1,) * self.t.ndim:
            whole = _zeros(builder, ArrayType(self.t.dtype, shape))
        for part in parts:
            # In the order of memory, which need not be that of the axes.
            turn = [*order, *range(len(order), len(order) + len(part.summed))]
            sides = [
                [(o, tuple(steps[k] for k in turn)) for o, steps in side]
                for side in (part.left, part.right)
            ]
            attrs = {
                "shape": tuple(part.sizes[a] for a in order),
                "summed": part.summed,
                "left": tuple(sides[0][a] for a in self._memory_order(sources[0], 0)),
                "right": tuple(sides[1][a] for a in self._memory_order(sources[1], 1)),
            }
            value = emit_contraction(builder, given, attrs, where)
            if whole is None:
                whole = value
                continue
            where_to = {
                "start": tuple(part.start[a] for a in order),
                "size": tuple(part.sizes[a] for a in order),
                "step": tuple(part.step[a] for a in order),
            }
            whole = emit("update_slice", (whole, value), where_to)
        assert whole is not None
        back = tuple(order.index(a) for a in range(len(order)))
        if back != tuple(range(len(order))):
            whole = emit("transpose", (whole,), {"axes": back})
        t = self.node.outputs[0].type
        assert isinstance(t, ArrayType)
        return whole if self.t == t else emit("reshape", (whole,), {"shape": t.shape})

    def _memory_order(self, v: Value, k: int) -> Sequence[int]:
        """The axes of an operand as it is given: one in a frame lies in C order there."""
        assert isinstance(v.type, ArrayType)
        return v.type.order if self.found.frames[k] else range(v.type.ndim)

    def _framed(self, builder: GraphBuilder, v: Value, k: int) -> Value:
        frame = self.found.frames[k]
        if not frame:
            return v
        order = self._memory_order(v, k)
        around = [frame.get(a, (0, 0)) for a in order]
        if list(order) != sorted(order):
            v = builder.one(OPS["transpose"], (v,), axes=tuple(order))
        assert isinstance(v.type, ArrayType)
        shape = tuple(b + n + e for n, (b, e) in zip(v.type.shape, around, strict=True))
        zeros = _zeros(builder, ArrayType(v.type.dtype, shape))
        attrs = {
            "start": tuple(b for b, _ in around),
            "size": v.type.shape,
            "step": (1,) * v.type.ndim,
        }
        return builder.emit(OPS["update_slice"], (zeros, v), attrs, where=self.node.where)[0]


def _zeros(builder: GraphBuilder, t: ArrayType) -> Value:
    kind = "f32" if t.dtype == DTYPES["f32"] else "f64"
    (zero,) = builder.emit(OPS["constant"], (), {"value": 0.0, "type": kind})
    return builder.one(OPS["broadcast_to"], (zero,), shape=t.shape)


def _guarded(
    builder: GraphBuilder, node: Node, product: Node, plan: _Plan, made: dict[Value, Node]
) -> Value:
    """The sums if what the frame's zeros are multiplied by is finite, else the update itself."""
    sources = [x.source for x in plan.operands]
    against = {1 - k for k in plan.padded()}
    certain: Value | None = None
    for k in sorted(against):
        finite = builder.one(OPS["isfinite"], (sources[k],))
        t = finite.type
        assert isinstance(t, ArrayType)
        everywhere = builder.one(OPS["reduce_all"], (finite,), axes=tuple(range(t.ndim)))
        number = builder.one(OPS["read_item"], (everywhere,), at=())
        both = () if certain is None else (certain, number)
        certain = builder.one(OPS["logical_and"], both) if both else number
    assert certain is not None
    slow = _Slice(node, product, made)
    captured = list(dict.fromkeys([*sources, *slow.read]))
    sizes: set[str] = set()
    for v in captured:
        sizes |= type_sizes(v.type)
    sizes |= slow.sizes | type_sizes(plan.t)
    for part in plan.found.parts:
        for d in (*part.sizes, *part.summed):
            sizes |= free_symbols(d)
        for offset, steps in (*part.left, *part.right):
            sizes |= free_symbols(offset).union(*map(free_symbols, steps))
    regions: list[Graph] = []
    for name in ("sums", "windows"):
        inner = GraphBuilder(name, sorted(sizes))
        given = {v: inner.input(v.type, v.name) for v in captured}
        if name == "sums":
            result = plan.write(inner, [given[v] for v in sources])
        else:
            result = slow.write(inner, given)
        regions.append(inner.build((result,)))
    names = tuple(map(symbol, sorted(sizes)))
    attrs: Attrs = {"sizes": (names, names), "unlikely": 1}
    operands = (certain, *captured)
    (out,) = builder.emit(
        OPS["cond"], operands, attrs, regions=(regions[0], regions[1]), where=node.where
    )
    return out


class _Slice:
    """What an update is computed from: the product, views of it, and indices."""

    def __init__(self, node: Node, product: Node, made: dict[Value, Node]) -> None:
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
                moves = inner is not None and isinstance(inner.op, (Reshape, Transpose))
                if inner is None or inner.regions or (v in behind and not moves):
                    self.read[v] = None
                    continue
                if v in behind:
                    behind.update(inner.inputs)
                stack += [(v, True), *((x, False) for x in reversed(inner.inputs))]
        self.nodes = list(found)
        self.sizes: set[str] = set().union(node.sizes(), *(n.sizes() for n in self.nodes))
        for n in self.nodes:
            for v in n.outputs:
                self.sizes |= type_sizes(v.type)

    def write(self, builder: GraphBuilder, given: dict[Value, Value]) -> Value:
        """The update, as a node of `builder`."""
        table = dict(given)
        for n in (*self.nodes, self.node):
            inputs = [table[v] for v in n.inputs]
            outputs = builder.emit(n.op, inputs, n.attrs, where=n.where)
            table.update(zip(n.outputs, outputs, strict=True))
        return table[self.node.outputs[0]]
