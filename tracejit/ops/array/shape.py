"""Ops that say where elements come from: broadcast, reshape, transpose, slice, concatenate.

`order` of a result follows the operand's where NumPy keeps it, so that a view stays a view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, dims_text, register, require
from tracejit.ir.types import ArrayType, NpScalar, Type, c_order
from tracejit.ops.array.axis_orders import element_strides, join_order, k_order
from tracejit.ops.checks import array_of, axis_of, only_attrs, sizes_attr, take
from tracejit.ops.rules.shape import (
    BroadcastToRules,
    ConcatenateRules,
    ElementRules,
    ReshapeRules,
    SliceRules,
    TransposeRules,
)
from tracejit.ops.samples import LAYOUTS, array, arrays

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["check_slice", "of_all_lanes", "python_slices", "slice_shape"]


@register
class BroadcastTo(BroadcastToRules, Op):
    """An array or NumPy scalar repeated along new and unit axes; `shape` is the result's."""

    name: ClassVar[str] = "broadcast_to"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    moves: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.broadcast_to

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "shape")
        shape = sizes_attr(self.name, attrs, "shape")
        x = inputs[0]
        if isinstance(x, NpScalar):
            return (ArrayType(x.dtype, shape),)
        x = array_of(self.name, x)
        require(
            x.ndim <= len(shape)
            and all(a in (1, b) for a, b in zip(x.shape[::-1], shape[::-1], strict=False)),
            f"broadcast_to: {dims_text(x.shape)} does not broadcast to {dims_text(shape)}",
        )
        return (ArrayType(x.dtype, shape, _broadcast_order(x, len(shape))),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        source = np.broadcast_to(x, attrs["shape"])
        order = c_order(source.ndim)
        if isinstance(x, np.ndarray):
            order = _broadcast_order(ArrayType(x.dtype, x.shape, _memory_order(x)), source.ndim)
        memory = np.empty(tuple(source.shape[a] for a in order), source.dtype)
        out = memory.transpose(tuple(order.index(a) for a in range(source.ndim)))
        out[...] = source
        return (out,)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        shape, own = at.attrs["shape"], at.shape(0)
        new = (1,) * (len(shape) - len(own))
        x = c.reshape(at.values[0], (at.size, *new, *own))
        return (c.op("broadcast_to", x, shape=(at.size, *shape)),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for x in arrays((), (3,), (0,), (2, 3)):
            out.append(([x], {"shape": (2, *x.shape)}))
        for x, shape in [
            (array("f64", (3, 1)), (3, 4)),
            (array("f64", (1, 3), "F"), (0, 2, 3)),
            (array("i32", (3, 2), "F"), (4, 3, 2)),
            (array("i32", (2, 1, 3), "F"), (2, 4, 3)),
            (array("i64", (1,)), (0,)),
        ]:
            out.append(([x], {"shape": shape}))
        out += [
            ([x], {"shape": s}) for x in (np.float32(1.5), np.bool_(True)) for s in ((), (2, 3))
        ]
        return out


def _broadcast_order(x: ArrayType, ndim: int) -> tuple[int, ...]:
    new = ndim - x.ndim
    order = c_order(new) + tuple(new + a for a in x.order)
    return k_order([ArrayType(x.dtype, (1,) * new + x.shape, order)])


def _memory_order(x: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """The axes of `x` from the largest stride to the smallest."""
    return tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))


@register
class Reshape(ReshapeRules, Op):
    """The elements in C order under another shape.

    The products of the sizes are equal; with `assume` that is checked at run time. Adding or
    dropping unit axes keeps the order in memory; any other result is in C order.
    """

    name: ClassVar[str] = "reshape"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    moves: ClassVar[bool] = True
    view: ClassVar[bool] = True
    renames: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.reshape

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "shape", optional=("assume",))
        shape = sizes_attr(self.name, attrs, "shape")
        x = array_of(self.name, inputs[0])
        if attrs.get("assume") is not True and prod(shape) != x.size:
            raise GraphError(f"reshape: {dims_text(x.shape)} does not fit {dims_text(shape)}")
        return (ArrayType(x.dtype, shape, _reshape_order(x, shape)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        shape = attrs["shape"]
        if x.size != prod(shape) or any(d < 0 for d in shape):
            raise Bailout(f"cannot reshape {x.shape} to {shape}")
        return (x.reshape(shape),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        attrs = {**at.attrs, "shape": (at.size, *at.attrs["shape"])}
        return c.ops(self.name, at.values, **attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = [
            ([x], {"shape": (3, 2)}) for x in arrays((6,), (2, 3))
        ]
        for x, shape in [
            (array("f64", ()), (1, 1)),
            (array("f64", (1,)), ()),
            (array("f64", (2, 3), "F"), (1, 2, 1, 3, 1)),
            (array("f64", (1, 2, 1, 3), "F"), (2, 3)),
            (array("f64", (2, 3, 4), "F"), (4, 6)),
            (array("c64", (4, 6), "strided"), (24,)),
            (array("i8", (0, 3)), (5, 0)),
        ]:
            out.append(([x], {"shape": shape}))
        return [*out, ([array("f64", (4,))], {"shape": (2, 2), "assume": True})]


def _reshape_order(x: ArrayType, shape: tuple[Dim, ...]) -> tuple[int, ...]:
    old = [a for a in range(x.ndim) if x.shape[a] != 1]
    new = [a for a in range(len(shape)) if shape[a] != 1]
    if [x.shape[a] for a in old] != [shape[a] for a in new]:
        return c_order(len(shape))
    place = dict(zip(old, new, strict=True))
    order = [place[a] for a in x.order if a in place]
    # A unit axis goes right outside the axis after it: C order stays C order.
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            order.insert(order.index(axis + 1) if axis + 1 < len(shape) else len(order), axis)
    return tuple(order)


@register
class Transpose(TransposeRules, Op):
    """Axis i of the result is axis `axes[i]` of the operand; memory stays as it is."""

    name: ClassVar[str] = "transpose"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    moves: ClassVar[bool] = True
    view: ClassVar[bool] = True
    renames: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.transpose

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "axes")
        x, axes = array_of(self.name, inputs[0]), attrs["axes"]
        if not isinstance(axes, tuple) or sorted(axes) != list(range(x.ndim)):
            raise GraphError(f"transpose: {axes!r} is not a permutation of the axes of {x}")
        order = tuple(axes.index(a) for a in x.order)
        return (ArrayType(x.dtype, tuple(x.shape[a] for a in axes), order),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (inputs[0].transpose(attrs["axes"]),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        axes = (0, *(a + 1 for a in at.attrs["axes"]))
        return (c.op(self.name, *at.values, axes=axes),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = [
            ([x], {"axes": (1, 0)}) for x in arrays((2, 3), (0, 2))
        ]
        for axes in ((0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)):
            out += [([array("f64", (2, 3, 4), how)], {"axes": axes}) for how in LAYOUTS]
        return [*out, ([array("f64", ())], {"axes": ()})]


def check_slice(name: str, x: ArrayType, attrs: Attrs) -> None:
    """Require `start`, `size` and `step` to address elements of `x` as far as sizes are known."""
    parts = [attrs[k] for k in ("start", "size", "step")]
    if not all(isinstance(p, tuple) and len(p) == x.ndim for p in parts):
        raise GraphError(f"{name}: start, size and step need one entry for each axis of {x}")
    sizes_attr(name, attrs, "size")
    for start, size, step, n in zip(*parts, x.shape, strict=True):
        if type(step) is not int or step == 0:
            raise GraphError(f"{name}: {step!r} is not a step")
        if size == 0 or not all(type(d) is int for d in (start, size, n)):
            continue
        last = start + (size - 1) * step
        if not (0 <= start < n and 0 <= last < n):
            raise GraphError(f"{name}: elements {start} to {last} of an axis of {n}")


def slice_shape(attrs: Attrs) -> tuple[Dim, ...]:
    """The shape of the elements that `start`, `size` and `step` address."""
    return tuple(attrs["size"])


def of_all_lanes(at: BatchAdaptor) -> dict[str, Any]:
    """The attributes of a slice of each lane, for the batch."""
    first = {"start": 0, "size": at.size, "step": 1}
    return {name: (d, *at.attrs[name]) for name, d in first.items()}


def python_slices(shape: tuple[int, ...], attrs: dict[str, Any]) -> tuple[slice, ...]:
    """The index tuple of `start`, `size`, `step`. Raises Bailout where it leaves the array."""
    out = []
    parts = (attrs["start"], attrs["size"], attrs["step"], shape)
    for start, size, step, n in zip(*parts, strict=True):
        last = start + (size - 1) * step
        if size < 0 or (size and not (0 <= start < n and 0 <= last < n)):
            raise Bailout(f"elements {start} to {last} of an axis of {n}")
        stop = start + size * step
        out.append(slice(start, None if stop < 0 else stop, step) if size else slice(0, 0))
    return tuple(out)


@register
class Slice(SliceRules, Op):
    """On each axis the elements start + k * step for k < size, all of them inside the operand."""

    name: ClassVar[str] = "slice"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    moves: ClassVar[bool] = True
    view: ClassVar[bool] = True
    renames: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "start", "size", "step")
        x = array_of(self.name, inputs[0])
        check_slice(self.name, x, attrs)
        return (ArrayType(x.dtype, slice_shape(attrs), x.order),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        # With an Ellipsis a 0-d operand gives an array, not a scalar.
        return (x[(*python_slices(x.shape, attrs), ...)],)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (c.op(self.name, *at.values, **of_all_lanes(at)),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([x], a) for x, a in slice_samples()]


def slice_samples() -> list[tuple[np.ndarray[Any, Any], dict[str, Any]]]:
    """Arrays with the attributes of slices of them."""
    parts = [
        ((0, 0), (5, 7), (1, 1)),
        ((1, 2), (3, 4), (1, 1)),
        ((4, 6), (5, 7), (-1, -1)),
        ((0, 6), (3, 3), (2, -3)),
        ((5, 0), (0, 7), (1, 1)),
        ((0, 3), (5, 1), (1, 1)),
    ]
    out: list[tuple[np.ndarray[Any, Any], dict[str, Any]]] = []
    for start, size, step in parts:
        for how in LAYOUTS:
            attrs = {"start": start, "size": size, "step": step}
            out.append((array("f64", (5, 7), how), attrs))
    out += [(x, {"start": (3,), "size": (2,), "step": (-2,)}) for x in arrays((4,))]
    return [*out, (array("f64", ()), {"start": (), "size": (), "step": ()})]


@register
class Concatenate(ConcatenateRules, Op):
    """Arrays of one dtype, one after the other along `axis`; the other sizes are equal."""

    name: ClassVar[str] = "concatenate"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "root"
    numpy: ClassVar[Any] = np.concatenate

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(inputs, "concatenate takes at least one operand")
        only_attrs(self.name, attrs, "axis")
        parts = [array_of(self.name, t, 1) for t in inputs]
        first = parts[0]
        axis = axis_of(self.name, attrs, first)
        total: Dim = 0
        for t in parts:
            fits = t.dtype == first.dtype and t.ndim == first.ndim
            rest = [d for i, d in enumerate(t.shape) if i != axis]
            fits = fits and rest == [d for i, d in enumerate(first.shape) if i != axis]
            require(fits, f"concatenate: {first} and {t} do not fit along axis {axis}")
            total = total + t.shape[axis]
        shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
        ranks = [[r or None for r in element_strides(t)] for t in parts]
        return (ArrayType(first.dtype, shape, join_order(ranks)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (np.concatenate(inputs, axis=attrs["axis"]),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        parts = [at.whole(k) for k in range(len(at.values))]
        return (c.op(self.name, *parts, axis=at.attrs["axis"] + 1),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = [
            ([x, x[:1], x[:0]], {"axis": 0}) for x in arrays((3,), (2, 3))
        ]
        for how in LAYOUTS:
            x = array("f64", (2, 3), how)
            out.append(([x, array("f64", (2, 1), how), x], {"axis": 1}))
            out.append(([x, array("f64", (4, 3))], {"axis": 0}))
            out.append(([x], {"axis": 1}))
        return out


@register
class Element(ElementRules, Op):
    """The element of a 0-d array, as a NumPy scalar."""

    name: ClassVar[str] = "element"
    kind: ClassVar[str] = "index"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs)
        x = array_of(self.name, inputs[0])
        require(x.ndim == 0, f"element takes a 0-d array, not {x}")
        return (NpScalar(x.dtype),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (inputs[0][()],)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return at.values

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([x], {}) for x in arrays(())]
