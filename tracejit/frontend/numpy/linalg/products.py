"""Matrix products and linear algebra of NumPy on tracers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.frontend.numpy.conversion import asarray, astype, fit_dims
from tracejit.frontend.numpy.creation import iota
from tracejit.frontend.numpy.memory_orders import in_c_order, in_order, of_unknown_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import handles, only
from tracejit.frontend.numpy.selection import as_scalar
from tracejit.frontend.numpy.shape import permuted, ravel, reshaped
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.memory.layout import broadcast_order, is_c_contiguous
from tracejit.frontend.tracing.symint import as_dim
from tracejit.frontend.tracing.tracer import Storage, TracedArray, broadcast_dims, dims_as, here
from tracejit.ir.dims import Dim, prod

__all__ = [
    "diagonal_view",
    "from_zero",
    "in_stack_order",
    "inexact",
    "matrix_product",
    "square",
]


#: The longest inner axis of stacked products that kernels compute.
_SMALL = 8


def from_zero(x: Any) -> Any:
    """Products and sums as NumPy adds them to zeros: none is -0.0."""
    return elementwise(np.add, (x, x.dtype.type(0))) if x.dtype.kind in "fc" else x


def _stack_like(x: TracedArray, stack: tuple[Dim, ...], tail: tuple[Dim, ...]) -> TracedArray:
    """`x` with its stack axes written as in `stack` and its last axes as in `tail`."""
    own = x.type.shape[: x.ndim - len(tail)]
    return fit_dims(x, (*dims_as(own, stack[len(stack) - len(own) :]), *tail))


def matrix_product(a: TracedArray, b: TracedArray, name: str = "matmul") -> TracedArray:
    """`a @ b` of arrays with axes, of one dtype. Raises ValueError where the sizes do not fit."""
    trace = here()
    axis = 0 if b.ndim == 1 else b.ndim - 2
    inner, other = a.type.shape[-1], b.type.shape[axis]
    if not trace.env.expect(inner, "==", other):
        raise ValueError(
            f"{name}: Input operand 1 has a mismatch in its core dimension 0 "
            f"(size {other} is different from {inner})"
        )
    apart = a.ndim == b.ndim == 1 and not (is_c_contiguous(a) and is_c_contiguous(b))
    if apart and a.dtype.kind == "f" and a.dtype.char != "e":
        # What has gaps a kernel reads as soon as a library does, and does not copy.
        products = elementwise(np.multiply, (a, fit_dims(b, a.type.shape)))
        return asarray(from_zero(np.sum(products)))
    stack = broadcast_dims([a.type.shape[:-2], b.type.shape[:-2]])
    a = _stack_like(a, stack, a.type.shape[-2:])
    tail = (inner,) if b.ndim == 1 else (inner, b.type.shape[-1])
    b = _stack_like(b, stack, tail)
    # A stack times one matrix is one product.
    if a.ndim > 1 and b.ndim > 2 and isinstance(inner, int) and 0 < inner <= _SMALL:
        return in_stack_order(_sum_of_products(a, b, inner), a, b)
    return in_stack_order(_made("matmul", a, b), a, b)


def _made(op: str, *operands: TracedArray, **attrs: Any) -> TracedArray:
    """The result of an op that is always laid out as its type says."""
    trace = here()
    value = trace.emit(op, [x.value() for x in operands], **attrs)
    trace.unordered.discard(value)
    return TracedArray(trace, Storage(trace, value))


def in_stack_order(out: TracedArray, *operands: TracedArray, own: int = 2) -> TracedArray:
    """`out`, computed matrix by matrix, as NumPy lays it out.

    The stack axes lie as those of the operands do, each of which has `own` axes behind them; then
    come the axes of the results in C order.
    """
    axes = [min(own, x.ndim) for x in operands]
    stack = max(x.ndim - n for x, n in zip(operands, axes, strict=True))
    order = broadcast_order(operands, stack, axes) if stack > 1 else tuple(range(stack))
    if order is None:
        return of_unknown_order(out)
    return in_order(out, (*order, *range(stack, out.ndim)))


def _sum_of_products(a: TracedArray, b: TracedArray, inner: int) -> TracedArray:
    """A stack of matrix products with a short inner axis, by arithmetic of elements: kernels do
    without a call for each matrix. The products are added from left to right.
    """
    out: Any = None
    for k in range(inner):
        column, row = a[..., :, k : k + 1], b[..., k : k + 1, :]
        product = elementwise(np.multiply, (column, row))
        out = product if out is None else elementwise(np.add, (out, product))
    return asarray(from_zero(out) if a.dtype.kind == "f" else out)


def _common(*xs: Any) -> list[TracedArray]:
    """Operands as arrays of their common dtype."""
    arrays = [asarray(x) for x in xs]
    dtype = np.result_type(*(x.dtype for x in arrays))
    return [astype(x, dtype) for x in arrays]


@handles(np.matmul)
def matmul(x1: Any, x2: Any, /, **kwargs: Any) -> Any:
    """The matrix product; scalars where both are vectors."""
    only("np.matmul", **kwargs)
    a, b = _common(x1, x2)
    for k, x in enumerate((a, b)):
        if not x.ndim:
            raise ValueError(
                f"matmul: Input operand {k} does not have enough dimensions (has 0, gufunc core "
                "with signature (n?,k),(k,m?)->(n?,m?) requires 1)"
            )
    return as_scalar(matrix_product(a, b))


@handles(np.dot)
@accepts_out("np.dot", dense=True)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Products of numbers or vectors, or over the last axis of `a` and the last but one of `b`."""
    x, y = _common(a, b)
    if not x.ndim or not y.ndim:
        return _multiple(x, y)
    _same_inner(x, y, x.ndim - 1, max(y.ndim - 2, 0))
    if (scaled := _scaled(x, y)) is not None:
        return as_scalar(scaled)
    if x.ndim <= 2 and y.ndim <= 2 or y.ndim == 1:
        return as_scalar(matrix_product(x, y, "dot"))
    return _contract(x, y)


