"""Products of stacks of matrices and vectors, and linear systems of tensors, on tracers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.numpy.conversion import asarray, astype
from tracejit.frontend.numpy.linalg.products import inv, matrix_product, solve
from tracejit.frontend.numpy.registry import handles, only
from tracejit.frontend.numpy.shape import permuted, ravel, reshaped
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.tracer import TracedArray, here
from tracejit.ir.dims import prod

__all__: list[str] = []


def _operands(name: str, x1: Any, x2: Any, least: tuple[int, int]) -> list[TracedArray]:
    """Both as arrays of one dtype. Raises ValueError where one has too few axes."""
    arrays = [asarray(x1), asarray(x2)]
    for k, (x, n) in enumerate(zip(arrays, least, strict=True)):
        if x.ndim < n:
            raise ValueError(f"{name}: Input operand {k} does not have enough dimensions")
    dtype = np.result_type(*(x.dtype for x in arrays))
    return [astype(x, dtype) for x in arrays]


def matvec(x1: Any, x2: Any, /, **kwargs: Any) -> Any:
    """Matrices times vectors, both in stacks."""
    only("np.matvec", **kwargs)
    a, v = _operands("matvec", x1, x2, (2, 1))
    if v.ndim == 1:
        return matrix_product(a, v, "matvec")
    return matrix_product(a, v[..., None], "matvec")[..., 0]


def vecmat(x1: Any, x2: Any, /, **kwargs: Any) -> Any:
    """The conjugates of vectors times matrices, both in stacks."""
    only("np.vecmat", **kwargs)
    v, a = _operands("vecmat", x1, x2, (1, 2))
    if v.dtype.kind == "c":
        v = asarray(elementwise(np.conjugate, (v,)))
    return matrix_product(v[..., None, :], a, "vecmat")[..., 0, :]


if hasattr(np, "matvec"):
    handles(np.matvec)(matvec)
    handles(np.vecmat)(vecmat)


@handles(np.linalg.tensorsolve)
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The x of `tensordot(a, x, x.ndim) == b`."""
    x, y = asarray(a), asarray(b)
    if axes is not None:
        order = list(range(x.ndim))
        for k in axes:
            order.remove(k)
            order.insert(x.ndim, k)
        x = permuted(x, order)
    shape = x.type.shape[-(x.ndim - y.ndim) :]
    n = prod(shape)
    if not here().env.expect(x.type.size, "==", n * n):
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    found = solve(reshaped(x, (n, n)), ravel(y))
    return reshaped(found, shape)


@handles(np.linalg.tensorinv)
def tensorinv(a: Any, ind: Any = 2) -> Any:
    """The inverse of `a` as a map of tensors with the axes after `ind` to those before."""
    x = asarray(a)
    if not ind > 0:
        raise ValueError("Invalid ind argument.")
    if not x.ndim:
        raise TypeError("an array without axes is no map of tensors")
    shape = x.type.shape
    rows = prod(shape[ind:])
    whole = reshaped(x, (rows, prod(shape[:ind])))
    return reshaped(asarray(inv(whole)), (*shape[ind:], *shape[:ind]))
