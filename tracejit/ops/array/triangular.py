"""Triangular systems: substitution without a factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.array.linalg import solved
from tracejit.ops.checks import array_of, broadcast_shapes, c_array, only_attrs, take
from tracejit.ops.rules.linalg import adjoint, triangle
from tracejit.ops.samples import FLOATS, LAYOUTS, array

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["TriangularSolve", "substituted"]


def _read(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """The elements of a matrix like `a` that the system reads."""
    return triangle(c, v, 0 if at.attrs["unit"] else 1, upper=not at.attrs["lower"])


def _turned(c: DerivativeBuilder, at: NodeAdaptor, v: Value) -> Value:
    """The matrix, its transpose or its conjugate transpose, which is its own transpose as a map."""
    if at.attrs["trans"] == 0:
        return v
    return c.swapped(v) if at.attrs["trans"] == 1 else adjoint(c, v)


@register
class TriangularSolve(Op):
    """The x with t @ x = b, where t is made of one triangle of each matrix of the stack `a`.

    `lower` tells which one, `unit` that its diagonal counts as ones, and `trans` that t is that
    triangle (0), its transpose (1) or its conjugate transpose (2). The stack of `b` is that of the
    result; the one of `a` is broadcast to it. A zero on the diagonal is divided by.
    """

    name: ClassVar[str] = "triangular_solve"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    routine: ClassVar[str] = "trsm"
    stacked: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        only_attrs(self.name, attrs, "lower", "trans", "unit")
        flags = type(attrs["lower"]) is bool and type(attrs["unit"]) is bool
        require(flags and attrs["trans"] in (0, 1, 2), f"{self.name} does not take {attrs}")
        a, b = (array_of(self.name, t, 2) for t in inputs)
        require(a.dtype in [DTYPES[d] for d in FLOATS], f"{self.name} has no rule for {a.dtype}")
        fits = a.dtype == b.dtype and a.shape[-1] == a.shape[-2] == b.shape[-2]
        stack = broadcast_shapes(self.name, a.shape[:-2], b.shape[:-2])
        require(fits and stack == b.shape[:-2], f"{self.name}: {a} and {b} do not fit")
        return (ArrayType(b.dtype, b.shape),)

    @staticmethod
    def by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        a, b = x
        t = xp.tril(a, -attrs["unit"]) if attrs["lower"] else xp.triu(a, attrs["unit"])
        t = t + xp.eye(a.shape[-1], dtype=a.dtype) if attrs["unit"] else t
        t = xp.swapaxes(t, -1, -2) if attrs["trans"] else t
        return (solved(xp, xp.conj(t) if attrs["trans"] == 2 else t, b),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        a, b = inputs
        t = np.tril(a) if attrs["lower"] else np.triu(a)
        if attrs["unit"]:
            t[..., np.arange(t.shape[-1]), np.arange(t.shape[-1])] = 1
        t = t if attrs["trans"] == 0 else np.swapaxes(t, -1, -2)
        t = np.conj(t) if attrs["trans"] == 2 else t
        return (substituted(t, b, attrs["lower"] == (attrs["trans"] == 0)),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        """Stacks of systems; all right sides of a matrix that is the same for all lanes at once."""
        a, b = at.values
        out = (at.size, *at.shape(1))
        if at.batched == (False, True) and len(out) == 3:
            n, columns = out[1:]
            sides = c.reshape(c.transpose(b, (1, 0, 2)), (n, at.size * columns))
            x = c.op(self.name, a, sides, **at.attrs)
            return (c.transpose(c.reshape(x, (n, at.size, columns)), (1, 0, 2)),)
        if at.batched[0]:
            shape = at.shape(0)
            lead = (1,) * (len(out) - 1 - len(shape))
            a = c.reshape(a, (at.size, *lead, *shape))
        if not at.batched[1]:
            b = c.op("broadcast_to", b, shape=out)
        return (c.op(self.name, a, b, **at.attrs),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in FLOATS:
            for how in LAYOUTS:
                a = array(dtype, (4, 4), how) / 16 + 2 * np.eye(4, dtype=DTYPES[dtype])
                a = a.astype(DTYPES[dtype], order="K")
                for trans in (0, 1, 2):
                    attrs = {"lower": trans != 1, "trans": trans, "unit": how == "F"}
                    out.append(([a, array(dtype, (4, 3 - trans), how)], attrs))
            stack = array(dtype, (3, 3)) / 16 + 2 * np.eye(3, dtype=DTYPES[dtype])
            sides = array(dtype, (2, 3, 2))
            attrs = {"lower": False, "trans": 0, "unit": False}
            out.append(([stack.astype(DTYPES[dtype]), sides], attrs))
            out.append(([np.stack([stack, stack]).astype(DTYPES[dtype]), sides], attrs))
        attrs = {"lower": True, "trans": 1, "unit": False}
        return [*out, ([np.empty((0, 0)), np.empty((0, 2))], attrs)]

    # Systems with the same triangle, and with its transpose.
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


#: Most rows that are taken one by one.
_ROWS = 16


def substituted(
    t: np.ndarray[Any, Any], b: np.ndarray[Any, Any], lower: bool
) -> np.ndarray[Any, Any]:
    """Row by row, from the first of a lower triangle or the last of an upper one; by halves."""
    x = c_array(b.copy())
    n = x.shape[-2]
    if n > _ROWS:
        halves = slice(0, n // 2), slice(n // 2, n)
        first, last = halves if lower else halves[::-1]
        x[..., first, :] = substituted(t[..., first, first], b[..., first, :], lower)
        with np.errstate(all="ignore"):
            x[..., last, :] -= t[..., last, first] @ x[..., first, :]
        x[..., last, :] = substituted(t[..., last, last], x[..., last, :], lower)
        return x
    with np.errstate(all="ignore"):
        for k in range(n) if lower else reversed(range(n)):
            known = slice(0, k) if lower else slice(k + 1, n)
            x[..., k, :] -= (t[..., k, None, known] @ x[..., known, :])[..., 0, :]
            x[..., k, :] /= t[..., k, k, None]
    return x
