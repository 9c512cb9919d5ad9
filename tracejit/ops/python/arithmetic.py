"""Arithmetic of Python numbers: operands of kind int, float, complex or bool to Python's result.

A Python int is an i64 here. What Python reports as an error (a division by zero), what leaves i64
and what i64 and f64 together cannot decide exactly bails out; `evaluate` bails out for the same
operands as the code that `scalar_expr` describes.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.kernel import Call
from tracejit.ir.op import register, require
from tracejit.ir.types import PyScalar, Type
from tracejit.ops.checks import only_attrs, take
from tracejit.ops.python.scalar_batch import batched_rule, is_elementwise, named_operands
from tracejit.ops.python.scalar_exprs import (
    EXACT_INT,
    INT_MAX,
    INT_MIN,
    ZERO_F,
    ZERO_I,
    Pair,
    ScalarRule,
    all_of,
    any_of,
    as_complex,
    as_float,
    as_int,
    b1,
    f64,
    i64,
    inexact,
    int_const,
    pair_of,
    real,
)
from tracejit.ops.rules.partials import ElementwiseDerivative, partials_of

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__ = ["PyOp"]

_KINDS = ("bool", "int", "float", "complex")
#: Whether Python makes other numbers complex where a complex one is the other operand.
_MAKES_COMPLEX = sys.version_info < (3, 14)


class PyOp(ElementwiseDerivative):
    """An operation on Python numbers; `python` is its meaning."""

    kind: ClassVar[str] = "scalar"
    arity: ClassVar[int] = 2
    python: ClassVar[Callable[..., Any]]
    #: The highest kind it takes; complex numbers have no order and no floor.
    highest: ClassVar[str] = "complex"

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        """The kind of Python's result for operands of `kinds`; arithmetic of bools gives an int."""
        return max((*kinds, "int"), key=_KINDS.index)

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, self.arity)
        only_attrs(self.name, attrs)
        return (PyScalar(self.result_kind(self.kinds_of(inputs))),)

    def kinds_of(self, inputs: Sequence[Type]) -> tuple[str, ...]:
        """The operands' kinds. Raises GraphError for other operands than it takes."""
        limit = _KINDS.index(self.highest)
        kinds = []
        for t in inputs:
            valid = isinstance(t, PyScalar) and _KINDS.index(t.kind) <= limit
            require(valid, f"{self.name} does not take {t}")
            assert isinstance(t, PyScalar)
            kinds.append(t.kind)
        return tuple(kinds)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        kinds = tuple(type(x).__name__ for x in inputs)
        if self.inexact(inputs, kinds):
            raise Bailout(f"{self.name}: an int beyond 2**53 meets a float")
        try:
            out = type(self).python(*inputs)
        except (ArithmeticError, ValueError) as e:
            raise Bailout(str(e)) from e
        return (self.checked(out, kinds),)

    def inexact(self, inputs: Sequence[Any], kinds: tuple[str, ...]) -> bool:
        """Whether f64 arithmetic on these operands could differ from Python's."""
        return False

    def checked(self, out: Any, kinds: tuple[str, ...]) -> Any:
        """`out`, which must have the kind that `types` gives and fit it. Raises Bailout."""
        if type(out) is int and not INT_MIN <= out <= INT_MAX:
            raise Bailout(f"{self.name}: the int leaves 64 bits")
        if type(out).__name__ != self.result_kind(kinds):
            raise Bailout(f"{self.name}: the result is of kind {type(out).__name__}")
        return out

    def native(self, kinds: Sequence[str]) -> bool:
        """Whether `scalar_expr` has a rule for operands of these kinds."""
        if "complex" not in kinds:
            return True
        return self.native_complex and (self.mixes or set(kinds) == {"complex"})

    #: Whether there is a rule for complex operands, and for one beside another number.
    native_complex: ClassVar[bool] = False
    mixes: ClassVar[bool] = False

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        """(result, condition) as kernel expressions; a run in which the condition holds bails out.

        `args` are i64, f64 and b1 expressions, pairs of f64 for complex numbers; so is the result.
        """
        raise NotImplementedError

    def vectorises(self, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]) -> bool:
        return is_elementwise(self.rule_for(attrs, inputs))

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return batched_rule(c, at, self.rule_for(at.attrs, at.inputs))

    def rule_for(self, attrs: Attrs, inputs: Sequence[Type]) -> ScalarRule | None:
        """`scalar_expr` of operands that are named by their numbers; None where it has no rule."""
        kinds = self.kinds_of(inputs)
        try:
            rule = self.scalar_expr(named_operands(inputs), kinds, attrs)
        except NotImplementedError:
            return None
        return rule if self.native(kinds) else None

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        kinds = _KINDS[: _KINDS.index(self.highest) + 1]
        values = [v for k in kinds for v in SAMPLES[k]]
        if self.arity == 1:
            return [([v], {}) for v in values]
        return [([a, b], {}) for a in values for b in values]


