"""Norms of vectors and matrices on tracers, by NumPy's formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.linalg.products import matrix_product, scalar
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.selection import where
from tracejit.frontend.numpy.shape import permuted, ravel
from tracejit.frontend.numpy.ufuncs import elementwise, root_of_squares
from tracejit.frontend.tracing.layout import broadcast_order
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line

__all__: list[str] = []


def _require_ints(axes: tuple[Any, ...]) -> None:
    """Raise TraceError for an axis that NumPy would take as an int though it is none."""
    if not all(isinstance(k, (int, np.integer)) for k in axes):
        raise TraceError("TJ004", f"a norm along axes {axes}", user_line())


@handles(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Norms of vectors and matrices that need no singular values."""
    v = asarray(x)
    if v.dtype.kind not in "fc":
        v = astype(v, np.dtype(np.float64))
    keep = bool(keepdims)
    euclidean = ord is None or (ord in ("f", "fro") and v.ndim == 2) or (ord == 2 and v.ndim == 1)
    if axis is None and euclidean:
        # The order of the sum is that of the memory, where it is known, as it is in NumPy.
        order = broadcast_order([v], v.ndim) or range(v.ndim)
        flat = v if v.ndim == 1 else ravel(permuted(v, order))
        parts = (flat.real, flat.imag) if v.dtype.kind == "c" else (flat,)
        squares = [scalar(matrix_product(p, p)) for p in parts]
        total = squares[0] if len(squares) == 1 else squares[0] + squares[1]
        root = root_of_squares(total)
        return asarray(root).reshape((1,) * v.ndim) if keep else root
    axes = tuple(range(v.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    _require_ints(axes)
    axes = tuple(normalize_axis_index(k, v.ndim) for k in axes)
    if len(axes) == 1:
        return _vector_norm(v, ord, axes[0], keep)
    if len(axes) == 2:
        return _matrix_norm(v, ord, axes[0], axes[1], keep)
    raise ValueError("Improper number of dimensions to norm.")


def _real_part(x: Any) -> Any:
    return x.real if x.dtype.kind == "c" else x


def _vector_norm(x: TracedArray, ord: Any, axis: int, keep: bool) -> Any:
    size: Any = elementwise(np.absolute, (x,))
    how = {"axis": axis, "keepdims": keep}
    if ord == np.inf:
        return size.max(**how) if _some(x, axis) else size.sum(**how)
    if ord == -np.inf:
        return size.min(**how)
    if ord is None or ord == 2:
        square = _real_part(elementwise(np.multiply, (elementwise(np.conjugate, (x,)), x)))
        return root_of_squares(square.sum(**how))
    if ord == 1:
        return size.sum(**how)
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if not isinstance(ord, (int, float)):
        raise TraceError("TJ004", "np.linalg.norm with a traced order", user_line())
    if ord == 0:
        return elementwise(np.not_equal, (x, 0)).astype(size.dtype).sum(**how)  # type: ignore[attr-defined]
    total = elementwise(np.power, (size, ord)).sum(**how)  # type: ignore[attr-defined]
    root = elementwise(np.power, (total, np.reciprocal(ord, dtype=total.dtype)))
    if ord < 0:
        return root
    # The derivative at the zero vector is that of the constant 0, not infinity times 0.
    zero = elementwise(np.equal, (total, 0))
    return scalar(where(zero, total.dtype.type(0), root))


def _some(x: TracedArray, axis: int) -> bool:
    return here().env.expect(0, "<", x.type.shape[axis])


def _matrix_norm(x: TracedArray, ord: Any, row: int, column: int, keep: bool) -> Any:
    if row == column:
        raise ValueError("Duplicate axes given.")
    if ord in (None, "fro", "f"):
        square = _real_part(elementwise(np.multiply, (elementwise(np.conjugate, (x,)), x)))
        return root_of_squares(square.sum(axis=(row, column), keepdims=keep))
    if ord not in (1, -1, np.inf, -np.inf):
        if ord in (2, -2, "nuc"):
            raise TraceError("TJ004", f"np.linalg.norm with ord={ord!r}", user_line())
        raise ValueError("Invalid norm order for matrices.")
    inner, outer = (row, column) if ord in (1, -1) else (column, row)
    sums: Any = elementwise(np.absolute, (x,))
    sums = sums.sum(axis=inner, keepdims=True)
    if ord > 0 and not _some(x, outer):
        out = sums.sum(axis=outer, keepdims=True)
    else:
        out = (sums.max if ord > 0 else sums.min)(axis=outer, keepdims=True)
    return out if keep else scalar(np.squeeze(out, axis=(row, column)))


@handles(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: Any = False, ord: Any = "fro") -> Any:
    """Norms of the matrices on the last two axes."""
    return norm(x, ord, (-2, -1), keepdims)


@handles(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    """Norms of vectors: all elements, or those along axes."""
    v = asarray(x)
    if axis is not None:
        _require_ints(axis if isinstance(axis, tuple) else (axis,))
    axes = normalize_axis_tuple(range(v.ndim) if axis is None else axis, v.ndim)
    rest = [k for k in range(v.ndim) if k not in axes]
    row = v
    if axis is None:
        row = ravel(v)
    elif isinstance(axis, tuple):
        row = permuted(v, (*axes, *rest)).reshape((-1, *(v.shape[k] for k in rest)))
    out = norm(row, ord, 0 if axis is None or isinstance(axis, tuple) else axis)
    if not keepdims:
        return out
    return asarray(out).reshape(tuple(1 if k in axes else d for k, d in enumerate(v.shape)))
