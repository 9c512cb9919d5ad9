"""Linear algebra by BLAS and LAPACK: products, solves, inverses, factors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, broadcast_shapes, c_array, only_attrs, take
from tracejit.ops.rules.linalg import (
    CholeskyRules,
    InvRules,
    LuDiagonalRules,
    MatMulBothRules,
    MatMulRules,
    SolveRules,
)
from tracejit.ops.rules.linalg_batch import batched_matmul, batched_solve
from tracejit.ops.samples import FLOATS, LAYOUTS, array, in_layout
from tracejit.ops.signature import Signature

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["solved"]


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
class Solve(SolveRules, Op):
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


@register
class Inv(InvRules, Op):
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


@register
class Cholesky(CholeskyRules, Op):
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


@register
class LuDiagonal(LuDiagonalRules, Op):
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
