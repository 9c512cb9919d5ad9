"""Differences, running sums and integrals, sinc and i0: NumPy's formulas on tracers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, operand
from tracejit.frontend.numpy.creation import filled
from tracejit.frontend.numpy.join import concatenate
from tracejit.frontend.numpy.memory_orders import in_k_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import HANDLERS, NOT_GIVEN, handles, only
from tracejit.frontend.numpy.selection import where
from tracejit.frontend.numpy.shape import ravel
from tracejit.frontend.numpy.ufuncs import apply, apply_to_arrays, elementwise
from tracejit.frontend.tracing.tracer import TracedArray, here, is_number, user_line
from tracejit.ir.types import shape_of

__all__: list[str] = []


def _between(x: TracedArray, axis: int, start: Any, stop: Any) -> Any:
    return x[(*[slice(None)] * axis, slice(start, stop))]


@handles(np.diff)
def diff(
    a: Any, n: Any = 1, axis: Any = -1, prepend: Any = NOT_GIVEN, append: Any = NOT_GIVEN
) -> Any:
    """Differences of neighbours, `n` times; of booleans, whether they differ."""
    if n == 0:
        return a
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n!r}")
    x = asarray(a)
    if not x.ndim:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, x.ndim)
    parts = []
    for extra, before in ((prepend, True), (append, False)):
        if extra is NOT_GIVEN:
            continue
        e = asarray(extra)
        if not e.ndim:
            shape = tuple(1 if k == axis else d for k, d in enumerate(x.shape))
            e = asarray(np.broadcast_to(e, shape))
        parts.append((e, before))
    if parts:
        row = [*(e for e, b in parts if b), x, *(e for e, b in parts if not b)]
        x = asarray(concatenate(row, axis=axis))
    ufunc = np.not_equal if x.dtype.kind == "b" else np.subtract
    for _ in range(n):
        x = asarray(elementwise(ufunc, (_between(x, axis, 1, None), _between(x, axis, None, -1))))
    return x


@handles(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours of all elements."""
    x = ravel(ary)
    # Of bools too, for which there is no loop.
    parts = [asarray(elementwise(np.subtract, (x[1:], x[:-1])))]
    for extra, first in ((to_begin, True), (to_end, False)):
        if extra is not None:
            e = ravel(extra)
            if not np.can_cast(e.dtype, x.dtype, "same_kind"):
                raise TypeError("dtype of an end must be compatible with input under same_kind")
            e = astype(e, x.dtype)
            parts = [e, *parts] if first else [*parts, e]
    return concatenate(parts) if len(parts) > 1 else parts[0]


@handles(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral by the trapezoid rule."""
    v = asarray(y)
    axis = normalize_axis_index(axis, v.ndim)
    if x is None:
        d: Any = dx if is_number(dx) else asarray(dx)
    else:
        points = asarray(x)
        d = diff(points) if points.ndim == 1 else diff(points, axis=axis)
        if points.ndim == 1 and v.ndim > 1:
            d = d[tuple(slice(None) if k == axis else None for k in range(v.ndim))]
    pairs = elementwise(np.add, (_between(v, axis, 1, None), _between(v, axis, None, -1)))
    return np.sum(elementwise(np.divide, (elementwise(np.multiply, (d, pairs)), 2.0)), axis=axis)


def _spacings(x: TracedArray, axes: Sequence[int], given: Sequence[Any]) -> list[Any]:
    """For each axis its spacing: a number, or the differences of its coordinates."""
    if not given:
        return [1.0] * len(axes)
    steps = [v if is_number(v) else asarray(v) for v in given]
    if len(steps) == 1 and not np.ndim(steps[0]):
        return steps * len(axes)
    if len(steps) != len(axes):
        raise TypeError("invalid number of arguments")
    out: list[Any] = []
    for axis, v in zip(axes, steps, strict=True):
        if not np.ndim(v):
            out.append(v)
            continue
        if v.ndim != 1:
            raise ValueError("distances must be either scalars or 1d")
        if not here().env.expect(v.type.shape[0], "==", x.type.shape[axis]):
            raise ValueError("when 1d, distances must match the length of the dimension")
        out.append(diff(astype(v, np.dtype(np.float64)) if v.dtype.kind in "iu" else v))
    return out


@handles(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Derivatives by central differences inside and one-sided ones at the ends."""
    x = asarray(f)
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    steps = _spacings(x, axes, varargs)
    if edge_order > 2:
        raise ValueError("'edge_order' greater than 2 not supported")
    kind = x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64)
    if x.dtype.kind in "iu":
        x = astype(x, kind)
    out = []
    for k, step in zip(axes, steps, strict=True):
        if here().env.decide(x.type.shape[k], "<", edge_order + 1):
            raise ValueError(
                "Shape of array too small to calculate a numerical gradient, "
                "at least (edge_order + 1) elements are required."
            )
        if not np.ndim(step):
            out.append(in_k_order(_derivative(x, k, _uniform(step, edge_order), kind), x))
            continue
        # NumPy takes the formulas for even spacing where all differences are equal.
        even = np.all(elementwise(np.equal, (step, step[0])))
        one = _derivative(x, k, _uniform(step[0], edge_order), kind)
        many = _derivative(x, k, _uneven(step, edge_order, k, x.ndim), kind)
        out.append(in_k_order(where(even, one, many), x))
    return out[0] if len(axes) == 1 else tuple(out)


