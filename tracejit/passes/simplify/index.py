"""The rules of `simplify` for ops that only move elements; each docstring is an equation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.dims import Dim, bounds
from tracejit.ir.graph import Attr, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, NpScalar, dtype_of, lossless
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.shape import Transpose
from tracejit.ops.python.conversion import ToNpScalar
from tracejit.passes.simplify.fold import emit_constant
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__ = ["apart", "index_of_part", "is_outside", "is_positive", "moved_axes"]

_I64 = NpScalar(np.dtype(np.int64))


def _shape(value: Value) -> tuple[Dim, ...]:
    assert isinstance(value.type, ArrayType)
    return value.type.shape


@rule("broadcast_to", "reshape")
def same_shape(r: Rewriter, node: Node) -> Value | None:
    """broadcast_to(x, x.shape), reshape(x, x.shape) -> x"""
    (x,) = node.inputs
    if isinstance(x.type, ArrayType) and x.type.shape == node.attrs["shape"]:
        return x
    return None


@rule("broadcast_to")
def broadcast_twice(r: Rewriter, node: Node) -> Value | None:
    """broadcast_to(broadcast_to(x, s), t) -> broadcast_to(x, t)"""
    inner = r.producer(node.inputs[0], "broadcast_to")
    return r.make("broadcast_to", inner.inputs, shape=node.attrs["shape"]) if inner else None


@rule("reshape")
def reshape_twice(r: Rewriter, node: Node) -> Value | None:
    """reshape(reshape(x, s), t) -> reshape(x, t)"""
    inner = r.producer(node.inputs[0], "reshape")
    if inner is None or "assume" in inner.attrs or "assume" in node.attrs:
        return None
    return r.make("reshape", inner.inputs, shape=node.attrs["shape"])


@rule("reshape")
def reshape_of_filled(r: Rewriter, node: Node) -> Value | None:
    """reshape(broadcast_to(scalar, s), t) -> broadcast_to(scalar, t)"""
    inner = r.producer(node.inputs[0], "broadcast_to")
    if inner is None or "assume" in node.attrs or isinstance(inner.inputs[0].type, ArrayType):
        return None
    return r.make("broadcast_to", inner.inputs, shape=node.attrs["shape"])


@rule("transpose")
def transpose_twice(r: Rewriter, node: Node) -> Value | None:
    """transpose(transpose(x, p), q) -> transpose(x, p[q])"""
    inner = r.producer(node.inputs[0], "transpose")
    if inner is None:
        return None
    axes = tuple(inner.attrs["axes"][a] for a in node.attrs["axes"])
    return r.make("transpose", inner.inputs, axes=axes)


@rule("transpose")
def transpose_by_nothing(r: Rewriter, node: Node) -> Value | None:
    """transpose(x, (0, 1, ...)) -> x"""
    axes = node.attrs["axes"]
    return node.inputs[0] if axes == tuple(range(len(axes))) else None


@rule("slice")
def slice_of_everything(r: Rewriter, node: Node) -> Value | None:
    """x[:] -> x"""
    (x,) = node.inputs
    whole = node.attrs["size"] == _shape(x)
    if whole and all(s == 0 for s in node.attrs["start"]) and set(node.attrs["step"]) <= {1}:
        return x
    return None


@rule("slice")
def slice_twice(r: Rewriter, node: Node) -> Value | None:
    """x[s + i*p][t + j*q] -> x[s + t*p + j*p*q]"""
    inner = r.producer(node.inputs[0], "slice")
    return None if inner is None else r.make("slice", inner.inputs, **_part_of_part(inner, node))


def _part_of_part(outer: Node, inner: Node) -> dict[str, Attr]:
    """The region of a whole array that is a region of one of its regions."""
    places = zip(outer.attrs["start"], outer.attrs["step"], inner.attrs["start"], strict=True)
    steps = zip(outer.attrs["step"], inner.attrs["step"], strict=True)
    return {
        "start": tuple(s + t * p for s, p, t in places),
        "size": inner.attrs["size"],
        "step": tuple(p * q for p, q in steps),
    }


@rule("slice")
def slice_of_broadcast(r: Rewriter, node: Node) -> Value | None:
    """broadcast_to(x, s)[...] -> broadcast_to(x[...], t): repeated axes are not read at all"""
    inner = r.producer(node.inputs[0], "broadcast_to")
    if inner is None:
        return None
    (x,) = inner.inputs
    size = node.attrs["size"]
    if isinstance(x.type, NpScalar):
        return r.make("broadcast_to", (x,), shape=size)
    old, whole = _shape(x), _shape(node.inputs[0])
    new_axes = len(whole) - len(old)
    part: list[tuple[Dim, Dim, int]] = []
    for axis, n in enumerate(old):
        k = new_axes + axis
        repeated = n == 1 and whole[k] != 1
        here = (node.attrs["start"][k], size[k], node.attrs["step"][k])
        part.append((0, 1, 1) if repeated else here)
    start, sizes, step = zip(*part, strict=True) if part else ((), (), ())
    sliced = r.make("slice", (x,), start=start, size=sizes, step=step)
    return r.make("broadcast_to", (sliced,), shape=size)


@rule("slice")
def slice_of_update(r: Rewriter, node: Node) -> Value | None:
    """update(x, v, region)[region] -> v;  update(x, v, region)[elsewhere] -> x[elsewhere]"""
    inner = r.producer(node.inputs[0], "update_slice")
    if inner is None:
        return None
    x, v = inner.inputs
    parts = ("start", "size", "step")
    if all(node.attrs[k] == inner.attrs[k] for k in parts):
        return v
    if apart(node, inner):
        return r.make("slice", (x,), **{k: node.attrs[k] for k in parts})
    return None


def apart(read: Node, write: Node) -> bool:
    """Whether a `slice` has no element that an update of an array of that shape stores.

    The update is an `update_slice` or a `write_item`.
    """
    return any(map(_axis_apart, region(read), region(write)))


Extent = tuple[Dim | None, Dim, int]


def region(node: Node) -> list[Extent]:
    """(start, size, step) on each axis; the start is None where data decide."""
    if isinstance(node.op, WriteItem):
        return [(at, 1, 1) for at in node.attrs["at"]]
    parts = (node.attrs[k] for k in ("start", "size", "step"))
    return list(zip(*parts, strict=True))


def _axis_apart(one: Extent, other: Extent) -> bool:
    if one[0] is None or other[0] is None:
        return False
    (first, last), (low, high) = _span(one[0], *one[1:]), _span(other[0], *other[1:])
    return is_positive(first - high) or is_positive(low - last)


def is_outside(place: Dim, write: Node, axis: int) -> bool:
    """Whether an update stores nothing at a place on an axis."""
    return _axis_apart((place, 1, 1), region(write)[axis])


def _span(start: Dim, size: Dim, step: int) -> tuple[Dim, Dim]:
    """The first and the last index of a slice of at least one element, in ascending order."""
    end = start + (size - 1) * step
    return (start, end) if step > 0 else (end, start)


def is_positive(d: Dim) -> bool:
    low = bounds(d, {})[0]
    return low is not None and low > 0


def moved_axes(axes: list[int | None], moves: Sequence[Node]) -> list[int | None] | None:
    """Which axes are where after moves; None for one of size 1 that is new, or for no axes."""
    for move in moves:
        (v,) = move.inputs
        if isinstance(move.op, Transpose):
            axes = [axes[a] for a in move.attrs["axes"]]
            continue
        sizes, shape = _shape(v), move.attrs["shape"]
        wide = [(a, n) for a, n in zip(axes, sizes, strict=True) if n != 1]
        if [n for _, n in wide] != [n for n in shape if n != 1]:
            return None
        left = iter(wide)
        axes = [next(left)[0] if n != 1 else None for n in shape]
    return axes


def index_of_part(
    builder: GraphBuilder, index: Value, start: Dim, step: int, size: Dim, whole: Dim, checked: bool
) -> Value:
    """An index into `size` elements of an axis, from `start` on, as one into all `whole` of them.

    It may count from the end; one that is out of range stays so, if it is to be `checked`.
    """
    shape = index.type.shape if isinstance(index.type, ArrayType) else ()

    def filled(v: Value) -> Value:
        return builder.one(OPS["broadcast_to"], (v,), shape=shape) if shape else v

    def number(d: Dim) -> Value:
        if isinstance(d, int):
            return filled(emit_constant(builder, np.int64(d), _I64))
        size = builder.one(OPS["dim_value"], (), dim=d)
        return filled(builder.one(OPS["np_scalar"], (size,), dtype="i64"))

    def op(name: str, *operands: Value) -> Value:
        return builder.one(OPS[name], operands)

    if not isinstance(index.type, (ArrayType, NpScalar)):
        index = builder.one(OPS["np_scalar"], (index,), dtype="i64")
    zero, total = number(0), number(size)
    place = op("select", op("less", index, zero), op("add", index, total), index)
    found = place if step == 1 else op("multiply", place, number(step))
    found = op("add", found, number(start))
    if not checked:
        return found
    outside = number(whole)
    found = op("select", op("less", place, total), found, outside)
    return op("select", op("less", place, zero), outside, found)


@rule("update_slice")
def update_of_everything(r: Rewriter, node: Node) -> Value | None:
    """update(x, v, all of x) -> v"""
    x, v = node.inputs
    whole = node.attrs["size"] == _shape(x)
    if whole and all(s == 0 for s in node.attrs["start"]) and set(node.attrs["step"]) <= {1}:
        return v
    return None


@rule("update_slice")
def update_by_itself(r: Rewriter, node: Node) -> Value | None:
    """update(x, x[region], region) -> x"""
    x, v = node.inputs
    inner = r.producer(v, "slice")
    if inner is None or inner.inputs[0] is not x or inner.attrs != node.attrs:
        return None
    return x


@rule("update_slice")
def update_of_part(r: Rewriter, node: Node) -> Value | None:
    """update(x, update(x[region], v, part), region) -> update(x, v, part of the region)"""
    x, new = node.inputs
    inner = r.producer(new, "update_slice")
    cut = None if inner is None else r.producer(inner.inputs[0], "slice")
    if inner is None or cut is None or cut.attrs != node.attrs or not _is_one(r, cut.inputs[0], x):
        return None
    r.replaced.add(inner)
    return r.make("update_slice", (x, inner.inputs[1]), **_part_of_part(node, inner))


@rule("update_slice", "scatter")
def update_again(r: Rewriter, node: Node) -> Value | None:
    """update(update(x, v, region), v, region) -> update(x, v, region)

    Not for two values: if anything reads the first result, x would have to be copied.
    """
    inner = r.producer(node.inputs[0], node.op.name)
    if inner is None or len(inner.inputs) != len(node.inputs):
        return None
    if not all(_is_one(r, a, b) for a, b in zip(inner.inputs[1:], node.inputs[1:], strict=True)):
        return None
    if any(inner.attrs.get(k) != node.attrs[k] for k in node.attrs):
        return None
    return node.inputs[0]


def _is_one(r: Rewriter, a: Value, b: Value) -> bool:
    """Whether two values are one, or the same reshape or transpose of one."""
    if a is b:
        return True
    x, y = (r.producer(v, "reshape") or r.producer(v, "transpose") for v in (a, b))
    return x is not None and y is not None and x.key() == y.key()


@rule("concatenate")
def concatenate_nothing(r: Rewriter, node: Node) -> Value | None:
    """concatenate(x) -> x;  operands of no elements along the axis are left out"""
    axis = node.attrs["axis"]
    parts = [v for v in node.inputs if _shape(v)[axis] != 0] or list(node.inputs[:1])
    if len(parts) == 1:
        return parts[0]
    if len(parts) == len(node.inputs):
        return None
    return r.make("concatenate", parts, axis=axis)


@rule("element")
def element_of_filled(r: Rewriter, node: Node) -> Value | None:
    """element(broadcast_to(scalar, ())) -> scalar"""
    inner = r.producer(node.inputs[0], "broadcast_to")
    return inner.inputs[0] if inner else None


@rule("np_scalar", "py_scalar")
def scalar_there_and_back(r: Rewriter, node: Node) -> Value | None:
    """np_scalar(py_scalar(x)) -> x, py_scalar(np_scalar(x)) -> x  where nothing was lost

    float(x) -> x  for a Python float, and so on
    """
    if node.inputs[0].type == node.outputs[0].type:
        return node.inputs[0]
    back = "py_scalar" if isinstance(node.op, ToNpScalar) else "np_scalar"
    inner = r.producer(node.inputs[0], back)
    if inner is None:
        return None
    (x,), middle = inner.inputs, node.inputs[0].type
    return x if lossless(dtype_of(x.type), dtype_of(middle)) else None


@rule("reduce_sum", "reduce_prod", "reduce_min", "reduce_max", "reduce_any", "reduce_all")
def reduce_unit_axes(r: Rewriter, node: Node) -> Value | None:
    """max over axes of size 1 -> reshape

    Not the sum of floats, which turns -0.0 into 0.0, nor the complex product: (1+0j) * x is not x.
    """
    (x,) = node.inputs
    assert isinstance(x.type, ArrayType)
    if any(_shape(x)[a] != 1 for a in node.attrs["axes"]):
        return None
    inexact = {"reduce_sum": "fc", "reduce_prod": "c"}.get(node.op.name, "")
    if x.type.dtype.kind in inexact:
        return None
    return r.make("reshape", (x,), shape=_shape(node.outputs[0]))
