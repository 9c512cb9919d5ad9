"""Powers, chains, ranks and inverses of matrices, and linear systems of tensors."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import as_called, derived_as, refuse
from tracejit.frontend.prelude.products import product

__all__ = ["FUNCTIONS"]


def matrix_power(a: Any, n: Any) -> Any:
    """Square matrices multiplied with themselves, by repeated squaring."""
    a = np.asarray(a)
    if a.ndim < 2:
        text = f"{a.ndim}-dimensional array given. Array must be at least two-dimensional"
        raise np.linalg.LinAlgError(text)
    if a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    try:
        n = operator.index(n)
    except TypeError as e:
        raise TypeError("exponent must be an integer") from e
    if n == 0:
        out = np.empty_like(a)
        out[...] = np.eye(a.shape[-1], dtype=a.dtype)
        return out
    if n < 0:
        a, n = np.linalg.inv(a), -n
    return a @ a @ a if n == 3 else powered(a, n, None)


def powered(square: Any, n: Any, result: Any) -> Any:
    """`result @ square**n`, where `result` is None for a unit matrix."""
    if n % 2:
        result = square if result is None else result @ square
    return result if n < 2 else powered(square @ square, n // 2, result)


def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    if len(arrays) == 2:
        return np.dot(arrays[0], arrays[1], out=out)
    arrays = [np.asarray(x) for x in arrays]
    first, last = arrays[0].ndim == 1, arrays[-1].ndim == 1
    if first:
        arrays[0] = arrays[0].reshape(1, -1)
    if last:
        arrays[-1] = arrays[-1].reshape(-1, 1)
    for x in arrays:
        if x.ndim != 2:
            text = f"{x.ndim}-dimensional array given. Array must be two-dimensional"
            raise np.linalg.LinAlgError(text)
    sizes = [*[x.shape[0] for x in arrays], arrays[-1].shape[1]]
    result = chained(arrays, sizes, {}, 0, len(arrays) - 1, out)
    if first and last:
        return result[0, 0]
    return result.ravel() if first or last else result


def chained(arrays: Any, sizes: Any, known: Any, i: Any, j: Any, out: Any = None) -> Any:
    """The product of the matrices `i` to `j` of a chain."""
    if i == j:
        return arrays[i]
    k = cheapest(sizes, known, i, j)[1]
    left, right = chained(arrays, sizes, known, i, k), chained(arrays, sizes, known, k + 1, j)
    return np.dot(left, right, out=out)


def cheapest(sizes: Any, known: Any, i: Any, j: Any) -> Any:
    """How many multiplications the matrices `i` to `j` take, and the last of the left factor."""
    if i == j:
        return 0, i
    if (i, j) not in known:
        best: Any = None
        for k in range(i, j):
            parts = cheapest(sizes, known, i, k)[0] + cheapest(sizes, known, k + 1, j)[0]
            cost = parts + sizes[i] * sizes[k + 1] * sizes[j + 1]
            if best is None or cost < best[0]:
                best = cost, k
        known[i, j] = best
    return known[i, j]


def svdvals(x: Any, /) -> Any:
    """The singular values."""
    return np.linalg.svd(x, compute_uv=False)


def is_empty(a: Any) -> Any:
    """Whether matrices have no elements."""
    return a.shape[-1] == 0 or a.shape[-2] == 0


def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Any:
    """How many singular values are not about 0."""
    if tol is not None and rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    A = np.asarray(A)
    if A.ndim < 2:
        return int(not (A == 0).all())
    if is_empty(A):
        refuse("the rank of a matrix without elements")
    s = np.linalg.svd(A, compute_uv=False, hermitian=hermitian)
    if tol is not None:
        return np.count_nonzero(s > np.asarray(tol)[..., np.newaxis], axis=-1)
    if rtol is None:
        rtol = max(A.shape[-2:]) * np.finfo(s.dtype).eps
    else:
        rtol = np.asarray(rtol)[..., np.newaxis]
    return np.count_nonzero(s > s.max(axis=-1, keepdims=True) * rtol, axis=-1)


def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = np._NoValue) -> Any:
    """The pseudo-inverse by singular values."""
    a = np.asarray(a)
    if hermitian or a.ndim < 2 or a.dtype.kind not in "iufc":
        refuse("np.linalg.pinv with hermitian=")
    if rcond is not None and rtol is not np._NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if is_empty(a) or rtol is None:
        refuse("np.linalg.pinv with rtol=None, or without elements")
    limit = rtol if rtol is not np._NoValue else 1e-15 if rcond is None else rcond
    if type(limit) is not float:
        refuse("np.linalg.pinv with several limits")
    u, s, vt = np.linalg.svd(np.conjugate(a), full_matrices=False)
    large = s > limit * np.max(s, axis=-1, keepdims=True)
    s = np.where(large, 1 / np.where(large, s, 1), s.dtype.type(0))
    flat = np.swapaxes(u, -1, -2)
    value = np.matmul(np.swapaxes(vt, -1, -2), np.multiply(s[..., np.newaxis], flat))
    path = "tracejit.ops.host.derivatives.matrices:pseudo_inverse"
    return derived_as(value, as_called(path, a, limit))


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x of `tensordot(a, x, x.ndim) == b`."""
    a, b = np.asarray(a), np.asarray(b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.insert(a.ndim, k)
        a = a.transpose(order)
    shape = a.shape[-(a.ndim - b.ndim) :]
    n = product(shape)
    if a.size != n**2:
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return np.linalg.solve(a.reshape(n, n), b.ravel()).reshape(shape)


def tensorinv(a: Any, ind: Any = 2) -> Any:
    """The inverse of `a` as a map of tensors with the axes after `ind` to those before."""
    a = np.asarray(a)
    if not ind > 0:
        raise ValueError("Invalid ind argument.")
    before, after = a.shape[:ind], a.shape[ind:]
    return np.linalg.inv(a.reshape(product(after), -1)).reshape(*after, *before)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    getattr(np.linalg, f.__name__): f
    for f in (*(matrix_power, matrix_rank, multi_dot, pinv, svdvals, tensorinv, tensorsolve),)
}
