"""Factors by row interchanges as values of their own, and what is computed from them.

    packed, pivots = lu_factor(a)
    x = factored_solve(a, packed, pivots, b)      several of these factor `a` once

`packed` has the transpose of both factors in one matrix, that is both by columns, and `pivots` the
row, counted from 1, that each row was interchanged with, as LAPACK has them. The factors stand for
`a` and have no derivatives: what is computed from them takes `a` too, and has those by `a`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from tracejit.base.late import imported
from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.terms import terms
from tracejit.ir.types import DTYPES, ArrayType, Type, shape_of
from tracejit.ops.array.linalg import solved
from tracejit.ops.array.triangular import substituted
from tracejit.ops.checks import array_of, broadcast_shapes, c_array, only_attrs, take
from tracejit.ops.rules.linalg import matrix_sum, per_element
from tracejit.ops.samples import array
from tracejit.ops.signature import Signature

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["FactoredDiagonal", "FactoredInverse", "FactoredSolve", "LuFactor"]

Array: TypeAlias = np.ndarray[Any, Any]


def _square(name: str, t: Type) -> ArrayType:
    a = array_of(name, t, 2)
    require(a.shape[-1] == a.shape[-2], f"{name}: {a} is not square")
    require(a.dtype in (DTYPES["f64"], DTYPES["c128"]), f"{name} has no rule for {a.dtype}")
    return a


def _factors(name: str, inputs: Sequence[Type]) -> ArrayType:
    """The type of the matrices, whose factors the next two operands are."""
    a = _square(name, inputs[0])
    packed, pivots = array_of(name, inputs[1]), array_of(name, inputs[2])
    fits = (packed.dtype, packed.shape) == (a.dtype, a.shape)
    fits = fits and (pivots.dtype, pivots.shape) == (DTYPES["i64"], a.shape[:-1])
    require(fits, f"{name}: {packed} and {pivots} are no factors of {a}")
    return a


def _matrices() -> list[Array]:
    out = []
    for dtype in ("f64", "c128"):
        for shape in ((4, 4), (2, 3, 3), (1, 1)):
            x = array(dtype, shape) / 16
            out.append((x + 2 * np.eye(shape[-1])[::-1]).astype(x.dtype))
    return [*out, np.empty((0, 0)), np.eye(4)[[1, 0, 3, 2]]]


def _factored_samples() -> list[list[Any]]:
    return [[a, *_LU.evaluate([a], {})] for a in _matrices()]


def _regular(packed: Array) -> None:
    """Raises Bailout for a singular matrix."""
    if (np.diagonal(packed, axis1=-2, axis2=-1) == 0).any():
        raise Bailout("Singular matrix")


def _rows(pivots: Array, back: bool) -> Array:
    """The order of rows that the interchanges make, or that undoes them."""
    order = np.arange(len(pivots))
    for k in reversed(range(len(pivots))) if back else range(len(pivots)):
        j = pivots[k] - 1
        order[[k, j]] = order[[j, k]]
    return order


def _solved(packed: Array, pivots: Array, b: Array, trans: int) -> Array:
    """The solution by one matrix's factors."""
    upper, unit = np.tril(packed), np.triu(packed, 1) + np.eye(len(packed), dtype=packed.dtype)
    if trans:
        x = substituted(unit, substituted(upper, b, True), False)
        return x[_rows(pivots, True)]
    return substituted(upper.T, substituted(unit.T, b[_rows(pivots, False)], True), False)


def _operands(at: NodeAdaptor) -> list[Value]:
    return [at.x(k) for k in range(3)]


