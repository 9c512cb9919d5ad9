"""Derivatives of NumPy's functions of polynomials, as formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula
from tracejit.ops.host.derivatives.registry import as_array, flat, host
from tracejit.ops.rules.linalg import columns
from tracejit.ops.rules.reduction import flipped
from tracejit.ops.rules.shape import slice_of

__all__: list[str] = []


def _static(at: FormulaAdaptor, v: Value) -> int:
    """The number of elements of a vector. Raises Underivable where it is known at run time."""
    (n,) = shape_of(v.type)
    if not isinstance(n, int):
        raise at.underivable("of a size known at run time has no derivative rule")
    return n


def _powers(at: FormulaAdaptor, x: Value, count: int) -> Value:
    """The powers 0 to count - 1 of the elements of a vector, by rows: running products."""
    c = at.c
    (n,), dtype = shape_of(x.type), dtype_of(x.type)
    whole = c.full(ArrayType(dtype, (n, 1)), 1)
    if count < 2:
        return whole if count else c.full(ArrayType(dtype, (n, 0)), 1)
    rest = c.shaped(columns(c, x), ArrayType(dtype, (n, count - 1)))
    return c.op("cumprod", c.op("concatenate", whole, rest, axis=1), axis=1)


def _as_result(at: FormulaAdaptor, name: str) -> Value:
    """The coefficients in the dtype of the result."""
    return at.c.cast(flat(at.c, at.x(name)), dtype_of(at.call.outputs[0]))


@formula(["numpy:vander"], "x")
def _vander(at: FormulaAdaptor) -> Sequence[Value]:
    """Powers, the highest first without `increasing`."""
    c, t = at.c, at.call.outputs[0]
    count = shape_of(t)[1]
    if not isinstance(count, int):
        raise at.underivable("of a size known at run time has no derivative rule")
    out = _powers(at, c.cast(at.x("x"), dtype_of(t)), count)
    return [out if at.constant("increasing", False) else flipped(c, out, 1)]


@formula(["numpy:polymul"], "a1", "a2")
def _polymul(at: FormulaAdaptor) -> Sequence[Value]:
    """The last elements of a convolution: of leading zeros NumPy has taken no notice."""
    c, t = at.c, at.call.outputs[0]
    a, b = (_as_result(at, name) for name in ("a1", "a2"))
    size = shape_of(a.type)[0] + shape_of(b.type)[0] - 1
    (whole,) = host(c, "numpy:convolve", [a, b], ArrayType(dtype_of(t), (size,)))
    (count,) = shape_of(t)
    return [slice_of(c, whole, (size - count,), (count,))]


@formula(["numpy:polyfit"], "x", "y", "w")
def _polyfit(at: FormulaAdaptor) -> Sequence[Value]:
    """Least squares by powers whose columns have the length one; `w` weighs the rows."""
    at.only(full=False, cov=False)
    c, degree = at.c, at.constant("deg")
    dtype, given = dtype_of(at.call.outputs[0]), dtype_of(at.x("x").type)
    x, y = (c.cast(at.x(name), dtype) for name in "xy")
    if type(degree) is not int:
        raise at.underivable("with several degrees has no derivative rule")
    left = flipped(c, _powers(at, x, degree + 1), 1)
    if at.given_as("w"):
        w = c.cast(at.x("w"), dtype)
        left = c.mul(left, c.shaped(columns(c, w), left.type))
        wide = columns(c, w) if len(shape_of(y.type)) == 2 else w
        y = c.mul(y, c.shaped(wide, y.type))
    size = c.op("root_of_squares", c.sum(c.mul(left, left), [0]))
    left = c.div(left, c.shaped(size, left.type))
    cutoff = at.constant("rcond")
    if cutoff is None:
        cutoff = _static(at, x) * float(np.finfo(given if given.kind == "f" else dtype).eps)
    vector = len(shape_of(y.type)) == 1
    right = columns(c, y) if vector else y
    count = shape_of(right.type)[1]
    inverse = ArrayType(dtype, shape_of(left.type)[::-1])
    (p,) = host(c, "numpy.linalg:pinv", [left], inverse, rcond=cutoff)
    out = c.matmul(p, right)
    out = c.div(out, c.shaped(columns(c, size), ArrayType(dtype, (degree + 1, count))))
    return [c.reshape(out, shape_of(at.call.outputs[0]))]


@formula(["numpy:roots"], "p")
def _roots(at: FormulaAdaptor) -> Sequence[Value]:
    """A step of Newton's method, at the roots themselves."""
    c, z = at.c, at.y()
    dtype = dtype_of(z.type)
    p = c.cast(flat(c, at.x("p")), dtype)
    n = _static(at, p)
    powers = flipped(c, _powers(at, z, n), 1)
    value = c.matmul(powers, p)
    factors = c.cast(c.constant(np.arange(n - 1, 0, -1)), dtype)
    held = c.cast(flat(c, at.held("p")), dtype)
    slopes = c.mul(slice_of(c, held, (0,), (n - 1,)), factors)
    slope = c.matmul(flipped(c, _powers(at, z, n - 1), 1), slopes)
    return [c.sub(z, c.div(value, slope))]


@formula(["numpy:poly"], "seq_of_zeros")
def _poly(at: FormulaAdaptor) -> Sequence[Value]:
    """The product of z - root over the roots."""
    c, t = at.c, at.call.outputs[0]
    zeros = as_array(c, at.x("seq_of_zeros"))
    if len(shape_of(zeros.type)) != 1:
        raise at.underivable("of a matrix has no derivative rule")
    zeros = c.cast(zeros, np.result_type(dtype_of(t), dtype_of(zeros.type)))
    n = _static(at, zeros)
    none = c.full(ArrayType(dtype_of(zeros.type), (1,)), 0)
    out = c.ones(none.type)
    for k in range(n):
        root = c.shaped(slice_of(c, zeros, (k,), (1,)), out.type)
        lower = c.op("concatenate", none, c.mul(out, root), axis=0)
        out = c.sub(c.op("concatenate", out, none, axis=0), lower)
    return [out]