def _multiple(x: TracedArray, y: TracedArray) -> Any:
    """The product with a number: in C order where BLAS computes it, else in that of the operand."""
    scaled = _scaled(x, y)
    out = elementwise(np.multiply, (x, y)) if scaled is None else scaled
    if not isinstance(out, TracedArray) or not out.ndim:
        return as_scalar(out)
    by_blas = out.dtype.char in "fdFD" and out.ndim <= 2
    return in_c_order(out) if by_blas else out


def _scaled(x: TracedArray, y: TracedArray) -> TracedArray | None:
    """np.dot with an operand of one element: the other one that many times, which BLAS adds to
    zeros without a look at it for a factor of 0. None where NumPy does otherwise.
    """
    if x.ndim > 2 or y.ndim > 2 or x.dtype.char not in "fdFD":
        return None
    is_one = here().env.is_one
    ones = [all(map(is_one, v.type.shape)) for v in (x, y)]
    if not any(ones):
        return None
    one, other = (x, y) if ones[0] and (x.ndim <= y.ndim or not ones[1]) else (y, x)
    factor = ravel(one)[0]
    if all(ones):
        out = asarray(elementwise(np.multiply, (factor, other)))
    else:
        skipped = np.logical_and(np.equal(factor, 0), np.logical_not(np.isfinite(other)))
        seen: Any = np.where(skipped, other.dtype.type(0), other)
        out = asarray(from_zero(elementwise(np.multiply, (factor, seen))))
    if x.ndim and y.ndim:
        out = reshaped(out, (*x.type.shape[:-1], *y.type.shape[:-2], *y.type.shape[1:][-1:]))
    return out


def _same_inner(x: TracedArray, y: TracedArray, i: int, j: int) -> None:
    m, n = x.type.shape[i], y.type.shape[j]
    if not here().env.expect(m, "==", n):
        raise ValueError(f"shapes {x.type.shape} and {y.type.shape} not aligned: {m} != {n}")


def _contract(x: TracedArray, y: TracedArray) -> TracedArray:
    """The product summed over the last axis of `x` and the last but one of `y`."""
    *rows, inner = x.type.shape
    columns = (*y.type.shape[:-2], y.type.shape[-1])
    y = permuted(y, (y.ndim - 2, *range(y.ndim - 2), y.ndim - 1))
    a, b = reshaped(x, (prod(rows), inner)), fit_dims(y, (inner, *columns))
    product = matrix_product(a, reshaped(b, (inner, prod(columns))))
    return reshaped(product, (*rows, *columns))


def _sum_of_conjugated(x: TracedArray, y: TracedArray) -> Any:
    """conj(x) * y summed over the last axis: as they are read, the conjugate is no array."""
    left = elementwise(np.conjugate, (x,)) if x.dtype.kind == "c" else x
    products = elementwise(np.multiply, (left, y))
    return from_zero(np.sum(products, axis=-1))


def square(x: TracedArray) -> TracedArray:
    """`x` as a stack of square matrices of a float dtype. Raises LinAlgError as NumPy does."""
    if x.ndim < 2:
        raise np.linalg.LinAlgError(
            f"{x.ndim}-dimensional array given. Array must be at least two-dimensional"
        )
    if not here().env.expect(x.type.shape[-1], "==", x.type.shape[-2]):
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    return fit_dims(x, (*x.type.shape[:-1], x.type.shape[-2]))


def inexact(*arrays: TracedArray) -> list[TracedArray]:
    """Operands in the dtype linalg computes in: float64 for integers. Raises TypeError for f16."""
    for x in arrays:
        if x.dtype == np.float16:
            raise TypeError("array type float16 is unsupported in linalg")
    dtype = np.result_type(
        *(x.dtype if x.dtype.kind in "fc" else np.dtype(np.float64) for x in arrays)
    )
    return [astype(x, dtype) for x in arrays]