@register
class LuFactor(Op):
    """The factors of square matrices by row interchanges, packed by columns, and the interchanges.

    Those of a singular matrix have a zero on the diagonal.
    """

    name: ClassVar[str] = "lu_factor"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    factors: ClassVar[bool] = True
    routine: ClassVar[str] = "getrf"
    stacked: ClassVar[bool] = True
    signature: ClassVar[Any] = Signature("a: f64|c128[.., n, n] -> a, i64[.., n]")

    @staticmethod
    def by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        linalg = imported("cupyx.scipy.linalg" if xp.__name__ == "cupy" else "scipy.linalg")
        (a,) = x
        packed, pivots = xp.empty(a.shape, a.dtype), xp.empty(a.shape[:-1], "int64")
        if not a.size:
            return packed, pivots  # cuSOLVER refuses it.
        for k in np.ndindex(a.shape[:-2]):
            factors, rows = linalg.lu_factor(a[k])
            packed[k], pivots[k] = factors.T, rows + 1
        return packed, pivots

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        from scipy.linalg import lapack

        (a,) = inputs
        packed, pivots = np.empty(a.shape, a.dtype), np.empty(a.shape[:-1], np.int64)
        getrf = lapack.dgetrf if a.dtype.char == "d" else lapack.zgetrf
        for k in np.ndindex(a.shape[:-2] if a.size else (0,)):
            factors, rows, _ = getrf(a[k])
            packed[k], pivots[k] = factors.T, rows + 1
        return packed, pivots

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([a], {}) for a in _matrices()]

    # Factors have no derivatives: they are read together with their matrix.
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


_LU = LuFactor()


