"""Derivatives of pseudo-inverses and of eigenvectors.

The pseudo-inverse after G. Golub and V. Pereyra (1973), at constant rank. Eigenvectors of general
matrices have their length held at one; their phase is free, and only functions that do not depend
on it have right derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.graph import Value
from tracejit.ir.terms import Term, terms
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.host.batch import OF_MATRICES
from tracejit.ops.host.derivatives.decompositions import (
    Results,
    Tangents,
    gaps_of,
    truncated_inverse_jvp,
    values_jvp,
)
from tracejit.ops.host.derivatives.registry import (
    HostAdaptor,
    host,
    matched,
    rule,
)
from tracejit.ops.host.registered import registered
from tracejit.ops.rules.linalg import columns, matrix_sum, on_diagonal
from tracejit.ops.rules.shape import slice_of

__all__ = ["eigenvectors", "inverse_jvp"]

#: Up to so many units of rounding a limit of singular values leaves out only what rounding made.
_ROUNDING = 2**16
_MATRIX, _SCIPY = "numpy.linalg:", "scipy.linalg._"


# Pseudo-inverses ---------------------------------------------------------------------------------


def pinv_tangent(a: Term, p: Term, t: Term) -> Term:
    """-P dA P + P P^H dA^H (I - A P) + (I - P A) dA^H P^H P."""
    th, ph = t.H, p.H
    right, left = p @ ph @ th, th @ ph @ p
    return right - right @ a @ p + (left - p @ a @ left) - p @ t @ p


@registered
def pseudo_inverse(a: np.ndarray[Any, Any], rcond: float) -> np.ndarray[Any, Any]:
    """The pseudo-inverse, for the derivative of one that is computed, and has raised, beside it."""
    return np.linalg.pinv(a, rcond)


OF_MATRICES.add(pseudo_inverse)


def _pinv_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    at.only(hermitian=False, return_rank=False)
    relative, absolute = _limits(at)
    return (inverse_jvp(at, at.x("a"), at.call.y(), tangents["a"], relative, absolute),)


def _limits(at: HostAdaptor) -> tuple[float | None, float]:
    """Up to where singular values are taken for 0: relative to the largest one, and absolute."""
    if not at.path.startswith(_SCIPY):
        limit = at.constant("rtol" if "rtol" in at.given else "rcond")
        return limit, 0.0
    relative, absolute = at.constant("rtol", None), at.constant("atol", None)
    if relative is None and absolute is not None:
        t = at.type("a")
        sizes = [n for n in shape_of(t) if isinstance(n, int)]
        if len(sizes) < len(shape_of(t)):
            raise at.underivable("with atol= and sizes known at run time has no derivative rule")
        relative = max(sizes) * float(np.finfo(dtype_of(t)).eps)
    return relative, absolute or 0.0


def inverse_jvp(
    at: HostAdaptor, a: Value, p: Value, t: Value, relative: float | None, absolute: float = 0.0
) -> Value:
    """The tangent of a pseudo-inverse. What a limit of rounding leaves out is taken for 0."""
    limit = _ROUNDING * float(np.finfo(dtype_of(a.type)).eps)
    if not absolute and (relative is None or relative <= limit):
        return pinv_tangent(*terms(at, a, p, t)).value
    return truncated_inverse_jvp(at, a, t, relative or 0.0, absolute)


# Norms by singular values, which derivatives of SciPy's call -----------------------------------


def _norm_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """Of equal largest, or least, singular values the derivative is that of one."""
    c, order, axis = at.c, at.constant("ord"), at.constant("axis")
    if order not in (2, -2, "nuc") or type(axis) is not tuple:
        raise at.underivable(f"of order {order!r} has no derivative rule")
    axes = [*(k for k in range(len(shape_of(at.type("x")))) if k not in axis), *axis]
    d, _ = values_jvp(at, *(c.transpose(v, axes) for v in (at.x("x"), tangents["x"])))
    *stack, count = shape_of(d.type)
    if order == "nuc":
        out = columns(c, matrix_sum(c, d, 1))
    else:
        out = slice_of(c, d, (*(0 for _ in stack), 0 if order == 2 else count - 1), (*stack, 1))
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
    inner = v.of(c.solve(v.value, (t @ v).value))
    outs = [dtype_of(o) for o in at.call.outputs]
    turned = None
    if not at.path.endswith("eigvals"):
        dv = v @ (gaps_of(w) * inner)
        turned = (dv - _times_rows(v, _lengths(v, dv))).cast(outs[-1]).value
    if at.path.endswith("eigenvectors"):
        return (turned,)
    dw = c.cast(matrix_sum(c, on_diagonal(c, inner.value), 1), outs[0])
    return (dw,) if len(outs) == 1 else (dw, turned)


_PINV = (f"{_MATRIX}pinv", f"{__name__}:pseudo_inverse", f"{_SCIPY}basic:pinv")
rule(_PINV, "a", jvp=_pinv_jvp)
rule([f"{_MATRIX}norm"], "x", jvp=_norm_jvp)
rule(
    [f"{where}{name}" for where in (_MATRIX, f"{_SCIPY}decomp:") for name in ("eig", "eigvals")],
    "a",
    jvp=_eig_jvp,
)
rule([f"{__name__}:eigenvectors"], "a", "w", jvp=_eig_jvp)
