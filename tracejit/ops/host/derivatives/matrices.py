"""Derivatives of what NumPy makes of decompositions, and of chains of products.

The pseudo-inverse after G. Golub and V. Pereyra (1973), at constant rank. Of equal largest, or
least, singular values the 2-norms take the derivative of one. Eigenvectors of general matrices
have their length held at one; their phase is free, and only functions that do not depend on it
have right derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.terms import Term, terms
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import (
    Results,
    Tangents,
    gaps_of,
    values_jvp,
)
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    host,
    matched,
    rule,
    sum_of,
)
from tracejit.ops.host.registered import registered
from tracejit.ops.rules.linalg import columns, matrix_sum, on_diagonal, product
from tracejit.ops.rules.shape import slice_of

__all__ = ["eigenvectors", "pinv_tangent"]


# Pseudo-inverses ---------------------------------------------------------------------------------


def pinv_tangent(a: Term, p: Term, t: Term) -> Term:
    """-P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P."""
    th, ph = t.H, p.H
    right, left = p @ ph @ th, th @ ph @ p
    return right - right @ a @ p + (left - p @ a @ left) - p @ t @ p


def _pinv_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    at.only(hermitian=False, return_rank=False)
    return (pinv_tangent(*terms(at, at.x("a"), at.call.y(), tangents["a"])).value,)


# Norms -------------------------------------------------------------------------------------------


def _matrix(at: HostAdaptor) -> tuple[list[int], int]:
    """The axes with those of the matrices last, and the order: 2, -2 or 0 for a sum. Raises."""
    ndim = len(shape_of(at.type("x")))
    order = at.constant("p" if at.path.endswith("cond") else "ord")
    axis = at.constant("axis")
    if at.path.endswith("cond"):
        order, axis = 2 if order is None else order, (-2, -1)
    elif axis is None and ndim == 2:
        axis = (0, 1)
    known = order == "nuc" or order in (2, -2)
    if not known or type(axis) is not tuple or len(axis) != 2:
        raise at.underivable(f"of order {order!r} has no derivative rule")
    row, column = (k % ndim for k in axis)
    rest = [k for k in range(ndim) if k not in (row, column)]
    return [*rest, row, column], 0 if order == "nuc" else int(order)


def _at(c: DerivativeBuilder, v: Value, place: int) -> Value:
    """The first (0) or last (-1) elements of the last axis, which is kept."""
    shape = shape_of(v.type)
    start = (*(0,) * (len(shape) - 1), 0 if place == 0 else shape[-1] - 1)
    return slice_of(c, v, start, (*shape[:-1], 1))


def _norm_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c = at.c
    order, which = _matrix(at)
    x, t = (c.transpose(v, order) for v in (at.x("x"), tangents["x"]))
    d, s = values_jvp(at, x, t)
    if at.path.endswith("cond"):
        first, last = (0, -1) if which == 2 else (-1, 0)
        ratio = c.div(_at(c, s, first), _at(c, s, last))
        out = c.sub(_at(c, d, first), c.mul(ratio, _at(c, d, last)))
        out = c.div(out, _at(c, s, last))
    elif which:
        out = _at(c, d, 0 if which == 2 else -1)
    else:
        out = columns(c, matrix_sum(c, d, 1))
    return (matched(c, out, at.call.outputs[0]),)


# Eigenvalues of general matrices -----------------------------------------------------------------


@registered
def eigenvectors(a: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Right eigenvectors of square matrices, complex: column k belongs to the eigenvalue w[k].

    Raises LinAlgError where the eigenvalues do not converge.
    """
    found, vectors = np.linalg.eig(a)
    out = np.empty(vectors.shape, np.result_type(vectors.dtype, np.complex64))
    for k in np.ndindex(w.shape[:-1]):
        left = list(range(w.shape[-1]))
        for j, value in enumerate(w[k]):
            nearest = min(left, key=lambda i: abs(found[k][i] - value))
            left.remove(nearest)
            out[k][:, j] = vectors[k][:, nearest]
    return out


