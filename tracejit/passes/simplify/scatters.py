"""The rules of `simplify` for stores at indices into parts of arrays: no copy of the part.

s = slice(x, start=(0, 1), size=(n, 2)); t = scatter(s, v, i); update_slice(x, t, s's region)
->  scatter(x, v, (i, i), (1, 2))
s = slice(x, start=(1,), size=(n - 2,)); t = scatter(s, v, i); update_slice(x, t, s's region)
->  scatter(x, v, i + 1), or where it is out of the range of s, out of that of x
f = reshape(x, (n * m,)); t = scatter(f, v, i); reshape(t, (n, m))
->  scatter(x, v, i // m, i % m)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attr, Node, Value
from tracejit.ir.types import ArrayType, NpScalar
from tracejit.passes.simplify.fold import emit_constant
from tracejit.passes.simplify.index import index_of_part, is_positive, moved_axes
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__: list[str] = []

_I64 = NpScalar(np.dtype(np.int64))
#: Elements that index operands may have: with more, rows are stored faster than elements.
_FEW = 8


def _array(v: Value) -> ArrayType:
    assert isinstance(v.type, ArrayType)
    return v.type


@rule("gather")
def gather_what_was_scattered(r: Rewriter, node: Node) -> Value | None:
    """gather(scatter(x, v, i), i) -> v  for one place"""
    source, index, *_ = node.inputs
    there, cut = _moves(r, source, "slice")
    known = None if cut is None else r.parts.get(cut.inputs[0])
    if cut is not None and known is not None and _are_alike((*there, cut), known[1]):
        inner: Node | None = known[0]
    else:
        inner = r.producer(source, "scatter")
    if inner is None or inner.inputs[2:] != node.inputs[1:] or isinstance(index.type, ArrayType):
        return None
    return inner.inputs[1]


@rule("update_slice")
def scatter_into_part(r: Rewriter, node: Node) -> Value | None:
    """update(x, scatter(x[region], v, i), region) -> scatter(x, v, i and those of the region)

    The part may have other axes, if they are put back: transposed ones, or none of size 1.
    """
    x, new = node.inputs
    back, scatter = _moves(r, new, "scatter")
    if scatter is None or not _are_few(scatter.inputs[2:]):
        return None
    if all(n == 1 for n in _array(scatter.inputs[1]).shape):
        return None  # `scalarize` writes single elements where they lie.
    there, cut = _moves(r, scatter.inputs[0], "slice")
    if cut is None or cut.attrs != node.attrs or not _is_one(r, cut.inputs[0], x):
        return None
    known = r.parts.get(x)
    if known is not None and known[0].inputs[1:] == scatter.inputs[1:]:
        if _are_alike((*there, cut), known[1]):
            r.replaced |= {scatter, *back}
            return x
    axes = moved_axes(list(range(_array(x).ndim)), there[::-1])
    again = None if axes is None else moved_axes(axes, back[::-1])
    if axes is None or again is None or any(a not in (None, k) for k, a in enumerate(again)):
        return None
    stored = _Places(r, node, scatter, axes).stored(x)
    if stored is not None:
        r.replaced |= {scatter, *back}
        r.parts[stored] = scatter, [*there, cut]
    return stored


def _are_alike(some: Sequence[Node], others: Sequence[Node]) -> bool:
    """Whether nodes do the same, one after the other."""
    return [(a.op, a.attrs) for a in some] == [(b.op, b.attrs) for b in others]


@rule("reshape")
def scatter_into_flat(r: Rewriter, node: Node) -> Value | None:
    """reshape(scatter(reshape(x, n), v, i), shape of x) -> scatter(x, v, i // ..., i % ...)"""
    scatter = r.producer(node.inputs[0], "scatter")
    flat = scatter and r.producer(scatter.inputs[0], "reshape")
    if not scatter or not flat or "assume" in flat.attrs or "assume" in node.attrs:
        return None
    (x,), (index, *others) = flat.inputs, scatter.inputs[2:]
    t = x.type
    if not isinstance(t, ArrayType) or t.shape != node.attrs["shape"] or others:
        return None
    if len([n for n in t.shape if n != 1]) < 2:
        return None
    if _array(scatter.inputs[0]).ndim != 1 or not _are_few((index,)):
        return None
    indices = _unflattened(r, _whole(r, index), t.shape)
    r.replaced.add(scatter)
    return r.make("scatter", (x, scatter.inputs[1], *indices), **scatter.attrs)


def _is_one(r: Rewriter, a: Value, b: Value) -> bool:
    """Whether two values are the same view of one array."""
    while a is not b:
        m, n = _move(r, a), _move(r, b)
        if m is None or n is None or (m.op, m.attrs) != (n.op, n.attrs):
            return False
        (a,), (b,) = m.inputs, n.inputs
    return True


def _move(r: Rewriter, v: Value) -> Node | None:
    return r.producer(v, "reshape") or r.producer(v, "transpose")


def _are_few(indices: Sequence[Value]) -> bool:
    t = indices[0].type
    if not isinstance(t, ArrayType):
        return True
    return all(isinstance(n, int) and n <= _FEW for n in t.shape) and t.ndim == 1


def _moves(r: Rewriter, v: Value, op: str) -> tuple[list[Node], Node | None]:
    """The moves of axes that give `v`, the last first, and the node of `op` before them."""
    moves: list[Node] = []
    while (found := r.producer(v, op)) is None:
        move = _move(r, v)
        if move is None or "assume" in move.attrs:
            return moves, None
        moves.append(move)
        (v,) = move.inputs
    return moves, found


class _Places:
    """Where a scatter into a part of an array stores: `axes` are those of the scatter's operand."""

    def __init__(self, r: Rewriter, update: Node, scatter: Node, axes: list[int | None]) -> None:
        self.r, self.update, self.scatter = r, update, scatter
        self.values, *self.indices = scatter.inputs[1:]
        t = self.indices[0].type
        self.leading = t.ndim if isinstance(t, ArrayType) else 0
        count = len(self.indices)
        self.indexed = {a: v for a, v in zip(axes, self.indices, strict=False) if a is not None}
        self.kept = {a: self.leading + k for k, a in enumerate(axes[count:]) if a is not None}
        self.is_known = len(self.indexed) == count

    def stored(self, x: Value) -> Value | None:
        """The scatter into the whole array; None where it would not store at the same places."""
        if not self.is_known:
            return None
        shape, last = _array(self.values).shape, _array(x).ndim
        while self._is_row(x, last - 1, len(shape) - _array(x).ndim + last - 1):
            last -= 1
        shape = shape[: len(shape) - _array(x).ndim + last]
        if self.scatter.attrs.get("checked", True) and not all(map(is_positive, shape)):
            return None  # An index out of range is an error where nothing is stored, too.
        indices = [self._index(x, axis, shape) for axis in range(last)]
        attrs: dict[str, Attr] = dict(self.scatter.attrs)
        if not self.leading:
            attrs["distinct"] = True
        return self.r.make("scatter", (x, self.values, *indices), **attrs)

    def _is_whole(self, x: Value, axis: int) -> bool:
        region = (self.update.attrs[k][axis] for k in ("start", "size", "step"))
        return tuple(region) == (0, _array(x).shape[axis], 1)

    def _is_row(self, x: Value, axis: int, place: int) -> bool:
        """Whether an axis needs no index: it is the last but for such, and whole."""
        return self.kept.get(axis) == place and self._is_whole(x, axis)

    def _index(self, x: Value, axis: int, shape: tuple[Dim, ...]) -> Value:
        start, size, step = (self.update.attrs[k][axis] for k in ("start", "size", "step"))
        if axis in self.indexed:
            index = _whole(self.r, self.indexed[axis])
            if not self._is_whole(x, axis):
                checked = bool(self.scatter.attrs.get("checked", True))
                region = start, step, size, _array(x).shape[axis]
                index = index_of_part(self.r.builder, index, *region, checked)
            return _filled(self.r, index, shape, self.leading)
        if axis not in self.kept:
            return _filled(self.r, _number(self.r, start), shape, 0)
        return _range(self.r, start, size, step, shape, self.kept[axis])


def _whole(r: Rewriter, v: Value) -> Value:
    """An index as an int64."""
    return (
        v if isinstance(v.type, (ArrayType, NpScalar)) else r.make("np_scalar", (v,), dtype="i64")
    )


def _number(r: Rewriter, d: Dim) -> Value:
    if isinstance(d, int):
        return emit_constant(r.builder, np.int64(d), _I64)
    return r.make("np_scalar", (r.make("dim_value", (), dim=d),), dtype="i64")


def _filled(r: Rewriter, v: Value, shape: tuple[Dim, ...], leading: int) -> Value:
    """A number, or an array of the first axes, as an array of the shape; a number for no axes."""
    if not shape:
        return v
    if leading:
        v = r.make("reshape", (v,), shape=(*_array(v).shape, *(1,) * (len(shape) - leading)))
    return r.make("broadcast_to", (v,), shape=shape)


def _range(
    r: Rewriter, start: Dim, size: Dim, step: int, shape: tuple[Dim, ...], axis: int
) -> Value:
    """The places of a slice along one axis of a shape."""
    if isinstance(start, int) and isinstance(size, int):
        places = np.arange(start, start + size * step, step)
        v = emit_constant(r.builder, places, ArrayType(_I64.dtype, places.shape))
    else:
        v = r.make("iota", (), size=size, dtype="i64")
        if step != 1:
            v = r.make("multiply", (v, _filled(r, _number(r, step), (size,), 0)))
        if start != 0:
            v = r.make("add", (v, _filled(r, _number(r, start), (size,), 0)))
    if len(shape) > 1:
        v = r.make(
            "reshape", (v,), shape=tuple(size if k == axis else 1 for k in range(len(shape)))
        )
    return r.make("broadcast_to", (v,), shape=shape)


def _unflattened(r: Rewriter, index: Value, shape: Sequence[Dim]) -> list[Value]:
    """Indices into the axes for one into all elements; one out of range stays so on axis 0."""
    like = index.type.shape if isinstance(index.type, ArrayType) else ()

    def number(d: Dim) -> Value:
        return _filled(r, _number(r, d), like, 0)

    def op(name: str, *operands: Value) -> Value:
        return r.make(name, operands)

    zero, total = number(0), number(math.prod(shape))
    place = op("select", op("less", index, zero), op("add", index, total), index)
    rest, found = place, list[Value]()
    for n in reversed(shape[1:]):
        size = number(n) if isinstance(n, int) and n > 0 else op("maximum", number(n), number(1))
        found.append(op("remainder", rest, size))
        rest = op("floor_divide", rest, size)
    first = op("select", op("less", place, zero), number(shape[0]), rest)
    return [first, *reversed(found)]
