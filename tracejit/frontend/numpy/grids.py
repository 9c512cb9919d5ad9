"""Grids of NumPy (`np.mgrid[...]`, `np.ix_`, `np.triu_indices`) as arithmetic of the trace."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import as_read, asarray, astype
from tracejit.frontend.numpy.creation import iota, placeholder
from tracejit.frontend.numpy.join import concatenate
from tracejit.frontend.numpy.memory_orders import in_c_order, in_fortran_order, memory_order
from tracejit.frontend.numpy.ranges import arange, linspace
from tracejit.frontend.numpy.registry import SUBSCRIPTS, handles
from tracejit.frontend.numpy.shape import reshaped, reversed_axes, shape_dims
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.checks import constant_array
from tracejit.frontend.tracing.symint import SymInt, as_dim, unwrap
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    check_dtype,
    here,
    user_line,
)
from tracejit.ir.dims import Dim

__all__: list[str] = []

_INTEGERS = (int, np.integer, SymInt)


def _points(s: slice) -> tuple[Any, Any, Any]:
    """(start, step, how many: None where the step says) of one slice of a grid."""
    count = _count_of(s.step)
    for bound in (s.start, s.stop, s.step):
        if isinstance(bound, Tracer) and (count is None or not isinstance(bound, TracedScalar)):
            raise TraceError("TJ015", "a grid with a traced bound", user_line())
    start: Any = 0 if s.start is None else s.start
    step: Any = 1 if s.step is None else s.step
    if count is None:
        return start, step, None
    last = count - 1
    width = float(last) if isinstance(last, int) else last
    return start, 1 if count == 1 else (s.stop - start) / width, count


def _count_of(step: Any) -> Any:
    """How many points a complex step asks for: a size n as in `n * 1j`; None for a real step."""
    if isinstance(step, (complex, np.complexfloating)):
        length: Any = abs(step)
        return int(length)
    trace = here()
    value = step.value() if isinstance(step, TracedScalar) else None
    made = {id(v): node for node in trace.builder.nodes for v in node.outputs}
    node = made.get(id(value))
    if node is None or node.op.name != "py_multiply":
        return None
    for a, b in itertools.permutations(made.get(id(v)) for v in node.inputs):
        if a is None or b is None or (a.op.name, b.op.name) != ("dim_value", "constant"):
            continue
        if b.attrs["value"] in (1j, -1j):
            dim = a.attrs["dim"]
            return unwrap(0 - dim if trace.env.decide(dim, "<", 0) else dim, trace.env)
    return None


def _line(s: slice, dtype: np.dtype[Any]) -> TracedArray:
    """The coordinates along one axis: index times step plus start, as NumPy computes them."""
    start, step, count = _points(s)
    size: Dim
    if count is not None:
        size = as_dim(count)
    elif not any(isinstance(x, SymInt) for x in (start, s.stop, step)):
        size = math.ceil((s.stop - start) / step)
    elif all(isinstance(x, _INTEGERS) for x in (start, s.stop, step)):
        size = asarray(arange(start, s.stop, step)).type.shape[0]
    else:
        size = math.ceil((float(s.stop) - float(start)) / step)
    if isinstance(size, int) and size <= 0 and count is None:
        raise TraceError("TJ004", "a grid without points", user_line())
    x = elementwise(np.multiply, (iota(size, dtype), step))
    return asarray(elementwise(np.add, (x, start)))


def _alone(s: slice) -> TracedArray:
    """The one line of a grid with a single axis."""
    start, step, count = _points(s)
    if count is None:
        return asarray(arange(start, s.stop, step))
    size = abs(s.step) if isinstance(s.step, np.complexfloating) else 1.0
    return _line(s, _promoted((start, s.stop, size)))


def _promoted(numbers: Iterable[Any]) -> np.dtype[Any]:
    return check_dtype(np.result_type(*map(placeholder, numbers)))


def _common_dtype(key: tuple[Any, ...]) -> np.dtype[Any]:
    """The dtype of a grid: float where a bound is one, or where a step counts points."""
    numbers: list[Any] = [0]
    for s in key:
        start, step, count = _points(s)
        # The absolute value of a complex step is a float of its precision.
        size = abs(s.step) if isinstance(s.step, np.complexfloating) else 1.0
        numbers += [start, s.stop, step if count is None else size]
    return _promoted(numbers)


def _axes_of(key: Any, name: str) -> tuple[slice, ...]:
    items = key if isinstance(key, tuple) else (key,)
    if not items or any(not isinstance(s, slice) or s.stop is None for s in items):
        raise TraceError("TJ004", f"np.{name} of anything but bounded slices", user_line())
    return items


def _open(items: tuple[slice, ...], dtype: np.dtype[Any]) -> list[TracedArray]:
    """One coordinate vector an axis, each along its own axis, counted in `dtype`."""
    lines = [_line(s, dtype) for s in items]
    ndim = len(lines)
    return [
        reshaped(x, tuple(x.type.shape[0] if j == k else 1 for j in range(ndim)))
        for k, x in enumerate(lines)
    ]


def _mgrid(_: Any, key: Any) -> Any:
    items = _axes_of(key, "mgrid")
    if not isinstance(key, tuple):
        return _alone(items[0])
    dtype = _common_dtype(items)
    grids = [astype(x, dtype) for x in _open(items, dtype)]
    parts = [np.broadcast_to(g, _shape_of(grids)) for g in grids]
    return in_c_order(asarray(np.stack(parts)))


def _shape_of(grids: list[TracedArray]) -> tuple[Any, ...]:
    return tuple(g.shape[k] for k, g in enumerate(grids))


def _ogrid(_: Any, key: Any) -> Any:
    items = _axes_of(key, "ogrid")
    if not isinstance(key, tuple):
        return _alone(items[0])
    return tuple(_open(items, _common_dtype(items)))


def _joined(name: str, columns: bool) -> Any:
    def run(_: Any, key: Any) -> Any:
        parts = []
        for k in key if isinstance(key, tuple) else (key,):
            if isinstance(k, slice):
                _axes_of(k, name)
                start, step, count = _points(k)
                k = arange(start, k.stop, step) if count is None else linspace(start, k.stop, count)
            elif not isinstance(k, TracedArray) or not k.ndim:
                raise TraceError("TJ004", f"np.{name} of anything but arrays", user_line())
            x = asarray(k)
            if columns:
                x = reversed_axes(reshaped(x, (1, *x.type.shape))) if x.ndim == 1 else x
            parts.append(x)
        ndim = parts[0].ndim
        if any(x.ndim != ndim for x in parts):
            raise TraceError("TJ004", f"np.{name} of arrays with unlike axes", user_line())
        return concatenate(parts, axis=-1 if columns else 0)

    return run


SUBSCRIPTS[type(np.mgrid)] = _mgrid
SUBSCRIPTS[type(np.ogrid)] = _ogrid
SUBSCRIPTS[type(np.r_)] = _joined("r_", columns=False)
SUBSCRIPTS[type(np.c_)] = _joined("c_", columns=True)


@handles(np.ix_, creates=True)
def ix_(*args: Any) -> Any:
    """Index vectors along axes of their own."""
    out = []
    for k, arg in enumerate(args):
        x = asarray(arg)
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            raise TraceError("TJ015", "np.ix_ of a boolean mask", user_line())
        if not isinstance(arg, TracedArray) and here().env.decide(x.type.shape[0], "==", 0):
            x = astype(x, np.dtype(np.intp))
        n = x.type.shape[0]
        out.append(reshaped(x, tuple(n if j == k else 1 for j in range(len(args)))))
    return tuple(out)


def _static(n: Any, what: str) -> int:
    if isinstance(n, Tracer):
        raise TraceError("TJ015", f"{what} of a traced size", user_line())
    if isinstance(n, bool) or not isinstance(n, _INTEGERS):
        raise TraceError("TJ004", f"{what} of a {type(n).__name__}", user_line())
    return int(n)


def _triangle(name: str) -> Any:
    numpy = getattr(np, name)

    def run(n: Any, k: Any = 0, m: Any = None) -> Any:
        size = _static(n, f"np.{name}")
        wide = None if m is None else _static(m, f"np.{name}")
        return tuple(constant_array(x) for x in numpy(size, _static(k, f"np.{name}"), wide))

    return run


for _name in ("tril_indices", "triu_indices"):
    handles(getattr(np, _name), creates=True)(_triangle(_name))


def _triangle_from(name: str) -> Any:
    def run(arr: Any, k: Any = 0) -> Any:
        x = as_read(arr)
        if x.ndim != 2:
            raise ValueError("input array must be 2-d")
        return getattr(np, name)(*(_static(d, f"np.{name}") for d in (x.shape[0], k, x.shape[1])))

    return run


for _name in ("tril_indices", "triu_indices"):
    handles(getattr(np, f"{_name}_from"))(_triangle_from(_name))


@handles(np.diag_indices, creates=True)
def diag_indices(n: Any, ndim: Any = 2) -> Any:
    """The indices of the main diagonal."""
    (size,) = shape_dims(n)
    if not here().env.decide(0, "<=", size):
        raise TraceError("TJ004", "np.diag_indices of a negative size", user_line())
    return (iota(size),) * int(ndim)


@handles(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    """The indices of the main diagonal of an array with equal sides."""
    x = as_read(arr)
    if x.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    shape: tuple[Dim, ...] = x.type.shape
    if any(not here().env.decide(d, "==", shape[0]) for d in shape):
        raise ValueError("All dimensions of input must be of equal length")
    return (iota(shape[0]),) * x.ndim


@handles(np.block)
def block(arrays: Any) -> Any:
    """A matrix of blocks, given as a list of rows, or a row of blocks."""
    if isinstance(arrays, TracedArray):
        return in_c_order(arrays)
    if not isinstance(arrays, list) or not arrays:
        raise TraceError("TJ004", "np.block of anything but lists", user_line())
    if any(isinstance(row, tuple) for row in arrays):
        raise TraceError("TJ004", "np.block of a tuple", user_line())
    nested = [isinstance(row, list) for row in arrays]
    if not any(nested):
        parts = [asarray(x) for x in arrays]
        if any(not x.ndim for x in parts) or len({x.ndim for x in parts}) > 1:
            raise TraceError("TJ004", "np.block of arrays with unlike axes", user_line())
        return _of_rows(parts, [asarray(concatenate(parts, axis=-1))])
    if not all(nested) or any(isinstance(x, (list, tuple)) for row in arrays for x in row):
        raise TraceError("TJ004", "np.block of lists in other than two levels", user_line())
    rows = [[asarray(x) for x in row] for row in arrays]
    if any(x.ndim != 2 for row in rows for x in row):
        raise TraceError("TJ004", "np.block of anything but matrices", user_line())
    joined = [asarray(concatenate(row, axis=-1)) for row in rows]
    return _of_rows([x for row in rows for x in row], joined)


def _of_rows(parts: Sequence[TracedArray], rows: Sequence[TracedArray]) -> TracedArray:
    """Rows of blocks under each other, laid out as NumPy does: large ones in its own way."""
    out = rows[0] if len(rows) == 1 else asarray(concatenate(rows, axis=-2))
    size = out.type.size
    if isinstance(size, int) and (1 + (len(rows) > 1)) * size <= 2 * 512 * 512:
        return out
    orders = {memory_order(x) if x.ndim > 1 else "C" for x in parts}
    if len(orders) > 1 or None in orders or (orders == {"F"} and not isinstance(size, int)):
        raise TraceError("TJ004", "np.block of arrays in several memory orders", user_line())
    return in_fortran_order(out) if orders == {"F"} else in_c_order(out)
