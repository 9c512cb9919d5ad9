"""Identities that something does not see through: a derivative, or what merges equal computations.

y = stop_gradient(x)          the value of x, and no derivative
y = derived_as(x, z)          the value of x, with the derivative of z
y = optimization_barrier(x, site="s1")      the value of x; no pass takes what is computed of y for
what is
                              computed of x
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.op import register, require
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type, dtype_of, shape_of
from tracejit.ops.array.elementwise import Element, Elementwise

__all__ = ["DerivedAs", "Opaque", "StopGradient"]


class _Identity(Elementwise):
    """Its operand, in whatever layout that has."""

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) == 1, f"{self.name} takes one operand")
        kinds = (ArrayType, NpScalar, PyScalar)
        require(isinstance(inputs[0], kinds), f"{self.name} of a {inputs[0]}")
        return (inputs[0],)

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        return dtypes[0]

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,) = inputs
        return (np.copy(x, order="K") if isinstance(x, np.ndarray) else x,)

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return True

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        return args[0]

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        x = np.array([[0.5, -0.0, np.inf], [np.nan, 2.0, -3.0]])
        found = [x, x.T, x.astype(np.float32), x * 1j, np.arange(4), np.array([True, False])]
        return [([v], self._attrs()) for v in found]

    def _attrs(self) -> dict[str, Any]:
        return {}


@register
class StopGradient(_Identity):
    """The operand; its derivative is zero by definition."""

    name: ClassVar[str] = "stop_gradient"
    constant: ClassVar[bool] = True


@register
class DerivedAs(_Identity):
    """The first operand, with the derivative of the second, which means the same."""

    name: ClassVar[str] = "derived_as"
    arity: ClassVar[int] = 2

    partials = (None, 1)

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) == 2, f"{self.name} takes two operands")
        first, second = inputs
        like = isinstance(first, ArrayType) == isinstance(second, ArrayType)
        like = like and dtype_of(first) == dtype_of(second) and shape_of(first) == shape_of(second)
        require(like, f"{self.name}: {first} and {second} differ")
        return (first,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return super().evaluate(inputs[:1], attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [
            ([*x, x[0] * 2], attrs) for x, attrs in super().samples() if x[0].dtype.kind in "fc"
        ]


@register
class Opaque(_Identity):
    """The operand. Two computations from operands of unlike `site` are never taken for one."""

    name: ClassVar[str] = "optimization_barrier"
    opaque: ClassVar[bool] = True

    partials = (1,)

    def _attrs(self) -> dict[str, Any]:
        return {"site": "s"}
