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
- `pinv` and `lstsq` are differentiated at constant rank; where they are told which singular values
  to leave out, with those left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.terms import Term, equal, terms, where
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.formulas import transposed
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, rule
from tracejit.ops.rules.linalg import (
    columns,
    hermitian,
    matrix_sum,
    on_diagonal,
    triangle,
)
from tracejit.ops.rules.shape import slice_of

__all__ = [
    "Results",
    "Tangents",
    "gaps_of",
    "real_dtype",
    "truncated_inverse_jvp",
    "values_jvp",
]

Results: TypeAlias = Sequence[Value | None]
Tangents: TypeAlias = Mapping[str, Value]


# Parts of formulas -------------------------------------------------------------------------------


def real_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def _diagonal(v: Term, part: str = "real") -> Term:
    """The real or imaginary parts on the diagonals of square matrices."""
    row = v.of(matrix_sum(v.c, on_diagonal(v.c, v.value), 1))
    if not v.is_complex:
        return row if part == "real" else row.full(0)
    return row.op(part)


def _as_diagonal(v: Term, like: Term) -> Term:
    """Matrices like another with the vectors `v` on their diagonals."""
    c, t = v.c, like.type
    return v.of(on_diagonal(c, c.shaped(columns(c, c.cast(v.value, dtype_of(t))), t)))


def _scaled(m: Term, by_column: Term) -> Term:
    """Each column of the matrices times an element of the vectors."""
    c, shape = m.c, shape_of(by_column.type)
    row = c.reshape(c.cast(by_column.value, dtype_of(m.type)), (*shape[:-1], 1, shape[-1]))
    return m * m.of(c.shaped(row, m.type))


def _scaled_rows(m: Term, by_row: Term) -> Term:
    """Each row of the matrices times an element of the vectors."""
    c, v = m.c, by_row.cast(dtype_of(m.type)).value
    return m * m.of(c.shaped(columns(c, v), m.type))


def _reciprocal(v: Term) -> Term:
    """1 / v, and 0 for 0."""
    zero = equal(v, 0)
    return where(zero, 0, 1 / where(zero, 1, v))


def gaps_of(v: Term) -> Term:
    """1 / (v[j] - v[i]), and 0 where they are equal."""
    c, shape = v.c, shape_of(v.type)
    whole = ArrayType(dtype_of(v.type), (*shape, shape[-1]))
    row = c.shaped(c.reshape(v.value, (*shape[:-1], 1, shape[-1])), whole)
    return _reciprocal(v.of(row) - v.of(c.shaped(columns(c, v.value), whole)))


def _rejected(basis: Term, v: Term) -> Term:
    """(I - B B^H) v."""
    return v - basis @ basis.H @ v


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
    u, s, vh, dx = terms(at, *_factors(at, x), t)
    return _diagonal(u.H @ dx @ vh.H).value, s.value


def truncated_inverse_jvp(
    at: HostAdaptor, x: Value, t: Value, relative: float, absolute: float = 0.0
) -> Value:
    """The tangent of the pseudo-inverse V f(S) U^H of `x`, where f is 1 / s above a limit, else 0.

    The limit is `absolute` and `relative` times the largest singular value. By divided differences
    of f, taken as an odd function of the eigenvalues s and -s of the matrix (0 x; x^H 0): after
    V. Noferini, "A formula for the Frechet derivative of a generalized matrix function" (2017).
    """
    u, s, vh, dx = terms(at, *_factors(at, x), t)
    c, v, shape = at.c, vh.H, shape_of(s.type)
    zeros = (0,) * len(shape)
    largest = s.of(c.shaped(slice_of(c, s.value, zeros, (*shape[:-1], 1)), s.type))
    is_kept = s > absolute + largest * relative
    inverse, kept = _reciprocal(where(is_kept, s, 0)), where(is_kept, s.full(1), 0)
    rest, dropped = 1 - kept, where(is_kept, 0, s)
    inner = u.H @ dx @ v
    turned, gaps = inner.H, gaps_of(s * s).op("absolute").cast(dtype_of(inner.type))

    def between(m: Term, rows: Term, by_column: Term) -> Term:
        return _scaled_rows(_scaled(m, by_column), rows)

    mixed = between(inner, kept, rest) + between(inner, rest, kept)
    mixed += between(turned, inverse, dropped) + between(turned, dropped, inverse)
    core = gaps * mixed - between(turned, inverse, inverse)
    squares = inverse * inverse
    left = _rejected(u, _scaled(dx @ v, squares)) @ vh
    right = u @ _rejected(v, _scaled(dx.H @ u, squares)).H
    return (u @ core @ vh + left + right).H.value


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
    *factors, is_cut = _thin(at)
    u, s, vh, t = terms(at, *factors, tangents["a"])
    v, squares = vh.H, s * s
    inner = u.H @ t @ v
    gaps, turned, inverse = gaps_of(squares), inner.H, _reciprocal(s)
    gaps = gaps.cast(dtype_of(inner.type))
    du = gaps * (_scaled(inner, s) + _scaled_rows(turned, s))
    dv = gaps * (_scaled_rows(inner, s) + _scaled(turned, s))
    if u.is_complex:
        turn = 0.5 * (_diagonal(inner, "imag") * inverse)
        phase = +(1j * _as_diagonal(turn, inner))
        du, dv = du + phase, dv - phase
    du = u @ du + _rejected(u, _scaled(t @ v, inverse))
    dv = v @ dv + _rejected(v, _scaled(t.H @ u, inverse))
    dvh = dv.H
    if is_cut:
        whole, other = terms(at, at.call.y(0), at.call.y(2))
        du, dvh = _completed(whole, du, u), _completed(other.H, dv, v).H
    return du.value, _diagonal(inner).value, dvh.value