_FLOATS = (0.0, -0.0, 1.0, -2.5, 3.0, 0.1, 1e300, 5e-324, float("inf"), float("-inf"), float("nan"))
#: Values of each kind at which its arithmetic changes.
SAMPLES: dict[str, tuple[Any, ...]] = {
    "bool": (False, True),
    "int": (0, 1, -1, 2, 7, -7, EXACT_INT, EXACT_INT + 1, INT_MAX, INT_MIN, 3037000500),
    "float": _FLOATS,
    "complex": (0j, 1 + 2j, complex(-0.0, -3.5), complex(float("inf"), 1.0), complex(2.0, -0.0)),
}


class _Arithmetic(PyOp):
    """+, - and *: ints are checked, floats and complex numbers plain."""

    native_complex: ClassVar[bool] = True
    mixes: ClassVar[bool] = _MAKES_COMPLEX

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        kind = self.result_kind(kinds)
        if kind == "int":
            a, b = (as_int(x, k) for x, k in zip(args, kinds, strict=True))
            return i64(self.arithmetic, a, b), b1(f"{self.arithmetic}_overflows", a, b)
        if kind == "float":
            a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
            return f64(self.arithmetic, a, b), None
        return self.complex_expr(*map(as_complex, args, kinds))

    def complex_expr(self, a: Pair, b: Pair) -> ScalarRule:
        """The rule for two complex operands."""
        return (f64(self.arithmetic, a[0], b[0]), f64(self.arithmetic, a[1], b[1])), None


@register
class PyAdd(_Arithmetic):
    """Python's `a + b`."""

    name: ClassVar[str] = "py_add"
    partials = partials_of("add")
    arithmetic: ClassVar[str] = "add"
    python: ClassVar[Callable[..., Any]] = operator.add


@register
class PySubtract(_Arithmetic):
    """Python's `a - b`."""

    name: ClassVar[str] = "py_subtract"
    partials = partials_of("subtract")
    arithmetic: ClassVar[str] = "subtract"
    python: ClassVar[Callable[..., Any]] = operator.sub


@register
class PyMultiply(_Arithmetic):
    """Python's `a * b`. A complex product with a NaN bails out: Python versions differ there."""

    name: ClassVar[str] = "py_multiply"
    partials = partials_of("multiply")
    arithmetic: ClassVar[str] = "multiply"
    python: ClassVar[Callable[..., Any]] = operator.mul

    def complex_expr(self, a: Pair, b: Pair) -> ScalarRule:
        re = f64("subtract", f64("multiply", a[0], b[0]), f64("multiply", a[1], b[1]))
        im = f64("add", f64("multiply", a[0], b[1]), f64("multiply", a[1], b[0]))
        return (re, im), any_of(b1("isnan", re), b1("isnan", im))

    def checked(self, out: Any, kinds: tuple[str, ...]) -> Any:
        if type(out) is complex and out != out:
            raise Bailout("py_multiply: a complex product is not a number")
        return super().checked(out, kinds)


