"""Derivative rules of products, solutions, inverses and factors.

After M. Giles, "An extended collection of matrix derivative results for forward and reverse mode
algorithmic differentiation" (2008), and I. Murray, "Differentiation of the Cholesky decomposition"
(2016), as transposes without conjugation: of A -> M A N it is C -> M.T C N.T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.terms import terms
from tracejit.ir.types import ArrayType, Type, dtype_of, shape_of

__all__ = [
    "CholeskyRules",
    "InvRules",
    "LuDiagonalRules",
    "MatMulBothRules",
    "MatMulRules",
    "SolveRules",
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


# Solutions and inverses --------------------------------------------------------------------------


class SolveRules:
    """a x = b: so a dx = db - da x."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The solution for another right side."""
        ta, tb = tangents
        if ta is None and tb is None:
            return (None,)
        t = _matrices(c, at, at.outputs[0])
        right = None
        if tb is not None:
            right = c.shaped(columns(c, tb) if at.attrs["vector"] else tb, t)
        if ta is not None:
            moved = c.matmul(ta, _as_matrices(c, at, at.y()))
            right = c.neg(moved) if right is None else c.sub(right, c.shaped(moved, t))
        assert right is not None
        out = _solved(c, at.x(0), right, 0)
        return (c.reshape(out, shape_of(at.outputs[0])),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The solution for the transpose; the outer product of that and the solution."""
        (g,) = cotangents
        if g is None:
            return None, None
        z = _solved(c, at.x(0), _as_matrices(c, at, g), 1)
        of_a = of_b = None
        if at.wanted[0]:
            x = _as_matrices(c, at, at.y())
            of_a = c.neg(c.sum_to(c.matmul(z, c.swapped(x)), at.inputs[0]))
        if at.wanted[1]:
            flat = c.reshape(z, shape_of(at.outputs[0]))
            of_b = c.sum_to(flat, at.inputs[1])
        return of_a, of_b


def _solved(c: DerivativeBuilder, a: Value, b: Value, trans: int) -> Value:
    """The solution of a system of `a`, or of its transpose, by the factors of `a`."""
    if dtype_of(a.type).char not in "dD":
        return c.solve(c.swapped(a) if trans else a, b)
    return c.op("factored_solve", a, *c.ops("lu_factor", [a]), b, trans=trans)


def _as_matrices(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    return columns(c, v) if at.attrs["vector"] else v


def _matrices(c: DerivativeBuilder, at: NodeAdaptor, t: Type) -> ArrayType:
    tail: tuple[Dim, ...] = (1,) if at.attrs["vector"] else ()
    return ArrayType(dtype_of(t), (*shape_of(t), *tail))


class InvRules:
    """y = a^-1: dy = -y da y."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """Products with the inverse."""
        (t,) = tangents
        if t is None:
            return (None,)
        y, da = terms(at, at.y(), t)
        return ((-(y @ da @ y)).value,)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Products with the inverse's transpose."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return (None,)
        turned, given = terms(at, c.swapped(at.y()), g)
        return ((-(turned @ given @ turned)).value,)


# Factors -----------------------------------------------------------------------------------------


class CholeskyRules:
    """dL = L Phi(L^-1 dA L^-H): Phi takes the lower triangle with half of the diagonal.

    The function differentiated is that of (A + A^H) / 2, though only one triangle is read: the
    cotangent of A is Hermitian but for conjugation, as JAX and PyTorch have it.
    """

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """Products with the factor and its inverse."""
        (t,) = tangents
        if t is None:
            return (None,)
        lower = adjoint(c, at.y()) if at.attrs["upper"] else at.y()
        inner = _between_inverses(c, lower, hermitian(c, t))
        out = c.matmul(lower, triangle(c, inner, 0.5))
        return (adjoint(c, out) if at.attrs["upper"] else out,)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The transposes of these products, in reverse order."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return (None,)
        lower, g = (adjoint(c, v) if at.attrs["upper"] else v for v in (at.y(), g))
        inner = triangle(c, c.matmul(c.swapped(lower), g), 0.5)
        return (hermitian(c, _between_inverses(c, lower, inner, trans=1)),)


def hermitian(c: DerivativeBuilder, v: Value) -> Value:
    """(v + v^H) / 2, which is its own transpose as a linear map."""
    return c.scale(c.add(v, adjoint(c, v)), 0.5)


def _between_inverses(c: DerivativeBuilder, lower: Value, m: Value, trans: int = 0) -> Value:
    """The conjugate transpose of t^-1 m t^-H, where t is the triangle or its transpose."""
    attrs: dict[str, Any] = {"lower": True, "trans": trans, "unit": False}
    left = c.op("triangular_solve", lower, m, **attrs)
    return c.op("triangular_solve", lower, adjoint(c, left), **attrs)


class LuDiagonalRules:
    """The derivative of the product of the diagonal, which is the determinant.

    d det(a) = det(a) tr(a^-1 da), in equal shares: each element d_i has the derivative
    d_i tr(a^-1 da) / n. Any function of the product alone has thereby its exact derivatives, to any
    order, and no other function is recorded. Bails out for a singular matrix.
    """

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The elements times their share."""
        (t,) = tangents
        if t is None:
            return (None,)
        inverse = turned_inverse(c, at.x(0))
        trace = matrix_sum(c, c.mul_no_nan(t, inverse), 2)
        return (c.mul(at.y(), per_element(c, trace, at.outputs[0])),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The inverse's transpose times the mean of cotangents times elements."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return (None,)
        total = matrix_sum(c, per_element(c, c.mul(g, at.y()), at.outputs[0]), 1)
        inverse = turned_inverse(c, at.x(0))
        units = c.reshape(total, (*shape_of(total.type), 1, 1))
        return (c.mul_no_nan(c.shaped(units, inverse.type), inverse),)


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