def _svd_vjp(at: HostAdaptor, cotangents: Results) -> Mapping[str, Value | None]:
    if at.constant("compute_uv", True) and _thin(at)[3]:
        gu, _, gvh = cotangents
        if gu is not None or gvh is not None:
            raise at.underivable("with full_matrices=True has no derivative rule; False has")
    return transposed(_svd_jvp)(at, cotangents)


def _completed(whole: Term, d: Term, basis: Term) -> Term:
    """The tangent of a whole basis for that of its first vectors: the others turn with them."""
    k, shape = shape_of(basis.type)[-1], shape_of(whole.type)
    if shape[-1] == k:
        return d
    c, ndim = d.c, len(shape)
    rest = d.of(slice_of(c, whole.value, (*(0,) * (ndim - 1), k), (*shape[:-1], shape[-1] - k)))
    turned = -(basis @ d.H @ rest)
    return d.of(c.op("concatenate", d.value, turned.value, axis=ndim - 1))


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
    w, v, t = terms(at, *_eigenvectors(at), hermitian(at.c, tangents["a"]))
    inner = v.H @ t @ v
    dw = _diagonal(inner).value
    if len(at.call.outputs) == 1:
        return (dw,)
    gaps = gaps_of(w).cast(dtype_of(v.type))
    return dw, (v @ (gaps * inner)).value


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


def _left_part(v: Term, k: Dim) -> Term:
    shape = shape_of(v.type)
    return v.of(slice_of(v.c, v.value, (0,) * len(shape), (*shape[:-1], k)))


def _right_part(v: Term, k: Dim) -> Term:
    shape = shape_of(v.type)
    start = (*(0,) * (len(shape) - 1), k)
    return v.of(slice_of(v.c, v.value, start, (*shape[:-1], shape[-1] - k)))


def _over(b: Term, r: Term) -> Term:
    """b r^-1."""
    return b.of(b.c.solve(r.T.value, b.T.value)).T


def _turning(w: Term) -> Term:
    """The skew matrix of the lower triangle, with the imaginary diagonal."""
    low = w.of(triangle(w.c, w.value, 0))
    out = low - low.H
    return out + 1j * _as_diagonal(_diagonal(w, "imag"), w) if w.is_complex else out


def _qr_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """dQ = Q (D - W) + dA R^-1 and dR = (W - D) R, with W = Q^H dA R^-1 and its turning part D.

    Of a wide matrix that is so for its first columns; the others are Q times theirs of R.
    """
    q, r, t = terms(at, *_orthogonal(at), tangents["a"])
    k, n = shape_of(r.type)[-2:]
    first = r if n == k else _left_part(r, k)
    moved = _over(t if n == k else _left_part(t, k), first)
    w = q.H @ moved
    d = _turning(w)
    dq = q @ (d - w) + moved
    dr = (w - d) @ first
    if n != k:
        (a,) = terms(at, at.x("a"))
        rest = dq.H @ _right_part(a, k) + q.H @ _right_part(t, k)
        axis = len(shape_of(dr.type)) - 1
        dr = dr.of(at.c.op("concatenate", dr.value, rest.value, axis=axis))
    return (dr.value,) if len(at.call.outputs) == 1 else (dq.value, dr.value)


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
