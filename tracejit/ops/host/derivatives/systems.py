"""Derivatives of SciPy's solvers of linear systems, and of the factors that they are solved with.

Of a matrix that is taken for symmetric, Hermitian or positive definite one triangle is read; the
function differentiated is that of (A + A^T) / 2 or (A + A^H) / 2. The factors L and U of A = P L U
change by L tril(M, -1) and triu(M) U with M = L^-1 P^T dA U^-1 (M. Giles, "An extended collection
of matrix derivative results", 2008, has the like for other factors), interchanges being held.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Value
from tracejit.ir.terms import terms
from tracejit.ir.types import DTYPES, ArrayType, Type, dtype_of, shape_of
from tracejit.ops.host.derivatives.decompositions import Results, Tangents
from tracejit.ops.host.derivatives.formulas import FormulaAdaptor, formula, solver
from tracejit.ops.host.derivatives.registry import HostAdaptor, host, sum_of
from tracejit.ops.host.registered import registered
from tracejit.ops.rules.linalg import (
    adjoint,
    columns,
    hermitian,
    on_diagonal,
    triangle,
)

__all__ = ["permutation"]

Array: TypeAlias = np.ndarray[Any, Any]
_BASIC = "scipy.linalg._basic:"


# Systems -----------------------------------------------------------------------------------------


def _structured(at: FormulaAdaptor, a: Value) -> Value:
    """The matrices that `assume_a` says the operand stands for."""
    c, kind = at.c, at.constant("assume_a")
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
    raise at.underivable(f"with assume_a={kind!r} has no derivative rule")


def _in_result(at: FormulaAdaptor, name: str) -> Value:
    """An operand in the dtype of the result."""
    return at.c.cast(at.x(name), dtype_of(at.call.outputs[0]))


def _is_vector(at: HostAdaptor, a: Type, b: Type) -> bool:
    """Whether the right side is one vector. Raises Underivable for stacks that broadcast."""
    left, right = shape_of(a), shape_of(b)
    if len(left) == 2 and len(right) == 1:
        return True
    if len(left) != len(right) or left[:-2] != right[:-2]:
        raise at.underivable("of stacks that broadcast has no derivative rule")
    return False


@formula([f"{_BASIC}solve"], "a", "b")
def _solve(at: FormulaAdaptor) -> Sequence[Value]:
    c, a, b = at.c, _in_result(at, "a"), _in_result(at, "b")
    vector = _is_vector(at, a.type, b.type)
    a = _structured(at, a)
    a = c.swapped(a) if at.constant("transposed", False) else a
    return [c.solve(a, b, vector)]


@formula([f"{_BASIC}inv"], "a")
def _inv(at: FormulaAdaptor) -> Sequence[Value]:
    return [at.c.op("inv", _structured(at, _in_result(at, "a")))]


@formula([f"{_BASIC}pinvh"], "a")
def _pinvh(at: FormulaAdaptor) -> Sequence[Value]:
    """The pseudo-inverse, which is the call's own."""
    at.only(return_rank=False, atol=None)
    a = hermitian(at.c, _in_result(at, "a"))
    limit = {} if (rtol := at.constant("rtol")) is None else {"rcond": rtol}
    t = ArrayType(dtype_of(a.type), shape_of(a.type))
    return host(at.c, "numpy.linalg:pinv", [a], t, **limit)


@formula([f"{_BASIC}det"], "a")
def _det(at: FormulaAdaptor) -> Sequence[Value]:
    """The determinant, whose derivatives are cofactors."""
    c, a = at.c, at.x("a")
    wide = "c128" if dtype_of(a.type).kind == "c" else "f64"
    return [c.op("determinant", c.cast(a, wide))]


# Triangles ---------------------------------------------------------------------------------------

_TRANSPOSED = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}


def _solved(
    c: DerivativeBuilder, a: Value, b: Value, trans: int = 0, lower: bool = True, unit: bool = False
) -> Value:
    """The solution of a triangular system, right sides in columns."""
    return c.op("triangular_solve", a, b, lower=lower, trans=trans, unit=unit)


class _Triangular:
    """A triangular system under differentiation."""

    def __init__(self, at: HostAdaptor) -> None:
        c = self.c = at.c
        self.at = at
        self.dtype = dtype_of(at.call.outputs[0])
        self.a = c.cast(at.x("a"), self.dtype)
        self.vector = _is_vector(at, self.a.type, at.type("b"))
        self.trans = _TRANSPOSED[at.constant("trans", 0)]
        self.lower = bool(at.constant("lower", False))
        self.unit = bool(at.constant("unit_diagonal", False))

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


