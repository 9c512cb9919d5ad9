"""Determinants as what their derivatives are taken of: cofactors, of singular matrices too.

    d det(a) = sum(cofactors(a) * da),   cofactors(a) = det(a) a^-T

Where a pivot is small, the cofactors are computed by the singular values: with a = U S V^H they
are det(U) det(V^H) conj(U) C conj(V^H), where C is diagonal and C[i] is the product of all singular
values but S[i]. Their own derivatives are those of a polynomial: with F such that da = U F V^H, C
changes by the sums over j of F[j, j] P[i, j] on the diagonal and by -F[j, i] P[i, j] elsewhere,
P[i, j] being the product of all singular values but S[i] and S[j]. Third derivatives are not formed
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.dims import symbol
from tracejit.ir.evaluating import EvaluatingBuilder
from tracejit.ir.graph import Graph, GraphBuilder, Value
from tracejit.ir.types import ArrayType, Type, shape_of, type_sizes
from tracejit.ops.host.derivatives.registry import HostAdaptor, as_array, host, rule
from tracejit.ops.host.registered import registered
from tracejit.ops.rules.linalg import matrix_sum

__all__ = ["changes", "cofactors", "determinant_jvp", "determinant_vjp", "third"]

Array: TypeAlias = np.ndarray[Any, Any]


def determinant_jvp(
    c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
) -> Sequence[Value | None]:
    """The sum of the cofactors times the tangent."""
    (t,) = tangents
    if t is None:
        return (None,)
    return (as_array(c, matrix_sum(c, c.mul_no_nan(t, _cofactors(c, at.x(0))), 2)),)


def determinant_vjp(
    c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
) -> Sequence[Value | Into | None]:
    """The cofactors times the cotangent."""
    (g,) = cotangents
    if g is None or not at.wanted[0]:
        return (None,)
    found = _cofactors(c, at.x(0))
    units = c.reshape(as_array(c, g), (*shape_of(g.type), 1, 1))
    return (c.mul_no_nan(c.shaped(units, found.type), found),)


# Cofactors ---------------------------------------------------------------------------------------


def _cofactors(c: DerivativeBuilder, a: Value) -> Value:
    """By the inverse where all pivots are large, else by the singular values."""
    t = a.type
    assert isinstance(t, ArrayType)
    # The pivots themselves have no derivative where the matrix is singular.
    factors = c.ops("lu_factor", [a])
    size = c.op("absolute", c.op("factored_diagonal", c.op("stop_gradient", a), *factors))
    last = (t.ndim - 2,)
    least, most = (as_array(c, c.op(f"reduce_{m}", size, axes=last)) for m in ("min", "max"))
    small = c.op("less_equal", least, c.scale(most, float(np.finfo(t.dtype).eps) ** 0.5))
    if t.ndim > 2:
        small = as_array(c, c.op("reduce_any", small, axes=tuple(range(t.ndim - 2))))
    predicate = c.op("element", small)
    if isinstance(c.builder, EvaluatingBuilder):
        return _made(c, (a, *factors), bool(c.builder.concrete(predicate)))
    names = sorted(type_sizes(t))
    sizes = tuple(symbol(name) for name in names)
    given = (a, *factors)
    sides = [_side(c, [v.type for v in given], names, singular) for singular in (True, False)]
    return c.ops(
        "cond", (predicate, *given), regions=(sides[0], sides[1]), sizes=(sizes, sizes), unlikely=0
    )[0]


def _side(
    c: DerivativeBuilder, types: Sequence[Type], names: Sequence[str], singular: bool
) -> Graph:
    builder = GraphBuilder("singular" if singular else "regular", names)
    given = [builder.input(t) for t in types]
    return builder.build([_made(DerivativeBuilder(builder, c.fresh), given, singular)])


def _made(c: DerivativeBuilder, given: Sequence[Value], singular: bool) -> Value:
    a, t = given[0], given[0].type
    assert isinstance(t, ArrayType)
    plain = ArrayType(t.dtype, t.shape)
    if singular:
        (out,) = host(c, f"{__name__}:cofactors", [a], plain)
    else:
        pivots = c.op("factored_diagonal", *given)
        value = as_array(c, c.op("reduce_prod", pivots, axes=(t.ndim - 2,)))
        inverse = c.op("factored_inverse", *given)
        units = c.reshape(value, (*t.shape[:-2], 1, 1))
        out = c.mul(c.shaped(units, inverse.type), inverse)
    return c.laid_out(out, plain)


def _values(a: Array) -> tuple[Array, Array, Array, Array]:
    """conj(U), the singular values, conj(V^H), and det(U) det(V^H)."""
    u, s, vh = np.linalg.svd(a)
    phase = np.asarray(np.linalg.det(u) * np.linalg.det(vh))
    return np.conj(u), s, np.conj(vh), phase[..., None, None]


@registered
def cofactors(a: Array) -> Array:
    """The derivatives of the determinants of a stack of matrices by their elements."""
    u, s, vh, phase = _values(a)
    n = s.shape[-1]
    others = np.where(np.eye(n, dtype=bool), 1, s[..., None, :]).prod(-1)
    return np.ascontiguousarray(phase * (u * others[..., None, :] @ vh))


@registered
def changes(a: Array, e: Array) -> Array:
    """The derivatives of the cofactors along `e`."""
    u, s, vh, phase = _values(a)
    n = s.shape[-1]
    own = np.eye(n, dtype=bool)
    f = np.swapaxes(u, -1, -2) @ e @ np.swapaxes(vh, -1, -2)
    pairs = np.where(own[:, None] | own[None, :], 1, s[..., None, None, :]).prod(-1)
    pairs = np.where(own, 0, pairs)
    traces = np.diagonal(f, axis1=-2, axis2=-1)
    middle = -np.swapaxes(f, -1, -2) * pairs
    middle = middle + own * (pairs @ traces[..., None])
    return np.ascontiguousarray(phase * (u @ middle @ vh))


@registered
def third(a: Array, e: Array, d: Array) -> Array:
    """Raises LinAlgError."""
    raise np.linalg.LinAlgError("no third derivative of the determinant of a singular matrix")


def _along(at: HostAdaptor, v: Value) -> Value:
    return host(at.c, f"{__name__}:changes", [at.x("a"), v], v.type)[0]


def _cofactors_jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
    return (_along(at, tangents["a"]),)


def _refused(at: HostAdaptor, v: Value) -> Value:
    return host(at.c, f"{__name__}:third", [at.x("a"), at.x("e"), v], v.type)[0]


def _changes_jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
    if "a" in tangents:
        return (_refused(at, tangents["a"]),)
    return (_along(at, tangents["e"]),)


def _changes_vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
    (g,) = cotangents
    assert g is not None
    out: dict[str, Value | None] = {}
    if at.wanted("a"):
        out["a"] = _refused(at, g)
    if at.wanted("e"):
        out["e"] = _along(at, g)
    return out


rule([f"{__name__}:cofactors"], "a", jvp=_cofactors_jvp)
rule([f"{__name__}:changes"], "a", "e", jvp=_changes_jvp, vjp=_changes_vjp)
