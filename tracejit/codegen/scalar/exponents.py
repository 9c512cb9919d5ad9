"""Functions of the exponents of floats: numbers times powers of two, taken apart, and last places.

All are exact, but that `ldexp` rounds once to a subnormal number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tracejit.codegen.llvm.lanes import (
    Lanes,
    bits,
    from_memory,
    memory_type,
    register_type,
    to_memory,
)
from tracejit.codegen.vector_math.formats import FORMATS, Format

__all__ = [
    "from_bits",
    "frexp_exponent",
    "frexp_mantissa",
    "ldexp",
    "nextafter",
    "spacing",
    "to_bits",
]


#: True if NumPy's nextafter of equal halves is the first one, as before 2.5; else it is the other.
_FIRST_OF_HALVES = not np.signbit(np.nextafter(np.float16(0.0), np.float16(-0.0)))


def _integer(dtype: str) -> str:
    return f"i{bits(dtype)}"


def to_bits(s: Lanes, dtype: str, x: str) -> str:
    """The encoding of a float."""
    element = memory_type(dtype)
    return s.convert("bitcast", to_memory(s, x, dtype), element, register_type(_integer(dtype)))


def from_bits(s: Lanes, dtype: str, x: str) -> str:
    """The float of an encoding."""
    raw = s.convert("bitcast", x, register_type(_integer(dtype)), memory_type(dtype))
    return from_memory(s, raw, dtype)


def ldexp(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """x * 2**n for any n: at most two factors at the ends of the range, then 2 to what is left.

    A small factor leaves as many places as a mantissa has, so that only the last one can round: had
    an earlier product been subnormal, the result would be zero.
    """
    x, n = a
    fmt, kind = FORMATS[r], _integer(r)
    # Beyond these no number but 0, infinity and NaN has anything left.
    most = 4 * fmt.bias + fmt.mantissa
    n = s.intrinsic("smin", t[1], s.const(most, t[1]), n)
    n = s.intrinsic("smax", t[1], s.const(-most, t[1]), n)
    if bits(t[1]) != bits(kind):
        opcode = "sext" if bits(t[1]) < bits(kind) else "trunc"
        n = s.convert(opcode, n, register_type(t[1]), register_type(kind))
    largest, least = fmt.bias, 1 - fmt.bias + fmt.mantissa + 1
    for _ in range(2):
        above = s.compare("sgt", kind, n, s.const(fmt.bias, kind))
        below = s.compare("slt", kind, n, s.const(1 - fmt.bias, kind))
        factor = s.select(below, r, s.const(2.0**least, r), s.const(1.0, r))
        factor = s.select(above, r, s.const(2.0**largest, r), factor)
        taken = s.select(below, kind, s.const(least, kind), s.const(0, kind))
        taken = s.select(above, kind, s.const(largest, kind), taken)
        x, n = s.op("fmul", r, x, factor), s.op("sub", kind, n, taken)
    n = s.intrinsic("smin", kind, s.const(fmt.bias, kind), n)
    n = s.intrinsic("smax", kind, s.const(1 - fmt.bias, kind), n)
    field = s.op("add", kind, n, s.const(fmt.bias, kind))
    power = from_bits(s, r, s.op("shl", kind, field, s.const(fmt.mantissa, kind)))
    return s.op("fmul", r, x, power)


def spacing(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """The next number away from zero, minus the number; the same for both zeros.

    Of halves it is the next number upwards, as NumPy has it.
    """
    (x,), kind = a, _integer(r)
    x = s.op("fadd", r, x, s.const(0.0, r))
    step = s.const(1, kind)
    if r == "f16":
        step = s.select(s.compare("olt", r, x, s.const(0.0, r)), kind, s.const(-1, kind), step)
    following = from_bits(s, r, s.op("add", kind, to_bits(s, r, x), step))
    distance = s.op("fsub", r, following, x)
    if r != "f16":
        return distance
    endless = s.compare("oeq", r, x, s.const(-math.inf, r))
    return s.select(endless, r, s.const(math.nan, r), distance)


def nextafter(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """The next number towards another; of equal ones the other, of halves what NumPy gives."""
    (x, y), kind = a, _integer(r)
    one, zero = s.const(1, kind), s.const(0.0, r)
    # Away from zero the magnitude, and so the bits, grow by one.
    away = s.op("xor", "b1", s.compare("olt", r, x, y), s.compare("olt", r, x, zero))
    step = s.select(away, kind, one, s.const(-1, kind))
    moved = from_bits(s, r, s.op("add", kind, to_bits(s, r, x), step))
    tiny = s.intrinsic("copysign", r, from_bits(s, r, one), y)
    moved = s.select(s.compare("oeq", r, x, zero), r, tiny, moved)
    moved = s.select(
        s.compare("oeq", r, x, y), r, x if r == "f16" and _FIRST_OF_HALVES else y, moved
    )
    nan = s.op("fadd", r, x, y)
    return s.select(s.compare("uno", r, x, y), r, nan, moved)


def _normal(s: Lanes, dtype: str, x: str) -> tuple[Format, str, str, str]:
    """The encoding of a number without subnormal ones, where it was subnormal, and where it has no
    exponent.
    """
    fmt = FORMATS[dtype]
    size = s.intrinsic("fabs", dtype, x)
    subnormal = s.compare("olt", dtype, size, s.const(fmt.tiny, dtype))
    scale = s.select(
        subnormal, dtype, s.const(2.0 ** (fmt.mantissa + 1), dtype), s.const(1.0, dtype)
    )
    pattern = to_bits(s, dtype, s.op("fmul", dtype, x, scale))
    zero = s.compare("oeq", dtype, x, s.const(0.0, dtype))
    endless = s.compare("ueq", dtype, size, s.const(float("inf"), dtype))
    return fmt, pattern, subnormal, s.op("or", "b1", zero, endless)


def frexp_mantissa(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """x over a power of two, from 0.5 to 1 in size; zeros, infinities and NaN as they are."""
    (x,), kind = a, _integer(r)
    fmt, pattern, _, special = _normal(s, r, x)
    rest = s.op("and", kind, pattern, s.const(_signed(fmt, _rest(fmt)), kind))
    half = s.const((fmt.bias - 1) << fmt.mantissa, kind)
    return s.select(special, r, x, from_bits(s, r, s.op("or", kind, rest, half)))


def frexp_exponent(s: Lanes, a: Sequence[str], t: Sequence[str], r: str) -> str:
    """The exponent of that power, an i32; 0 of zeros, infinities and NaN."""
    (x,), d = a, t[0]
    kind = _integer(d)
    fmt, pattern, subnormal, special = _normal(s, d, x)
    field = s.op("lshr", kind, pattern, s.const(fmt.mantissa, kind))
    mask = (1 << (fmt.bits - fmt.mantissa - 1)) - 1
    field = s.op("and", kind, field, s.const(mask, kind))
    bias = s.select(
        subnormal, kind, s.const(fmt.bias + fmt.mantissa, kind), s.const(fmt.bias - 1, kind)
    )
    exponent = s.select(special, kind, s.const(0, kind), s.op("sub", kind, field, bias))
    return exponent if kind == "i32" else s.convert("trunc", exponent, "i64", "i32")


def _rest(fmt: Format) -> int:
    """The bits of an encoding but the exponent field."""
    return fmt.sign_mask | (1 << fmt.mantissa) - 1


def _signed(fmt: Format, pattern: int) -> int:
    """As LLVM writes an integer of the format's size."""
    return pattern - (1 << fmt.bits) if pattern & fmt.sign_mask else pattern
