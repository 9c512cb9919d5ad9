"""Functions of NumPy that reorder, repeat, split or pick elements: slices, joins and gathers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.creation import filled, iota
from tracejit.frontend.numpy.indexing import accumulate_item
from tracejit.frontend.numpy.items.keys import int64_of
from tracejit.frontend.numpy.join import along, concatenate
from tracejit.frontend.numpy.memory_orders import copy_of, in_c_order, in_k_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.shape import ravel, reshaped
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    as_array,
    here,
    lift,
    user_line,
    wrap_array,
)
from tracejit.ir.dims import Dim, mod
from tracejit.ir.types import dtype_of

__all__: list[str] = []


@handles(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved along axes, those that leave coming back at the other end."""
    x = asarray(a)
    if axis is None:
        return reshaped(copy_of(_roll_axis(ravel(x), _total(shift), 0)), x.type.shape)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,)
    axes = tuple(normalize_axis_index(k, x.ndim) for k in axes)
    count = max(len(axes), len(shifts))
    if 0 in (len(axes), len(shifts)):
        raise TraceError("TJ004", "np.roll along no axes", user_line())
    if {len(axes), len(shifts)} - {1, count}:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    axes = axes * count if len(axes) == 1 else axes
    shifts = tuple(shifts) * count if len(shifts) == 1 else shifts
    total: dict[int, Any] = {}
    for k, s in zip(axes, shifts, strict=True):
        if k in total and not (type(total[k]) is int and type(s) is int):
            raise TraceError("TJ004", "np.roll of several shifts along one axis", user_line())
        total[k] = total[k] + s if k in total else s
    return in_k_order(_rolled(x, list(total.items())), x)


def _total(shift: Any) -> Any:
    return sum(shift) if isinstance(shift, (tuple, list)) else shift


#: Along so many axes at most blocks are cut, each of which has a loop.
_CUT_AXES = 3


def _rolled(x: TracedArray, shifts: list[tuple[int, Any]]) -> TracedArray:
    """`x` moved along axes: its blocks, joined, along those whose shifts are known."""
    cuts: list[tuple[int, Dim]] = []
    for axis, shift in shifts:
        cut = _cut(x.type.shape[axis], shift)
        if cut is None or len(cuts) == _CUT_AXES:
            x = _roll_axis(x, shift, axis)
        elif cut != 0:
            cuts.append((axis, cut))
    return _blocks_swapped(x, cuts)


def _blocks_swapped(x: TracedArray, cuts: list[tuple[int, Dim]]) -> TracedArray:
    """What lies before a place and after it along axes, exchanged."""
    if not cuts:
        return x
    (axis, place), *others = cuts
    cut = unwrap(place, here().env)
    parts = [along(x, axis, slice(cut, None)), along(x, axis, slice(None, cut))]
    kept = [_blocks_swapped(p, others) for p in parts if p.type.shape[axis] != 0]
    return asarray(concatenate(kept, axis=axis)) if len(kept) > 1 else kept[0]


def _roll_axis(x: TracedArray, shift: Any, axis: int) -> TracedArray:
    """`x` moved along one axis."""
    n = x.type.shape[axis]
    cut = _cut(n, shift)
    if cut is not None:
        return _blocks_swapped(x, [(axis, cut)] if cut != 0 else [])
    env = here().env
    shift = shift if isinstance(shift, Tracer) else lift(_plain(shift))
    if dtype_of(shift.type).kind not in "iu" or isinstance(shift, TracedArray):
        raise TraceError("TJ001", "the shift of np.roll", user_line())
    if env.is_known(n) and env.decide(n, "==", 0):
        return x
    if dtype_of(shift.type) == np.uint64:
        raise TraceError("TJ004", "np.roll by a uint64", user_line())
    size = unwrap(n, env)
    # Below n first: the difference would leave 64 bits.
    wide = asarray(shift, np.int64)
    places = elementwise(np.subtract, (iota(n), elementwise(np.remainder, (wide, size))))
    return asarray(along(x, axis, elementwise(np.remainder, (places, size))))


def _plain(shift: Any) -> Any:
    return shift if isinstance(shift, SymInt) else int(shift)


