"""Scalar types and instructions for any number of lanes.

`Lanes(fb, width)` writes each instruction over scalars (width 1) or over vectors of `width`
elements; the emitters of the scalar functions are written once against it.

In registers a b1 is an i1 and an f16 is a float that holds an exact half; in memory a b1 is a byte
of 0 or 1 and an f16 is a half.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from tracejit.codegen.llvm.text import FunctionBuilder

__all__ = [
    "Lanes",
    "bits",
    "from_memory",
    "is_float",
    "is_integer",
    "is_signed",
    "load_element",
    "memory_type",
    "register_type",
    "round_to_half",
    "store_element",
    "to_memory",
    "vector_type",
]

_REGISTER = {
    "b1": "i1",
    **{f"{kind}{n}": f"i{n}" for kind in "iu" for n in (8, 16, 32, 64)},
    "f16": "float",
    "f32": "float",
    "f64": "double",
}
_SUFFIX = {"float": "f32", "double": "f64", "half": "f16", "ptr": "p0"}


def register_type(dtype: str) -> str:
    """The LLVM type of one value in a register. Raises KeyError for complex dtypes."""
    return _REGISTER[dtype]


def memory_type(dtype: str) -> str:
    """The LLVM type of one element in memory. Raises KeyError for complex dtypes."""
    return {"b1": "i8", "f16": "half"}.get(dtype) or _REGISTER[dtype]


def bits(dtype: str) -> int:
    """The number of bits that one element takes in memory."""
    return 8 if dtype == "b1" else int(dtype[1:])


def is_float(dtype: str) -> bool:
    """Whether `dtype` is a real floating-point one."""
    return dtype[0] == "f"


def is_integer(dtype: str) -> bool:
    """Whether `dtype` is a signed or unsigned integer."""
    return dtype[0] in "iu"


def is_signed(dtype: str) -> bool:
    """Whether `dtype` is a signed integer."""
    return dtype[0] == "i"


def vector_type(element: str, width: int) -> str:
    """`element` itself for width 1, else the vector of `width` of them."""
    return element if width == 1 else f"<{width} x {element}>"


@lru_cache(maxsize=4096)
def _literal(kind: str, value: bool | int | float, dtype: str) -> str:
    # `kind` keeps 1, 1.0 and True apart in the cache, and the sign tells the zeros apart.
    if dtype == "b1":
        return "true" if value else "false"
    if is_float(dtype):
        number = float(value)
        if dtype != "f64":
            with np.errstate(over="ignore"):
                number = float(np.dtype(f"f{bits(dtype) // 8}").type(number))
        return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"
    number = int(value)
    return str(number - (1 << 64) if number >= 1 << 63 else number)


class Lanes:
    """Instructions over `width` lanes, written to a function's current chunk."""

    __slots__ = ("fb", "width")

    def __init__(self, fb: FunctionBuilder, width: int = 1) -> None:
        self.fb = fb
        self.width = width

    def type(self, dtype: str) -> str:
        """The register type of values of `dtype`."""
        return vector_type(_REGISTER[dtype], self.width)

    def of(self, element: str) -> str:
        """The type of lanes of an LLVM element type."""
        return vector_type(element, self.width)

    def const(self, value: bool | int | float, dtype: str) -> str:
        """The operand text of a literal, the same in every lane."""
        if value != 0 or is_integer(dtype) or dtype == "b1":
            text = _literal(type(value).__name__, value, dtype)
        else:
            text = "0x" + struct.pack(">d", float(value)).hex().upper()
        return text if self.width == 1 else f"splat ({_REGISTER[dtype]} {text})"

    def splat(self, scalar: str, dtype: str) -> str:
        """A scalar register in every lane."""
        if self.width == 1:
            return scalar
        element = _REGISTER[dtype]
        kind = self.type(dtype)
        first = self.fb.emit(f"insertelement {kind} poison, {element} {scalar}, i64 0")
        return self.fb.emit(
            f"shufflevector {kind} {first}, {kind} poison, <{self.width} x i32> zeroinitializer"
        )

    def counting(self, element: str, start: int = 0, step: int = 1) -> str:
        """The constant start, start + step, ... of an integer element type."""
        if self.width == 1:
            return str(start)
        return f"<{', '.join(f'{element} {start + k * step}' for k in range(self.width))}>"

    def op(self, opcode: str, dtype: str, *args: str) -> str:
        """An instruction whose operands all have the type of `dtype`."""
        return self.fb.emit(f"{opcode} {self.type(dtype)} {', '.join(args)}")

    def compare(self, predicate: str, dtype: str, a: str, b: str) -> str:
        """icmp or fcmp; lanes of i1."""
        opcode = "fcmp" if is_float(dtype) else "icmp"
        return self.fb.emit(f"{opcode} {predicate} {self.type(dtype)} {a}, {b}")

    def select(self, condition: str, dtype: str, a: str, b: str) -> str:
        """Lane by lane, a where the condition holds, else b."""
        kind = self.type(dtype)
        return self.fb.emit(f"select {self.of('i1')} {condition}, {kind} {a}, {kind} {b}")

    def convert(self, opcode: str, value: str, source: str, target: str) -> str:
        """A conversion between element types, given as LLVM types."""
        return self.fb.emit(f"{opcode} {self.of(source)} {value} to {self.of(target)}")

    def intrinsic(self, name: str, dtype: str, *args: str, tail: str = "") -> str:
        """An LLVM intrinsic from lanes of `dtype` to lanes of `dtype`."""
        kind = self.type(dtype)
        element = _REGISTER[dtype]
        suffix = _SUFFIX.get(element, element)
        if self.width > 1:
            suffix = f"v{self.width}{suffix}"
        extra = [tail.split()[0]] if tail else []
        symbol = self.fb.module.declare(f"llvm.{name}.{suffix}", kind, [kind] * len(args) + extra)
        operands = [f"{kind} {a}" for a in args] + ([tail] if tail else [])
        return self.fb.emit(f"call {kind} {symbol}({', '.join(operands)})")

    def any(self, condition: str) -> str:
        """Whether an i1 holds in some lane."""
        if self.width == 1:
            return condition
        kind = self.of("i1")
        symbol = self.fb.module.declare(f"llvm.vector.reduce.or.v{self.width}i1", "i1", [kind])
        return self.fb.emit(f"call i1 {symbol}({kind} {condition})")

    def lane(self, value: str, dtype: str, k: int) -> str:
        """The scalar in lane k."""
        if self.width == 1:
            return value
        return self.fb.emit(f"extractelement {self.type(dtype)} {value}, i64 {k}")

    def call(self, symbol: str, result: str, dtypes: Sequence[str], args: Sequence[str]) -> str:
        """Call a function over lanes; `result` and `dtypes` are dtypes."""
        operands = ", ".join(f"{self.type(d)} {a}" for d, a in zip(dtypes, args, strict=True))
        return self.fb.emit(f"call {self.type(result)} {symbol}({operands})")

    def helper(
        self,
        name: str,
        result: str,
        dtypes: Sequence[str],
        args: Sequence[str],
        build: Callable[[Lanes, list[str]], str],
    ) -> str:
        """Call a function of the module that `build(lanes, args)` writes on the first use.

        The name gets the width as a suffix. What is long, or has loops, is written once this way.
        """
        module = self.fb.module
        full = f"{name}.w{self.width}"

        def define() -> None:
            names = [f"%a{k}" for k in range(len(dtypes))]
            params = [(self.type(d), n) for d, n in zip(dtypes, names, strict=True)]
            inner = FunctionBuilder(module, full, params, self.type(result))
            inner.ret(self.type(result), build(Lanes(inner, self.width), names))
            inner.finish()

        return self.call(module.helper(full, define), result, dtypes, args)

    def each_lane(
        self, result: str, dtypes: Sequence[str], args: Sequence[str], scalar: Callable[..., str]
    ) -> str:
        """`scalar(lanes of width 1, *operands)` lane by lane, put together again."""
        if self.width == 1:
            return scalar(self, *args)
        one = Lanes(self.fb)
        kind, element = self.type(result), _REGISTER[result]
        out = "poison"
        for k in range(self.width):
            operands = [self.lane(a, d, k) for a, d in zip(args, dtypes, strict=True)]
            value = scalar(one, *operands)
            out = self.fb.emit(f"insertelement {kind} {out}, {element} {value}, i64 {k}")
        return out