def _triangular_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """T dx = db - dT x."""
    system, c = _Triangular(at), at.c
    parts = []
    if "a" in tangents:
        moved = system.turned(system.read(c.cast(tangents["a"], system.dtype)))
        parts.append(c.neg(c.matmul(moved, system.matrix(at.call.y()))))
    if "b" in tangents:
        parts.append(system.matrix(tangents["b"]))
    right = sum_of(c, *parts)
    assert right is not None
    out = system.solved(right, system.trans)
    return (c.reshape(out, shape_of(at.call.outputs[0])),)


def _triangular_back(at: HostAdaptor, g: Value) -> Value:
    """The solution of the transposed system."""
    system, c = _Triangular(at), at.c
    g = system.matrix(g)
    if system.trans < 2:
        return system.solved(g, 1 - system.trans)
    return c.conj(system.solved(c.conj(g), 0))


solver([f"{_BASIC}solve_triangular"], "b", _triangular_back, "a", jvp=_triangular_jvp)


# Factors -----------------------------------------------------------------------------------------

_CHOLESKY = "scipy.linalg._decomp_cholesky:"


def _factor(at: FormulaAdaptor) -> tuple[Value, bool]:
    lower = bool(at.constant("lower", False))
    return at.c.op("cholesky", _in_result(at, "a"), upper=not lower), lower


@formula([f"{_CHOLESKY}cholesky"], "a")
def _cholesky(at: FormulaAdaptor) -> Sequence[Value]:
    return [_factor(at)[0]]


@cache
def _clears_the_rest() -> bool:
    """Whether `cho_factor` leaves zeros beside its factor, as since SciPy 1.18."""
    from scipy.linalg import cho_factor

    found, _ = cho_factor(np.array([[2.0, 1.0], [1.0, 2.0]]))
    return bool(found[1, 0] == 0)


@formula([f"{_CHOLESKY}cho_factor"], "a")
def _cho_factor(at: FormulaAdaptor) -> Sequence[Value | None]:
    """The other triangle has the operand's elements, or zeros."""
    c = at.c
    factor, lower = _factor(at)
    if _clears_the_rest():
        return [factor, None]
    return [c.add(factor, triangle(c, _in_result(at, "a"), 0, upper=lower)), None]


@formula([f"{_CHOLESKY}cho_solve"], "c_and_lower", "b")
def _cho_solve(at: FormulaAdaptor) -> Sequence[Value]:
    """L^-H L^-1 b."""
    c = at.c
    factor, b = _in_result(at, "c_and_lower.0"), _in_result(at, "b")
    vector = _is_vector(at, factor.type, b.type)
    right = columns(c, b) if vector else b
    if "c_and_lower.1" in at.places:
        # SciPy 1.18 gives it as an array without axes.
        low, high = triangle(c, factor, 1), adjoint(c, triangle(c, factor, 1, upper=True))
        is_lower = c.shaped(c.cast(at.x("c_and_lower.1"), "b1"), low.type)
        factor, lower = c.where(is_lower, low, c.laid_out(high, low.type)), True
    else:
        (_, _, (_, lower)) = at.given["c_and_lower"]
    for trans in (0, 2) if lower else (2, 0):
        right = _solved(c, factor, right, trans, bool(lower))
    return [c.reshape(right, shape_of(b.type))]


_LU = "scipy.linalg._decomp_lu:"


@registered
def permutation(piv: Array, size: int) -> Array:
    """The order of rows that a list of interchanges makes."""
    order = np.arange(size)
    for k, j in enumerate(piv):
        order[[k, j]] = order[[j, k]]
    return order


def _rows(c: DerivativeBuilder, piv: Value) -> Value:
    i64 = DTYPES["i64"]
    (n,) = shape_of(piv.type)
    return host(c, f"{__name__}:permutation", [piv, c.size(n, i64)], ArrayType(i64, (n,)))[0]


def _square(at: HostAdaptor, a: Value) -> None:
    shape = shape_of(a.type)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise at.underivable("of a matrix that is not square has no derivative rule")


def _changes(c: DerivativeBuilder, permuted: Value, low: Value, high: Value) -> tuple[Value, Value]:
    """L tril(M, -1) and triu(M) U with M = L^-1 P^T A U^-1."""
    m = _solved(c, low, permuted, unit=True)
    m = c.swapped(_solved(c, high, c.swapped(m), trans=1, lower=False))
    return c.matmul(low, triangle(c, m, 0)), c.matmul(triangle(c, m, 1, upper=True), high)


