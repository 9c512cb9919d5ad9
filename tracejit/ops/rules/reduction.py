"""Derivative rules of reductions, and what rules do along an axis.

The derivative of a product is made of exclusive products, never of quotients: it is right where
factors are zero, to any order. Of several equal extremes each has an equal share.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Type, dtype_of, shape_of
from tracejit.ops.rules.shape import Linear, slice_of

__all__ = [
    "ExtremeRules",
    "ReduceProdRules",
    "ReduceSumRules",
    "Weighted",
    "flipped",
    "put_back",
    "shifted",
    "taken",
    "taken_transposed",
]


class ReduceSumRules(Linear):
    """Every element has the cotangent of the sum."""

    def transposed(self, c: DerivativeBuilder, at: NodeAdaptor, g: Value) -> Value | Into:
        return c.keep_axes(g, at.attrs["axes"], at.inputs[0])


class Weighted:
    """A reduction whose tangent is the sum over `axes` of weights times the operand's."""

    def weights(self, c: DerivativeBuilder, at: NodeAdaptor) -> Value:
        """The partial derivatives, in the operand's shape."""
        raise NotImplementedError

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The weighted sum."""
        (t,) = tangents
        return (
            None if t is None else c.sum(c.mul_no_nan(t, self.weights(c, at)), at.attrs["axes"]),
        )

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The weights times the cotangent."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return (None,)
        return (c.mul_no_nan(c.keep_axes(g, at.attrs["axes"], at.inputs[0]), self.weights(c, at)),)


class ReduceProdRules(Weighted):
    """The weight of a factor is the product of all others."""

    def weights(self, c: DerivativeBuilder, at: NodeAdaptor) -> Value:
        t, axes = at.inputs[0], at.attrs["axes"]
        assert isinstance(t, ArrayType)
        if not axes:
            return c.ones(t)
        kept = [k for k in range(t.ndim) if k not in axes]
        order = [*kept, *axes]
        rows = tuple(t.shape[k] for k in kept)
        x = c.transpose(at.x(0), order)
        x = c.reshape(x, (*rows, prod([t.shape[k] for k in axes])))
        last = len(kept)
        before = _exclusive_products(c, x, last)
        after = flipped(c, _exclusive_products(c, flipped(c, x, last), last), last)
        out = c.reshape(c.mul(before, after), tuple(t.shape[k] for k in order))
        return c.transpose(out, [order.index(k) for k in range(t.ndim)])


class ExtremeRules:
    """Minimum and maximum: the mean over the elements that are the extreme.

    A NaN is an extreme where there is one.
    """

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The mean of the tangents of the extremes."""
        (t,) = tangents
        if t is None:
            return (None,)
        hit, count = _extremes(c, at)
        return (c.div(c.sum(c.where(hit, t, 0), at.attrs["axes"]), count),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Equal shares of the cotangent."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return (None,)
        hit, count = _extremes(c, at)
        return (c.where(hit, c.keep_axes(c.div(g, count), at.attrs["axes"], at.inputs[0]), 0),)


def _extremes(c: DerivativeBuilder, at: NodeAdaptor) -> tuple[Value, Value]:
    """Which elements are the extreme, and how many there are, in the operand's dtype."""
    x, axes = at.x(0), at.attrs["axes"]
    y = c.keep_axes(at.y(), axes, x.type)
    nan = c.op("logical_and", c.op("isnan", x), c.op("isnan", y))
    hit = c.op("logical_or", c.compare("equal", x, y), nan)
    return hit, c.cast(c.sum(c.cast(hit, "i64"), axes), dtype_of(x.type))


# Along an axis -----------------------------------------------------------------------------------


def _along(t: Type, axis: int, entry: Dim, rest: Dim) -> tuple[Dim, ...]:
    """`entry` for the axis, `rest` for the others."""
    return tuple(entry if k == axis else rest for k in range(len(shape_of(t))))


def flipped(c: DerivativeBuilder, v: Value, axis: int) -> Value:
    """The elements in reverse order along an axis."""
    shape = shape_of(v.type)
    start = _along(v.type, axis, shape[axis] - 1, 0)
    step = tuple(-1 if k == axis else 1 for k in range(len(shape)))
    return slice_of(c, v, start, shape, step)


def shifted(c: DerivativeBuilder, v: Value, axis: int, first: complex) -> Value:
    """Element k is element k - 1 of `v` along the axis; the first one is `first`."""
    t = v.type
    assert isinstance(t, ArrayType)
    one = ArrayType(t.dtype, tuple(1 if k == axis else d for k, d in enumerate(t.shape)))
    longer = c.op("concatenate", c.full(one, first), v, axis=axis)
    return slice_of(c, longer, (0,) * t.ndim, t.shape)


def _exclusive_products(c: DerivativeBuilder, x: Value, axis: int) -> Value:
    """The products of all elements before each one."""
    return shifted(c, c.op("cumprod", x, axis=axis), axis, 1)


def taken(c: DerivativeBuilder, x: Value, places: Value, axis: int) -> Value:
    """`np.take_along_axis(x, places, axis)`."""
    return _gathered(c, x, _flat_places(c, places, shape_of(x.type)[axis], axis), places, axis)


def put_back(c: DerivativeBuilder, x: Value, places: Value, axis: int) -> Value:
    """The inverse of `taken`, for places that are a permutation along the axis."""
    flat = _flat_places(c, places, shape_of(x.type)[axis], axis)
    (size,) = shape_of(flat.type)
    numbers = c.op("iota", size=size, dtype="i64")
    inverse = c.op("scatter", c.full(flat.type, 0), numbers, flat)
    return _gathered(c, x, inverse, places, axis)


def taken_transposed(c: DerivativeBuilder, g: Value, places: Value, axis: int, t: Type) -> Value:
    """The cotangent of an `x` of type `t` for that of `taken(x, places)`."""
    shape = shape_of(t)
    order = _axis_last(len(shape), axis)
    flat = _flat_places(c, places, shape[axis], axis)
    values = c.reshape(c.transpose(g, order), shape_of(flat.type))
    zeros = c.full(ArrayType(dtype_of(t), (prod(shape),)), 0)
    out = c.op("scatter_apply", zeros, values, flat, function="add")
    out = c.reshape(out, tuple(shape[k] for k in order))
    return c.transpose(out, [order.index(k) for k in range(len(shape))])


def _axis_last(ndim: int, axis: int) -> list[int]:
    return [*(k for k in range(ndim) if k != axis), axis]


def _flat_places(c: DerivativeBuilder, places: Value, length: Dim, axis: int) -> Value:
    """Places along an axis of `length` as indices into all elements, that axis being the last."""
    shape = shape_of(places.type)
    order = _axis_last(len(shape), axis)
    rows = prod([shape[k] for k in order[:-1]])
    index = c.reshape(c.transpose(places, order), (rows, shape[axis]))
    row = c.reshape(c.op("iota", size=rows, dtype="i64"), (rows, 1))
    base = c.shaped(c.mul(row, c.size(length, dtype_of(row.type))), index.type)
    return c.reshape(c.add(base, index), (rows * shape[axis],))


def _gathered(c: DerivativeBuilder, x: Value, flat: Value, like: Value, axis: int) -> Value:
    """The elements of `x` at indices into all of them, in the shape of `like`."""
    shape = shape_of(like.type)
    order = _axis_last(len(shape), axis)
    whole = c.reshape(c.transpose(x, order), (prod(shape_of(x.type)),))
    out = c.reshape(c.op("gather", whole, flat), tuple(shape[k] for k in order))
    return c.transpose(out, [order.index(k) for k in range(len(shape))])
