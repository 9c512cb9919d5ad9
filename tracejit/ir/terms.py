"""The notation of derivatives: values with Python's operators, which record nodes.

    partials = (lambda x, y: 1 / x,)              the logarithm's, of its operand and its result
    jvp      = -(inverse @ t @ inverse)           a matrix formula, of values wrapped by `Term.of`

A partial derivative is given as a term. A sign or a number in front of it multiplies last, and the
tangent is divided by what a number is divided by: `-sin(x)` gives -(v sin(x)), `1 / x` gives v / x.
`+p` is p as one factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from tracejit.base.locks import once_computed
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_of

__all__ = ["Number", "Tangent", "Term", "equal", "function", "product", "terms", "where"]

#: What a term may be combined with: it takes the term's dtype and shape.
Number: TypeAlias = "Term | complex"


class Place(Protocol):
    """What a rule is given: a node, or a call, seen from where nodes are recorded."""

    @property
    def c(self) -> DerivativeBuilder: ...


class Term:
    """A value that is computed when it is asked for, at most once."""

    def __init__(self, at: Place, make: Callable[[], Value]) -> None:
        self.at, self._make = at, make

    @property
    def c(self) -> DerivativeBuilder:
        """Where nodes are recorded."""
        return self.at.c

    @once_computed
    def value(self) -> Value:
        """The value."""
        return self._make()

    @property
    def type(self) -> Type:
        """The type of the value."""
        return self.value.type

    @property
    def is_complex(self) -> bool:
        """Whether the value is complex."""
        return dtype_of(self.type).kind == "c"

    def of(self, v: Value) -> Term:
        """Another value, recorded in the same place."""
        return Term(self.at, lambda: v)

    def full(self, number: complex) -> Term:
        """A number in the type of this value; a complex one in that of complex values."""
        t = self.type
        if isinstance(number, complex) and not self.is_complex:
            assert isinstance(t, (ArrayType, NpScalar))
            t = replace(t, dtype=np.result_type(t.dtype, np.complex64))
        return self.of(self.c.full(t, number))

    def op(self, name: str, *others: Number, **attrs: Attr) -> Term:
        """An op of this operand and others, all in one dtype and shape."""
        operands = [self.value]
        for x in others:
            a, b = self.c.alike(operands[0], self._value_of(x))
            operands = [a, *operands[1:], b]
        return self.of(self.c.op(name, *operands, **attrs))

    def _value_of(self, x: Number) -> Value:
        return x.value if isinstance(x, Term) else self.full(x).value

    # Arithmetic -----------------------------------------------------------------------------------

    def __add__(self, x: Number) -> Term:
        return self.of(self.c.add(self.value, self._value_of(x)))

    __radd__ = __add__

    def __sub__(self, x: Number) -> Term:
        return self.of(self.c.sub(self.value, self._value_of(x)))

    def __rsub__(self, x: complex) -> Term:
        return self.full(x) - self

    def __mul__(self, x: Number) -> Term:
        if isinstance(x, Term):
            return self.of(self.c.mul(self.value, x.value))
        return _Scaled(self, x)

    __rmul__ = __mul__

    def __truediv__(self, x: Number) -> Term:
        return self.of(self.c.div(self.value, self._value_of(x)))

    def __rtruediv__(self, x: complex) -> Term:
        return _Quotient(x, self)

    def __pow__(self, x: Number) -> Term:
        return self.op("power", x)

    def __neg__(self) -> Term:
        return _Scaled(self, -1)

    def __pos__(self) -> Term:
        return self.of(self.value)

    # Comparisons ----------------------------------------------------------------------------------

    def __lt__(self, x: Number) -> Term:
        return self.op("less", x)

    def __le__(self, x: Number) -> Term:
        return self.op("less_equal", x)

    def __gt__(self, x: Number) -> Term:
        return self.op("greater", x)

    def __ge__(self, x: Number) -> Term:
        return self.op("greater_equal", x)

    def __and__(self, x: Term) -> Term:
        return self.op("logical_and", x)

    def __or__(self, x: Term) -> Term:
        return self.op("logical_or", x)

    def __invert__(self) -> Term:
        return self.op("logical_not")

    # Matrices and complex numbers -----------------------------------------------------------------

    def __matmul__(self, x: Term) -> Term:
        return self.of(self.c.matmul(self.value, x.value))

    @property
    def T(self) -> Term:
        """The transposes of a stack of matrices."""
        return self.of(self.c.swapped(self.value))

    @property
    def H(self) -> Term:
        """The adjoints of a stack of matrices."""
        return self.of(self.c.conj(self.c.swapped(self.value)))

    def cast(self, dtype: np.dtype[Any]) -> Term:
        """The value in another dtype."""
        return self.of(self.c.cast(self.value, dtype))

    def conj(self) -> Term:
        """The complex conjugate."""
        return self.of(self.c.conj(self.value))


class _Scaled(Term):
    """A term times a number."""

    def __init__(self, term: Term, number: complex) -> None:
        super().__init__(term.at, lambda: _scaled(term.c, term.value, number))
        self.term, self.number = term, number


class _Quotient(Term):
    """A number divided by a term."""

    def __init__(self, number: complex, divisor: Term) -> None:
        super().__init__(divisor.at, lambda: (divisor.full(number) / divisor).value)
        self.number, self.divisor = number, divisor


class Tangent(Term):
    """A tangent or a cotangent v: 0 stays 0 in a product or a quotient, whatever the factor."""

    def of(self, v: Value) -> Tangent:
        return Tangent(self.at, lambda: v)

    def op(self, name: str, *others: Number, **attrs: Attr) -> Tangent:
        return self.of(super().op(name, *others, **attrs).value)

    def __mul__(self, x: Number) -> Tangent:
        if isinstance(x, Term):
            return self.of(self.c.mul_no_nan(self.value, x.value))
        return self.of(_scaled(self.c, self.value, x))

    def __truediv__(self, x: Number) -> Tangent:
        return self.of(self.c.div_no_nan(self.value, self._value_of(x)))

    def __neg__(self) -> Tangent:
        return self.of(self.c.neg(self.value))


def _scaled(c: DerivativeBuilder, v: Value, number: complex) -> Value:
    if number == 1:
        return v
    if number == -1:
        return c.neg(v)
    if isinstance(number, complex) and dtype_of(v.type).kind != "c":
        v = c.cast(v, np.result_type(dtype_of(v.type), np.complex64))
    return c.scale(v, number)


def product(c: DerivativeBuilder, v: Value, partial: Number) -> Value:
    """The tangent or cotangent v times a partial derivative, 0 where v is 0."""
    match partial:
        case _Scaled(term=term, number=number):
            return _scaled(c, product(c, v, term), number)
        case _Quotient(number=number, divisor=divisor):
            return _scaled(c, c.div_no_nan(v, divisor.value), number)
        case Term():
            return c.mul_no_nan(v, partial.value)
    return _scaled(c, v, partial)


def terms(at: Place, *values: Value) -> list[Term]:
    """Values as terms."""
    return [Term(at, lambda v=v: v) for v in values]  # type: ignore[misc]


def function(name: str) -> Callable[..., Term]:
    """An op as a function of terms, the first of which is no number."""
    return lambda x, *others: x.op(name, *others)


def equal(x: Term, y: Number) -> Term:
    """Where x == y."""
    return x.op("equal", y)


def where(condition: Term, a: Number, b: Number) -> Term:
    """`a` where the condition holds, else `b`; at least one is no number."""
    like = a if isinstance(a, Term) else b
    assert isinstance(like, Term)
    first, second = (x if isinstance(x, Term) else like.full(x) for x in (a, b))
    return like.of(like.c.where(condition.value, first.value, second.value))
