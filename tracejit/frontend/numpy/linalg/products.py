"""Matrix products and linear algebra of NumPy on tracers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.frontend.numpy.conversion import asarray, astype, fit_dims
from tracejit.frontend.numpy.creation import iota
from tracejit.frontend.numpy.memory_orders import in_c_order, in_order, of_unknown_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import handles, only
from tracejit.frontend.numpy.shape import permuted, ravel, reshaped, reversed_axes, swapaxes
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.layout import broadcast_order, is_c_contiguous
from tracejit.frontend.tracing.symint import as_dim
from tracejit.frontend.tracing.tracer import Storage, TracedArray, broadcast_dims, here
from tracejit.ir.dims import Dim, prod

__all__ = [
    "diagonal_view",
    "from_zero",
    "in_stack_order",
    "inexact",
    "matrix_product",
    "scalar",
    "square",
]


def scalar(x: Any) -> Any:
    """A 0-d result as NumPy gives it: a scalar."""
    return x[()] if isinstance(x, TracedArray) and not x.ndim else x


#: The longest inner axis of stacked products that kernels compute.
_SMALL = 8


def from_zero(x: Any) -> Any:
    """Products and sums as NumPy adds them to zeros: none is -0.0."""
    return elementwise(np.add, (x, x.dtype.type(0))) if x.dtype.kind in "fc" else x


def _stack_like(x: TracedArray, stack: tuple[Dim, ...], tail: tuple[Dim, ...]) -> TracedArray:
    """`x` with its stack axes written as in `stack` and its last axes as in `tail`."""
    env = here().env
    own = x.type.shape[: x.ndim - len(tail)]
    lead = stack[len(stack) - len(own) :]
    new = tuple(
        d if d in (1, s) else (1 if env.is_one(d) else s) for d, s in zip(own, lead, strict=True)
    )
    return fit_dims(x, (*new, *tail))


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


@handles(np.matmul, np.linalg.matmul)
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
    return scalar(matrix_product(a, b))


@handles(np.dot)
@accepts_out("np.dot", dense=True)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Products of numbers or vectors, or over the last axis of `a` and the last but one of `b`."""
    x, y = _common(a, b)
    if not x.ndim or not y.ndim:
        return _multiple(x, y)
    _same_inner(x, y, x.ndim - 1, max(y.ndim - 2, 0))
    if (scaled := _scaled(x, y)) is not None:
        return scalar(scaled)
    if x.ndim <= 2 and y.ndim <= 2 or y.ndim == 1:
        return scalar(matrix_product(x, y, "dot"))
    return _contract(x, y, [x.ndim - 1], [y.ndim - 2])


def _multiple(x: TracedArray, y: TracedArray) -> Any:
    """The product with a number: in C order where BLAS computes it, else in that of the operand."""
    scaled = _scaled(x, y)
    out = elementwise(np.multiply, (x, y)) if scaled is None else scaled
    if not isinstance(out, TracedArray) or not out.ndim:
        return scalar(out)
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


def _contract(
    x: TracedArray, y: TracedArray, i: Sequence[int], j: Sequence[int], by_dot: bool = False
) -> TracedArray:
    """The product summed over the axes `i` of `x` and `j` of `y`; the others of both remain.

    NumPy's is that of two matrices, or with `by_dot` what np.dot makes of these.
    """
    left = [k for k in range(x.ndim) if k not in i]
    right = [k for k in range(y.ndim) if k not in j]
    rows = tuple(x.type.shape[k] for k in left)
    inner = tuple(x.type.shape[k] for k in i)
    columns = tuple(y.type.shape[k] for k in right)
    alone = not left and not right and not (by_dot and all(map(here().env.is_one, inner)))
    if alone and x.dtype.kind in "fc" and x.dtype.char != "e":
        # A kernel reads them where they lie.
        both = elementwise(np.multiply, (permuted(x, i), fit_dims(permuted(y, j), inner)))
        return asarray(from_zero(np.sum(both)))
    a = reshaped(permuted(x, (*left, *i)), (prod(rows), prod(inner)))
    y = permuted(y, (*j, *right))
    b = reshaped(fit_dims(y, (*inner, *columns)), (prod(inner), prod(columns)))
    scaled = _scaled(a, b) if by_dot else None
    product = matrix_product(a, b) if scaled is None else scaled
    return reshaped(product, (*rows, *columns))