@formula([f"{_LU}lu_factor"], "a")
def _lu_factor(at: FormulaAdaptor) -> Sequence[Value | None]:
    """Both factors in one matrix."""
    c, a, lu = at.c, _in_result(at, "a"), at.y(0)
    _square(at, a)
    permuted = c.op("gather", a, _rows(c, at.y(1)))
    low = c.add(triangle(c, lu, 0), on_diagonal(c, c.ones(lu.type)))
    high = triangle(c, lu, 1, upper=True)
    return [c.add(*_changes(c, permuted, low, high)), None]


@formula([f"{_LU}lu"], "a")
def _lu(at: FormulaAdaptor) -> Sequence[Value]:
    at.only(permute_l=False, p_indices=False)
    c = at.c
    p, low, high = (at.y(k) for k in range(3))
    a = c.cast(at.x("a"), dtype_of(low.type))
    _square(at, a)
    permuted = c.matmul(c.swapped(c.cast(p, dtype_of(a.type))), a)
    return [c.full(p.type, 0), *_changes(c, permuted, low, high)]


@formula([f"{_LU}lu_solve"], "lu_and_piv", "b")
def _lu_solve(at: FormulaAdaptor) -> Sequence[Value]:
    c = at.c
    lu, b = _in_result(at, "lu_and_piv.0"), _in_result(at, "b")
    _square(at, lu)
    vector = _is_vector(at, lu.type, b.type)
    trans = at.constant("trans", 0)
    rows = _rows(c, at.x("lu_and_piv.1"))
    right = columns(c, b) if vector else b
    if trans == 0:
        right = _solved(c, lu, c.op("gather", right, rows), unit=True)
        out = _solved(c, lu, right, lower=False)
    else:
        right = _solved(c, lu, right, trans=trans, lower=False)
        right = _solved(c, lu, right, trans=trans, unit=True)
        back = c.op("argsort", rows, axis=0, stable=True)
        out = c.op("gather", right, back)
    return [c.reshape(out, shape_of(b.type))]


# Equations of matrices ----------------------------------------------------------------------------

_SOLVERS = "scipy.linalg._solvers:"


def _sylvester_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """A dX + dX B = dQ - dA X - X dB."""
    (x,) = terms(at, at.call.y())
    given = {k: x.of(v).cast(dtype_of(x.type)) for k, v in tangents.items()}
    parts = [given["q"]] if "q" in given else []
    parts += [-(given["a"] @ x)] if "a" in given else []
    parts += [-(x @ given["b"])] if "b" in given else []
    right = sum_of(at.c, *(p.value for p in parts))
    assert right is not None
    return at.again(q=right)


def _sylvester_back(at: HostAdaptor, g: Value) -> Value:
    """Z of A^T Z + Z B^T = G."""
    c = at.c
    operands = [c.swapped(at.x("a")), c.swapped(at.x("b")), g]
    return host(c, f"{_SOLVERS}solve_sylvester", operands, g.type)[0]


def _lyapunov_jvp(at: HostAdaptor, tangents: Tangents) -> Results:
    """A dX + dX A^H = dQ - dA X - X dA^H; of the discrete one A dX A^H - dX = -dQ - ..."""
    (x,) = terms(at, at.call.y())
    given = {k: x.of(v).cast(dtype_of(x.type)) for k, v in tangents.items()}
    parts = [given["q"]] if "q" in given else []
    if "a" in given:
        t, a = given["a"], x.of(at.x("a")).cast(dtype_of(x.type))
        if at.path.endswith("discrete_lyapunov"):
            parts += [t @ x @ a.H, a @ x @ t.H]
        else:
            parts.append(-(t @ x + x @ t.H))
    right = sum_of(at.c, *(p.value for p in parts))
    assert right is not None
    return at.again(q=right)


def _lyapunov_back(at: HostAdaptor, g: Value) -> Value:
    """The same equation of A^T."""
    return at.again(a=at.c.swapped(at.x("a")), q=g)[0]


solver([f"{_SOLVERS}solve_sylvester"], "q", _sylvester_back, "a", "b", jvp=_sylvester_jvp)
_LYAPUNOV = [f"{_SOLVERS}solve_{kind}_lyapunov" for kind in ("continuous", "discrete")]
solver(_LYAPUNOV, "q", _lyapunov_back, "a", jvp=_lyapunov_jvp)
