"""Masks on tracers: the positions where one holds, and what NumPy makes of them.

How many there are is known only at run time: a size symbol stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.creation import placeholder
from tracejit.frontend.numpy.memory_orders import in_c_order
from tracejit.frontend.numpy.registry import NOT_GIVEN, handles, only
from tracejit.frontend.numpy.selection import truth, where
from tracejit.frontend.numpy.shape import ravel, reshaped
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.tracer import Storage, TracedArray, here, is_number, number_of, wrap
from tracejit.ir.dims import Dim, prod

__all__ = ["axis_positions", "columns", "flat_positions"]


def flat_positions(mask: TracedArray) -> TracedArray:
    """The positions (i64) in C order of the elements that are true."""
    trace = here()
    known = trace.positions.get(mask.value())
    if known is not None:
        return TracedArray(trace, Storage(trace, known))
    flat = ravel(mask)
    count = trace.emit("cast", (flat.value(),), dtype="i64")
    count = trace.emit("reduce_sum", (count,), axes=(0,))
    size = trace.bound(trace.emit("element", (count,)))
    places = trace.emit("true_positions", (flat.value(),), size=size)
    trace.positions[mask.value()] = places
    return TracedArray(trace, Storage(trace, places))


def axis_positions(mask: TracedArray) -> list[TracedArray]:
    """For each axis the indices of the elements that are true, in C order."""
    places = flat_positions(mask)
    shape = mask.type.shape
    out: list[TracedArray] = []
    for axis, n in enumerate(shape):
        inner = prod(shape[axis + 1 :])
        index = places if inner == 1 else _with_size(np.floor_divide, places, inner)
        out.append(index if axis == 0 else _with_size(np.remainder, index, n))
    return out


def _with_size(ufunc: Any, x: TracedArray, size: Dim) -> TracedArray:
    trace = here()
    number = trace.emit("np_scalar", (number_of(trace, size).value(),), dtype="i64")
    return asarray(elementwise(ufunc, (x, wrap(trace, number))))


@handles(np.nonzero)
def nonzero(a: Any) -> Any:
    """The indices of the elements that are not zero, an array for each axis."""
    x = asarray(a)
    if not x.ndim:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead."
        )
    return columns(axis_positions(truth(x)))


def columns(parts: Sequence[Any]) -> tuple[Any, ...]:
    """Vectors as the columns of one table, in whose memory they lie side by side."""
    if len(parts) == 1:
        return tuple(parts)
    table = np.stack(parts, axis=-1)
    return tuple(table[..., k] for k in range(len(parts)))


@handles(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """The indices of the elements of the raveled array that are not zero."""
    return flat_positions(truth(a))


@handles(np.argwhere)
def argwhere(a: Any) -> Any:
    """The indices of the elements that are not zero, a row for each."""
    x = asarray(a)
    if not x.ndim:
        x = reshaped(x, (1,))
        return np.stack(axis_positions(truth(x)))[:0].T
    return np.stack(axis_positions(truth(x))).T


@handles(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """The elements of the raveled array where the condition holds."""
    return ravel(asarray(arr))[flat_positions(truth(condition))]


@handles(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = NOT_GIVEN) -> Any:
    """The slices along an axis (None: the raveled array) where the condition holds."""
    only("np.compress", out=out)
    x, test = asarray(a), asarray(condition)
    if test.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    places = flat_positions(truth(test))
    return np.take(x, places, axis=axis)


@handles(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each element the first choice whose condition holds there."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [asarray(c) for c in condlist]
    sides = [v if is_number(v) else asarray(v) for v in (*choicelist, default)]
    dtype = np.result_type(*(placeholder(v) for v in sides))
    for k, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise TypeError(f"invalid entry {k} in condlist: should be boolean ndarray")
    *choices, out = (astype(asarray(v), dtype) for v in sides)
    for c, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = where(c, choice, out)
    return in_c_order(out)
