"""The loop nests of joins and updates, and copies of what these leave as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from tracejit.codegen.lowering.index_maps import (
    Index,
    Lowering,
)
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.kernel import (
    For,
    ScanLoop,
    Stmt,
)
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name, dtype_of, shape_of
from tracejit.ops.array.elementwise import Element, Elementwise
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.array.scatter_apply import ScatterApply, applied_op
from tracejit.ops.array.shape import Concatenate

__all__ = ["lower_concatenate", "lower_update", "nest", "over_rows"]

_CAST = cast("Elementwise", OPS["cast"])
#: Around an update that takes more nests than these, or whose rows are shorter, all is copied.
_MOST_BOXES, _LEAST_ROW = 4, 16
#: So many elements at most are stored beside each other in one turn of a loop.
_MOST_BESIDE = 8


def nest(loops: Sequence[tuple[str, Dim]], body: list[Stmt], vector: bool = True) -> list[Stmt]:
    """Loops, outermost first, around a body; the innermost is the vector one."""
    for depth, (var, size) in enumerate(reversed(loops)):
        body = [For(var, size, tuple(body), vector=vector and depth == 0)]
    return body


def _copy_nest(
    low: Lowering, x: Value, v: Value, places: Sequence[tuple[Dim, Dim]] | None
) -> list[Stmt]:
    """Store all of `x` into `v`, at (start, step) of each axis."""
    return _copies_nest(low, [(x, places)], v)


def _copies_nest(
    low: Lowering, parts: Sequence[tuple[Value, Sequence[tuple[Dim, Dim]] | None]], v: Value
) -> list[Stmt]:
    """Store arrays of one shape into `v` in one nest, each at (start, step) of each axis."""
    t = parts[0][0].type
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    index: tuple[Dim, ...] = tuple(symbol(n) for n in names)
    elements = [low.element(x, index) for x, _ in parts]
    for element, (_, places) in zip(elements, parts, strict=True):
        target = index
        if places is not None:
            target = tuple(s + i * st for i, (s, st) in zip(index, places, strict=True))
        low.store(v, target, element)
    out = v.type
    assert isinstance(out, ArrayType)
    body = nest([(names[a], t.shape[a]) for a in out.order], low.scope.body)
    low.scope = outer
    return body


def lower_concatenate(low: Lowering, v: Value) -> list[Stmt]:
    """One nest for each operand, or one for all where their elements lie beside each other. Those
    that are joins themselves stand for their own operands.
    """
    parts: list[tuple[Value, list[Dim]]] = []
    left: list[tuple[Value, list[Dim]]] = [(v, [0] * len(shape_of(v.type)))]
    while left:
        x, start = left.pop()
        node = low.producer.get(x)
        if node is None or not isinstance(node.op, Concatenate):
            parts.append((x, start))
            continue
        axis, inner = node.attrs["axis"], []
        for part in node.inputs:
            inner.append((part, list(start)))
            start[axis] = start[axis] + shape_of(part.type)[axis]
        left += reversed(inner)
    nests = [(x, [(first, 1) for first in start]) for x, start in parts]
    if _interleaves(v, parts):
        return _copies_nest(low, nests, v)
    return [stmt for x, places in nests for stmt in _copy_nest(low, x, v, places)]


def _interleaves(v: Value, parts: Sequence[tuple[Value, Sequence[Dim]]]) -> bool:
    """Whether a join puts one element of each of a few operands beside each other."""
    t = v.type
    assert isinstance(t, ArrayType)
    alone = (*t.shape[: t.order[-1]], 1, *t.shape[t.order[-1] + 1 :])
    return len(parts) <= _MOST_BESIDE and all(shape_of(x.type) == alone for x, _ in parts)


def lower_update(low: Lowering, v: Value, overwrites: Mapping[Value, Value]) -> list[Stmt]:
    """A copy of the old array, unless it is there already, then the new elements over it."""
    node = low.producer[v]
    old, new = node.inputs[0], node.inputs[1]
    kept = overwrites.get(v) is old
    if isinstance(node.op, UpdateSlice):
        places = list(zip(node.attrs["start"], node.attrs["step"], strict=True))
        body = [] if kept else _copy_around(low, node, v)
        return body + _copy_nest(low, new, v, places)
    body = [] if kept else _copy_nest(low, old, v, None)
    return _index_checks(low, node) + body + _scatter_nest(low, node, v, new)


def _index_checks(low: Lowering, node: Node) -> list[Stmt]:
    """Loops that check the arrays of indices of a scatter, so that it fails before it stores."""
    first, source = node.inputs[2].type, node.inputs[0].type
    if not isinstance(first, ArrayType) or not node.attrs.get("checked", True):
        return []
    assert isinstance(source, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(first.ndim)]
    index = tuple(symbol(n) for n in names)
    for i, n in zip(node.inputs[2:], source.shape, strict=False):
        low.place(node, low.element(i, index), n)
    body, low.scope = low.scope.body, outer
    for name, size in list(zip(names, first.shape, strict=True))[::-1]:
        body = [ScanLoop(name, size, tuple(body), ())]
    return body


def _copy_around(low: Lowering, update: Node, v: Value) -> list[Stmt]:
    """Store the elements of the old array that an update leaves, without the others if that costs
    a few nests at most and no short rows.
    """
    old, t = update.inputs[0], v.type
    assert isinstance(t, ArrayType)
    attrs = update.attrs
    taken = list(zip(attrs["start"], attrs["size"], attrs["step"], strict=True))
    boxes: list[list[tuple[Dim, Dim]]] = []
    box: list[tuple[Dim, Dim]] = [(0, n) for n in t.shape]
    for axis in t.order:
        start, size, _ = taken[axis]
        for low_end, high_end in ((0, start), (start + size, t.shape[axis])):
            if low_end != high_end:
                part = list(box)
                part[axis] = low_end, high_end - low_end
                boxes.append(part)
        box[axis] = start, size
    inner = taken[t.order[-1]][1] if t.ndim else 1
    short = isinstance(inner, int) and inner < _LEAST_ROW
    if len(boxes) > _MOST_BOXES or short or any(step != 1 for _, _, step in taken):
        return _copy_nest(low, old, v, None)
    return [stmt for part in boxes for stmt in _copy_box(low, old, v, part)]


def _copy_box(low: Lowering, x: Value, v: Value, box: Sequence[tuple[Dim, Dim]]) -> list[Stmt]:
    """Store the part of `x` with (first index, size) of each axis at the same place in `v`."""
    t = v.type
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    place = tuple(first + symbol(n) for n, (first, _) in zip(names, box, strict=True))
    low.store(v, place, low.element(x, place))
    body = nest([(names[a], box[a][1]) for a in t.order], low.scope.body)
    low.scope = outer
    return body


def _scatter_nest(low: Lowering, node: Node, v: Value, new: Value) -> list[Stmt]:
    """Sequential in the index positions, so that of equal indices the last one wins.

    Where each index is one number there is nothing to be in order: the loops over the axes without
    an index are independent, and the indices are checked in front of them.
    """
    t, source = new.type, node.inputs[0].type
    assert isinstance(t, ArrayType) and isinstance(source, ArrayType)
    outer = low.nested()
    first = node.inputs[2].type
    b = first.ndim if isinstance(first, ArrayType) else 0
    names = [low.loop_var() for _ in range(t.ndim)]
    index = tuple(symbol(n) for n in names)
    places: list[Dim] = []
    for i, n in zip(node.inputs[2:], source.shape, strict=False):
        places.append(low.place(node, low.element(i, index[:b]), n, checked=b > 0))
    body: list[Stmt] = []
    if not b:
        checks, low.scope.body = low.scope.body, body
    place = (*places, *index[b:])
    element = low.element(new, index)
    if isinstance(node.op, ScatterApply):
        element = _applied(low, node, v, place, element)
    low.store(v, place, element)
    if not b:
        out = v.type
        assert isinstance(out, ArrayType)
        axes = [a - len(places) for a in out.order if a >= len(places)]
        low.scope = outer
        return [*checks, *nest([(names[a], t.shape[a]) for a in axes], body)]
    body = low.scope.body
    low.scope = outer
    for name, size in list(zip(names, t.shape, strict=True))[::-1]:
        body = [ScanLoop(name, size, tuple(body), ())]
    return body


def _applied(low: Lowering, node: Node, v: Value, place: Index, new: Element) -> Element:
    """The function of the element that is there and the new one, in the dtype of the new one."""
    here, wide = (dtype_name(dtype_of(x.type)) for x in (v, node.inputs[1]))
    old = low.let_element(low.stored(v, place))
    if here != wide:
        old = low.let_element(_CAST.scalar((old,), [here], wide))
    out = low.let_element(applied_op(node.attrs).scalar((old, new), [wide, wide], wide))
    return out if here == wide else low.let_element(_CAST.scalar((out,), [wide], here))


def over_rows(node: Node) -> bool:
    """Whether a reduction runs in lanes along the last axis alone."""
    t = node.inputs[0].type
    assert isinstance(node.op, Reduction) and isinstance(t, ArrayType)
    return node.attrs["axes"] == (t.ndim - 1,) and not node.op.chained(t.dtype)
