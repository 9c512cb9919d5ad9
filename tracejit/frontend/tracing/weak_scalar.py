"""A number that is Python's before a loop and NumPy's after each iteration, while nobody can tell.

    s = 0.0
    for x in a:
        s = s + x           # 0.0 + np.float64, then np.float64 + np.float64: one operation

Beside a value of the dtype that it has later, a Python number becomes that dtype (NEP 50). Whoever
looks at its type or value in another way has asked which of the two it is.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar
from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar, Type

__all__ = ["WeakScalar", "becomes", "beside"]

#: The operators that give the same for a Python number and for a NumPy scalar of equal value.
_ALIKE = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.le)
    + (operator.gt, operator.ge, operator.eq, operator.ne)
)


class WeakScalar(TracedScalar):
    """Stands for such a number; `asked` once somebody has looked which one it is."""

    __slots__ = ("asked",)

    def __init__(self, like: TracedScalar) -> None:
        super().__init__(like.trace, like.own)
        self.asked = False

    def value(self) -> Value:
        self.asked = True
        return super().value()

    @property
    def type(self) -> Type:
        self.asked = True
        return self._value.type

    @property
    def own(self) -> Value:
        self.asked = True
        return self._value

    @property
    def later(self) -> NpScalar:
        """The type that it has after an iteration."""
        assert isinstance(self._value.type, NpScalar)
        return self._value.type

    @property
    def strong(self) -> TracedScalar:
        """The NumPy scalar that it is, or is equal to."""
        return TracedScalar(self.trace, self._value)

    def meets(self, other: Any) -> bool:
        """Whether `other` has its later dtype, and has had it from the beginning."""
        if isinstance(other, (TracedScalar, TracedArray)):
            if isinstance(other, WeakScalar):
                return False
            return (
                isinstance(other, TracedArray)
                and other.dtype == self.later.dtype
                or (isinstance(other, TracedScalar) and other.type == self.later)
            )
        return isinstance(other, np.generic) and other.dtype == self.later.dtype


def beside(f: Any, x: Any, y: Any) -> tuple[Any, Any]:
    """The operands of an operator, weak ones strong where that makes no difference."""
    if f in _ALIKE:
        if isinstance(x, WeakScalar) and x.meets(y):
            return x.strong, y
        if isinstance(y, WeakScalar) and y.meets(x):
            return x, y.strong
    return x, y


def becomes(x: Any, t: Type) -> bool:
    """Whether a Python number, or one that is weak itself, is exactly a value of type `t`."""
    if isinstance(x, WeakScalar):
        return x.later == t
    if type(x) not in (int, float) or not isinstance(t, NpScalar) or t.dtype.kind not in "iufc":
        return False
    try:
        with np.errstate(all="ignore"):
            return bool(t.dtype.type(x) == x)
    except OverflowError:
        return False
