"""Ops whose derivatives are products with one partial derivative for each operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from tracejit.errors import Underivable
from tracejit.ir.graph import Value
from tracejit.ir.op import Op
from tracejit.ir.types import dtype_of

if TYPE_CHECKING:
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["ElementwiseDerivative", "Partial"]

#: (builder, node, v) -> v times a partial derivative, by elements; None: zero.
Partial: TypeAlias = "Callable[[DerivativeBuilder, NodeAdaptor, Value], Value | None]"


class ElementwiseDerivative(Op):
    """An op with one result, of which each element depends on one element of each operand.

    The product with a real or a holomorphic partial derivative is its own transpose, and so is the
    real part of a product: one function serves both modes. It gives its term in any dtype; the rule
    takes the real part where the term is complex and what it belongs to is not.
    """

    #: For each operand, the product of its tangent with the partial derivative.
    partials: ClassVar[tuple[Partial, ...] | None] = None
    #: The transposes of `partials`, where they are others.
    transposed: ClassVar[tuple[Partial, ...] | None] = None

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        total: Value | None = None
        for k, t in enumerate(tangents):
            term = None if t is None else self._rule(self.partials, k)(c, at, t)
            if term is not None:
                term = c.cast(term, dtype_of(at.outputs[0]))
                total = term if total is None else c.add(total, term)
        return (total,)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        (g,) = cotangents
        rules = self.partials if self.transposed is None else self.transposed
        out: list[Value | None] = []
        for k, t in enumerate(at.inputs):
            term = self._rule(rules, k)(c, at, g) if g is not None and at.wanted[k] else None
            out.append(None if term is None else c.cast(term, dtype_of(t)))
        return out

    def _rule(self, rules: tuple[Partial, ...] | None, k: int) -> Partial:
        if rules is None:
            raise Underivable(f"{self.name} has no derivative rule")
        return rules[k]
