"""Scalar functions of integers: each becomes instructions over any number of lanes.

Values are NumPy's: two's complement wraps, division by zero gives 0, MIN // -1 is MIN. The hardware
traps on both, so the divisor is replaced first.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tracejit.codegen.llvm.lanes import Lanes, bits, is_signed, register_type
from tracejit.codegen.scalar.divisors import gcd, lcm

__all__ = [
    "COMPARISONS",
    "INTEGER",
    "ScalarEmitter",
    "constant",
    "literal",
    "same",
    "simple",
    "with_overflow",
]

#: (lanes, operands, their dtypes, the result's dtype) -> the result's register.
ScalarEmitter: TypeAlias = Callable[[Lanes, Sequence[str], Sequence[str], str], str]


def literal(operand: str) -> int | None:
    """The value of an integer operand that is the same literal in every lane, else None."""
    text = operand.removesuffix(")").split()[-1] if operand.startswith("splat") else operand
    return int(text) if text.lstrip("-").isdigit() else None


def simple(opcode: str) -> ScalarEmitter:
    """One instruction over operands of one dtype."""
    return lambda s, a, t, r: s.op(opcode, t[0], *a)


def comparison(signed: str, unsigned: str) -> ScalarEmitter:
    """A comparison; a signed operand against an unsigned one compares their true values."""

    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        x, y = a
        known = _compared(signed, t, literal(x), literal(y)) if s.width == 1 else None
        if known is not None:
            return s.const(known, "b1")
        if is_signed(t[0]) == is_signed(t[1]):
            return s.compare(signed if is_signed(t[0]) else unsigned, t[0], x, y)
        outcome = s.compare(unsigned, t[0], x, y)
        # A negative number is below every unsigned one.
        negative, dtype = (x, t[0]) if is_signed(t[0]) else (y, t[1])
        below = s.compare("slt", dtype, negative, s.const(0, dtype))
        left_is_below = is_signed(t[0])
        holds = unsigned == "ne" or (unsigned[:2] == ("ul" if left_is_below else "ug"))
        return s.select(below, "b1", s.const(holds, "b1"), outcome)

    return emit


_ORDER: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "sle": operator.le,
    "sgt": operator.gt,
    "sge": operator.ge,
}


def _compared(signed: str, dtypes: Sequence[str], x: int | None, y: int | None) -> bool | None:
    """The outcome of comparing two literals, or None. (Literals above i64 are written negative.)"""
    if x is None or y is None or not all(map(is_signed, dtypes)):
        return None
    return _ORDER[signed](x, y)


def _minimum_value(dtype: str) -> int:
    return -(1 << (bits(dtype) - 1))


def _negate(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return s.op("sub", t[0], s.const(0, t[0]), a[0])


def _absolute(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return s.intrinsic("abs", t[0], a[0], tail="i1 false") if is_signed(t[0]) else a[0]


def _sign(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    zero, one = s.const(0, r), s.const(1, r)
    positive = s.compare("sgt" if is_signed(r) else "ugt", r, a[0], zero)
    rest = zero
    if is_signed(r):
        rest = s.select(s.compare("slt", r, a[0], zero), r, s.const(-1, r), zero)
    return s.select(positive, r, one, rest)


def _divide(s: Lanes, dtype: str, x: str, y: str, opcode: str) -> tuple[str, str | None]:
    """x / y or x % y towards zero, right except where y is 0; and where that is (None: nowhere).

    `opcode` is div or rem. For y = -1 the quotient is -x and the remainder 0.
    """
    known = literal(y)
    prefix = "s" if is_signed(dtype) else "u"
    if known not in (None, 0, -1):
        return s.op(prefix + opcode, dtype, x, y), None
    one = s.const(1, dtype)
    zero_divisor = s.compare("eq", dtype, y, s.const(0, dtype))
    safe = s.select(zero_divisor, dtype, one, y)
    if not is_signed(dtype):
        return _divide_safely(s, dtype, x, safe, opcode), zero_divisor
    minus_one = s.compare("eq", dtype, y, s.const(-1, dtype))
    safe = s.select(minus_one, dtype, one, safe)
    result = _divide_safely(s, dtype, x, safe, opcode)
    if opcode == "div":
        negated = s.op("sub", dtype, s.const(0, dtype), x)
        result = s.select(minus_one, dtype, negated, result)
    return result, zero_divisor


def _divide_safely(s: Lanes, dtype: str, x: str, y: str, opcode: str) -> str:
    """x / y or x % y towards zero where neither the machine nor the result would trap.

    No machine divides integers in lanes. As floats with room for x * y the quotient, rounded, is
    on the right side of every integer: a / b differs from an integer n that it is not by 1 / b at
    least, which is more than half a unit in the last place of n.
    """
    prefix = "s" if is_signed(dtype) else "u"
    if s.width == 1:
        return s.op(prefix + opcode, dtype, x, y)
    if bits(dtype) == 64:
        quotient = s.helper(
            f"divide.{dtype}", dtype, (dtype, dtype), (x, y), lambda s, a: _divide_64(s, dtype, *a)
        )
    else:
        quotient = _divide_as(s, "double" if bits(dtype) == 32 else "float", dtype, x, y)
    if opcode == "div":
        return quotient
    return s.op("sub", dtype, x, s.op("mul", dtype, quotient, y))


def _divide_as(s: Lanes, kind: str, dtype: str, x: str, y: str) -> str:
    element, sign = register_type(dtype), "s" if is_signed(dtype) else "u"
    a, b = (s.convert(f"{sign}itofp", v, element, kind) for v in (x, y))
    quotient = s.fb.emit(f"fdiv {s.of(kind)} {a}, {b}")
    return s.convert(f"fpto{sign}i", quotient, kind, element)


def _divide_64(s: Lanes, dtype: str, x: str, y: str) -> str:
    """As doubles where all operands are below 2**53, one by one otherwise."""
    fb, limit = s.fb, 1 << 53
    outside = []
    for v in (x, y):
        shifted = s.op("add", dtype, v, s.const(limit, dtype)) if is_signed(dtype) else v
        bound = s.const(2 * limit if is_signed(dtype) else limit, dtype)
        outside.append(s.compare("uge", dtype, shifted, bound))
    large, small, done = (fb.fresh_label(h) for h in ("large", "small", "after"))
    fb.cond_br(s.any(s.op("or", "b1", *outside)), large, small)
    fb.block(large)
    one_by_one = s.op("sdiv" if is_signed(dtype) else "udiv", dtype, x, y)
    fb.br(done)
    fb.block(small)
    # Below 2**53 a number without a sign is the same with one.
    together = _divide_as(s, "double", "i64", x, y)
    fb.br(done)
    fb.block(done)
    return fb.phi(s.type(dtype), [(one_by_one, large), (together, small)])


def _zero_where(s: Lanes, condition: str | None, dtype: str, value: str) -> str:
    return value if condition is None else s.select(condition, dtype, s.const(0, dtype), value)


def _fmod(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    value, undefined = _divide(s, r, a[0], a[1], "rem")
    return _zero_where(s, undefined, r, value)


def _positive_literal(operand: str, dtype: str) -> int | None:
    """The value of a signed operand that is a positive literal, else None."""
    known = literal(operand)
    return known if known is not None and known > 0 and is_signed(dtype) else None


def _all_bits_if_negative(s: Lanes, dtype: str, x: str) -> str:
    return s.op("ashr", dtype, x, s.const(bits(dtype) - 1, dtype))


def _remainder(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, y = a
    divisor = _positive_literal(y, r)
    if divisor is not None:
        if divisor & (divisor - 1) == 0:
            return s.op("and", r, x, s.const(divisor - 1, r))
        rest = s.op("srem", r, x, y)
        return s.op("add", r, rest, s.op("and", r, y, _all_bits_if_negative(s, r, rest)))
    value, undefined = _divide(s, r, x, y, "rem")
    if is_signed(r):
        # Python's rule: the result has the divisor's sign.
        zero = s.const(0, r)
        differs = s.compare("slt", r, s.op("xor", r, value, y), zero)
        nonzero = s.compare("ne", r, value, zero)
        wrong = s.op("and", "b1", differs, nonzero)
        value = s.select(wrong, r, s.op("add", r, value, y), value)
    return _zero_where(s, undefined, r, value)


def _floor_divide(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, y = a
    divisor = _positive_literal(y, r)
    if divisor is not None:
        if divisor & (divisor - 1) == 0:
            return s.op("ashr", r, x, s.const(divisor.bit_length() - 1, r))
        quotient = s.op("sdiv", r, x, y)
        rest = s.op("sub", r, x, s.op("mul", r, quotient, y))
        return s.op("add", r, quotient, _all_bits_if_negative(s, r, rest))
    quotient, undefined = _divide(s, r, x, y, "div")
    if is_signed(r):
        zero = s.const(0, r)
        rest = s.op("sub", r, x, s.op("mul", r, quotient, y))
        differs = s.compare("slt", r, s.op("xor", r, x, y), zero)
        inexact = s.compare("ne", r, rest, zero)
        wrong = s.op("and", "b1", differs, inexact)
        quotient = s.select(wrong, r, s.op("sub", r, quotient, s.const(1, r)), quotient)
    return _zero_where(s, undefined, r, quotient)


def _power(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """Repeated squaring; the exponent is not negative."""

    def build(s: Lanes, a: list[str]) -> str:
        fb, kind, zero = s.fb, s.type(r), s.const(0, r)
        head, done = fb.fresh_label("loop"), fb.fresh_label("after")
        before = fb.label
        fb.br(head)
        fb.block(head)
        base, exponent, result = fb.fresh("x"), fb.fresh("e"), fb.fresh("r")
        phis = fb.insertion_point()
        odd = s.compare("ne", r, s.op("and", r, exponent, s.const(1, r)), zero)
        next_result = s.select(odd, r, s.op("mul", r, result, base), result)
        next_base = s.op("mul", r, base, base)
        next_exponent = s.op("lshr", r, exponent, s.const(1, r))
        for name, first, following in (
            (base, a[0], next_base),
            (exponent, a[1], next_exponent),
            (result, s.const(1, r), next_result),
        ):
            phis.lines.append(
                f"  {name} = phi {kind} [ {first}, %{before} ], [ {following}, %{head} ]"
            )
        fb.cond_br(s.any(s.compare("ne", r, next_exponent, zero)), head, done)
        fb.block(done)
        return next_result

    return s.helper(f"integer_power.{r}", r, t, a, build)


def _left_shift(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, count = a
    width = s.const(bits(r), r)
    in_range = s.compare("ult", r, count, width)
    safe = s.select(in_range, r, count, s.const(0, r))
    return s.select(in_range, r, s.op("shl", r, x, safe), s.const(0, r))


def _right_shift(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    x, count = a
    in_range = s.compare("ult", r, count, s.const(bits(r), r))
    if is_signed(r):
        # Out of range leaves the sign alone, which is what the largest shift does.
        return s.op("ashr", r, x, s.select(in_range, r, count, s.const(bits(r) - 1, r)))
    safe = s.select(in_range, r, count, s.const(0, r))
    return s.select(in_range, r, s.op("lshr", r, x, safe), s.const(0, r))


def _invert(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    return s.op("xor", r, a[0], s.const(-1, r))


def _bitwise_count(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    count = s.intrinsic("ctpop", t[0], _absolute(s, a, t, t[0]))
    source, target = register_type(t[0]), register_type(r)
    return count if source == target else s.convert("trunc", count, source, target)


def _extreme(name: str) -> ScalarEmitter:
    def emit(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
        prefix = "s" if is_signed(r) else "u"
        return s.intrinsic(prefix + name, r, a[0], a[1])

    return emit


def same(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """The operand itself."""
    return a[0]


def constant(value: bool) -> ScalarEmitter:
    """A truth that does not depend on the operand."""
    return lambda s, a, t, r: s.const(value, r)


COMPARISONS: dict[str, ScalarEmitter] = {
    "equal": comparison("eq", "eq"),
    "not_equal": comparison("ne", "ne"),
    "less": comparison("slt", "ult"),
    "less_equal": comparison("sle", "ule"),
    "greater": comparison("sgt", "ugt"),
    "greater_equal": comparison("sge", "uge"),
}


def with_overflow(s: Lanes, operation: str, dtype: str, x: str, y: str) -> tuple[str, str]:
    """The wrapped sum, difference or product of integers, and whether it left their dtype.

    `operation` is add, subtract or multiply. Raises NotImplementedError for more than one lane.
    """
    if s.width != 1:
        raise NotImplementedError(f"{operation}_overflows over several lanes")
    kind = register_type(dtype)
    pair = f"{{ {kind}, i1 }}"
    short = {"add": "add", "subtract": "sub", "multiply": "mul"}[operation]
    sign = "s" if is_signed(dtype) else "u"
    name = s.fb.module.declare(f"llvm.{sign}{short}.with.overflow.{kind}", pair, [kind, kind])
    both = s.fb.emit(f"call {pair} {name}({kind} {x}, {kind} {y})")
    value = s.fb.emit(f"extractvalue {pair} {both}, 0")
    return value, s.fb.emit(f"extractvalue {pair} {both}, 1")


def _power_exceeds(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """Whether a power leaves the dtype: a product that its repeated squaring needs does."""

    def build(s: Lanes, a: list[str]) -> str:
        fb, d, zero = s.fb, t[0], s.const(0, t[0])
        kind = register_type(d)
        head, done = fb.fresh_label("loop"), fb.fresh_label("after")
        before = fb.label
        fb.br(head)
        fb.block(head)
        base, exponent, result, left, lost = (fb.fresh(h) for h in ("x", "e", "r", "left", "lost"))
        phis = fb.insertion_point()
        odd = s.compare("ne", d, s.op("and", d, exponent, s.const(1, d)), zero)
        product, too_large = with_overflow(s, "multiply", d, result, base)
        used = s.op("and", "b1", odd, s.op("or", "b1", too_large, lost))
        next_left = s.op("or", "b1", left, used)
        square, too_large = with_overflow(s, "multiply", d, base, base)
        next_lost = s.op("or", "b1", lost, too_large)
        next_exponent = s.op("lshr", d, exponent, s.const(1, d))
        for name, of, first, following in (
            (base, kind, a[0], square),
            (exponent, kind, a[1], next_exponent),
            (result, kind, s.const(1, d), s.select(odd, d, product, result)),
            (left, "i1", "false", next_left),
            (lost, "i1", "false", next_lost),
        ):
            phis.lines.append(
                f"  {name} = phi {of} [ {first}, %{before} ], [ {following}, %{head} ]"
            )
        fb.cond_br(s.compare("ne", d, next_exponent, zero), head, done)
        fb.block(done)
        return next_left

    return s.helper(f"power_exceeds.{t[0]}", "b1", t, a, build)


def _overflows(operation: str) -> ScalarEmitter:
    return lambda s, a, t, r: with_overflow(s, operation, t[0], a[0], a[1])[1]


INTEGER: dict[str, ScalarEmitter] = {
    "add_overflows": _overflows("add"),
    "subtract_overflows": _overflows("subtract"),
    "multiply_overflows": _overflows("multiply"),
    "power_exceeds": _power_exceeds,
    **COMPARISONS,
    "add": simple("add"),
    "subtract": simple("sub"),
    "multiply": simple("mul"),
    "negative": _negate,
    "positive": same,
    "absolute": _absolute,
    "sign": _sign,
    "square": lambda s, a, t, r: s.op("mul", r, a[0], a[0]),
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "fmod": _fmod,
    "power": _power,
    "bitwise_and": simple("and"),
    "bitwise_or": simple("or"),
    "bitwise_xor": simple("xor"),
    "invert": _invert,
    "left_shift": _left_shift,
    "right_shift": _right_shift,
    "bitwise_count": _bitwise_count,
    "gcd": gcd,
    "lcm": lcm,
    "maximum": _extreme("max"),
    "minimum": _extreme("min"),
    "fmax": _extreme("max"),
    "fmin": _extreme("min"),
    "floor": same,
    "ceil": same,
    "trunc": same,
    "conjugate": same,
    "isnan": constant(False),
    "isinf": constant(False),
    "isfinite": constant(True),
}
