"""Ops whose derivatives are products with one partial derivative for each operand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import Underivable
from tracejit.ir.graph import Value
from tracejit.ir.op import OPS, Op
from tracejit.ir.terms import Tangent, Term, product
from tracejit.ir.types import dtype_of

if TYPE_CHECKING:
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["ElementwiseDerivative", "LinearMap", "Operand", "Partial", "partials_of"]


@dataclass(frozen=True)
class LinearMap:
    """In place of a partial derivative: what is linear in the tangent v, and no product with v.

    `forward(v, *operands, result)`; None is zero. `transposed` is the map of cotangents, if it is
    another.
    """

    forward: Callable[..., Term | None]
    transposed: Callable[..., Term | None] | None = None


#: (*operands, result) -> the partial derivative by an operand; a number; None: zero.
Partial: TypeAlias = "Callable[..., Any] | LinearMap | complex | None"


class Operand(Term):
    """An operand, in the dtype of the result: Python's ints meet floats, no complex number is cut.

    It is asked for where the formula uses it.
    """

    def __init__(self, at: NodeAdaptor, k: int) -> None:
        super().__init__(at, self._in_result_dtype)
        self.node, self.k = at, k

    def _in_result_dtype(self) -> Value:
        dtype = dtype_of(self.node.outputs[0])
        v = self.given
        return v if dtype.kind == "f" and self.is_complex else self.c.cast(v, dtype)

    @property
    def given(self) -> Value:
        """The operand as it is."""
        return self.node.x(self.k)

    @property
    def is_complex(self) -> bool:
        return dtype_of(self.node.inputs[self.k]).kind == "c"


class ElementwiseDerivative(Op):
    """An op with one result, of which each element depends on one element of each operand.

    The product with a real or a holomorphic partial derivative is its own transpose, and so is the
    real part of a product: one formula serves both modes. It gives its term in any dtype; the rule
    takes the real part where the term is complex and what it belongs to is not.
    """

    #: By each operand.
    partials: ClassVar[tuple[Partial, ...] | None] = None

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        total: Value | None = None
        for k, t in enumerate(tangents):
            term = None if t is None else self._times(at, k, t, transposed=False)
            if term is not None:
                term = c.cast(term, dtype_of(at.outputs[0]))
                total = term if total is None else c.add(total, term)
        return (total,)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        (g,) = cotangents
        out: list[Value | None] = []
        for k, t in enumerate(at.inputs):
            asked = g if at.wanted[k] else None
            term = None if asked is None else self._times(at, k, asked, transposed=True)
            out.append(None if term is None else c.cast(term, dtype_of(t)))
        return out

    def _times(self, at: NodeAdaptor, k: int, v: Value, *, transposed: bool) -> Value | None:
        """The tangent, or the cotangent, v times the partial derivative by operand k."""
        if self.partials is None:
            raise Underivable(f"{self.name} has no derivative rule")
        partial = self.partials[k]
        if partial is None:
            return None
        if not callable(partial) and not isinstance(partial, LinearMap):
            return product(at.c, v, partial)
        terms = [*(Operand(at, n) for n in range(len(at.inputs))), Term(at, at.y)]
        if isinstance(partial, LinearMap):
            back = partial.transposed or partial.forward
            found = (back if transposed else partial.forward)(Tangent(at, lambda: v), *terms)
            return None if found is None else found.value
        return product(at.c, v, partial(*terms))


def partials_of(name: str) -> tuple[Partial, ...]:
    """Returns the partial derivatives of the elementwise op of a name."""
    op = OPS[name]
    assert isinstance(op, ElementwiseDerivative) and op.partials is not None
    return op.partials
