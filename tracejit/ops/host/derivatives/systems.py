"""Derivatives of SciPy's solvers of linear systems, and of the factors that they are solved with.

Of a matrix that is taken for symmetric, Hermitian or positive definite one triangle is read; the
function differentiated is that of (A + A^T) / 2 or (A + A^H) / 2. The factors L and U of A = P L U
change by L tril(M, -1) and triu(M) U with M = L^-1 P^T dA U^-1 (M. Giles, "An extended collection
of matrix derivative results", 2008, has the like for other factors), interchanges being held.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.calculus import Calculus
from tracejit.ir.graph import Value
from tracejit.ir.types import DTYPES, ArrayType, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents
from tracejit.ops.host.derivatives.formulas import FormulaSite, formula
from tracejit.ops.host.derivatives.registry import HostSite, host, rule, sum_of
from tracejit.ops.rules.linalg import (
    adjoint,
    columns,
    hermitian,
    on_diagonal,
    product,
    triangle,
)

__all__ = ["permutation"]

Array: TypeAlias = np.ndarray[Any, Any]
_BASIC = "scipy.linalg._basic:"


# Systems -----------------------------------------------------------------------------------------


def _structured(site: FormulaSite, a: Value) -> Value:
    """The matrices that `assume_a` says the operand stands for."""
    c, kind = site.c, site.constant("assume_a")
    if kind in (None, "gen", "general"):
        return a
    if kind in ("sym", "symmetric"):
        return c.scale(c.add(a, c.swapped(a)), 0.5)
    if kind in ("her", "hermitian", "pos", "positive definite"):
        return hermitian(c, a)
    if kind in ("upper triangular", "lower triangular"):
        return triangle(c, a, 1, upper=kind.startswith("upper"))
    if kind == "diagonal":
        return on_diagonal(c, a)
    raise site.underivable(f"with assume_a={kind!r} has no derivative rule")


def _in_result(site: FormulaSite, name: str) -> Value:
    """An operand in the dtype of the result."""
    return site.c.cast(site.x(name), dtype_of(site.s.outputs[0]))


def _is_vector(site: HostSite, a: Value, b: Value) -> bool:
    """Whether the right side is one vector. Raises Underivable for stacks that broadcast."""
    left, right = shape_of(a.type), shape_of(b.type)
    if len(left) == 2 and len(right) == 1:
        return True
    if len(left) != len(right) or left[:-2] != right[:-2]:
        raise site.underivable("of stacks that broadcast has no derivative rule")
    return False


@formula([f"{_BASIC}solve"], "a", "b")
def _solve(site: FormulaSite) -> Sequence[Value]:
    c, a, b = site.c, _in_result(site, "a"), _in_result(site, "b")
    vector = _is_vector(site, a, b)
    a = _structured(site, a)
    a = c.swapped(a) if site.constant("transposed", False) else a
    return [c.op("solve", a, b, vector=vector)]


@formula([f"{_BASIC}inv"], "a")
def _inv(site: FormulaSite) -> Sequence[Value]:
    return [site.c.op("inv", _structured(site, _in_result(site, "a")))]


@formula([f"{_BASIC}pinvh"], "a")
def _pinvh(site: FormulaSite) -> Sequence[Value]:
    """The pseudo-inverse, which is the call's own."""
    site.only(return_rank=False)
    a = hermitian(site.c, _in_result(site, "a"))
    return host(site.c, "numpy.linalg:pinv", [a], ArrayType(dtype_of(a.type), shape_of(a.type)))


@formula([f"{_BASIC}det"], "a")
def _det(site: FormulaSite) -> Sequence[Value]:
    """The determinant, whose derivatives are cofactors."""
    c, a = site.c, site.x("a")
    wide = "c128" if dtype_of(a.type).kind == "c" else "f64"
    return [c.op("determinant", c.cast(a, wide))]


# Triangles ---------------------------------------------------------------------------------------

