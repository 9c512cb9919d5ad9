"""Products of tangents and cotangents with partial derivatives, in which an exact 0 stays 0.

The reverse of `where(x > 0, log(x), 0)` hands 0 to the logarithm in the lane not taken, whose
derivative there may be infinite or NaN; plain arithmetic would make 0 * inf = NaN of it. The zero
of these ops is absorbing: 0 times anything is 0. All else is as the plain op gives it, to the last
bit. They are linear in the operand v, the tangent or cotangent, and their own derivatives, whose
zeros are absorbing too, say so: a test of v == 0 written with `select` would lose the derivative by
v where v happens to be 0.

What is only added up need not say which zero it is: no sum is -0.0. The forms for terms of sums
give 0.0 for every v that is 0. They cost less, and next to nothing where many terms share v.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Const, Expr
from tracejit.ir.op import OPS, register, require
from tracejit.ir.terms import Tangent, Term
from tracejit.ir.types import ArrayType, Type
from tracejit.ops.array.complex_elements import COMPLEX_RULES, Element, parts_dtype, real
from tracejit.ops.array.elementwise import Elementwise, edge_values
from tracejit.ops.rules.partials import LinearMap

__all__ = ["NoNan"]

#: Elements at most of arrays that lie in a cache.
_NEAR = 1 << 15
_FLOATS = ("f2", "f4", "f8", "c8", "c16")


def _parts(v: Element) -> tuple[Expr, ...]:
    return v if isinstance(v, tuple) else (v,)


def _lost(v: Element, value: Element) -> Expr:
    """Where v is 0 and the plain result is not: a NaN, which is hardly ever met."""
    zeros = [real("equal", "b1", x, Const(0.0, x.dtype)) for x in _parts(v)]
    nans = [real("isnan", "b1", x) for x in _parts(value)]
    zero = zeros[0] if len(zeros) == 1 else real("logical_and", "b1", *zeros)
    nan = nans[0] if len(nans) == 1 else real("logical_or", "b1", *nans)
    return real("logical_and", "b1", real("unlikely", "b1", nan), zero)


def _select(condition: Expr, a: Element, b: Element) -> Element:
    if isinstance(a, tuple) and isinstance(b, tuple):
        re, im = (real("select", x.dtype, condition, x, y) for x, y in zip(a, b, strict=True))
        return re, im
    assert not isinstance(a, tuple) and not isinstance(b, tuple)
    return real("select", a.dtype, condition, a, b)


class NoNan(Elementwise):
    """A product or quotient with absorbing zeros."""

    arity: ClassVar[int] = 2
    #: The ufunc that it is where no zero is absorbing.
    plain: ClassVar[Any]
    #: How many of the operands have absorbing zeros.
    absorbing: ClassVar[int] = 1

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        valid = dtypes[0] == dtypes[1] and dtypes[0].kind in "fc"
        require(valid, f"{self.name} takes two floats or complex numbers, not {dtypes}")
        return dtypes[0]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        (out,) = OPS[type(self).plain.__name__].evaluate(inputs, {})
        for v in reversed(inputs[: self.absorbing]):
            out = np.where((v == 0) & np.isnan(out), v, out)
        return out if isinstance(inputs[0], np.ndarray) else out[()]

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return True

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        name = type(self).plain.__name__
        value: Element
        if isinstance(args[0], tuple):
            value = COMPLEX_RULES[name](parts_dtype(out), args)
        else:
            value = real(name, out, *(a for a in args if not isinstance(a, tuple)))
        for v in reversed(args[: self.absorbing]):
            value = _select(_lost(v, value), v, value)
        return value

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        pairs = [(edge_values(np.dtype(d), 0), edge_values(np.dtype(d), 1)) for d in _FLOATS]
        return [([a, b], {}) for a, b in pairs]


def _by_other(k: int) -> LinearMap:
    """The other operand may be a tangent itself."""
    return LinearMap(lambda v, *terms: v.op("product_no_nan", terms[k]))


@register
class MultiplyNoNan(NoNan):
    """`v * x`; 0 where v is 0, also beside an infinite x or a NaN."""

    name = "multiply_no_nan"
    term = "multiply_no_nan_term"
    plain = np.multiply
    partials = (lambda v, x, y: x, _by_other(0))


@register
class ProductNoNan(NoNan):
    """`v * w`; 0 where one of them is 0, also beside an infinity or a NaN."""

    name = "product_no_nan"
    term = "product_no_nan_term"
    plain = np.multiply
    absorbing = 2
    partials = (_by_other(1), _by_other(0))


def _by_divisor(v: Tangent, w: Term, x: Term, y: Term) -> Term:
    return -(v.op("product_no_nan", y) / x)


@register
class DivideNoNan(NoNan):
    """`v / x`; 0 where v is 0, also for an x that is 0 or NaN."""

    name = "divide_no_nan"
    term = "divide_no_nan_term"
    plain = np.divide
    work = 4.0
    partials = (lambda v, x, y: 1 / x, LinearMap(_by_divisor))

    def cost(self, inputs: Sequence[Type], attrs: Attrs) -> float:
        """To divide twice costs less than a way to memory, but more than one to a cache."""
        t = inputs[0]
        near = isinstance(t, ArrayType) and type(t.size) is int and t.size <= _NEAR
        return 2 * self.work if near else self.work


class _Term(NoNan):
    """The forms of real numbers for terms of sums."""

    term: ClassVar[str] = ""

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0].kind == "f", f"{self.name} takes real numbers, not {dtypes}")
        return super().result_dtype(dtypes, attrs)

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        out = type(self).plain(*inputs)
        for v in reversed(inputs[: self.absorbing]):
            out = np.where(v == 0, np.zeros_like(v), out)
        return out if isinstance(inputs[0], np.ndarray) else out[()]

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        operands = [a for a in args if not isinstance(a, tuple)]
        value = real(type(self).plain.__name__, out, *operands)
        zero = Const(0.0, out)
        for v in reversed(operands[: self.absorbing]):
            value = real("select", out, real("not_equal", "b1", v, zero), value, zero)
        return value

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [s for s in super().samples() if s[0][0].dtype.kind == "f"]


@register
class MultiplyNoNanTerm(_Term, MultiplyNoNan):
    """`v * x`; 0.0 where v is 0."""

    name = "multiply_no_nan_term"


@register
class ProductNoNanTerm(_Term, ProductNoNan):
    """`v * w`; 0.0 where one of them is 0."""

    name = "product_no_nan_term"


@register
class DivideNoNanTerm(_Term, DivideNoNan):
    """`v / x`; 0.0 where v is 0."""

    name = "divide_no_nan_term"
