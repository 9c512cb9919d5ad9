"""Derivative rules of what is computed from factors: those by the matrix, with the same factors."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.graph import Value
from tracejit.ir.terms import terms
from tracejit.ir.types import shape_of
from tracejit.ops.rules.linalg import matrix_sum, per_element

__all__ = [
    "FactoredDiagonalRules",
    "FactoredInverseRules",
    "FactoredSolveRules",
    "LuFactorRules",
]


class LuFactorRules:
    """Factors have no derivatives: they are read together with their matrix."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """None."""
        return None, None

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """None."""
        return (None,)


class FactoredSolveRules:
    """a x = b: so a dx = db - da x."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The solution for another right side."""
        ta, right = tangents[0], tangents[3]
        if ta is not None:
            moved = c.matmul(c.swapped(ta) if at.attrs["trans"] else ta, at.y())
            right = c.neg(moved) if right is None else c.sub(right, moved)
        if right is None:
            return (None,)
        return (c.op("factored_solve", *_factors(at), right, **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The solution for the transpose; the outer product of that and the solution."""
        (g,) = cotangents
        if g is None:
            return None, None, None, None
        trans = at.attrs["trans"]
        z = c.op("factored_solve", *_factors(at), g, trans=1 - trans)
        of_a = None
        if at.wanted[0]:
            left, right = (at.y(), z) if trans else (z, at.y())
            of_a = c.neg(c.sum_to(c.matmul(left, c.swapped(right)), at.inputs[0]))
        return of_a, None, None, z if at.wanted[3] else None


def _factors(at: NodeAdaptor) -> list[Value]:
    return [at.x(k) for k in range(3)]


class FactoredInverseRules:
    """y = a^-T: dy = -y da^T y."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """Products with the inverse."""
        if tangents[0] is None:
            return (None,)
        y, turned = terms(at, at.y(), c.swapped(tangents[0]))
        return ((-(y @ turned @ y)).value,)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """Products with the inverse."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return None, None, None
        y, turned = terms(at, at.y(), c.swapped(g))
        return (-(y @ turned @ y)).value, None, None


class FactoredDiagonalRules:
    """As of `lu_diagonal`: each element d has the derivative d tr(a^-1 da) / n."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The elements times their share."""
        if tangents[0] is None:
            return (None,)
        inverse = c.op("factored_inverse", *_factors(at))
        trace = matrix_sum(c, c.mul_no_nan(tangents[0], inverse), 2)
        return (c.mul(at.y(), per_element(c, trace, at.outputs[0])),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The inverse's transpose times the mean of cotangents times elements."""
        (g,) = cotangents
        if g is None or not at.wanted[0]:
            return None, None, None
        total = matrix_sum(c, per_element(c, c.mul(g, at.y()), at.outputs[0]), 1)
        inverse = c.op("factored_inverse", *_factors(at))
        units = c.reshape(total, (*shape_of(total.type), 1, 1))
        return c.mul_no_nan(c.shaped(units, inverse.type), inverse), None, None