def _general(at: HostAdaptor) -> tuple[Value, Value]:
    """Eigenvalues and eigenvectors, complex."""
    c = at.c
    at.only(b=None, left=False, right=True, homogeneous_eigvals=False)
    name = at.path.partition(":")[2]
    t = at.type("a")
    assert isinstance(t, ArrayType)
    dtype = np.result_type(t.dtype, np.complex64)
    w = c.cast(at.x("w") if name == "eigenvectors" else at.call.y(0), dtype)
    if name == "eigvals":
        made = ArrayType(dtype, t.shape)
        return w, host(c, f"{__name__}:eigenvectors", [at.x("a"), at.call.y(0)], made)[0]
    return w, c.cast(at.call.y(1 if name == "eig" else 0), dtype)


def _lengths(v: Term, d: Term) -> Term:
    """Re(v^H d) of each column, as rows: how fast the columns `v` of length one grow."""
    return v.of(v.c.sum((v.conj() * d).op("real").value, [len(shape_of(v.type)) - 2]))


def _times_rows(m: Term, row: Term) -> Term:
    c, shape = m.c, shape_of(row.type)
    wide = c.reshape(row.cast(dtype_of(m.type)).value, (*shape[:-1], 1, shape[-1]))
    return m * m.of(c.shaped(wide, m.type))


def _eig_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c = at.c
    w, v = terms(at, *_general(at))
    if "a" not in tangents:
        return (None,)
    (t,) = terms(at, c.cast(tangents["a"], dtype_of(v.type)))
    inner = v.of(c.op("solve", v.value, (t @ v).value, vector=False))
    outs = [dtype_of(o) for o in at.call.outputs]
    turned = None
    if not at.path.endswith("eigvals"):
        dv = v @ (gaps_of(w) * inner)
        turned = (dv - _times_rows(v, _lengths(v, dv))).cast(outs[-1]).value
    if at.path.endswith("eigenvectors"):
        return (turned,)
    dw = c.cast(matrix_sum(c, on_diagonal(c, inner.value), 1), outs[0])
    return (dw,) if len(outs) == 1 else (dw, turned)


# Chains of products ------------------------------------------------------------------------------


def _chain(at: HostAdaptor) -> list[Value]:
    """The factors as matrices: a first vector is a row, a last one a column."""
    c, out = at.c, []
    count = len(at.places)
    for k in range(count):
        v = at.x(f"arrays.{k}")
        out.append(_as_matrix(c, v, k == 0))
    return out


def _as_matrix(c: DerivativeBuilder, v: Value, first: bool) -> Value:
    shape = shape_of(v.type)
    if len(shape) == 2:
        return v
    return c.reshape(v, (1, *shape) if first else (*shape, 1))


def _multi_dot_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    c, factors = at.c, _chain(at)
    parts = []
    for name, t in tangents.items():
        k = int(name.rpartition(".")[2])
        parts.append(product(c, *factors[:k], _as_matrix(c, t, k == 0), *factors[k + 1 :]))
    out = sum_of(c, *parts)
    assert out is not None
    return (matched(c, out, at.call.outputs[0]),)


_MATRIX, _SCIPY = "numpy.linalg:", "scipy.linalg._"
rule([f"{_MATRIX}pinv", "numpy.linalg._linalg:pinv", f"{_SCIPY}basic:pinv"], "a", jvp=_pinv_jvp)
rule([f"{_MATRIX}norm", f"{_MATRIX}cond"], "x", jvp=_norm_jvp)
rule(
    [f"{where}{name}" for where in (_MATRIX, f"{_SCIPY}decomp:") for name in ("eig", "eigvals")],
    "a",
    jvp=_eig_jvp,
)
rule([f"{__name__}:eigenvectors"], "a", "w", jvp=_eig_jvp)
rule([f"{_MATRIX}multi_dot"], "arrays", jvp=_multi_dot_jvp)
