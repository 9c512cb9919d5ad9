"""Arrays computed while tracing that are parts of larger memory: views of one constant."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tracejit.frontend.tracing.tracer import TracedArray, given_dtype, here, wrap
from tracejit.ir.types import ArrayType

__all__ = ["part_of_constant"]


def part_of_constant(
    x: np.ndarray[Any, Any], memories: dict[int, TracedArray]
) -> TracedArray | None:
    """A part of an array with gaps, or backwards, as a view of a constant; None where it is none.

    The memory is cut into rows as long as the largest stride, these into parts as long as the next,
    and so on; the last row may be longer than what there is.
    """
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    if owner is x or owner.base is not None or owner.dtype != x.dtype or not owner.flags.forc:
        return None
    size = x.itemsize
    axes = sorted((a for a in range(x.ndim) if x.shape[a] > 1), key=lambda a: -abs(x.strides[a]))
    steps = [abs(x.strides[a]) // size for a in axes]
    lowest = sum(min(0, x.strides[a]) * (x.shape[a] - 1) for a in axes)
    place = (x.ctypes.data + lowest - owner.ctypes.data) // size
    starts = []
    for step in steps:
        digit, place = divmod(place, step)
        starts.append(digit)
    lengths = [starts[0] + x.shape[axes[0]], *(a // b for a, b in pairwise(steps))]
    fits = all(a % b == 0 for a, b in pairwise(steps))
    if not fits or any(
        first + x.shape[a] > n for first, a, n in zip(starts, axes, lengths, strict=True)
    ):
        return None
    count = lengths[0] * steps[0]
    if id(owner) not in memories:
        flat = np.zeros(max(count, owner.size), owner.dtype)
        flat[: owner.size] = owner.ravel("K")
        kind = ArrayType(given_dtype(flat.dtype), flat.shape)
        made = wrap(here(), here().constant(flat, kind))
        assert isinstance(made, TracedArray)
        memories[id(owner)] = made
    whole = memories[id(owner)]
    if whole.type.shape[0] < count:
        return None
    whole = whole.view("slice", start=(0,), size=(count,), step=(1,))
    whole = whole.view("reshape", shape=(*lengths, steps[-1]))
    back = [x.strides[a] < 0 for a in axes]
    ends = [first + (x.shape[a] - 1) * b for first, a, b in zip(starts, axes, back, strict=True)]
    sizes = tuple(x.shape[a] for a in axes)
    signs = tuple(-1 if b else 1 for b in back)
    out = whole.view("slice", start=(*ends, place), size=(*sizes, 1), step=(*signs, 1))
    out = out.view("reshape", shape=sizes)
    out = out.view("transpose", axes=tuple(axes.index(a) for a in sorted(axes)))
    return out.view("reshape", shape=x.shape)
