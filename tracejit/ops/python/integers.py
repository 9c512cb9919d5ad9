"""Python ints among themselves: powers, roots, divisors and the number of bits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import register
from tracejit.ops.python.arithmetic import SAMPLES, PyOp
from tracejit.ops.python.scalar_exprs import ZERO_I, ScalarRule, any_of, as_int, b1, f64, i64

__all__: list[str] = []


class _OfInts(PyOp):
    """A function of ints that gives an int."""

    constant = True
    highest: ClassVar[str] = "int"

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        return self.of_ints(*(as_int(x, k) for x, k in zip(args, kinds, strict=True)))

    def of_ints(self, *args: Expr) -> ScalarRule:
        """The rule for i64 operands."""
        raise NotImplementedError


@register
class PyIntPower(_OfInts):
    """Python's `a ** b` of ints; a negative exponent, which gives a float, bails out."""

    name: ClassVar[str] = "py_int_power"
    raises: ClassVar[bool] = True

    @staticmethod
    def python(a: int, b: int) -> int:  # type: ignore[override, unused-ignore]
        """`a ** b`, without building huge numbers."""
        if b < 0:
            raise Bailout("py_int_power: the exponent is negative")
        power: int = a ** (min(b, 64 + b % 2) if abs(a) > 1 else b % 2 or min(b, 2))
        return power

    def of_ints(self, *args: Expr) -> ScalarRule:
        a, b = args
        return i64("power", a, b), any_of(b1("less", b, ZERO_I), b1("power_exceeds", a, b))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        bases = (*SAMPLES["bool"], *SAMPLES["int"], 3, -2, -3, 10, 3037000499, 2097151)
        exponents = (False, True, 0, 1, 2, 3, 5, 18, 19, 39, 40, 62, 63, 64, 10**9, 10**9 + 1, -1)
        return [([a, b], {}) for a in bases for b in exponents if abs(a) < 11 or b < 4]


@register
class PyIsqrt(_OfInts):
    """Python's `math.isqrt(a)`."""

    name: ClassVar[str] = "py_isqrt"
    arity: ClassVar[int] = 1
    raises: ClassVar[bool] = True
    python: ClassVar[Callable[..., Any]] = math.isqrt

    def of_ints(self, *args: Expr) -> ScalarRule:
        """The root of the nearest float is never too small: roots are exact floats themselves.

        Where rounding upwards made it too large, it is by one.
        """
        (a,) = args
        root = i64("cast", f64("sqrt", f64("cast", a)))
        wide = Call("cast", (root,), "u64")
        square = Call("multiply", (wide, wide), "u64")
        above = b1("greater", square, Call("cast", (a,), "u64"))
        return i64("subtract", root, i64("cast", above)), b1("less", a, ZERO_I)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        roots = (0, 1, 2, 3, 94906265, 94906266, 94906267, 2**31, 3037000498, 3037000499)
        near = [r * r + d for r in roots for d in (-1, 0, 1)]
        return [([v], {}) for v in (*SAMPLES["bool"], *SAMPLES["int"], *near, 2**62 - 1, 2**53 - 1)]


@register
class PyGcd(_OfInts):
    """Python's `math.gcd(a, b)`."""

    name: ClassVar[str] = "py_gcd"
    python: ClassVar[Callable[..., Any]] = math.gcd

    def of_ints(self, *args: Expr) -> ScalarRule:
        out = i64("gcd", *args)
        # 2 ** 63 is the only one that does not fit.
        return out, b1("less", out, ZERO_I)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = (*SAMPLES["bool"], *SAMPLES["int"], 12, -18, 30030, 2**40, 6**20)
        return [([a, b], {}) for a in values for b in values]


def _bits_set(x: Expr) -> Expr:
    return i64("cast", Call("bitwise_count", (x,), "u8"))


def _magnitude(a: Expr) -> Expr:
    """|a| as a u64, which holds that of the smallest int, too."""
    return Call("cast", (i64("absolute", a),), "u64")


@register
class PyBitLength(_OfInts):
    """Python's `a.bit_length()`."""

    name: ClassVar[str] = "py_bit_length"
    arity: ClassVar[int] = 1
    python: ClassVar[Callable[..., Any]] = int.bit_length

    def of_ints(self, *args: Expr) -> ScalarRule:
        """The number of bits once all those below the highest are set."""
        filled = _magnitude(args[0])
        for shift in (1, 2, 4, 8, 16, 32):
            lower = Call("right_shift", (filled, Const(shift, "u64")), "u64")
            filled = Call("bitwise_or", (filled, lower), "u64")
        return _bits_set(filled), None


@register
class PyBitCount(_OfInts):
    """Python's `a.bit_count()`."""

    name: ClassVar[str] = "py_bit_count"
    arity: ClassVar[int] = 1
    python: ClassVar[Callable[..., Any]] = int.bit_count

    def of_ints(self, *args: Expr) -> ScalarRule:
        return _bits_set(_magnitude(args[0])), None