@register
class PyTrueDivide(PyOp):
    """Python's `a / b`. Ints beyond 2**53 bail out: Python rounds the quotient alone. So does a
    complex quotient with a NaN: Python versions differ there."""

    name: ClassVar[str] = "py_truediv"
    arithmetic: ClassVar[str] = "divide"
    raises: ClassVar[bool] = True
    partials = partials_of("divide")
    python: ClassVar[Callable[..., Any]] = operator.truediv

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return max((*kinds, "float"), key=_KINDS.index)

    native_complex: ClassVar[bool] = True
    mixes: ClassVar[bool] = _MAKES_COMPLEX

    def inexact(self, inputs: Sequence[Any], kinds: tuple[str, ...]) -> bool:
        both_ints = "float" not in kinds and "complex" not in kinds
        return both_ints and any(abs(x) > EXACT_INT for x in inputs)

    def checked(self, out: Any, kinds: tuple[str, ...]) -> Any:
        if type(out) is complex and out != out:
            raise Bailout("py_truediv: a complex quotient is not a number")
        return super().checked(out, kinds)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if "complex" in kinds:
            return _quotient(*map(as_complex, args, kinds))
        a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
        bail = b1("equal", b, ZERO_F)
        if "float" not in kinds:
            bail = any_of(bail, *map(inexact, args, kinds))
        return f64("divide", a, b), bail


def _quotient(a: Pair, b: Pair) -> ScalarRule:
    """The quotient of complex numbers, scaled by the larger part of the divisor (Smith, 1962)."""
    by_real = b1("greater_equal", f64("absolute", b[0]), f64("absolute", b[1]))

    def either(x: Any, y: Any) -> Any:
        return Call("select", (by_real, x, y), "f64")

    large, small = either(b[0], b[1]), either(b[1], b[0])
    ratio = f64("divide", small, large)
    scale = f64("add", large, f64("multiply", small, ratio))
    one, other = either(a[0], a[1]), either(a[1], a[0])
    re = f64("add", one, f64("multiply", other, ratio))
    scaled = f64("multiply", one, ratio)
    im = either(f64("subtract", other, scaled), f64("subtract", scaled, other))
    re, im = f64("divide", re, scale), f64("divide", im, scale)
    zero = all_of(b1("equal", b[0], ZERO_F), b1("equal", b[1], ZERO_F))
    return (re, im), any_of(zero, b1("isnan", re), b1("isnan", im))


class _Floored(PyOp):
    """// and %: the quotient is rounded down, the remainder has the divisor's sign."""

    highest: ClassVar[str] = "float"
    fn: ClassVar[str]

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if "float" in kinds:
            a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
            return f64(self.fn, a, b), b1("equal", b, ZERO_F)
        a, b = (as_int(x, k) for x, k in zip(args, kinds, strict=True))
        return i64(self.fn, a, b), any_of(b1("equal", b, ZERO_I), self.int_overflow(a, b))

    def int_overflow(self, a: Any, b: Any) -> Any:
        """Where the int result leaves i64, or None."""
        return None


@register
class PyFloorDivide(_Floored):
    """Python's `a // b`."""

    name: ClassVar[str] = "py_floordiv"
    raises: ClassVar[bool] = True
    constant = True
    fn: ClassVar[str] = "floor_divide"
    python: ClassVar[Callable[..., Any]] = operator.floordiv

    def int_overflow(self, a: Any, b: Any) -> Any:
        return all_of(b1("equal", a, int_const(INT_MIN)), b1("equal", b, int_const(-1)))


@register
class PyMod(_Floored):
    """Python's `a % b`."""

    name: ClassVar[str] = "py_mod"
    raises: ClassVar[bool] = True
    partials = partials_of("remainder")
    fn: ClassVar[str] = "remainder"
    python: ClassVar[Callable[..., Any]] = operator.mod


