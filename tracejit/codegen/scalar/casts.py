"""Conversions between dtypes: each becomes instructions over any number of lanes, never poison.

A float beyond an integer's range gives what x86's conversions give: the smallest number of the
32 or 64 bits that NumPy's own C code converts to, truncated to the target.
"""

from __future__ import annotations

from tracejit.codegen.llvm.lanes import (
    Lanes,
    bits,
    is_float,
    is_signed,
    register_type,
    round_to_half,
)

__all__ = ["cast"]


def cast(s: Lanes, value: str, source: str, target: str) -> str:
    """`value` of dtype `source` as `target`, as NumPy's astype does it."""
    if source == target:
        return value
    if source == "f16":
        source = "f32"  # What its register holds.
    if target == "b1":
        if is_float(source):
            return s.compare("une", source, value, s.const(0.0, source))
        return s.compare("ne", source, value, s.const(0, source))
    if is_float(source):
        return (
            _float_to_float(s, value, source, target)
            if is_float(target)
            else (_float_to_integer(s, value, source, target))
        )
    if is_float(target):
        return _integer_to_float(s, value, source, target)
    return _integer_to_integer(s, value, source, target)


def _integer_to_integer(s: Lanes, value: str, source: str, target: str) -> str:
    width, wanted = 1 if source == "b1" else bits(source), bits(target)
    if width == wanted:
        return value
    opcode = "trunc" if wanted < width else ("sext" if is_signed(source) else "zext")
    return s.convert(opcode, value, register_type(source), register_type(target))


def _integer_to_float(s: Lanes, value: str, source: str, target: str) -> str:
    opcode = "sitofp" if is_signed(source) else "uitofp"
    result = s.convert(opcode, value, register_type(source), register_type(target))
    return round_to_half(s, result) if target == "f16" else result


def _float_to_float(s: Lanes, value: str, source: str, target: str) -> str:
    if target == "f64":
        return s.convert("fpext", value, "float", "double")
    if target == "f16":
        return round_to_half(s, value if source == "f32" else _round_to_odd(s, value))
    return value if source == "f32" else s.convert("fptrunc", value, "double", "float")


def _round_to_odd(s: Lanes, value: str) -> str:
    """A double as a float whose last bit records inexactness, so that the next rounding is right.

    Rounding to odd with two or more extra bits makes a double rounding innocuous (Boldo and
    Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to
    odd", IEEE Transactions on Computers 57(4), 2008).
    """
    near = s.convert("fptrunc", value, "double", "float")
    back = s.convert("fpext", near, "float", "double")
    inexact = s.compare("one", "f64", back, value)
    magnitudes = (s.intrinsic("fabs", "f64", back), s.intrinsic("fabs", "f64", value))
    too_large = s.compare("ogt", "f64", *magnitudes)
    pattern = s.convert("bitcast", near, "float", "i32")
    pattern = s.op("sub", "i32", pattern, s.convert("zext", too_large, "i1", "i32"))
    pattern = s.op("or", "i32", pattern, s.convert("zext", inexact, "i1", "i32"))
    return s.convert("bitcast", pattern, "i32", "float")


def _float_to_integer(s: Lanes, value: str, source: str, target: str) -> str:
    if target == "u64":
        # From 2**63 on, the difference converts and the top bit is put back.
        half_range = s.const(2.0**63, source)
        upper = s.compare("oge", source, value, half_range)
        reduced = s.select(upper, source, s.op("fsub", source, value, half_range), value)
        low = _truncate(s, reduced, source, "i64")
        top = s.select(upper, "i64", s.const(-(1 << 63), "i64"), s.const(0, "i64"))
        return s.op("xor", "i64", low, top)
    through = "i64" if target in ("i64", "u32") else "i32"
    return _integer_to_integer(s, _truncate(s, value, source, through), through, target)


def _truncate(s: Lanes, value: str, source: str, target: str) -> str:
    """Towards zero; the smallest integer where the value is out of range or NaN."""
    limit = 2.0 ** (bits(target) - 1)
    # -limit - 1 truncates out of range; where it is not a number of the type, -limit is the first.
    exact = source == "f64" and target == "i32"
    above = s.compare(
        "ogt" if exact else "oge", source, value, s.const(-limit - (1 if exact else 0), source)
    )
    below = s.compare("olt", source, value, s.const(limit, source))
    fits = s.op("and", "b1", above, below)
    safe = s.select(fits, source, value, s.const(0.0, source))
    result = s.convert("fptosi", safe, register_type(source), register_type(target))
    return s.select(fits, target, result, s.const(-(1 << (bits(target) - 1)), target))