_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _solved(
    c: Calculus, a: Value, b: Value, trans: int = 0, lower: bool = True, unit: bool = False
) -> Value:
    """The solution of a triangular system, right sides in columns."""
    assert isinstance(b.type, ArrayType)
    t = ArrayType(b.type.dtype, b.type.shape)
    named = {"trans": trans, "lower": lower, "unit_diagonal": unit, "check_finite": False}
    return host(c, f"{_BASIC}solve_triangular", [a, b], t, **named)[0]


class _Triangular:
    """A triangular system under differentiation."""

    def __init__(self, site: HostSite) -> None:
        c = self.c = site.c
        self.site = site
        self.dtype = dtype_of(site.s.outputs[0])
        self.a = c.cast(site.x("a"), self.dtype)
        self.vector = _is_vector(site, self.a, site.x("b"))
        self.trans = _TRANSPOSED[site.constant("trans", 0)]
        self.lower = bool(site.constant("lower", False))
        self.unit = bool(site.constant("unit_diagonal", False))
        self.x = self.matrix(site.s.y())

    def matrix(self, v: Value) -> Value:
        v = self.c.cast(v, self.dtype)
        return columns(self.c, v) if self.vector else v

    def read(self, v: Value) -> Value:
        """The elements that the function reads."""
        return triangle(self.c, v, 0 if self.unit else 1, upper=not self.lower)

    def solved(self, b: Value, trans: int) -> Value:
        return _solved(self.c, self.a, b, trans, self.lower, self.unit)

    def turned(self, v: Value) -> Value:
        if self.trans == 0:
            return v
        return self.c.swapped(v) if self.trans == 1 else adjoint(self.c, v)


def _triangular_jvp(site: HostSite, tangents: Tangents) -> Results:
    """T dx = db - dT x."""
    at, c = _Triangular(site), site.c
    parts = []
    if "a" in tangents:
        moved = at.turned(at.read(c.cast(tangents["a"], at.dtype)))
        parts.append(c.neg(c.matmul(moved, at.x)))
    if "b" in tangents:
        parts.append(at.matrix(tangents["b"]))
    right = sum_of(c, *parts)
    assert right is not None
    out = at.solved(right, at.trans)
    return (c.reshape(out, shape_of(site.s.outputs[0])),)


def _triangular_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    """The solution z of the transposed system, and -z x^T where the operand is read."""
    at, c, g = _Triangular(site), site.c, cotangents[0]
    assert g is not None
    g = at.matrix(g)
    z = at.solved(g, 1 - at.trans) if at.trans < 2 else c.conj(at.solved(c.conj(g), 0))
    out: dict[str, Value | None] = {}
    if site.wanted("a"):
        of_a = at.read(at.turned(c.neg(c.matmul(z, c.swapped(at.x)))))
        out["a"] = c.cast(of_a, dtype_of(site.type("a")))
    if site.wanted("b"):
        t = site.type("b")
        out["b"] = c.cast(c.reshape(z, shape_of(t)), dtype_of(t))
    return out


rule([f"{_BASIC}solve_triangular"], "a", "b", jvp=_triangular_jvp, vjp=_triangular_vjp)


# Factors -----------------------------------------------------------------------------------------

_CHOLESKY = "scipy.linalg._decomp_cholesky:"


def _factor(site: FormulaSite) -> tuple[Value, bool]:
    lower = bool(site.constant("lower", False))
    return site.c.op("cholesky", _in_result(site, "a"), upper=not lower), lower


@formula([f"{_CHOLESKY}cholesky"], "a")
def _cholesky(site: FormulaSite) -> Sequence[Value]:
    return [_factor(site)[0]]


@formula([f"{_CHOLESKY}cho_factor"], "a")
def _cho_factor(site: FormulaSite) -> Sequence[Value | None]:
    """The other triangle has the operand's elements."""
    c = site.c
    factor, lower = _factor(site)
    return [c.add(factor, triangle(c, _in_result(site, "a"), 0, upper=lower)), None]


