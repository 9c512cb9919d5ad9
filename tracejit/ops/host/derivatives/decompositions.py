"""Derivatives of decompositions and of what is made of them, called through NumPy.

After S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010),
and Z. Wan and S. Zhang, "Automatic differentiation for complex valued SVD" (2019). The adjoints are
those of the inner product Re tr(C^H X): cotangents are conjugated on the way in and out.

Where it is not unique:

- of equal singular values or eigenvalues the derivatives of their vectors are not defined: what the
  equal ones would contribute is left out, which is right for results that do not depend on the
  choice of basis among them;
- singular vectors and eigenvectors of complex matrices have phases that no formula follows: only
  functions that do not depend on them have right derivatives;
- `eigh` and `eigvalsh` read one triangle; the function differentiated is that of (A + A^H) / 2;
- `pinv` and `lstsq` are differentiated at constant rank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.formulas import transposed
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, rule
from tracejit.ops.rules.linalg import (
    adjoint,
    columns,
    hermitian,
    matrix_sum,
    on_diagonal,
    product,
    triangle,
)
from tracejit.ops.rules.shape import slice_of

__all__ = [
    "Results",
    "Tangents",
    "gaps_of",
    "real_dtype",
    "values_jvp",
]

Results: TypeAlias = Sequence[Value | None]
Tangents: TypeAlias = Mapping[str, Value]


# Parts of formulas -------------------------------------------------------------------------------


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def _diagonal(c: DerivativeBuilder, v: Value, part: str = "real") -> Value:
    """The real or imaginary parts on the diagonals of square matrices."""
    row = matrix_sum(c, on_diagonal(c, v), 1)
    if dtype_of(v.type).kind != "c":
        return row if part == "real" else c.zeros(row.type)
    return c.op(part, row)


def _as_diagonal(c: DerivativeBuilder, v: Value, like: Value) -> Value:
    """Matrices like another with the vectors `v` on their diagonals."""
    t = like.type
    assert isinstance(t, ArrayType)
    return on_diagonal(c, c.shaped(columns(c, c.cast(v, t.dtype)), t))


def _scaled(c: DerivativeBuilder, m: Value, by_column: Value) -> Value:
    """Each column of the matrices times an element of the vectors."""
    shape = shape_of(by_column.type)
    row = c.reshape(c.cast(by_column, dtype_of(m.type)), (*shape[:-1], 1, shape[-1]))
    return c.mul(m, c.shaped(row, m.type))


def _scaled_rows(c: DerivativeBuilder, m: Value, by_row: Value) -> Value:
    """Each row of the matrices times an element of the vectors."""
    return c.mul(m, c.shaped(columns(c, c.cast(by_row, dtype_of(m.type))), m.type))


def _reciprocal(c: DerivativeBuilder, v: Value) -> Value:
    """1 / v, and 0 for 0."""
    zero = c.compare("equal", v, 0)
    return c.where(zero, c.full(v.type, 0), c.div(c.ones(v.type), c.where(zero, c.ones(v.type), v)))


def gaps_of(c: DerivativeBuilder, v: Value) -> Value:
    """1 / (v[j] - v[i]), and 0 where they are equal."""
    shape = shape_of(v.type)
    whole = ArrayType(dtype_of(v.type), (*shape, shape[-1]))
    row = c.shaped(c.reshape(v, (*shape[:-1], 1, shape[-1])), whole)
    return _reciprocal(c, c.sub(row, c.shaped(columns(c, v), whole)))


def _skew(c: DerivativeBuilder, m: Value) -> Value:
    """m - m^H."""
    return c.sub(m, adjoint(c, m))


def _rejected(c: DerivativeBuilder, basis: Value, v: Value) -> Value:
    """(I - B B^H) v."""
    return c.sub(v, product(c, basis, adjoint(c, basis), v))


# Singular values ---------------------------------------------------------------------------------


def _factors(at: HostAdaptor, x: Value) -> tuple[Value, Value, Value]:
    """U, s and V^H of matrices, as many as they have singular values."""
    t = x.type
    assert isinstance(t, ArrayType)
    *stack, m, n = t.shape
    k = _fewer(at, m, n)
    u, v = ArrayType(t.dtype, (*stack, m, k)), ArrayType(t.dtype, (*stack, k, n))
    s = ArrayType(real_dtype(t.dtype), (*stack, k))
    found = host(at.c, "numpy.linalg:svd", [x], u, s, v, full_matrices=False)
    return found[0], found[1], found[2]


def _fewer(at: HostAdaptor, m: Dim, n: Dim) -> Dim:
    """The smaller one of two sizes, which a size of the results tells where they are symbols."""
    if isinstance(m, int) and isinstance(n, int):
        return min(m, n)
    if m == n:
        return m
    if at.path.endswith(("svd", "svdvals")):
        return shape_of(at.call.outputs[1 if len(at.call.outputs) > 1 else 0])[-1]
    raise at.underivable(f"of a matrix of {m} times {n} has no derivative rule")


def values_jvp(at: HostAdaptor, x: Value, t: Value) -> tuple[Value, Value]:
    """The tangents of the singular values of `x` for its own, and the values."""
    c = at.c
    u, s, vh = _factors(at, x)
    return _diagonal(c, product(c, adjoint(c, u), t, adjoint(c, vh))), s


def _operand(at: HostAdaptor) -> str:
    return "x" if "x" in at.given else "a"


def _svdvals_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    (t,) = tangents.values()
    return (values_jvp(at, at.x(_operand(at)), t)[0],)


def _thin(at: HostAdaptor) -> tuple[Value, Value, Value, bool]:
    """U, s and V^H of the call itself, cut to the singular values; whether they were longer."""
    c, s = at.c, at.call.y(1)
    u, vh = at.call.y(0), at.call.y(2)
    k = shape_of(s.type)[-1]
    left, right = shape_of(u.type), shape_of(vh.type)
    if left[-1] == k and right[-2] == k:
        return u, s, vh, False
    zeros = (0,) * len(left)
    u = slice_of(c, u, zeros, (*left[:-1], k))
    return u, s, slice_of(c, vh, zeros, (*right[:-2], k, right[-1])), True


def _svd_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    at.only(hermitian=False)
    if not at.constant("compute_uv", True):
        return _svdvals_jvp(at, tangents)
    c, t = at.c, tangents["a"]
    u, s, vh, is_cut = _thin(at)
    v, squares = adjoint(c, vh), c.mul(s, s)
    inner = product(c, adjoint(c, u), t, v)
    gaps, turned, inverse = gaps_of(c, squares), adjoint(c, inner), _reciprocal(c, s)
    gaps = c.cast(gaps, dtype_of(inner.type))
    du = c.add(_scaled(c, inner, s), _scaled_rows(c, turned, s))
    dv = c.add(_scaled_rows(c, inner, s), _scaled(c, turned, s))
    du, dv = c.mul(gaps, du), c.mul(gaps, dv)
    if dtype_of(u.type).kind == "c":
        turn = c.scale(c.mul(_diagonal(c, inner, "imag"), inverse), 0.5)
        phase = c.scale(_as_diagonal(c, turn, inner), 1j)
        du, dv = c.add(du, phase), c.sub(dv, phase)
    left = _scaled(c, c.matmul(t, v), inverse)
    right = _scaled(c, c.matmul(adjoint(c, t), u), inverse)
    du = c.add(c.matmul(u, du), _rejected(c, u, left))
    dv = c.add(c.matmul(v, dv), _rejected(c, v, right))
    dvh = adjoint(c, dv)
    if is_cut:
        du, dvh = (
            _completed(c, at.call.y(0), du, u),
            adjoint(c, _completed(c, adjoint(c, at.call.y(2)), dv, v)),
        )
    return du, _diagonal(c, inner), dvh


def _svd_vjp(at: HostAdaptor, cotangents: Results) -> Mapping[str, Value | None]:
    if at.constant("compute_uv", True) and _thin(at)[3]:
        gu, _, gvh = cotangents
        if gu is not None or gvh is not None:
            raise at.underivable("with full_matrices=True has no derivative rule; False has")
    return transposed(_svd_jvp)(at, cotangents)


def _completed(c: DerivativeBuilder, whole: Value, d: Value, basis: Value) -> Value:
    """The tangent of a whole basis for that of its first vectors: the others turn with them."""
    k, shape = shape_of(basis.type)[-1], shape_of(whole.type)
    if shape[-1] == k:
        return d
    ndim = len(shape)
    rest = slice_of(c, whole, (*(0,) * (ndim - 1), k), (*shape[:-1], shape[-1] - k))
    turned = c.neg(product(c, basis, adjoint(c, d), rest))
    return c.op("concatenate", d, turned, axis=ndim - 1)


# Eigenvalues of Hermitian matrices ---------------------------------------------------------------


def _eigenvectors(at: HostAdaptor) -> tuple[Value, Value]:
    at.only(b=None, type=1, subset_by_index=None, subset_by_value=None)
    if len(at.call.outputs) == 2:
        return at.call.y(0), at.call.y(1)
    t = at.type("a")
    assert isinstance(t, ArrayType)
    values = ArrayType(real_dtype(t.dtype), t.shape[:-1])
    vectors = ArrayType(t.dtype, t.shape)
    uplo = at.constant("UPLO", "L" if at.constant("lower", True) else "U")
    found = host(at.c, "numpy.linalg:eigh", [at.x("a")], values, vectors, UPLO=uplo)
    return found[0], found[1]


def _eigh_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """Of the eigenvalues and vectors of (A + A^H) / 2, though NumPy reads one triangle of A."""
    c = at.c
    w, v = _eigenvectors(at)
    inner = product(c, adjoint(c, v), hermitian(c, tangents["a"]), v)
    dw = _diagonal(c, inner)
    if len(at.call.outputs) == 1:
        return (dw,)
    gaps = c.cast(gaps_of(c, w), dtype_of(v.type))
    return dw, c.matmul(v, c.mul(gaps, inner))


# QR ----------------------------------------------------------------------------------------------


def _orthogonal(at: HostAdaptor) -> tuple[Value, Value]:
    """Q and R, of the reduced form. Raises Underivable for another one."""
    at.only(pivoting=False)
    mode = at.constant("mode", "reduced" if at.path.startswith("numpy") else "full")
    mode = {"full": "complete", "economic": "reduced"}.get(mode, mode)
    t = at.type("a")
    assert isinstance(t, ArrayType)
    *stack, m, n = t.shape
    if mode == "r" and (at.path.startswith("numpy") or m == n or _is_wide(m, n)):
        k = shape_of(at.call.outputs[0])[-2]
        q, r = ArrayType(t.dtype, (*stack, m, k)), ArrayType(t.dtype, (*stack, k, n))
        found = host(at.c, "numpy.linalg:qr", [at.x("a")], q, r)
        return found[0], found[1]
    complete = mode == "complete" and (m == n or _is_wide(m, n))
    if mode != "reduced" and not complete:
        raise at.underivable(f"with mode={mode!r} has no derivative rule")
    return at.call.y(0), at.call.y(1)


def _is_wide(m: Dim, n: Dim) -> bool:
    return isinstance(m, int) and isinstance(n, int) and m < n


def _left_part(c: DerivativeBuilder, v: Value, k: Dim) -> Value:
    shape = shape_of(v.type)
    return slice_of(c, v, (0,) * len(shape), (*shape[:-1], k))


def _right_part(c: DerivativeBuilder, v: Value, k: Dim) -> Value:
    shape = shape_of(v.type)
    return slice_of(c, v, (*(0,) * (len(shape) - 1), k), (*shape[:-1], shape[-1] - k))


def _over(c: DerivativeBuilder, b: Value, r: Value) -> Value:
    """b r^-1."""
    return c.swapped(c.op("solve", c.swapped(r), c.swapped(b), vector=False))


def _turning(c: DerivativeBuilder, w: Value) -> Value:
    """The skew matrix of the lower triangle, with the imaginary diagonal."""
    out = _skew(c, triangle(c, w, 0))
    if dtype_of(w.type).kind == "c":
        out = c.add(out, c.scale(_as_diagonal(c, _diagonal(c, w, "imag"), w), 1j))
    return out


def _qr_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """dQ = Q (D - W) + dA R^-1 and dR = (W - D) R, with W = Q^H dA R^-1 and its turning part D.

    Of a wide matrix that is so for its first columns; the others are Q times theirs of R.
    """
    c, t = at.c, tangents["a"]
    q, r = _orthogonal(at)
    k, n = shape_of(r.type)[-2:]
    first = r if n == k else _left_part(c, r, k)
    moved = _over(c, t if n == k else _left_part(c, t, k), first)
    w = c.matmul(adjoint(c, q), moved)
    d = _turning(c, w)
    dq = c.add(c.matmul(q, c.sub(d, w)), moved)
    dr = c.matmul(c.sub(w, d), first)
    if n != k:
        rest = c.matmul(adjoint(c, dq), _right_part(c, at.x("a"), k))
        rest = c.add(rest, c.matmul(adjoint(c, q), _right_part(c, t, k)))
        dr = c.op("concatenate", dr, rest, axis=len(shape_of(dr.type)) - 1)
    return (dr,) if len(at.call.outputs) == 1 else (dq, dr)


_MATRIX, _SCIPY = "numpy.linalg:", "scipy.linalg._decomp"
rule([f"{_MATRIX}svd", f"{_SCIPY}_svd:svd"], "a", jvp=_svd_jvp, vjp=_svd_vjp)
rule([f"{_MATRIX}svdvals"], "x", jvp=_svdvals_jvp)
rule([f"{_SCIPY}_svd:svdvals"], "a", jvp=_svdvals_jvp)
rule(
    [f"{where}{name}" for where in (_MATRIX, f"{_SCIPY}:") for name in ("eigh", "eigvalsh")],
    "a",
    jvp=_eigh_jvp,
)
rule([f"{_MATRIX}qr", f"{_SCIPY}_qr:qr"], "a", jvp=_qr_jvp)
