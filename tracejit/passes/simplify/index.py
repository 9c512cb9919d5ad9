"""The rules of `simplify` for ops that only move elements; each docstring is an equation."""

from __future__ import annotations

from tracejit.ir.dims import Dim, bounds
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType, NpScalar, dtype_of, lossless
from tracejit.ops.array.items import WriteItem
from tracejit.ops.python.conversion import ToNpScalar
from tracejit.passes.simplify.rewriter import Rewriter, rule

__all__ = ["apart", "is_outside", "is_positive"]


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
    if inner is None:
        return None
    outer_parts = zip(node.attrs["start"], node.attrs["step"], strict=True)
    inner_parts = zip(inner.attrs["start"], inner.attrs["step"], strict=True)
    pairs = list(zip(inner_parts, outer_parts, strict=True))
    return r.make(
        "slice",
        inner.inputs,
        start=tuple(s + t * p for (s, p), (t, _) in pairs),
        size=node.attrs["size"],
        step=tuple(p * q for (_, p), (_, q) in pairs),
    )


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
    """Whether two values are one, or the same reshape of one."""
    if a is b:
        return True
    x, y = r.producer(a, "reshape"), r.producer(b, "reshape")
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
