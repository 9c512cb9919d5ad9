"""Determinants on tracers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.linalg.products import in_stack_order, inexact, square
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.selection import as_scalar, where
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line, wrap
from tracejit.ir.types import dtype_name

__all__: list[str] = []

_SlogdetResult: Any = type(np.linalg.slogdet(np.eye(1)))


def _wide(a: Any) -> tuple[TracedArray, np.dtype[Any]]:
    """Square matrices in double precision, and the result's dtype."""
    (x,) = inexact(square(asarray(a)))
    wide = np.dtype(np.complex128 if x.dtype.kind == "c" else np.float64)
    return astype(x, wide), x.dtype


def _diagonal(x: TracedArray) -> TracedArray:
    """Numbers whose product is the determinant."""
    trace = here()
    return asarray(wrap(trace, trace.emit("lu_diagonal", (x.value(),))))


def _sign_and_logarithm(d: TracedArray) -> tuple[Any, Any]:
    """Of the product of the last axis: its sign, or phase, and the logarithm of its size."""
    none = asarray(elementwise(np.equal, (d, 0)))
    singular = np.any(none, axis=-1)
    size: Any = elementwise(np.absolute, (d,))
    size = where(none, size.dtype.type(1), size)
    if d.dtype.kind == "c":
        phase: Any = where(none, d.dtype.type(1), d / size)
        sign: Any = phase[..., 0]
        # One after another, as a complex product has no kernel for many.
        count = here().env.concrete(d.type.shape[-1])
        for k in range(1, count):
            sign = elementwise(np.multiply, (sign, phase[..., k]))
    else:
        sign = np.prod(where(elementwise(np.less, (d, 0)), -1.0, 1.0), axis=-1)
    logarithm = np.sum(asarray(elementwise(np.log, (size,))), axis=-1)
    sign = as_scalar(where(singular, d.dtype.type(0), sign))
    return sign, as_scalar(where(singular, np.float64(-np.inf), logarithm))


def _narrow(x: Any, d: np.dtype[Any]) -> Any:
    """`x` in the precision of `d`."""
    if dtype_name(d) in ("f32", "c64"):
        return x.astype(np.float32 if x.dtype.kind == "f" else np.complex64)
    return x


def _no_empty(d: TracedArray) -> None:
    if here().env.decide(d.type.shape[-1], "==", 0):
        raise TraceError("TJ004", "the determinant of a matrix without elements", user_line())


@handles(np.linalg.slogdet)
def slogdet(a: Any) -> Any:
    """The sign of the determinant, and the logarithm of its size."""
    x, dtype = _wide(a)
    d = _diagonal(x)
    _no_empty(d)
    sign, logarithm = _sign_and_logarithm(d)
    parts = (_narrow(v, dtype) for v in (sign, logarithm))
    return _SlogdetResult(*(in_stack_order(v, x) if v.ndim else v for v in parts))


@handles(np.linalg.det)
def det(a: Any) -> Any:
    """The determinant, from its sign and logarithm as NumPy computes it."""
    trace = here()
    x, dtype = _wide(a)
    # The value's own formula has no derivative at a singular matrix.
    d = _diagonal(asarray(wrap(trace, trace.emit("stop_gradient", (x.value(),)))))
    _no_empty(d)
    sign, logarithm = _sign_and_logarithm(d)
    product: Any = elementwise(np.multiply, (sign, elementwise(np.exp, (logarithm,))))
    same: Any = as_scalar(asarray(wrap(trace, trace.emit("determinant", (x.value(),)))))
    out = _narrow(wrap(trace, trace.emit("derived_as", (product.value(), same.value()))), dtype)
    return in_stack_order(out, x) if out.ndim else out
