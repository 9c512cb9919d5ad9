"""Derivative rules of triangular systems: t x = b, so t dx = db - dt x."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor
from tracejit.ir.graph import Value
from tracejit.ops.rules.linalg import adjoint, triangle

__all__ = ["TriangularSolveRules"]


def _read(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """The elements of a matrix like `a` that the system reads."""
    return triangle(c, v, 0 if at.attrs["unit"] else 1, upper=not at.attrs["lower"])


def _turned(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """The matrix, its transpose or its conjugate transpose, which is its own transpose as a map."""
    if at.attrs["trans"] == 0:
        return v
    return c.swapped(v) if at.attrs["trans"] == 1 else adjoint(c, v)


class TriangularSolveRules:
    """Systems with the same triangle, and with its transpose."""

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The solution for another right side."""
        ta, right = tangents
        if ta is not None:
            moved = c.matmul(_turned(c, at, _read(c, at, ta)), at.y())
            right = c.neg(moved) if right is None else c.sub(right, moved)
        if right is None:
            return (None,)
        return (c.op("triangular_solve", at.x(0), right, **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The solution for the transpose; the triangle of its outer product with the solution."""
        (g,) = cotangents
        if g is None:
            return None, None
        conjugate = at.attrs["trans"] == 2
        attrs = {**at.attrs, "trans": 1 if at.attrs["trans"] == 0 else 0}
        z = c.op("triangular_solve", at.x(0), c.conj(g) if conjugate else g, **attrs)
        z = c.conj(z) if conjugate else z
        of_a = None
        if at.wanted[0]:
            moved = c.sum_to(c.matmul(z, c.swapped(at.y())), at.inputs[0])
            of_a = c.neg(_read(c, at, _turned(c, at, moved)))
        return of_a, z if at.wanted[1] else None