@register
class FactoredSolve(Op):
    """The x with a @ x = b, or swapped(a) @ x = b for `trans` 1, by the factors of `a`.

    The stack of `b` is that of the result; the one of `a` is broadcast to it. Bails out for a
    singular matrix.
    """

    name: ClassVar[str] = "factored_solve"
    kind: ClassVar[str] = "library"
    raises: ClassVar[bool] = True
    parity: ClassVar[str] = "order"
    routine: ClassVar[str] = "getrs"
    stacked: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 4)
        only_attrs(self.name, attrs, "trans")
        require(attrs["trans"] in (0, 1), f"{self.name} does not take {attrs}")
        a, b = _factors(self.name, inputs), array_of(self.name, inputs[3], 2)
        stack = broadcast_shapes(self.name, a.shape[:-2], b.shape[:-2])
        fits = a.dtype == b.dtype and b.shape[:-1] == (*stack, a.shape[-1])
        require(fits, f"{self.name}: {a} and {b} do not fit")
        return (ArrayType(b.dtype, b.shape),)

    @staticmethod
    def by_package(xp: Any, x: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
        return (solved(xp, xp.swapaxes(x[0], -1, -2) if attrs["trans"] else x[0], x[3]),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        _, packed, pivots, b = inputs
        _regular(packed)
        out, stack = np.empty(b.shape, b.dtype), b.shape[:-2]
        packed = np.broadcast_to(packed, (*stack, *packed.shape[-2:]))
        pivots = np.broadcast_to(pivots, (*stack, *pivots.shape[-1:]))
        for k in np.ndindex(stack):
            out[k] = _solved(packed[k], pivots[k], b[k], attrs["trans"])
        return (out,)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        """Stacks of systems; all right sides of a matrix that is the same for all lanes at once."""
        *factors, b = at.values
        out = (at.size, *at.shape(3))
        if not any(at.batched[:3]) and len(out) == 3:
            n, columns = out[1:]
            sides = c.reshape(c.transpose(b, (1, 0, 2)), (n, at.size * columns))
            x = c.op(self.name, *factors, sides, **at.attrs)
            return (c.transpose(c.reshape(x, (n, at.size, columns)), (1, 0, 2)),)
        if any(at.batched[:3]):
            more = (1,) * (len(out) - 1 - len(at.shape(0)))
            for k, v in enumerate(factors):
                whole = (at.size, *at.shape(k))
                v = v if at.batched[k] else c.op("broadcast_to", v, shape=whole)
                factors[k] = c.reshape(v, (at.size, *more, *whole[1:]))
        b = b if at.batched[3] else c.op("broadcast_to", b, shape=out)
        return (c.op(self.name, *factors, b, **at.attrs),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for trans, columns in ((0, 3), (1, 2), (0, 1), (1, 1)):
            for given in _factored_samples():
                shape = given[0].shape
                b = array("f64", (*shape[:-1], columns), "F").astype(given[0].dtype)
                out.append(([*given, b], {"trans": trans}))
        return [*out, ([*_factored_samples()[0], array("f64", (2, 4, 2))], {"trans": 1})]

    # a x = b: so a dx = db - da x.
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
        return (c.op("factored_solve", *_operands(at), right, **at.attrs),)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The solution for the transpose; the outer product of that and the solution."""
        (g,) = cotangents
        if g is None:
            return None, None, None, None
        trans = at.attrs["trans"]
        z = c.op("factored_solve", *_operands(at), g, trans=1 - trans)
        of_a = None
        if at.wanted[0]:
            left, right = (at.y(), z) if trans else (z, at.y())
            of_a = c.neg(c.sum_to(c.matmul(left, c.swapped(right)), at.inputs[0]))
        return of_a, None, None, z if at.wanted[3] else None


@register
class FactoredInverse(Op):
    """The transposed inverses of square matrices by their factors. Bails out for a singular one."""

    name: ClassVar[str] = "factored_inverse"
    kind: ClassVar[str] = "library"
    raises: ClassVar[bool] = True
    parity: ClassVar[str] = "order"
    routine: ClassVar[str] = "getri"
    stacked: ClassVar[bool] = True
    by_package = staticmethod(lambda xp, x, attrs: (xp.swapaxes(xp.linalg.inv(x[0]), -1, -2),))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 3)
        only_attrs(self.name, attrs)
        a = _factors(self.name, inputs)
        return (ArrayType(a.dtype, a.shape),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        _, packed, pivots = inputs
        _regular(packed)
        out, ones = np.empty(packed.shape, packed.dtype), np.eye(packed.shape[-1])
        for k in np.ndindex(packed.shape[:-2]):
            out[k] = _solved(packed[k], pivots[k], ones.astype(packed.dtype), 1)
        return (out,)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, _all_batched(c, at), **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [(given, {}) for given in _factored_samples()]

    # y = a^-T: dy = -y da^T y.
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


@register
class FactoredDiagonal(Op):
    """What `lu_diagonal` gives for square matrices, by their factors."""

    name: ClassVar[str] = "factored_diagonal"
    kind: ClassVar[str] = "library"
    parity: ClassVar[str] = "order"
    routine: ClassVar[str] = "pivoted"
    stacked: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 3)
        only_attrs(self.name, attrs)
        a = _factors(self.name, inputs)
        return (ArrayType(a.dtype, a.shape[:-1]),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        _, packed, pivots = inputs
        out = np.diagonal(packed, axis1=-2, axis2=-1).copy()
        odd = (pivots != np.arange(1, pivots.shape[-1] + 1)).sum(-1) % 2 == 1
        out[..., :1] = np.where(odd[..., None], -out[..., :1], out[..., :1])
        return (c_array(out),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, _all_batched(c, at), **at.attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [(given, {}) for given in _factored_samples()]

    # As of `lu_diagonal`: each element d has the derivative d tr(a^-1 da) / n.
    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The elements times their share."""
        if tangents[0] is None:
            return (None,)
        inverse = c.op("factored_inverse", *_operands(at))
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
        inverse = c.op("factored_inverse", *_operands(at))
        units = c.reshape(total, (*shape_of(total.type), 1, 1))
        return c.mul_no_nan(c.shaped(units, inverse.type), inverse), None, None


def _all_batched(c: DerivativeBuilder, at: BatchAdaptor) -> list[Value]:
    """The operands, those that are the same for all lanes repeated."""
    return [
        v if is_batched else c.op("broadcast_to", v, shape=(at.size, *shape_of(v.type)))
        for v, is_batched in zip(at.values, at.batched, strict=True)
    ]
