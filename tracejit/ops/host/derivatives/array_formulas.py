"""Derivatives of functions of NumPy on arrays, as formulas: quantiles, sequences, parts of numbers.

Quantiles that leave out NaNs take the derivatives of the elements that they lie between, of equal
ones those that a stable sort takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.dims import prod
from tracejit.ir.graph import Value
from tracejit.ir.types import DTYPES, ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula, movers
from tracejit.ops.host.derivatives.registry import HostAdaptor, as_array, flat, host, linear
from tracejit.ops.host.registered import registered
from tracejit.ops.rules.reduction import taken

__all__ = ["of_segments"]

Array: TypeAlias = np.ndarray[Any, Any]


@formula(["numpy:nanquantile", "numpy:nanpercentile", "numpy:nanmedian"], "a")
def _nan_quantile(at: FormulaAdaptor) -> Sequence[Value]:
    """Between the elements in order at the place q (n - 1), where n is how many are no NaNs."""
    at.only(method="linear", interpolation=None, weights=None)
    c = at.c
    x = as_array(c, at.x("a"))
    t = x.type
    assert isinstance(t, ArrayType)
    axis = at.constant("axis")
    axes = range(t.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    chosen = [k % t.ndim for k in axes]
    rest = [k for k in range(t.ndim) if k not in chosen]
    rows = tuple(t.shape[k] for k in rest)
    last = len(rest)
    x = c.transpose(x, [*rest, *chosen])
    x = c.reshape(x, (*rows, prod([t.shape[k] for k in chosen])))
    order = c.op("argsort", x, axis=last, stable=True)
    x = taken(c, x, order, last)
    valid = c.cast(c.op("logical_not", c.op("isnan", x)), "f64")
    count = c.reshape(as_array(c, c.sum(valid, [last])), (*rows, 1))
    many = False
    if "q" in at.given:
        q = c.cast(at.x("q"), "f64")
        many = bool(shape_of(q.type))
        if len(shape_of(q.type)) > 1:
            raise at.underivable("of several axes of quantiles has no derivative rule")
        q = flat(c, q)
        q = c.div(q, c.full(q.type, 100)) if at.path.endswith("percentile") else q
    else:
        q = c.full(ArrayType(DTYPES["f64"], (1,)), 0.5)
    whole = ArrayType(DTYPES["f64"], (*rows, shape_of(q.type)[0]))
    count = c.shaped(count, whole)
    highest = c.sub(count, c.ones(whole))
    place = c.mul(c.shaped(q, whole), highest)
    low = c.op("floor", place)
    share = c.cast(c.sub(place, low), t.dtype)
    high = c.op("minimum", c.add(low, c.ones(whole)), highest)
    ends = []
    for where in (low, high):
        index = c.cast(c.op("maximum", where, c.full(whole, 0)), "i64")
        ends.append(taken(c, x, index, last))
    out = c.add(ends[0], c.mul(c.sub(ends[1], ends[0]), share))
    out = c.where(c.compare("greater", count, 0.0), out, np.nan)
    if many:
        out = c.transpose(out, (last, *range(last)))
    return [out]


# Sums of segments --------------------------------------------------------------------------------


@registered
def of_segments(g: Array, indices: Array, n: int, axis: int) -> Array:
    """The transpose of `np.add.reduceat(x, indices, axis)` for n elements along the axis."""
    rows = np.moveaxis(g, axis, 0)
    out = np.zeros((n, *rows.shape[1:]), g.dtype)
    for row, start, end in zip(rows, indices, [*indices[1:], n], strict=True):
        out[start : max(end, start + 1)] += row
    return np.ascontiguousarray(np.moveaxis(out, 0, axis))


def _segments_of(at: HostAdaptor, g: Value) -> Value:
    c, t = at.c, at.type("array")
    axis = at.axis(t, default=0)
    size = c.size(shape_of(t)[axis], DTYPES["i64"])
    operands = [c.cast(g, dtype_of(t)), at.x("indices"), size]
    return host(c, f"{__name__}:of_segments", operands, t, axis=axis)[0]


def _summed_again(at: HostAdaptor, g: Value) -> Value:
    operands = [g, at.x("indices")]
    t = at.type("g")
    return host(at.c, "numpy:add.reduceat", operands, t, axis=at.axis(t))[0]


linear(["numpy:add.reduceat"], "array", _segments_of)
linear([f"{__name__}:of_segments"], "g", _summed_again)
movers(["numpy:resize"], "a")
movers(["numpy:row_stack"], "tup")
