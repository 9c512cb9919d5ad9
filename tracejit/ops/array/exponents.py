"""Ops on the parts of floats: ldexp, the two results of frexp, and the fraction of modf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import register, require
from tracejit.ir.terms import Tangent, Term
from tracejit.ops.array.elementwise import Elementwise, edge_values
from tracejit.ops.rules.partials import LinearMap, Operand

__all__: list[str] = []


def _scaled_by_power(v: Tangent, x: Operand, power: Operand, y: Term) -> Term:
    return v.of(v.c.op("ldexp", v.value, power.given))


@register
class LoadExponent(Elementwise):
    """`x * 2**n`, rounded once; any integers are exponents."""

    name = "ldexp"
    numpy = np.ldexp
    arity = 2
    work = 4.0
    partials = (LinearMap(_scaled_by_power), None)

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return dtypes[0][0] == "f"


class _Part(Elementwise):
    """One of the two results of a ufunc."""

    work = 4.0
    native_on = ("f",)
    ufunc: Any = np.frexp
    place = 0

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0].kind == "f", f"{self.name} takes real floats, not {dtypes[0]}")
        return (dtypes[0], np.dtype(np.int32))[self.place]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return self.ufunc(inputs[0])[self.place]

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([edge_values(np.dtype(d), 0)], {}) for d in ("f2", "f4", "f8")]


def _over_power(v: Tangent, x: Operand, mantissa: Term) -> Term:
    exponent = v.c.op("frexp_exponent", x.given)
    return v.of(v.c.op("ldexp", v.value, v.c.neg(exponent)))


@register
class FrexpMantissa(_Part):
    """`x / 2**n` for the n that brings it between 0.5 and 1 in size."""

    name = "frexp_mantissa"
    partials = (LinearMap(_over_power),)


@register
class FrexpExponent(_Part):
    """That n, as an i32."""

    name = "frexp_exponent"
    place = 1
    constant = True


def _fraction(d: str, x: Expr) -> Expr:
    rest = Call("subtract", (x, Call("trunc", (x,), d)), d)
    # Infinities have no fraction: inf - inf would be NaN.
    rest = Call("select", (Call("isinf", (x,), "b1"), Const(0.0, d), rest), d)
    return Call("copysign", (rest, x), d)


@register
class ModfFraction(_Part):
    """`x` without its whole part, with the sign of `x`. The derivative is 1 at jumps, too."""

    name = "modf_fraction"
    ufunc = np.modf
    partials = (1,)
    formula = staticmethod(_fraction)