@formula([f"{_CHOLESKY}cho_solve"], "c_and_lower", "b")
def _cho_solve(site: FormulaSite) -> Sequence[Value]:
    """L^-H L^-1 b."""
    c = site.c
    factor, b = _in_result(site, "c_and_lower.0"), _in_result(site, "b")
    vector = _is_vector(site, factor, b)
    low, high = triangle(c, factor, 1), adjoint(c, triangle(c, factor, 1, upper=True))
    if "c_and_lower.1" in site.places:
        is_lower = c.cast(site.x("c_and_lower.1"), "b1")
        root = c.where(is_lower, low, high)
    else:
        (_, _, (_, is_low)) = site.given["c_and_lower"]
        root = low if is_low else high
    right = columns(c, b) if vector else b
    out = _solved(c, root, _solved(c, root, right), trans=2)
    return [c.reshape(out, shape_of(b.type))]


_LU = "scipy.linalg._decomp_lu:"


def permutation(piv: Array, size: int) -> Array:
    """The order of rows that a list of interchanges makes."""
    order = np.arange(size)
    for k, j in enumerate(piv):
        order[[k, j]] = order[[j, k]]
    return order


def _rows(c: Calculus, piv: Value) -> Value:
    i64 = DTYPES["i64"]
    (n,) = shape_of(piv.type)
    return host(c, f"{__name__}:permutation", [piv, c.size(n, i64)], ArrayType(i64, (n,)))[0]


def _unit_lower(c: Calculus, lu: Value) -> Value:
    return c.add(triangle(c, lu, 0), on_diagonal(c, c.ones(lu.type)))


def _square(site: HostSite, a: Value) -> None:
    shape = shape_of(a.type)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise site.underivable("of a matrix that is not square has no derivative rule")


def _changes(c: Calculus, permuted: Value, low: Value, high: Value) -> tuple[Value, Value]:
    """L tril(M, -1) and triu(M) U with M = L^-1 P^T A U^-1."""
    m = _solved(c, low, permuted, unit=True)
    m = c.swapped(_solved(c, high, c.swapped(m), trans=1, lower=False))
    return c.matmul(low, triangle(c, m, 0)), c.matmul(triangle(c, m, 1, upper=True), high)


@formula([f"{_LU}lu_factor"], "a")
def _lu_factor(site: FormulaSite) -> Sequence[Value | None]:
    """Both factors in one matrix."""
    c, a, lu = site.c, _in_result(site, "a"), site.y(0)
    _square(site, a)
    permuted = c.op("gather", a, _rows(c, site.y(1)))
    low, high = _unit_lower(c, lu), triangle(c, lu, 1, upper=True)
    return [c.add(*_changes(c, permuted, low, high)), None]


@formula([f"{_LU}lu"], "a")
def _lu(site: FormulaSite) -> Sequence[Value]:
    site.only(permute_l=False, p_indices=False)
    c = site.c
    p, low, high = (site.y(k) for k in range(3))
    a = c.cast(site.x("a"), dtype_of(low.type))
    _square(site, a)
    permuted = c.matmul(c.swapped(c.cast(p, dtype_of(a.type))), a)
    return [c.full(p.type, 0), *_changes(c, permuted, low, high)]


@formula([f"{_LU}lu_solve"], "lu_and_piv", "b")
def _lu_solve(site: FormulaSite) -> Sequence[Value]:
    c = site.c
    lu, b = _in_result(site, "lu_and_piv.0"), _in_result(site, "b")
    _square(site, lu)
    vector = _is_vector(site, lu, b)
    trans = site.constant("trans", 0)
    rows = _rows(c, site.x("lu_and_piv.1"))
    low, high = _unit_lower(c, lu), triangle(c, lu, 1, upper=True)
    right = columns(c, b) if vector else b
    if trans == 0:
        right = _solved(c, low, c.op("gather", right, rows), unit=True)
        out = _solved(c, high, right, lower=False)
    else:
        right = _solved(c, high, right, trans=trans, lower=False)
        right = _solved(c, low, right, trans=trans, unit=True)
        back = c.op("argsort", rows, axis=0, stable=True)
        out = c.op("gather", right, back)
    return [c.reshape(out, shape_of(b.type))]