def round_to_half(lanes: Lanes, value: str) -> str:
    """Floats rounded to the nearest half, still as floats."""
    if not lanes.fb.module.target.has_f16c:
        pattern = lanes.helper("tj_half_pattern", "u16", ["f32"], [value], _half_pattern)
        return lanes.helper("tj_half_value", "f32", ["u16"], [pattern], _half_value)
    narrow = lanes.convert("fptrunc", value, "float", "half")
    return lanes.convert("fpext", narrow, "half", "float")


def _half_value(s: Lanes, args: list[str]) -> str:
    """The floats that the bits of halves stand for, with quiet NaNs, as F16C converts them."""
    pattern = s.convert("zext", args[0], "i16", "i32")
    sign = s.op("shl", "u32", s.op("and", "u32", pattern, _word(s, 0x8000)), _word(s, 16))
    size = s.op("and", "u32", pattern, _word(s, 0x7FFF))
    moved = s.op("shl", "u32", size, _word(s, 13))
    # The exponent's bias is 15 in a half and 127 in a float; all ones are infinity and NaN.
    finite = s.op("add", "u32", moved, _word(s, (127 - 15) << 23))
    infinite = s.op("or", "u32", moved, _word(s, 0x7F800000))
    quiet = s.op("or", "u32", infinite, _word(s, 0x00400000))
    special = s.select(s.compare("ugt", "u32", size, _word(s, 0x7C00)), "u32", quiet, infinite)
    ordinary = s.compare("ult", "u32", size, _word(s, 0x7C00))
    normal = s.select(ordinary, "u32", finite, special)
    small = s.op("fmul", "f32", s.convert("uitofp", size, "i32", "float"), s.const(2**-24, "f32"))
    subnormal = s.compare("ult", "u32", size, _word(s, 0x0400))
    found = s.select(subnormal, "u32", s.convert("bitcast", small, "float", "i32"), normal)
    return s.convert("bitcast", s.op("or", "u32", found, sign), "i32", "float")


