"""Linear algebra by BLAS and LAPACK: products, solves, inverses, factors.

Derivatives are after M. Giles, "An extended collection of matrix derivative results for forward and
reverse mode algorithmic differentiation" (2008), and I. Murray, "Differentiation of the Cholesky
decomposition" (2016), as transposes without conjugation: of A -> M A N it is C -> M.T C N.T.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.terms import terms
from tracejit.ir.types import DTYPES, ArrayType, Type, dtype_of, shape_of
from tracejit.ops.checks import array_of, broadcast_shapes, c_array, only_attrs, take
from tracejit.ops.rules.linalg import (
    MatMulBothRules,
    MatMulRules,
    adjoint,
    columns,
    hermitian,
    matrix_sum,
    per_element,
    triangle,
    turned_inverse,
)
from tracejit.ops.rules.linalg_batch import batched_matmul, batched_solve
from tracejit.ops.samples import FLOATS, LAYOUTS, array, in_layout
from tracejit.ops.signature import Signature

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["solved"]


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


def _between_inverses(c: DerivativeBuilder, lower: Value, m: Value, trans: int = 0) -> Value:
    """The conjugate transpose of t^-1 m t^-H, where t is the triangle or its transpose."""
    attrs: dict[str, Any] = {"lower": True, "trans": trans, "unit": False}
    left = c.op("triangular_solve", lower, m, **attrs)
    return c.op("triangular_solve", lower, adjoint(c, left), **attrs)


@register
class MatMul(MatMulRules, Op):
    """`a @ b` by NumPy's rule: one axis is a vector, more than two are stacks that broadcast."""

    name: ClassVar[str] = "matmul"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    sums: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.matmul
    stacked: ClassVar[bool] = True
    by_package = staticmethod(lambda xp, x, attrs: (xp.matmul(*x),))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs)
        a, b = (array_of(self.name, t, 1) for t in inputs)
        inner = b.shape[0] if b.ndim == 1 else b.shape[-2]
        fits = a.dtype == b.dtype and a.shape[-1] == inner
        require(fits, f"matmul: {a} and {b} do not fit")
        stack = broadcast_shapes(self.name, a.shape[:-2], b.shape[:-2])
        rows = a.shape[-2:-1]
        columns = b.shape[-1:] if b.ndim > 1 else ()
        return (ArrayType(a.dtype, (*stack, *rows, *columns)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (c_array(np.matmul(*inputs)),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_matmul(c, at),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in DTYPES:
            out += [([array(dtype, (3, 4), how), array(dtype, (4, 2), how)], {}) for how in LAYOUTS]
        shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
            ((4,), (4,)),
            ((3, 4), (4,)),
            ((4,), (4, 2)),
            ((2, 3, 4), (4,)),
            ((2, 3, 4), (4, 5)),
            ((2, 1, 3, 4), (5, 4, 2)),
            ((0, 4), (4, 2)),
            ((3, 0), (0, 2)),
            ((0,), (0,)),
        ]
        for a, b in shapes:
            out += [([array(d, a, "F"), array(d, b)], {}) for d in ("f64", "c64", "i32")]
        return out


@register
class MatMulBoth(MatMulBothRules, Op):
    """`a @ p` and `r @ a` of one matrix in C order, for real floats: both in one pass over it.

    The order of the sums is that of `codegen/program/matvec.py`.
    """

    name: ClassVar[str] = "matmul_both"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    by_package = staticmethod(lambda xp, x, attrs: (xp.matmul(x[0], x[1]), xp.matmul(x[2], x[0])))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 3)
        only_attrs(self.name, attrs)
        a, p, r = (array_of(self.name, t, 1) for t in inputs)
        require(a.ndim == 2 and a.is_c, f"matmul_both: {a} is no matrix in C order")
        require(a.dtype in (DTYPES["f32"], DTYPES["f64"]), f"matmul_both has no rule for {a.dtype}")
        fits = a.dtype == p.dtype == r.dtype and (p.shape, r.shape) == (a.shape[1:], a.shape[:1])
        require(fits, f"matmul_both: {a}, {p} and {r} do not fit")
        return ArrayType(a.dtype, a.shape[:1]), ArrayType(a.dtype, a.shape[1:])

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        a, p, r = inputs
        with np.errstate(all="ignore"):
            return _along_rows(a, p), _along_columns(r, a)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in ("f32", "f64"):
            for m, n in ((3, 4), (9, 21), (1, 5), (4, 1), (0, 3), (3, 0), (0, 0)):
                vectors = [array(dtype, (k,)) for k in (n, m)]
                out.append(([array(dtype, (m, n)), *vectors], {}))
        return out


def _along_rows(a: np.ndarray[Any, Any], p: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`a @ p`: 64 bytes of lanes, added in halves, then what is left of each row."""
    (m, n), width = a.shape, 64 // a.itemsize
    whole = n - n % width
    lanes = np.zeros((m, width), a.dtype)
    for j in range(0, whole, width):
        lanes = lanes + a[:, j : j + width] * p[j : j + width]
    while width > 1:
        width //= 2
        lanes = lanes[:, :width] + lanes[:, width:]
    out = lanes[:, 0]
    for j in range(whole, n):
        out = out + a[:, j] * p[j]
    return c_array(out)


def _along_columns(r: np.ndarray[Any, Any], a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`r @ a`: four rows at a time, then those that are left."""
    m, n = a.shape
    terms, out = r[:, None] * a, np.zeros(n, a.dtype)
    for i in range(0, m - m % 4, 4):
        out = out + ((terms[i] + terms[i + 1]) + (terms[i + 2] + terms[i + 3]))
    for i in range(m - m % 4, m):
        out = out + terms[i]
    return out


def _square(name: str, t: Type) -> ArrayType:
    a = array_of(name, t, 2)
    require(a.shape[-1] == a.shape[-2], f"{name}: {a} is not square")
    require(a.dtype in [DTYPES[d] for d in FLOATS], f"{name} has no rule for {a.dtype}")
    return a


def _samples(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Well conditioned Hermitian positive definite matrices."""
    out = []
    for dtype in FLOATS:
        for layout in LAYOUTS:
            x = array(dtype, shape) / 16
            a = x @ np.conj(np.swapaxes(x, -1, -2)) + 2 * np.eye(shape[-1])
            out.append(in_layout(a.astype(x.dtype), layout))
    return out


def solved(xp: Any, a: Any, b: Any) -> Any:
    """The x with a @ x = b by a package, for stacks that are broadcast, which CuPy does not do."""
    if b.ndim == 1:
        return solved(xp, a, b[:, None])[..., 0]
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (xp.broadcast_to(x, (*stack, *x.shape[-2:])) for x in (a, b))
    if 0 in a.shape:
        return xp.empty(b.shape, b.dtype)
    if b.shape[-1] == 0:
        # CuPy divides by the number of columns; a singular matrix is an error all the same.
        return xp.linalg.solve(a, a)[..., :0]
    return xp.linalg.solve(a, b)


@register
class Solve(Op):
    """The x with a @ x = b; `vector`: b is one vector, else a stack of matrices.

    Bails out for a singular matrix.
    """

    name: ClassVar[str] = "solve"
    kind: ClassVar[str] = "library"
    raises: ClassVar[bool] = True
    parity: ClassVar[str] = "order"
    factors: ClassVar[bool] = True
    numpy: ClassVar[Any] = np.linalg.solve
    routine: ClassVar[str] = "gesv"
    by_package = staticmethod(lambda xp, x, attrs: (solved(xp, *x),))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs, "vector")
        a, vector = _square(self.name, inputs[0]), attrs["vector"]
        require(type(vector) is bool, "solve: vector must be a bool")
        b = array_of(self.name, inputs[1], 1 if vector else 2)
        rows = b.shape[-1 if vector else -2]
        fits = a.dtype == b.dtype and a.shape[-1] == rows and (not vector or b.ndim == 1)
        require(fits, f"solve: {a} and {b} do not fit")
        if vector:
            return (ArrayType(a.dtype, a.shape[:-1]),)
        stack = broadcast_shapes(self.name, a.shape[:-2], b.shape[:-2])
        return (ArrayType(a.dtype, (*stack, *b.shape[-2:])),)

    def loop(self, attrs: Attrs) -> str:
        return "solve1" if attrs["vector"] else "solve"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return (c_array(np.linalg.solve(*inputs)),)
        except np.linalg.LinAlgError as e:
            raise Bailout(str(e)) from e

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_solve(c, at),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for a in _samples((4, 4)):
            b = array("f64", (4, 3), "strided").astype(a.dtype)
            out += [([a, b], {"vector": False}), ([a, b[:, 0]], {"vector": True})]
        for a in _samples((2, 1, 3, 3)):
            b = array("f64", (5, 3, 2)).astype(a.dtype)
            out += [([a, b], {"vector": False}), ([a, b[0, :, 0]], {"vector": True})]
        empty = np.empty((0, 0))
        return [*out, ([empty, empty], {"vector": False}), ([empty, empty[0:]], {"vector": False})]

    # a x = b: so a dx = db - da x.
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


@register
class Inv(Op):
    """The inverse of square matrices. Bails out for a singular one."""

    name: ClassVar[str] = "inv"
    kind: ClassVar[str] = "library"
    raises: ClassVar[bool] = True
    parity: ClassVar[str] = "order"
    numpy: ClassVar[Any] = np.linalg.inv
    routine: ClassVar[str] = "inv"
    by_package = staticmethod(lambda xp, x, attrs: (xp.linalg.inv(x[0]),))
    signature: ClassVar[Any] = Signature("a: f32|f64|c64|c128[.., n, n] -> a")

    def loop(self, attrs: Attrs) -> str:
        return "inv"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return (c_array(np.linalg.inv(inputs[0])),)
        except np.linalg.LinAlgError as e:
            raise Bailout(str(e)) from e

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        matrices = [*_samples((4, 4)), *_samples((2, 3, 3)), np.empty((0, 0)), np.eye(1)]
        return [([a], {}) for a in matrices]

    # y = a^-1: dy = -y da y.
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


@register
class Cholesky(Op):
    """The Cholesky factor, lower or `upper`, of Hermitian matrices, from one triangle of each.

    Bails out for a matrix that is not positive definite. The derivative is that of the factor of
    (A + A^H) / 2, not that of what the triangle alone decides.
    """

    name: ClassVar[str] = "cholesky"
    kind: ClassVar[str] = "library"
    raises: ClassVar[bool] = True
    parity: ClassVar[str] = "order"
    numpy: ClassVar[Any] = np.linalg.cholesky
    routine: ClassVar[str] = "potrf"
    signature: ClassVar[Any] = Signature("a: f32|f64|c64|c128[.., n, n]; upper: bool -> a")

    @staticmethod
    def by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        if attrs["upper"]:
            turned = xp.linalg.cholesky(xp.swapaxes(x[0], -1, -2).conj())
            return (xp.swapaxes(turned, -1, -2).conj(),)
        return (xp.linalg.cholesky(x[0]),)

    def loop(self, attrs: Attrs) -> str:
        return "cholesky_up" if attrs["upper"] else "cholesky_lo"

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return (c_array(np.linalg.cholesky(inputs[0], upper=attrs["upper"])),)
        except np.linalg.LinAlgError as e:
            raise Bailout(str(e)) from e

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        matrices = [*_samples((4, 4)), *_samples((2, 3, 3)), np.empty((0, 0)), np.eye(1)]
        return [([a], {"upper": upper}) for a in matrices for upper in (False, True)]

    # dL = L Phi(L^-1 dA L^-H): Phi takes the lower triangle with half of the diagonal. The
    # function differentiated is that of (A + A^H) / 2, though only one triangle is read: the
    # cotangent of A is Hermitian but for conjugation, as JAX and PyTorch have it.
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


@register
class LuDiagonal(Op):
    """The diagonal of U in the factorisation of square matrices by row interchanges.

    Its first element is negated for an odd number of interchanges, so that the product of all is
    the determinant. Of a singular matrix an element is zero.
    """

    name: ClassVar[str] = "lu_diagonal"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    factors: ClassVar[bool] = True
    routine: ClassVar[str] = "ludiag"
    signature: ClassVar[Any] = Signature("a: f32|f64|c64|c128[.., n, n] -> a[.., n]")

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (a,) = inputs
        out = np.empty(a.shape[:-1], a.dtype)
        for k in np.ndindex(a.shape[:-2]):
            out[k] = _signed_pivots(a[k].copy())
        return (out,)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        matrices = [*_samples((4, 4)), *_samples((2, 3, 3)), np.empty((0, 0)), np.eye(1)]
        return [([a], {}) for a in [*matrices, np.eye(4)[[1, 0, 3, 2]], np.eye(3)[[1, 0, 2]]]]

    # The derivative of the product of the diagonal, which is the determinant. d det(a) = det(a)
    # tr(a^-1 da), in equal shares: each element d_i has the derivative d_i tr(a^-1 da) / n. Any
    # function of the product alone has thereby its exact derivatives, to any order, and no other
    # function is recorded. Bails out for a singular matrix.
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


def _signed_pivots(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Gauss's elimination in place, with the row of the largest element first."""
    odd = False
    with np.errstate(all="ignore"):
        for k in range(len(a)):
            # As LAPACK measures complex numbers.
            size = np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)
            p = k + int(np.argmax(size))
            if p != k:
                a[[k, p]] = a[[p, k]]
                odd = not odd
            if a[k, k] != 0:
                factors = a[k + 1 :, k] / a[k, k]
                a[k + 1 :, k + 1 :] -= np.multiply.outer(factors, a[k, k + 1 :])
    diagonal = a.diagonal().copy()
    if odd:
        diagonal[0] = -diagonal[0]
    return diagonal
