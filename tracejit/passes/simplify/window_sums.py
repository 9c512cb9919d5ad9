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
from collections.abc import Mapping, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attrs, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, ArrayType, shape_of
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.shape import BroadcastTo, Transpose
from tracejit.passes.analysis.affine_places import Index, LoopAxes, digits, indexed, origin
from tracejit.passes.simplify.few_terms import emit_contraction
from tracejit.passes.simplify.finite_guards import Guarded, as_they_were, emit_guarded
from tracejit.passes.simplify.products import Factor, factors, is_product, multiplied
from tracejit.passes.simplify.window_solver import Found, Solver

__all__ = ["sum_of_windows"]


def sum_of_windows(
    builder: GraphBuilder,
    node: Node,
    made: dict[Value, Node],
    guarded: Mapping[Value, Guarded],
) -> tuple[Value, ...] | None:
    """The update as contractions; None where it is not certain what it adds up.

    `guarded` are products that are contractions where some values are finite.
    """
    base, values, *_ = node.inputs
    t, v = base.type, values.type
    assert isinstance(t, ArrayType) and isinstance(v, ArrayType)
    if node.attrs["function"] != "add" or t.dtype != v.dtype:
        return None
    if t.dtype not in (DTYPES["f32"], DTYPES["f64"]) or not _is_zero(base, made):
        return None
    return _solved(builder, node, made, guarded) or _of_part(builder, node, made)


def _solved(
    builder: GraphBuilder,
    node: Node,
    made: dict[Value, Node],
    guarded: Mapping[Value, Guarded],
) -> tuple[Value, ...] | None:
    base, values, *indices = node.inputs
    t, axes = base.type, LoopAxes()
    assert isinstance(t, ArrayType)
    values, own, places = _without_zeros(values, axes, made)
    targets = indexed(indices, t, places, axes, made)
    product, index = origin(values, own, axes, made)
    while (term := _beside_zero(product, made)) is not None:
        product, index = origin(term, index, axes, made)
    behind = guarded.get(product)
    if behind is not None:
        product, index = origin(behind.value, index, axes, made)
    source = made.get(product)
    if targets is None or source is None or not is_product(source, made):
        return None
    operands, _ = factors(source, index, axes, made)
    whole, targets = _unflattened(t, targets, axes)
    found = Solver(axes, whole, tuple(axes.now(d) for d in targets), operands).solve()
    if found is None:
        return None
    plan = _Plan(node, whole, operands, found)
    sources = [x.source for x in operands]
    finite = [sources[1 - k] for k in plan.padded()]
    if behind is not None:
        finite += behind.finite
        source = behind.product
    elif not finite:
        return (plan.write(builder, sources),)
    factor = multiplied(source, made) or source
    before = as_they_were(made, guarded)
    given = builder, node, sources, finite, factor, before, plan.dims()
    return (emit_guarded(*given, plan.write),)


def _part_of_zeros(v: Value, made: dict[Value, Node]) -> Node | None:
    """The node that stores something into zeros, if such a node makes the value."""
    node = made.get(v)
    is_part = node is not None and isinstance(node.op, UpdateSlice) and len(node.inputs) == 2
    return node if node is not None and is_part and _is_zero(node.inputs[0], made) else None


def _of_part(
    builder: GraphBuilder, node: Node, made: dict[Value, Node]
) -> tuple[Value, ...] | None:
    """The update without the zeros that are added."""
    base, values, *indices = node.inputs
    part = _part_of_zeros(values, made)
    if part is None:
        return None
    # The indices have the first axes alone; the others are there in whole.
    ndim, shape = len(shape_of(indices[0].type)), shape_of(part.inputs[1].type)
    if shape[ndim:] != shape_of(values.type)[ndim:]:
        return None
    cut = {"start": part.attrs["start"][:ndim], "size": shape[:ndim]}
    cut["step"] = part.attrs["step"][:ndim]
    taken = [builder.emit(OPS["slice"], (v,), cut, where=node.where)[0] for v in indices]
    return builder.emit(node.op, (base, part.inputs[1], *taken), node.attrs, where=node.where)


def _without_zeros(v: Value, axes: LoopAxes, made: dict[Value, Node]) -> tuple[Value, Index, Index]:
    """What is added up but for zeros around and between it, its axes, and where that is in `v`."""
    node = _part_of_zeros(v, made)
    if node is None:
        own = tuple(symbol(axes.add(n)) for n in shape_of(v.type))
        return v, own, own
    start, step = node.attrs["start"], node.attrs["step"]
    own = tuple(symbol(axes.add(n)) for n in shape_of(node.inputs[1].type))
    places = tuple(a + b * d for a, b, d in zip(start, step, own, strict=True))
    return node.inputs[1], own, places


def _beside_zero(v: Value, made: dict[Value, Node]) -> Value | None:
    """What zeros are added to: what is then added to a zero need not be."""
    node = made.get(v)
    if node is None or node.op.arithmetic != "add":
        return None
    a, b = node.inputs
    return b if _is_zero(a, made) else a if _is_zero(b, made) else None


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


@dataclass
class _Plan:
    """What is written in place of an update."""

    node: Node
    t: ArrayType
    operands: Sequence[Factor]
    found: Found

    def padded(self) -> list[int]:
        """The operands that get a frame."""
        return [k for k in (0, 1) if self.found.frames[k]]

    def dims(self) -> list[Dim]:
        """All that is read of sizes."""
        parts = self.found.parts
        places = [place for p in parts for place in (*p.left, *p.right)]
        loops = [d for p in parts for d in (*p.sizes, *p.summed)]
        steps = [d for offset, steps in places for d in (offset, *steps)]
        frames = [d for f in self.found.frames for ends in f.values() for d in ends]
        return [*self.t.shape, *loops, *steps, *frames]

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