def _half_pattern(s: Lanes, args: list[str]) -> str:
    """The bits of the halves that are nearest to floats, of two the even one, as F16C finds them.

    Infinities stay, NaNs keep the first bits of their payload and are quiet.
    """
    pattern = s.convert("bitcast", args[0], "float", "i32")
    sign = s.op("and", "u32", s.op("lshr", "u32", pattern, _word(s, 16)), _word(s, 0x8000))
    size = s.op("and", "u32", pattern, _word(s, 0x7FFFFFFF))
    moved = s.op("lshr", "u32", size, _word(s, 13))
    odd = s.op("and", "u32", moved, _word(s, 1))
    half = s.op("add", "u32", s.op("add", "u32", size, odd), _word(s, 0x0FFF))
    rebased = s.op("sub", "u32", half, _word(s, (127 - 15) << 23))
    normal = s.op("lshr", "u32", rebased, _word(s, 13))
    # The last place of 0.5 is that of subnormal halves: the sum is rounded to a multiple of it.
    raised = s.op("fadd", "f32", s.convert("bitcast", size, "i32", "float"), s.const(0.5, "f32"))
    small = s.convert("bitcast", raised, "float", "i32")
    small = s.op("sub", "u32", small, _word(s, 0x3F000000))
    found = s.select(s.compare("ult", "u32", size, _word(s, 0x38800000)), "u32", small, normal)
    # From 2^16 on, and by a carry from 65520 on, it is infinity.
    large = s.compare("uge", "u32", size, _word(s, 0x47800000))
    found = s.select(large, "u32", _word(s, 0x7C00), found)
    payload = s.op("or", "u32", s.op("and", "u32", moved, _word(s, 0x03FF)), _word(s, 0x7E00))
    nan = s.compare("ugt", "u32", size, _word(s, 0x7F800000))
    found = s.op("or", "u32", s.select(nan, "u32", payload, found), sign)
    return s.convert("trunc", found, "i32", "i16")


def _word(s: Lanes, value: int) -> str:
    return s.const(value, "u32")


def from_memory(lanes: Lanes, value: str, dtype: str) -> str:
    """Elements as memory holds them become registers."""
    if dtype == "b1":
        return (
            lanes.fb.emit(f"icmp ne {lanes.of('i8')} {value}, zeroinitializer")
            if (lanes.width > 1)
            else lanes.fb.emit(f"icmp ne i8 {value}, 0")
        )
    if dtype == "f16" and not lanes.fb.module.target.has_f16c:
        pattern = lanes.convert("bitcast", value, "half", "i16")
        return lanes.helper("tj_half_value", "f32", ["u16"], [pattern], _half_value)
    if dtype == "f16":
        return lanes.convert("fpext", value, "half", "float")
    return value


def to_memory(lanes: Lanes, value: str, dtype: str) -> str:
    """Registers become elements as memory holds them."""
    if dtype == "b1":
        return lanes.convert("zext", value, "i1", "i8")
    if dtype == "f16" and not lanes.fb.module.target.has_f16c:
        pattern = lanes.helper("tj_half_pattern", "u16", ["f32"], [value], _half_pattern)
        return lanes.convert("bitcast", pattern, "i16", "half")
    if dtype == "f16":
        return lanes.convert("fptrunc", value, "float", "half")
    return value


def load_element(fb: FunctionBuilder, address: str, dtype: str) -> str:
    """The scalar at an address, which need be aligned to the element only."""
    size = bits(dtype) // 8
    value = fb.emit(f"load {memory_type(dtype)}, ptr {address}, align {size}")
    return from_memory(Lanes(fb), value, dtype)


def store_element(fb: FunctionBuilder, address: str, dtype: str, value: str) -> None:
    """Write a scalar to an address, which need be aligned to the element only."""
    size = bits(dtype) // 8
    stored = to_memory(Lanes(fb), value, dtype)
    fb.line(f"store {memory_type(dtype)} {stored}, ptr {address}, align {size}")