def _cut(n: Dim, shift: Any) -> Dim | None:
    """Where an axis of `n` elements is cut and swapped to be moved; 0 where nothing moves, None
    where only the program knows.
    """
    env = here().env
    if isinstance(shift, Tracer):
        return None
    if isinstance(shift, (int, np.integer, SymInt)) and not env.is_known(n, as_dim(shift)):
        return None
    if not isinstance(shift, (int, float, np.number, SymInt)):
        raise TraceError("TJ004", f"np.roll by a {type(shift).__name__}", user_line())
    s = as_dim(_plain(shift))
    if env.decide(n, "==", 0) or s == 0:
        return 0
    if env.decide(s, "<", 0):
        s = s + n
    if env.decide(s, "<", 0) or env.decide(n, "<", s):
        s = mod(s, n)
    return n - s


@handles(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Each element several times in a row."""
    x = asarray(a)
    if axis is None or not x.ndim and axis in (0, -1):
        x, axis = ravel(x), 0
    axis = normalize_axis_index(axis, x.ndim)
    counts = repeats
    if isinstance(counts, TracedArray) and counts.ndim and counts.type.shape != (1,):
        return in_c_order(along(x, axis, _repeated_places(counts, x.type.shape[axis])))
    if isinstance(counts, Tracer):
        one = counts.reshape(())[()] if isinstance(counts, TracedArray) else counts
        if dtype_of(one.type).kind not in "iu":
            raise TraceError("TJ004", "np.repeat by a number that is no int", user_line())
        counts = unwrap(here().bound_as_given(int64_of(one)), here().env)
    if isinstance(counts, (list, tuple, np.ndarray)):
        if len(counts) != 1:
            n = here().env.concrete(x.type.shape[axis])
            places = np.repeat(np.arange(n), np.asarray(counts))
            return in_c_order(along(x, axis, asarray(places.tolist(), np.int64)))
        counts = counts[0]
    if not isinstance(counts, (int, np.integer, SymInt)):
        raise TraceError("TJ004", f"np.repeat by a {type(counts).__name__}", user_line())
    times = as_dim(counts)
    if here().env.decide(times, "<", 0):
        raise ValueError("repeats may not contain negative values.")
    if times == 1:
        return in_c_order(x)
    shape = x.type.shape
    wide = (*shape[: axis + 1], times, *shape[axis + 1 :])
    spread = as_array(reshaped(x, (*shape[: axis + 1], 1, *shape[axis + 1 :])), wide)
    whole = wrap_array(spread)
    return in_c_order(reshaped(whole, (*shape[:axis], shape[axis] * times, *shape[axis + 1 :])))


def _repeated_places(counts: TracedArray, n: Dim) -> TracedArray:
    """0 `counts[0]` times, then 1 `counts[1]` times, and so on, for `n` counts.

    The running sums say where the next number begins: their occurrences are summed up.
    """
    trace = here()
    if counts.dtype.kind not in "iub" or counts.ndim != 1:
        raise TraceError("TJ004", "np.repeat by an array that is no vector of ints", user_line())
    if not trace.env.expect(counts.type.shape[0], "==", n):
        raise ValueError("operands could not be broadcast together: counts and elements")
    wide = astype(counts, np.dtype(np.int64))
    valid = trace.emit("reduce_all", (asarray(wide >= 0).value(),), axes=(0,))  # type: ignore[operator]
    trace.emit_all("check", (trace.emit("element", (valid,)),), {})
    total = trace.bound(int64_of(asarray(np.sum(wide))))
    starts = filled((total + 1,), 0, np.dtype(np.int64))
    accumulate_item(starts, asarray(np.cumsum(wide)), filled((n,), 1, np.dtype(np.int64)), "add")
    return asarray(np.cumsum(starts[: unwrap(total, trace.env)]))


@handles(np.take)
@accepts_out("np.take")
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """Elements at indices along an axis (of all elements where there is none): a copy."""
    x = asarray(a)
    if axis is None or not x.ndim and axis in (0, -1):
        x, axis = reshaped(x, (x.type.size,)), 0
    axis = normalize_axis_index(axis, x.ndim)
    at = asarray(indices)
    if at.dtype.kind not in "iu":
        raise TraceError("TJ004", f"np.take at indices of {at.dtype}", user_line())
    key: Any = at if isinstance(indices, (list, tuple)) else indices
    if mode in ("wrap", "clip"):
        n = x.shape[axis]
        if mode == "wrap":
            key = elementwise(np.remainder, (asarray(key), n))
        else:
            key = np.clip(asarray(key), 0, n - 1)
    elif mode != "raise":
        raise TraceError("TJ004", f"np.take with mode={mode!r}", user_line())
    picked = along(x, axis, key)
    return in_c_order(picked) if isinstance(picked, TracedArray) else picked
