"""Norms of vectors and matrices, and condition numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.frontend.prelude.intrinsics import (
    NUMPY,
    in_memory_order,
    refuse,
    require,
    root_of_squares,
)

__all__ = ["FUNCTIONS"]


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """The norm of all elements, of vectors along an axis, or of matrices along two."""
    x = np.asarray(x)
    known = ord is None or isinstance(ord, (int, float, str, np.integer, np.floating))
    if x.dtype.kind not in "biufc" or not known:
        refuse("a norm of such an order, or of no numbers")
    if x.dtype.kind not in "fc":
        x = x.astype(np.float64)
    if axis is None:
        by_name = ord in ("f", "fro") and x.ndim == 2
        if ord is None or by_name or (ord == 2 and x.ndim == 1):
            root = of_all(x)
            return root.reshape((1,) * x.ndim) if keepdims else root
        axis = tuple(range(x.ndim))
    elif type(axis) is not tuple:
        axis = (axis,)
    if not all(isinstance(k, (int, np.integer)) for k in axis):
        refuse("a norm along an axis that is no int")
    if len(axis) == 1:
        return of_vectors(x, ord, axis[0], keepdims)
    if len(axis) == 2:
        out = of_matrices(x, ord, *[normalize_axis_index(k, x.ndim) for k in axis])
        return np.expand_dims(out, axis) if keepdims else out
    raise ValueError("Improper number of dimensions to norm.")


def of_all(x: Any) -> Any:
    """The root of the sum of the squares of all elements."""
    x = in_memory_order(x)
    if x.dtype.kind == "c":
        return root_of_squares(x.real @ x.real + x.imag @ x.imag)
    return root_of_squares(x @ x)


def of_squares(x: Any, axis: Any, keepdims: Any = False) -> Any:
    """The root of the sum of squares along axes."""
    squares = (x.conj() * x).real if x.dtype.kind == "c" else x * x
    return root_of_squares(squares.sum(axis=axis, keepdims=keepdims))


def largest(sizes: Any, axis: Any, keepdims: Any = False) -> Any:
    """The largest of numbers that are not negative; since NumPy 2.3 that of none is 0."""
    if NUMPY >= (2, 3) and sizes.shape[axis] == 0:
        return sizes.sum(axis=axis, keepdims=keepdims)
    return sizes.max(axis=axis, keepdims=keepdims)


def of_vectors(x: Any, ord: Any, axis: Any, keepdims: Any) -> Any:
    """The norms of the vectors along an axis."""
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    axis = normalize_axis_index(int(axis), x.ndim)
    if ord is None or ord == 2:
        return of_squares(x, axis, keepdims)
    if ord == 0:
        return (x != 0).astype(x.real.dtype).sum(axis=axis, keepdims=keepdims)
    sizes = np.abs(x)
    if ord == np.inf:
        return largest(sizes, axis, keepdims)
    if ord == -np.inf:
        return sizes.min(axis=axis, keepdims=keepdims)
    if ord == 1:
        return sizes.sum(axis=axis, keepdims=keepdims)
    total = (sizes**ord).sum(axis=axis, keepdims=keepdims)
    root = total ** np.reciprocal(ord, dtype=total.dtype)
    # The derivative at the zero vector is that of the constant 0, not infinity times 0.
    return np.where(total == 0, total.dtype.type(0), root)[()] if ord > 0 else root


def of_matrices(x: Any, ord: Any, row: Any, column: Any) -> Any:
    """The norms of the matrices along two axes."""
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord is None or ord in ("fro", "f"):
        return of_squares(x, (row, column))
    if ord in (2, -2, "nuc"):
        if x.shape[row] == 0 or x.shape[column] == 0:
            refuse("a norm of a matrix without elements")
        s = np.linalg.svd(np.moveaxis(x, (row, column), (-2, -1)), compute_uv=False)
        # Of equal ones the derivative is that of the first, or the last.
        return (s if ord == "nuc" else s[..., :1] if ord == 2 else s[..., -1:]).sum(axis=-1)
    if ord not in (1, -1, np.inf, -np.inf):
        raise ValueError("Invalid norm order for matrices.")
    inner, outer = (row, column) if ord in (1, -1) else (column, row)
    sums, outer = np.abs(x).sum(axis=inner), outer - (outer > inner)
    return largest(sums, outer) if ord > 0 else sums.min(axis=outer)


def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """The norms of the matrices on the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """The norm of all elements, or those along axes."""
    x = np.asarray(x)
    if axis is None:
        out, axes = norm(x.ravel(), ord, 0), tuple(range(x.ndim))
    elif type(axis) is tuple:
        axes = normalize_axis_tuple(axis, x.ndim)
        rest = [k for k in range(x.ndim) if k not in axes]
        rows = x.transpose((*axes, *rest)).reshape((-1, *[x.shape[k] for k in rest]))
        out = norm(rows, ord, 0)
    else:
        out, axes = norm(x, ord, axis), (axis % x.ndim,)
    shape = [1 if k in axes else n for k, n in enumerate(x.shape)]
    return out.reshape(shape) if keepdims else out


def cond(x: Any, p: Any = None) -> Any:
    """The ratio of the largest singular value and the least, or its inverse."""
    x = np.asarray(x)
    known = p is None or (isinstance(p, (int, float)) and p in (2, -2))
    if not known or x.ndim < 2 or x.dtype.kind not in "biufc":
        refuse("a condition number of other norms, or of no matrices")
    if x.shape[-1] == 0 or x.shape[-2] == 0:
        refuse("the condition number of a matrix without elements")
    if NUMPY >= (2, 5):
        require(np.isfinite(x).all())  # Of others there are no singular values, and no error.
    s = np.linalg.svd(x, compute_uv=False)
    first, last = s[..., 0], s[..., -1]
    ratio = last / first if p == -2 else first / last
    return np.where(np.isnan(ratio) & ~np.isnan(x).any(axis=(-2, -1)), np.inf, ratio)[()]


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    getattr(np.linalg, f.__name__): f for f in (norm, matrix_norm, vector_norm, cond)
}
