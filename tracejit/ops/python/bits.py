"""Bits of Python ints: &, |, ^, ~ and shifts. A result that leaves 64 bits bails out."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.ir.graph import Attrs
from tracejit.ir.op import register
from tracejit.ops.python.arithmetic import SAMPLES, PyOp
from tracejit.ops.python.scalar_exprs import ZERO_I, ScalarRule, any_of, as_int, b1, i64

__all__ = ["PyBits"]


class PyBits(PyOp):
    """An operation on the bits of two ints; of two bools it gives a bool."""

    constant = True
    highest: ClassVar[str] = "int"
    fn: ClassVar[str]
    #: Its function on bools.
    of_bools: ClassVar[str]

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "bool" if set(kinds) == {"bool"} else "int"

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if set(kinds) == {"bool"}:
            return b1(self.of_bools, *args), None
        return i64(self.fn, *(as_int(x, k) for x, k in zip(args, kinds, strict=True))), None


@register
class PyBitAnd(PyBits):
    """Python's `a & b`."""

    name: ClassVar[str] = "py_bit_and"
    logic: ClassVar[str] = "bit_and"
    fn: ClassVar[str] = "bitwise_and"
    of_bools: ClassVar[str] = "logical_and"
    python: ClassVar[Callable[..., Any]] = operator.and_


@register
class PyBitOr(PyBits):
    """Python's `a | b`."""

    name: ClassVar[str] = "py_bit_or"
    logic: ClassVar[str] = "bit_or"
    fn: ClassVar[str] = "bitwise_or"
    of_bools: ClassVar[str] = "logical_or"
    python: ClassVar[Callable[..., Any]] = operator.or_


@register
class PyBitXor(PyBits):
    """Python's `a ^ b`."""

    name: ClassVar[str] = "py_bit_xor"
    fn: ClassVar[str] = "bitwise_xor"
    of_bools: ClassVar[str] = "not_equal"
    python: ClassVar[Callable[..., Any]] = operator.xor


@register
class PyInvert(PyOp):
    """Python's `~a`, an int for a bool, too."""

    name: ClassVar[str] = "py_invert"
    constant = True
    arity: ClassVar[int] = 1
    highest: ClassVar[str] = "int"
    python: ClassVar[Callable[..., Any]] = lambda a: -int(a) - 1

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        return i64("invert", as_int(args[0], kinds[0])), None


class _Shift(PyOp):
    """A shift. A negative count bails out."""

    constant = True
    highest: ClassVar[str] = "int"
    fn: ClassVar[str]

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        a, b = (as_int(x, k) for x, k in zip(args, kinds, strict=True))
        return i64(self.fn, a, b), any_of(b1("less", b, ZERO_I), self.loses(a, b))

    def loses(self, a: Any, b: Any) -> Any:
        """Where the shift loses bits, or None."""
        return None

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [*SAMPLES["bool"], *SAMPLES["int"], 12345, -3]
        counts = (False, True, 0, 1, 2, 7, 31, 60, 63, 64, 200, -1)
        return [([a, b], {}) for a in values for b in counts]


@register
class PyRightShift(_Shift):
    """Python's `a >> b`."""

    name: ClassVar[str] = "py_rshift"
    fn: ClassVar[str] = "right_shift"
    python: ClassVar[Callable[..., Any]] = operator.rshift


@register
class PyLeftShift(_Shift):
    """Python's `a << b`."""

    name: ClassVar[str] = "py_lshift"
    fn: ClassVar[str] = "left_shift"

    @staticmethod
    def python(a: int, b: int) -> int:
        """`a << b`, without building huge numbers."""
        return a << min(b, 64) if a else 0 << min(b, 0)

    def loses(self, a: Any, b: Any) -> Any:
        return b1("not_equal", i64("right_shift", i64("left_shift", a, b), b), a)