@register
class PyPower(PyOp):
    """Python's `a ** b`: of two operands one is a float; an int has the attribute `exponent`.

    `exponent` is an int from 0 to 63. A float power that overflows, or that Python makes complex,
    bails out.
    """

    name: ClassVar[str] = "py_power"
    raises: ClassVar[bool] = True
    partials = partials_of("power")
    highest: ClassVar[str] = "float"
    python: ClassVar[Callable[..., Any]] = operator.pow

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        only_attrs(self.name, attrs, optional=("exponent",))
        static = "exponent" in attrs
        take(self.name, inputs, 1 if static else 2)
        kinds = self.kinds_of(inputs)
        if static:
            exponent = attrs["exponent"]
            valid = type(exponent) is int and 0 <= exponent < 64
            require(valid, f"py_power: {exponent!r} is not an exponent from 0 to 63")
        require(("float" in kinds) != static, "py_power: `exponent` is for ints, and only for them")
        return (PyScalar(self.result_kind(kinds)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        if "exponent" not in attrs:
            return super().evaluate(inputs, attrs)
        (base,) = inputs
        return (self.checked(base ** attrs["exponent"], (type(base).__name__,)),)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if attrs and "exponent" in attrs:
            return _int_power(as_int(args[0], kinds[0]), attrs["exponent"])
        a, b = (as_float(x, k) for x, k in zip(args, kinds, strict=True))
        # As Python has it to the last bit: the C library's.
        out = f64("libm_pow", a, b)
        # pow() leaves the finite numbers exactly where Python raises or turns to complex numbers.
        finite = all_of(b1("isfinite", a), b1("isfinite", b))
        return out, all_of(finite, b1("logical_not", b1("isfinite", out)))

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        pairs = [s for s in super().samples() if any(type(v) is float for v in s[0])]
        ints = [*SAMPLES["int"], *SAMPLES["bool"], 3, -3]
        return [
            *pairs,
            *(([v], {"exponent": k}) for v in ints for k in (0, 1, 2, 3, 5, 40, 62, 63)),
        ]


def _int_power(base: Any, exponent: int) -> ScalarRule:
    """Repeated squaring. A square is formed only where the result has it as a factor."""
    out: Any = None
    checks: list[Any] = []
    while exponent:
        if exponent & 1:
            if out is not None:
                checks.append(b1("multiply_overflows", out, base))
            out = base if out is None else i64("multiply", out, base)
        exponent >>= 1
        if exponent:
            checks.append(b1("multiply_overflows", base, base))
            base = i64("multiply", base, base)
    return (int_const(1) if out is None else out), any_of(*checks)


@register
class PyNegative(PyOp):
    """Python's `-a`."""

    name: ClassVar[str] = "py_negative"
    arithmetic: ClassVar[str] = "negative"
    partials = partials_of("negative")
    arity: ClassVar[int] = 1
    native_complex: ClassVar[bool] = True
    python: ClassVar[Callable[..., Any]] = operator.neg

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] == "complex":
            re, im = pair_of(args[0])
            return (f64("negative", re), f64("negative", im)), None
        if kinds[0] == "float":
            return f64("negative", real(args[0])), None
        a = as_int(args[0], kinds[0])
        return i64("negative", a), b1("equal", a, int_const(INT_MIN))


@register
class PyAbs(PyOp):
    """Python's `abs(a)`, a float for a complex number."""

    name: ClassVar[str] = "py_abs"
    partials = partials_of("absolute")
    arity: ClassVar[int] = 1
    native_complex: ClassVar[bool] = True
    python: ClassVar[Callable[..., Any]] = abs

    def result_kind(self, kinds: tuple[str, ...]) -> str:
        return "float" if kinds[0] == "complex" else super().result_kind(kinds)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs | None = None
    ) -> ScalarRule:
        if kinds[0] == "complex":
            re, im = pair_of(args[0])
            out = f64("libm_hypot", re, im)
            finite = all_of(b1("isfinite", re), b1("isfinite", im))
            return out, all_of(finite, b1("isinf", out))
        if kinds[0] == "float":
            return f64("absolute", real(args[0])), None
        a = as_int(args[0], kinds[0])
        return i64("absolute", a), b1("equal", a, int_const(INT_MIN))
