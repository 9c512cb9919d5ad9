"""Products of arrays by others: outer, inner, tensor, Kronecker and vector products, traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]


def inner(a: Any, b: Any, /) -> Any:
    """Products summed over the last axes."""
    a, b = np.asarray(a), np.asarray(b)
    return np.dot(a, b if a.ndim == 0 or b.ndim < 2 else b.swapaxes(-1, -2))


def vdot(a: Any, b: Any, /) -> Any:
    """The product of all elements of conj(a) and b, summed."""
    a = np.ravel(a)
    b = np.reshape(b, a.size)
    if "c" in (a.dtype.kind, b.dtype.kind):
        return (a.conj() * b).sum() + 0
    return a @ b


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of an element of `a` and one of `b`."""
    return np.multiply(np.ravel(a)[:, None], np.ravel(b)[None, :], out)


def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector and one of another."""
    x1, x2 = np.asarray(x1), np.asarray(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        text = "Input arrays must be one-dimensional, but they are"
        raise ValueError(f"{text} x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return outer(x1, x2)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Products summed over pairs of axes."""
    a, b = np.asarray(a), np.asarray(b)
    if isinstance(axes, (tuple, list)):
        of_a, of_b = axes
        of_a = list(of_a) if isinstance(of_a, (tuple, list)) else [of_a]
        of_b = list(of_b) if isinstance(of_b, (tuple, list)) else [of_b]
    else:
        of_a, of_b = list(range(-axes, 0)), list(range(axes))
    if len(of_a) != len(of_b):
        raise ValueError("shape-mismatch for sum")
    for i, j in zip(of_a, of_b, strict=True):
        if a.shape[i] != b.shape[j]:
            raise ValueError("shape-mismatch for sum")
    of_a, of_b = [k % a.ndim for k in of_a], [k % b.ndim for k in of_b]
    if len({*of_a}) < len(of_a) or len({*of_b}) < len(of_b):
        refuse("np.tensordot along an axis twice")
    left = [k for k in range(a.ndim) if k not in of_a]
    right = [k for k in range(b.ndim) if k not in of_b]
    rows, columns = [a.shape[k] for k in left], [b.shape[k] for k in right]
    count = product([a.shape[k] for k in of_a])
    a, b = a.transpose(left + of_a), b.transpose(of_b + right)
    if not left and not right and count != 1 and is_inexact(a) and is_inexact(b):
        return np.asarray((a * b).sum() + 0)
    a, b = a.reshape(product(rows), count), b.reshape(count, product(columns))
    return np.dot(a, b).reshape(rows + columns)


def is_inexact(x: Any) -> Any:
    """Whether elements are floats or complex numbers of at least single precision."""
    return x.dtype.kind in "fc" and x.dtype.itemsize > 2


def product(sizes: Any) -> Any:
    """The product of sizes."""
    total = 1
    for size in sizes:
        total = total * size
    return total


def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Products summed over pairs of axes."""
    return tensordot(x1, x2, axes)


def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    ndim = max(a.ndim, b.ndim)
    a = a.reshape((1,) * (ndim - a.ndim) + a.shape)
    b = b.reshape((1,) * (ndim - b.ndim) + b.shape)
    odd, even = tuple(range(1, 2 * ndim, 2)), tuple(range(0, 2 * ndim, 2))
    both = np.multiply(np.expand_dims(a, odd), np.expand_dims(b, even))
    return both.reshape([m * n for m, n in zip(a.shape, b.shape, strict=True)])


def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum along a diagonal."""
    if not all(isinstance(k, (int, np.integer)) for k in (offset, axis1, axis2)):
        refuse("np.trace at places that are no ints")
    return np.diagonal(a, offset, axis1, axis2).sum(-1, dtype, out)


def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """The sums along the diagonals of the last two axes."""
    return trace(x, offset, -2, -1, dtype)


def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """The elements along a diagonal of the last two axes."""
    return np.diagonal(x, offset, -2, -1)


def linalg_matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped."""
    return np.matrix_transpose(x)


def linalg_vecdot(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """conj(x1) times x2, summed over an axis."""
    return np.vecdot(x1, x2, axis=axis)  # type: ignore[call-overload]


def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product."""
    return np.matmul(x1, x2)


def cross(
    a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None
) -> Any:
    """The vector product of vectors with three components."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.asarray(a), np.asarray(b)
    for k, x in ((axisa, a), (axisb, b), (axisc, a)):
        if not isinstance(k, (int, np.integer)) or not -x.ndim <= k < x.ndim:
            refuse("np.cross along an axis that there is not")
    if a.shape[axisa] != 3 or b.shape[axisb] != 3:
        refuse("np.cross of vectors without 3 components")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    a0, a1, a2, b0, b1, b2 = [v[..., k] for v in (a, b) for k in range(3)]
    parts = [a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0]
    return np.moveaxis(np.ascontiguousarray(np.stack(parts, axis=-1)), -1, axisc)


def linalg_cross(x1: Any, x2: Any, /, *, axis: Any = -1) -> Any:
    """The vector product of vectors with three components along an axis."""
    if axis is None:
        refuse("np.linalg.cross along no axis")
    return cross(x1, x2, axis=axis)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.inner: inner,
    np.vdot: vdot,
    np.outer: outer,
    np.tensordot: tensordot,
    np.kron: kron,
    np.trace: trace,
    np.cross: cross,
    np.linalg.outer: linalg_outer,
    np.linalg.tensordot: linalg_tensordot,
    np.linalg.trace: linalg_trace,
    np.linalg.diagonal: linalg_diagonal,
    np.linalg.matrix_transpose: linalg_matrix_transpose,
    np.linalg.vecdot: linalg_vecdot,
    np.linalg.matmul: linalg_matmul,
    np.linalg.cross: linalg_cross,
}