def _in_double(name: str, *operands: TracedArray, **attrs: Any) -> TracedArray:
    """What an op gives in double precision, cast back: linalg computes in no other."""
    dtype = operands[0].dtype
    wide = np.promote_types(dtype, np.float64)
    return astype(_made(name, *(astype(x, wide) for x in operands), **attrs), dtype)


@handles(np.linalg.solve)
def solve(a: Any, b: Any) -> Any:
    """The solution of linear equations."""
    x, y = asarray(a), asarray(b)
    x = square(x)
    x, y = inexact(x, y)
    trace = here()
    if not y.ndim:
        raise ValueError("solve: the right side has no axes")
    vector = y.ndim == 1
    n = x.type.shape[-1]
    rows = y.type.shape[-1 if vector else -2]
    if not trace.env.expect(rows, "==", n):
        raise ValueError(
            "solve: Input operand 1 has a mismatch in its core dimension 0 "
            f"(size {rows} is different from {n})"
        )
    if vector:
        y = fit_dims(y, (n,))
    else:
        stack = broadcast_dims([x.type.shape[:-2], y.type.shape[:-2]])
        x = _stack_like(x, stack, (n, n))
        y = _stack_like(y, stack, (n, y.type.shape[-1]))
    out = _in_double("solve", x, y, vector=vector)
    return in_stack_order(out, *((x,) if vector else (x, y)))


@handles(np.linalg.inv)
def inv(a: Any) -> Any:
    """The inverse."""
    (x,) = inexact(square(asarray(a)))
    return in_stack_order(_in_double("inv", x), x)


@handles(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: Any = False) -> Any:
    """The Cholesky factor; its derivative is that of the factor of (A + A^H) / 2."""
    (x,) = inexact(square(asarray(a)))
    return in_stack_order(_in_double("cholesky", x, upper=bool(upper)), x)


@handles(np.vecdot)
def vecdot(x1: Any, x2: Any, /, *, axis: Any = -1, **kwargs: Any) -> Any:
    """conj(x1) times x2, summed over the last axes."""
    only("np.vecdot", **kwargs)
    x, y = _common(x1, x2)
    if not x.ndim or not y.ndim:
        raise ValueError("vecdot: an operand does not have enough dimensions")
    if axis != -1:
        x, y = (permuted(v, _axis_last(axis, v.ndim)) for v in (x, y))
    _same_inner(x, y, x.ndim - 1, y.ndim - 1)
    rows = x.ndim > 1 or y.ndim > 1
    if x.dtype.kind == "c" or rows and x.dtype.kind == "f" and x.dtype.char != "e":
        out = _sum_of_conjugated(x, y)
    elif not rows:
        return as_scalar(matrix_product(x, y, "vecdot"))
    else:
        out = matrix_product(x[..., None, :], y[..., :, None])[..., 0, 0]
    return in_stack_order(out, x, y, own=1) if rows else as_scalar(out)


def _operands(name: str, x1: Any, x2: Any, least: tuple[int, int]) -> list[TracedArray]:
    """Both as arrays of one dtype. Raises ValueError where one has too few axes."""
    arrays = _common(x1, x2)
    for k, (x, n) in enumerate(zip(arrays, least, strict=True)):
        if x.ndim < n:
            raise ValueError(f"{name}: Input operand {k} does not have enough dimensions")
    return arrays


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


def _axis_last(axis: Any, ndim: int) -> tuple[int, ...]:
    k = normalize_axis_index(axis, ndim)
    return (*(j for j in range(ndim) if j != k), k)


@handles(np.diagonal)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """The elements along a diagonal, as the last axis: a view that cannot be stored into."""
    return diagonal_view(a, offset, axis1, axis2, False)


def diagonal_view(a: Any, offset: Any, axis1: Any, axis2: Any, writeable: bool) -> Any:
    """The elements along a diagonal, as the last axis."""
    x = asarray(a)
    if x.ndim < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    i, j = normalize_axis_index(axis1, x.ndim), normalize_axis_index(axis2, x.ndim)
    if i == j:
        raise ValueError("axis1 and axis2 cannot be the same")
    rest = [k for k in range(x.ndim) if k not in (i, j)]
    x = permuted(x, (i, j, *rest))
    offset = int(offset) if isinstance(offset, np.integer) else offset
    env = here().env
    rows, columns = x.type.shape[:2]
    first, second = (0, offset) if offset >= 0 else (-offset, 0)
    left, right = rows - first, columns - second
    none = env.decide(left, "<=", 0) or env.decide(right, "<=", 0)
    size: Dim = 0 if none else env.minimum(left, right)
    k = iota(size)
    places = [elementwise(np.add, (k, first)).value(), elementwise(np.add, (k, second)).value()]
    corner = as_dim(first), as_dim(second)
    picked = x.view("gather", *places, writeable=writeable, corner=corner)
    return permuted(picked, (*range(1, picked.ndim), 0))