# Equations of matrices ----------------------------------------------------------------------------

_SOLVERS = "scipy.linalg._solvers:"


def _sylvester_jvp(site: HostSite, tangents: Tangents) -> Results:
    """A dX + dX B = dQ - dA X - X dB."""
    c, x = site.c, site.s.y()
    parts = [c.cast(tangents["q"], dtype_of(x.type))] if "q" in tangents else []
    if "a" in tangents:
        parts.append(c.neg(c.matmul(c.cast(tangents["a"], dtype_of(x.type)), x)))
    if "b" in tangents:
        parts.append(c.neg(c.matmul(x, c.cast(tangents["b"], dtype_of(x.type)))))
    right = sum_of(c, *parts)
    assert right is not None
    return site.again(q=right)


def _sylvester_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    """Z of A^T Z + Z B^T = G; -Z X^T and -X^T Z."""
    c, x, g = site.c, site.s.y(), cotangents[0]
    assert g is not None
    a, b = c.swapped(site.x("a")), c.swapped(site.x("b"))
    (z,) = host(c, f"{_SOLVERS}solve_sylvester", [a, b, g], g.type)
    turned = c.swapped(x)
    out = {"a": c.neg(c.matmul(z, turned)), "b": c.neg(c.matmul(turned, z)), "q": z}
    return {k: c.cast(v, dtype_of(site.type(k))) for k, v in out.items() if site.wanted(k)}


def _lyapunov_jvp(site: HostSite, tangents: Tangents) -> Results:
    """A dX + dX A^H = dQ - dA X - X dA^H; of the discrete one A dX A^H - dX = -dQ - ..."""
    c, x = site.c, site.s.y()
    dtype = dtype_of(x.type)
    parts = [c.cast(tangents["q"], dtype)] if "q" in tangents else []
    if "a" in tangents:
        t, a = c.cast(tangents["a"], dtype), c.cast(site.x("a"), dtype)
        if site.path.endswith("discrete_lyapunov"):
            parts.append(product(c, t, x, adjoint(c, a)))
            parts.append(product(c, a, x, adjoint(c, t)))
        else:
            parts.append(c.neg(c.add(c.matmul(t, x), c.matmul(x, adjoint(c, t)))))
    right = sum_of(c, *parts)
    assert right is not None
    return site.again(q=right)


def _lyapunov_vjp(site: HostSite, cotangents: Results) -> Mapping[str, Value | None]:
    """The same equation of A^T and G gives Z."""
    c, x, g = site.c, site.s.y(), cotangents[0]
    assert g is not None
    z = site.again(a=c.swapped(site.x("a")), q=g)[0]
    if site.path.endswith("discrete_lyapunov"):
        a = c.cast(site.x("a"), dtype_of(x.type))
        of_a = c.matmul(z, c.swapped(c.matmul(x, adjoint(c, a))))
        of_a = c.add(of_a, c.conj(product(c, c.swapped(z), a, x)))
    else:
        of_a = c.add(c.matmul(z, c.swapped(x)), c.conj(c.matmul(c.swapped(z), x)))
        of_a = c.neg(of_a)
    out = {"a": of_a, "q": z}
    return {k: c.cast(v, dtype_of(site.type(k))) for k, v in out.items() if site.wanted(k)}


rule([f"{_SOLVERS}solve_sylvester"], "a", "b", "q", jvp=_sylvester_jvp, vjp=_sylvester_vjp)
rule(
    [f"{_SOLVERS}solve_continuous_lyapunov", f"{_SOLVERS}solve_discrete_lyapunov"],
    *("a", "q"),
    jvp=_lyapunov_jvp,
    vjp=_lyapunov_vjp,
)
