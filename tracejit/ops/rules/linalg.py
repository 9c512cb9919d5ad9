"""Derivative rules of products, and the matrices that rules of linear algebra are made of."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.dims import prod
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Type, dtype_of, shape_of

__all__ = [
    "MatMulBothRules",
    "MatMulRules",
    "adjoint",
    "columns",
    "hermitian",
    "matrix_sum",
    "on_diagonal",
    "per_element",
    "product",
    "triangle",
    "turned_inverse",
]


# Matrices ----------------------------------------------------------------------------------------


def adjoint(c: DerivativeBuilder, v: Value) -> Value:
    """The conjugate transposes of a stack of matrices."""
    return c.conj(c.swapped(v))


def columns(c: DerivativeBuilder, v: Value) -> Value:
    """Vectors (the last axis) as matrices of one column."""
    return c.reshape(v, (*shape_of(v.type), 1))


def product(c: DerivativeBuilder, *factors: Value) -> Value:
    """The matrix product of all factors, from left to right."""
    out = factors[0]
    for factor in factors[1:]:
        out = c.matmul(out, factor)
    return out


def outer(c: DerivativeBuilder, a: Value, b: Value) -> Value:
    """All products of an element of the vector `a` and one of `b`."""
    (m,), (n,) = shape_of(a.type), shape_of(b.type)
    whole = ArrayType(dtype_of(a.type), (m, n))
    return c.mul(c.shaped(columns(c, a), whole), c.shaped(b, whole))


def matrix_sum(c: DerivativeBuilder, v: Value, count: int) -> Value:
    """The sum over the last `count` axes."""
    ndim = len(shape_of(v.type))
    return c.sum(v, range(ndim - count, ndim))


def _places(c: DerivativeBuilder, like: Type, axis: int) -> Value:
    """The index along an axis counted from the end, in the shape of an array."""
    shape = shape_of(like)
    numbers = c.op("iota", size=shape[axis], dtype="i64")
    if axis == -2:
        numbers = columns(c, numbers)
    return c.op("broadcast_to", numbers, shape=shape)


def triangle(c: DerivativeBuilder, v: Value, diagonal: float, upper: bool = False) -> Value:
    """The lower or upper triangle of each matrix, its diagonal times a factor, zeros elsewhere."""
    row, column = _places(c, v.type, -2), _places(c, v.type, -1)
    inside = c.where(c.compare("less" if upper else "greater", row, column), v, 0)
    if not diagonal:
        return inside
    middle = v if diagonal == 1 else c.scale(v, diagonal)
    return c.where(c.compare("equal", row, column), middle, inside)


def on_diagonal(c: DerivativeBuilder, v: Value) -> Value:
    """The matrices with zeros off their diagonals."""
    return c.where(c.compare("equal", _places(c, v.type, -2), _places(c, v.type, -1)), v, 0)


# Products ----------------------------------------------------------------------------------------


class MatMulRules:
    """d(a b) = da b + a db; the cotangents of the stacks that were broadcast add up."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """Two products."""
        ta, tb = tangents
        left = None if ta is None else c.matmul(ta, at.x(1))
        right = None if tb is None else c.matmul(at.x(0), tb)
        if left is None or right is None:
            return (left if right is None else right,)
        return (c.add(left, right),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Two products with transposes; one for a product with the transpose of an operand.

        a a.T has the cotangent (g + g.T) a, all of it by a, and a.T a has a (g + g.T).
        """
        (g,) = cotangents
        if g is None:
            return None, None
        if all(at.wanted) and at.is_transposed(1, of=0):
            return c.matmul(c.add(g, c.swapped(g)), at.x(0)), None
        if all(at.wanted) and at.is_transposed(0, of=1):
            return None, c.matmul(at.x(1), c.add(g, c.swapped(g)))
        a, b = at.inputs
        assert isinstance(a, ArrayType) and isinstance(b, ArrayType)
        left = _left_cotangent(c, *_factor_moved(c, at, g, 1), a) if at.wanted[0] else None
        right = _right_cotangent(c, *_factor_moved(c, at, g, 0)[::-1], b) if at.wanted[1] else None
        return left, right


def _factor_moved(c: DerivativeBuilder, at: NodeAdaptor, g: Value, k: int) -> tuple[Value, Value]:
    """The cotangent and operand k; where that is a number times a matrix, the cotangent, a vector,
    times the number, and the matrix, which need not be stored times the number.
    """
    if len(shape_of(g.type)) >= len(shape_of(at.inputs[k])):
        return g, at.x(k)
    factor, matrix = at.without_factor(k)
    return (g if factor is None else c.mul_no_nan(g, factor)), matrix


