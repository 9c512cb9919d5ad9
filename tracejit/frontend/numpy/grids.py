"""Grids of NumPy (`np.mgrid[...]`, `np.ix_`, `np.triu_indices`) as arithmetic of the trace."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.creation import iota, placeholder
from tracejit.frontend.numpy.join import concatenate, stack
from tracejit.frontend.numpy.memory_orders import in_c_order
from tracejit.frontend.numpy.ranges import arange, linspace
from tracejit.frontend.numpy.registry import SUBSCRIPTS, handles
from tracejit.frontend.numpy.shape import reshaped, reversed_axes
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
from tracejit.ops.array.creation import Constant, DimValue

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
    if node is None or node.op.arithmetic != "multiply":
        return None
    for a, b in itertools.permutations(made.get(id(v)) for v in node.inputs):
        if not (a and isinstance(a.op, DimValue) and b and isinstance(b.op, Constant)):
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
    shape = tuple(g.shape[k] for k, g in enumerate(grids))
    parts = [asarray(np.broadcast_to(g, shape)) for g in grids]
    return in_c_order(stack(parts, axis=0))


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
