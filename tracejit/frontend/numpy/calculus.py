"""Derivatives by differences, sinc and i0: NumPy's formulas on tracers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, operand
from tracejit.frontend.numpy.join import along, concatenate
from tracejit.frontend.numpy.memory_orders import in_k_order
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.selection import where
from tracejit.frontend.numpy.ufuncs import apply, apply_to_arrays, elementwise
from tracejit.frontend.tracing.tracer import TracedArray, here, is_number, user_line
from tracejit.ir.types import shape_of

__all__: list[str] = []


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
        v = astype(v, np.dtype(np.float64)) if v.dtype.kind in "iu" else v
        subtract = np.not_equal if v.dtype.kind == "b" else np.subtract
        out.append(asarray(elementwise(subtract, (v[1:], v[:-1]))))
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
        parts.append(inside(*(along(x, axis, slice(i, j)) for i, j in neighbours)))
    # With two elements the third of an end is not read.
    short = here().env.decide(x.type.shape[axis], "==", 2)
    ends = [along(x, axis, slice(k, k + 1)) for k in ((0, 1, 1) if short else (0, 1, 2))]
    parts.insert(0, first(*ends))
    ends = [along(x, axis, slice(k, k + 1 or None)) for k in (-2, -2, -1)]
    if not short:
        ends[0] = along(x, axis, slice(-3, -2))
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