def _left_cotangent(c: DerivativeBuilder, g: Value, b: Value, a: ArrayType) -> Value:
    """g @ b.T, for an operand of type `a`."""
    ndim = len(shape_of(b.type))
    if a.ndim == 1 and ndim == 1:
        return c.mul(c.shaped(g, a), b)
    if a.ndim == 1 and ndim == 2:
        return c.matmul(b, g)
    if a.ndim == 1:
        # Vector times stack: the cotangent of each is a combination of columns.
        vectors = c.matmul(b, columns(c, g))
        return c.sum_to(c.reshape(vectors, shape_of(vectors.type)[:-1]), a)
    if ndim == 1:
        whole = ArrayType(a.dtype, (*shape_of(g.type), a.shape[-1]))
        return c.sum_to(c.mul(c.shaped(columns(c, g), whole), c.shaped(b, whole)), a)
    if a.ndim == 2 and ndim > 2:
        return _laid_out(c, _beside(c, g), c.swapped(_beside(c, b)), a)
    return c.sum_to(_laid_out(c, g, c.swapped(b), a), a)


def _right_cotangent(c: DerivativeBuilder, a: Value, g: Value, b: ArrayType) -> Value:
    """a.T @ g, for an operand of type `b`."""
    ndim = len(shape_of(a.type))
    if ndim == 1 and b.ndim == 1:
        return c.mul(c.shaped(g, b), a)
    if ndim == 1:
        shape = shape_of(g.type)
        whole = ArrayType(b.dtype, (*shape[:-1], *shape_of(a.type), shape[-1]))
        rows = c.reshape(g, (*shape[:-1], 1, shape[-1]))
        return c.sum_to(c.mul(c.shaped(columns(c, a), whole), c.shaped(rows, whole)), b)
    if b.ndim == 1:
        # A stack times one vector is one product, of all rows.
        return c.matmul(_flat(c, g, 1), _flat(c, a, 2))
    if ndim > 2 and all(d == 1 for d in b.shape[:-2]):
        # One matrix for the whole stack: one product, of all rows.
        rows = c.shaped(a, ArrayType(b.dtype, (*shape_of(g.type)[:-2], *shape_of(a.type)[-2:])))
        summed = _laid_out(c, c.swapped(_flat(c, rows, 2)), _flat(c, g, 2), b)
        return c.reshape(summed, b.shape)
    return c.sum_to(_laid_out(c, c.swapped(a), g, b), b)


def _laid_out(c: DerivativeBuilder, a: Value, b: Value, like: ArrayType) -> Value:
    """a @ b, with columns where those of `like` lie in memory: what is a transpose is turned back
    without a copy.
    """
    if like.order.index(like.ndim - 2) < like.order.index(like.ndim - 1):
        return c.matmul(a, b)
    return c.swapped(c.matmul(c.swapped(b), c.swapped(a)))


def _flat(c: DerivativeBuilder, v: Value, ndim: int) -> Value:
    """All axes but the last `ndim - 1` as one."""
    shape = shape_of(v.type)
    kept = shape[len(shape) - ndim + 1 :]
    return c.reshape(v, (prod(shape[: len(shape) - ndim + 1]), *kept))


def _beside(c: DerivativeBuilder, v: Value) -> Value:
    """The matrices of a stack beside each other: (..., m, n) as (m, ... n)."""
    ndim = len(shape_of(v.type))
    turned = c.transpose(v, (ndim - 2, *range(ndim - 2), ndim - 1))
    shape = shape_of(turned.type)
    return c.reshape(turned, (shape[0], prod(shape[1:])))


class MatMulBothRules:
    """`a @ p` and `r @ a`."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """As of two products."""
        ta, tp, tr = tangents
        left = [c.matmul(ta, at.x(1))] if ta is not None else []
        right = [c.matmul(at.x(2), ta)] if ta is not None else []
        left += [c.matmul(at.x(0), tp)] if tp is not None else []
        right += [c.matmul(tr, at.x(0))] if tr is not None else []
        return _total(c, left), _total(c, right)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """As of two products."""
        g, h = cotangents
        of_a = [outer(c, g, at.x(1))] if g is not None and at.wanted[0] else []
        of_a += [outer(c, at.x(2), h)] if h is not None and at.wanted[0] else []
        of_p = c.matmul(g, at.x(0)) if g is not None and at.wanted[1] else None
        of_r = c.matmul(at.x(0), h) if h is not None and at.wanted[2] else None
        return _total(c, of_a), of_p, of_r


def _total(c: DerivativeBuilder, terms: Sequence[Value]) -> Value | None:
    out: Value | None = None
    for term in terms:
        out = term if out is None else c.add(out, term)
    return out


# Factors -----------------------------------------------------------------------------------------


def hermitian(c: DerivativeBuilder, v: Value) -> Value:
    """(v + v^H) / 2, which is its own transpose as a linear map."""
    return c.scale(c.add(v, adjoint(c, v)), 0.5)


def turned_inverse(c: DerivativeBuilder, a: Value) -> Value:
    """The transposed inverse."""
    if dtype_of(a.type).char not in "dD":
        return c.swapped(c.op("inv", a))
    return c.op("factored_inverse", a, *c.ops("lu_factor", [a]))


def per_element(c: DerivativeBuilder, v: Value, t: Type) -> Value:
    """`v`, repeated along the last axis where it lacks that, divided by its size."""
    shape = shape_of(t)
    if len(shape_of(v.type)) < len(shape):
        v = c.shaped(columns(c, v), t)
    return c.div(v, c.size(shape[-1], dtype_of(t)))
