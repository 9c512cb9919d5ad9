"""The determinant as an op of its own: its derivatives are cofactors, of singular matrices too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import ArrayType, Type
from tracejit.ops.checks import array_of, only_attrs, take
from tracejit.ops.samples import array

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor

__all__ = ["Determinant"]


@register
class Determinant(Op):
    """The determinants of a stack of matrices of f64 or c128.

    Programs that are not differentiated have them from `lu_diagonal`.
    """

    name: ClassVar[str] = "determinant"
    kind: ClassVar[str] = "host"
    parity: ClassVar[str] = "order"
    numpy: ClassVar[Any] = np.linalg.det

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs)
        a = array_of(self.name, inputs[0], 2)
        square = a.shape[-1] == a.shape[-2] and a.dtype.char in "dD"
        require(square, f"determinant does not take {a}")
        return (ArrayType(a.dtype, a.shape[:-2]),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        with np.errstate(all="ignore"):
            return (np.asarray(np.linalg.det(inputs[0])),)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return c.ops(self.name, at.values, **at.attrs)

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | None]:
        """The sum of the cofactors times the tangent."""
        from tracejit.ops.host.derivatives.determinants import determinant_jvp

        return determinant_jvp(c, at, tangents)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        """The cofactors times the cotangent."""
        from tracejit.ops.host.derivatives.determinants import determinant_vjp

        return determinant_vjp(c, at, cotangents)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        found = [array("f64", (4, 4)), array("f64", (2, 3, 3)), array("c128", (3, 3)), np.eye(1)]
        return [([a + 9 * np.eye(a.shape[-1])], {}) for a in found]
