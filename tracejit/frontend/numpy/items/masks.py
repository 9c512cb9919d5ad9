"""Masks on tracers: the positions where one holds, and what NumPy makes of them.

How many there are is known only at run time: a size symbol stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.join import stack
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.selection import truth
from tracejit.frontend.numpy.shape import ravel
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.tracer import Storage, TracedArray, here, number_of, wrap
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
    table = stack(parts, axis=-1)
    return tuple(table[..., k] for k in range(len(parts)))