@handles(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """Products summed over the last axes."""
    x, y = _common(a, b)
    if not x.ndim or not y.ndim:
        return _multiple(x, y)
    _same_inner(x, y, x.ndim - 1, y.ndim - 1)
    if y.ndim == 1:
        return dot(x, y)
    if (scaled := _scaled(x, reversed_axes(y))) is not None:
        return scaled
    return _contract(x, y, [x.ndim - 1], [y.ndim - 1])


@handles(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """The product of all elements of conj(a) and b, summed."""
    arrays = (asarray(v) for v in (a, b))
    x, y = _common(*(v if v.ndim == 1 else ravel(v) for v in arrays))
    if not here().env.expect(x.type.shape[0], "==", y.type.shape[0]):
        raise ValueError("cannot reshape array of one size into another")
    return _sum_of_conjugated(x, y) if x.dtype.kind == "c" else scalar(matrix_product(x, y))


def _sum_of_conjugated(x: TracedArray, y: TracedArray) -> Any:
    """conj(x) * y summed over the last axis: as they are read, the conjugate is no array."""
    left = elementwise(np.conjugate, (x,)) if x.dtype.kind == "c" else x
    products = elementwise(np.multiply, (left, y))
    return from_zero(np.sum(products, axis=-1))


@handles(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of one vector and one of another."""
    x, y = asarray(x1), asarray(x2)
    if x.ndim != 1 or y.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x.ndim=}, {y.ndim=}")
    return outer(x, y)


@handles(np.outer)
@accepts_out("np.outer", "same_kind")
def outer(a: Any, b: Any, out: Any = None) -> Any:
    """All products of an element of `a` and one of `b`."""
    x, y = ravel(a), ravel(b)
    return elementwise(np.multiply, (x[:, None], y[None, :]))


@handles(np.tensordot, np.linalg.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Products summed over pairs of axes."""
    x, y = _common(a, b)
    if isinstance(axes, (tuple, list)):
        i, j = axes
        i = list(i) if isinstance(i, (tuple, list)) else [i]
        j = list(j) if isinstance(j, (tuple, list)) else [j]
    else:
        i, j = list(range(-axes, 0)), list(range(axes))
    i = [k + x.ndim if k < 0 else k for k in i]
    j = [k + y.ndim if k < 0 else k for k in j]
    if len(i) != len(j) or any(k >= x.ndim for k in i) or any(k >= y.ndim for k in j):
        raise ValueError("shape-mismatch for sum")
    env = here().env
    for p, q in zip(i, j, strict=True):
        if not env.expect(x.type.shape[p], "==", y.type.shape[q]):
            raise ValueError("shape-mismatch for sum")
    return _contract(x, y, i, j, by_dot=True)


@handles(np.kron)
def kron(a: Any, b: Any) -> Any:
    """The Kronecker product."""
    x, y = asarray(a), asarray(b)
    ndim = max(x.ndim, y.ndim)
    if not ndim:
        return scalar(elementwise(np.multiply, (x, y)))
    xs = (1,) * (ndim - x.ndim) + x.type.shape
    ys = (1,) * (ndim - y.ndim) + y.type.shape
    left = reshaped(x, tuple(d for n in xs for d in (n, 1)))
    right = reshaped(y, tuple(d for n in ys for d in (1, n)))
    both = asarray(elementwise(np.multiply, (left, right)))
    return reshaped(both, tuple(p * q for p, q in zip(xs, ys, strict=True)))


def square(x: TracedArray, name: str) -> TracedArray:
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
    x = square(x, "solve")
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
    (x,) = inexact(square(asarray(a), "inv"))
    return in_stack_order(_in_double("inv", x), x)


@handles(np.linalg.cholesky)
def cholesky(a: Any, /, *, upper: Any = False) -> Any:
    """The Cholesky factor; its derivative is that of the factor of (A + A^H) / 2."""
    (x,) = inexact(square(asarray(a), "cholesky"))
    return in_stack_order(_in_double("cholesky", x, upper=bool(upper)), x)


@handles(np.linalg.matrix_transpose)
def matrix_transpose(x: Any, /) -> Any:
    """The last two axes swapped."""
    return swapaxes(x, -1, -2)


@handles(np.vecdot, np.linalg.vecdot)
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
        return scalar(matrix_product(x, y, "vecdot"))
    else:
        out = matrix_product(x[..., None, :], y[..., :, None])[..., 0, 0]
    return in_stack_order(out, x, y, own=1) if rows else scalar(out)


def _axis_last(axis: Any, ndim: int) -> tuple[int, ...]:
    k = normalize_axis_index(axis, ndim)
    return (*(j for j in range(ndim) if j != k), k)


@handles(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Any:
    """The sums along the diagonals of the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@handles(np.trace)
@accepts_out("np.trace")
def trace(
    a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum along a diagonal."""
    return np.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


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


@handles(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Any:
    """The elements along a diagonal of the last two axes."""
    return diagonal(x, offset, -2, -1)