#: Weights of the elements that one formula reads, and from which of them it counts.
_Weights = tuple[Any, Any, Any]


def _uniform(h: Any, edge_order: int) -> tuple[Any, Any, Any]:
    """The formulas for the inside and both ends, of one distance between neighbours."""

    def inside(a: Any, b: Any, c: Any) -> Any:
        return (c - a) / (2.0 * h)

    if edge_order == 1:
        return inside, lambda a, b, c: (b - a) / h, lambda a, b, c: (c - b) / h
    first = (-1.5 / h, 2.0 / h, -0.5 / h)
    last = (0.5 / h, -2.0 / h, 1.5 / h)
    return inside, _weighted(first), _weighted(last)


def _weighted(w: _Weights) -> Any:
    return lambda a, b, c: w[0] * a + w[1] * b + w[2] * c


def _uneven(d: TracedArray, edge_order: int, axis: int, ndim: int) -> tuple[Any, Any, Any]:
    """The formulas for the inside and both ends, of the distances between neighbours."""
    p, q = d[:-1], d[1:]
    weights = (-q / (p * (p + q)), (q - p) / (p * q), p / (q * (p + q)))
    key = tuple(slice(None) if k == axis else None for k in range(ndim))
    inside = _weighted(tuple(w[key] for w in weights))
    if edge_order == 1:
        return inside, lambda a, b, c: (b - a) / d[0], lambda a, b, c: (c - b) / d[-1]
    p, q = d[0], d[1]
    first = (-(2.0 * p + q) / (p * (p + q)), (p + q) / (p * q), -p / (q * (p + q)))
    p, q = d[-2], d[-1]
    last = (q / (p * (p + q)), -(q + p) / (p * q), (2.0 * q + p) / (q * (p + q)))
    return inside, _weighted(first), _weighted(last)


def _derivative(x: TracedArray, axis: int, formulas: Any, kind: np.dtype[Any]) -> Any:
    """The three formulas applied to neighbouring elements, joined along `axis`."""
    inside, first, last = formulas
    parts = []
    if not here().env.decide(x.type.shape[axis], "<=", 2):
        neighbours = ((None, -2), (1, -1), (2, None))
        parts.append(inside(*(_between(x, axis, i, j) for i, j in neighbours)))
    # With two elements the third of an end is not read.
    short = here().env.decide(x.type.shape[axis], "==", 2)
    ends = [_between(x, axis, k, k + 1) for k in ((0, 1, 1) if short else (0, 1, 2))]
    parts.insert(0, first(*ends))
    ends = [_between(x, axis, k, k + 1 if k != -1 else None) for k in (-2, -2, -1)]
    if not short:
        ends[0] = _between(x, axis, -3, -2)
    parts.append(last(*ends))
    return concatenate([astype(asarray(p), kind) for p in parts], axis=axis)


@handles(np.sinc)
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    v = asarray(x)
    return apply("sinc", [operand(v, _float_dtype("np.sinc", v))], shape_of(v.type), (v,))


@handles(np.i0)
def i0(x: Any) -> Any:
    """The modified Bessel function of order 0; an array, of a scalar one without axes."""
    v = asarray(x)
    return apply_to_arrays("i0", [operand(v, _float_dtype("np.i0", v))], shape_of(v.type), (v,))


def _float_dtype(name: str, x: TracedArray) -> np.dtype[Any]:
    """float32 or float64. Raises TraceError for half precision and complex numbers."""
    if x.dtype.kind not in "biuf" or x.dtype == np.float16:
        raise TraceError("TJ002", f"{name} of {x.dtype}", user_line())
    return x.dtype if x.dtype.kind == "f" else np.dtype(float)


# Running sums and products as the array standard spells them, and without NaNs -------------------


def _standard(name: str, running: Any, identity: int) -> Any:
    def run(
        x: Any,
        /,
        *,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        include_initial: Any = False,
    ) -> Any:
        v = asarray(x)
        v = v if v.ndim else v.reshape(1)
        if axis is None:
            if v.ndim > 1:
                text = "For arrays which have more than one dimension ``axis`` argument is required"
                raise ValueError(f"{text}.")
            axis = 0
        if include_initial and out is not None:
            only(f"np.{name} with include_initial=True", out=out)
        found = HANDLERS[running](v, axis=axis, dtype=dtype, out=out)
        if not include_initial:
            return found
        axis = normalize_axis_index(axis, v.ndim)
        shape = tuple(1 if k == axis else d for k, d in enumerate(v.type.shape))
        return concatenate([filled(shape, identity, found.dtype), found], axis=axis)

    return run


def _without_nan(name: str, running: Any, identity: int) -> Any:
    @accepts_out(f"np.{name}")
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = asarray(a)
        if x.dtype == np.float16:
            raise TraceError("TJ004", f"np.{name} of float16", user_line())
        if x.dtype.kind in "fc":
            clean = where(elementwise(np.isnan, (x,)), x.dtype.type(identity), x)
            x = in_k_order(asarray(clean), x)
        return HANDLERS[running](x, axis=axis, dtype=dtype)

    return run


if hasattr(np, "cumulative_sum"):
    handles(np.cumulative_sum)(_standard("cumulative_sum", np.cumsum, 0))
    handles(np.cumulative_prod)(_standard("cumulative_prod", np.cumprod, 1))
handles(np.nancumsum)(_without_nan("nancumsum", np.cumsum, 0))
handles(np.nancumprod)(_without_nan("nancumprod", np.cumprod, 1))
