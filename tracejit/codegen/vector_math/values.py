"""Vectors as Python objects: each operator on a `Float`, `Int` or `Mask` becomes one instruction.

Width 1 gives scalars. Nothing is contracted, reordered or folded: every operation is rounded by
itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

from tracejit.codegen.vector_math.formats import F64, Definition, Format, literal

__all__ = ["Emitter", "Float", "Int", "Mask"]


@dataclass
class _Function:
    """What builders of one function share, whatever their format."""

    lines: list[str] = field(default_factory=list)
    #: In the order of their first use.
    declarations: dict[str, None] = field(default_factory=dict)
    helpers: dict[str, Definition] = field(default_factory=dict)
    block: str = "entry"


class Emitter:
    """Instructions of one function over vectors of `width` elements, and their spelling.

    With `fma` false the host has no fused multiply-add (LLVM would call a library function for
    each element). With `permutes` it has AVX-512, whose permutations read small tables faster
    than memory does.
    """

    def __init__(
        self,
        fmt: Format,
        width: int,
        fma: bool,
        permutes: bool = False,
        function: _Function | None = None,
    ) -> None:
        self.format = fmt
        self.width = width
        self.fma = fma
        self.permutes = permutes
        self._function = function or _Function()

    def doubles(self) -> Self:
        """A builder of the same function whose values are float64."""
        return type(self)(F64, self.width, self.fma, self.permutes, self._function)

    def vector(self, element: str) -> str:
        """The type of a value whose elements have type `element`."""
        return element if self.width == 1 else f"<{self.width} x {element}>"

    @property
    def float_type(self) -> str:
        return self.vector(self.format.type)

    @property
    def int_type(self) -> str:
        return self.vector(self.format.integer)

    def constant(self, value: float) -> str:
        """`value` in every lane."""
        text = f"{self.format.type} {literal(value)}"
        return literal(value) if self.width == 1 else f"splat ({text})"

    def int_constant(self, value: int) -> str:
        """`value` in every lane."""
        return str(value) if self.width == 1 else f"splat ({self.format.integer} {value})"

    def emit(self, instruction: str) -> str:
        """Append an instruction; its result's name."""
        lines = self._function.lines
        name = f"%v{len(lines)}"
        lines.append(f"  {name} = {instruction}")
        return name

    def intrinsic(self, name: str, *operands: Float) -> Float:
        """Call an LLVM intrinsic all of whose operands have the result's type."""
        fmt = self.format
        suffix = fmt.name if self.width == 1 else f"v{self.width}{fmt.name}"
        function = f"{self.float_type} @llvm.{name}.{suffix}"
        self.declare(function, *[self.float_type] * len(operands))
        arguments = ", ".join(f"{self.float_type} {operand.name}" for operand in operands)
        return Float(self, self.emit(f"call {function}({arguments})"))

    def declare(self, function: str, *types: str) -> None:
        """An external function, by its result's type and its name."""
        self._function.declarations[f"declare {function}({', '.join(types)})"] = None

    def any(self, mask: Mask) -> str:
        """An `i1` that is true where any lane is."""
        if self.width == 1:
            return mask.name
        packed = f"i{self.width}"
        bits = self.emit(f"bitcast {self.vector('i1')} {mask.name} to {packed}")
        return self.emit(f"icmp ne {packed} {bits}, 0")


@dataclass(frozen=True)
class Mask:
    """One truth value a lane."""

    emitter: Emitter
    name: str

    def _with(self, operation: str, other: Mask) -> Mask:
        e = self.emitter
        return Mask(e, e.emit(f"{operation} {e.vector('i1')} {self.name}, {other.name}"))

    def __and__(self, other: Mask) -> Mask:
        return self._with("and", other)

    def __or__(self, other: Mask) -> Mask:
        return self._with("or", other)

    def __xor__(self, other: Mask) -> Mask:
        return self._with("xor", other)

    def negated(self) -> Mask:
        e = self.emitter
        one = "true" if e.width == 1 else "splat (i1 true)"
        return Mask(e, e.emit(f"xor {e.vector('i1')} {self.name}, {one}"))

    def select_int(self, true: Int, false: Int) -> Int:
        """`true` where the mask is set, else `false`."""
        e = self.emitter
        condition = f"select {e.vector('i1')} {self.name}"
        operands = f"{e.int_type} {true.name}, {e.int_type} {false.name}"
        return Int(e, e.emit(f"{condition}, {operands}"))

    def select(self, true: Float | float, false: Float) -> Float:
        """`true` where the mask is set, else `false`."""
        e = self.emitter
        true = false.like(true)
        condition = f"select {e.vector('i1')} {self.name}"
        operands = f"{e.float_type} {true.name}, {e.float_type} {false.name}"
        return Float(e, e.emit(f"{condition}, {operands}"))


@dataclass(frozen=True)
class Int:
    """An integer of the format's size a lane; arithmetic wraps."""

    emitter: Emitter
    name: str

    @property
    def element(self) -> str:
        return self.emitter.format.integer

    @property
    def type(self) -> str:
        return self.emitter.int_type

    def _operation(self, operation: str, other: Int | int) -> Int:
        e = self.emitter
        right = other.name if isinstance(other, Int) else e.int_constant(other)
        return Int(e, e.emit(f"{operation} {e.int_type} {self.name}, {right}"))

    def __add__(self, other: Int | int) -> Int:
        return self._operation("add", other)

    def __sub__(self, other: Int | int) -> Int:
        return self._operation("sub", other)

    def __rsub__(self, other: int) -> Int:
        e = self.emitter
        return Int(e, e.emit(f"sub {e.int_type} {e.int_constant(other)}, {self.name}"))

    def __and__(self, other: Int | int) -> Int:
        return self._operation("and", other)

    def __or__(self, other: Int | int) -> Int:
        return self._operation("or", other)

    def __xor__(self, other: Int | int) -> Int:
        return self._operation("xor", other)

    def __mul__(self, other: Int | int) -> Int:
        return self._operation("mul", other)

    def __lshift__(self, count: Int | int) -> Int:
        return self._operation("shl", count)

    def __rshift__(self, count: Int | int) -> Int:
        """Zeros come in from the left."""
        return self._operation("lshr", count)

    def _extreme(self, name: str, other: int) -> Int:
        e, function = self.emitter, f"{self.type} @llvm.{name}"
        function += f".{self.element}" if e.width == 1 else f".v{e.width}{self.element}"
        e.declare(function, self.type, self.type)
        right = e.int_constant(other)
        return Int(e, e.emit(f"call {function}({self.type} {self.name}, {self.type} {right})"))

    def at_least(self, low: int) -> Int:
        """The greater of the two, of signed numbers."""
        return self._extreme("smax", low)

    def at_most(self, high: int) -> Int:
        """The smaller of the two, of signed numbers."""
        return self._extreme("smin", high)

    def compare(self, predicate: str, other: Int | int) -> Mask:
        e = self.emitter
        right = other.name if isinstance(other, Int) else e.int_constant(other)
        return Mask(e, e.emit(f"icmp {predicate} {e.int_type} {self.name}, {right}"))

    def narrowed(self, emitter: Emitter) -> Int:
        """The low bits, as many as `emitter`'s integers have."""
        e = emitter
        return Int(e, e.emit(f"trunc {self.type} {self.name} to {e.int_type}"))

    def converted(self) -> Float:
        """The nearest floating-point number."""
        e = self.emitter
        return Float(e, e.emit(f"sitofp {e.int_type} {self.name} to {e.float_type}"))

    def as_float(self) -> Float:
        """The number with these bits."""
        e = self.emitter
        return Float(e, e.emit(f"bitcast {e.int_type} {self.name} to {e.float_type}"))


@dataclass(frozen=True)
class Float:
    """A floating-point number a lane."""

    emitter: Emitter
    name: str

    @property
    def element(self) -> str:
        return self.emitter.format.type

    @property
    def type(self) -> str:
        return self.emitter.float_type

    def sqrt(self) -> Float:
        return self.emitter.intrinsic("sqrt", self)

    def widened(self) -> Float:
        """The float64 that equals this float32."""
        e = self.emitter.doubles()
        return Float(e, e.emit(f"fpext {self.type} {self.name} to {e.float_type}"))

    def narrowed(self, emitter: Emitter) -> Float:
        """Rounded to `emitter`'s format, float32."""
        e = emitter
        return Float(e, e.emit(f"fptrunc {self.type} {self.name} to {e.float_type}"))

    def like(self, value: Float | float) -> Float:
        """`value` itself, or the constant in every lane."""
        if isinstance(value, Float):
            return value
        return Float(self.emitter, self.emitter.constant(value))

    def _operation(self, operation: str, left: Float | float, right: Float | float) -> Float:
        e = self.emitter
        operands = f"{self.like(left).name}, {self.like(right).name}"
        return Float(e, e.emit(f"{operation} {e.float_type} {operands}"))

    def __add__(self, other: Float | float) -> Float:
        return self._operation("fadd", self, other)

    def __sub__(self, other: Float | float) -> Float:
        return self._operation("fsub", self, other)

    def __rsub__(self, other: float) -> Float:
        return self._operation("fsub", other, self)

    def __mul__(self, other: Float | float) -> Float:
        return self._operation("fmul", self, other)

    def __rtruediv__(self, other: float) -> Float:
        return self._operation("fdiv", other, self)

    def __truediv__(self, other: Float) -> Float:
        return self._operation("fdiv", self, other)

    def __neg__(self) -> Float:
        e = self.emitter
        return Float(e, e.emit(f"fneg {e.float_type} {self.name}"))

    def __abs__(self) -> Float:
        return (self.bits() & (self.emitter.format.sign_mask - 1)).as_float()

    def compare(self, predicate: str, other: Float | float) -> Mask:
        e = self.emitter
        right = self.like(other).name
        return Mask(e, e.emit(f"fcmp {predicate} {e.float_type} {self.name}, {right}"))

    def at_least(self, low: float) -> Float:
        """The greater of the two; NaN stays. One instruction on x86, whose `max` is this select."""
        return self.compare("olt", low).select(low, self)

    def at_most(self, high: float) -> Float:
        """The smaller of the two; NaN stays."""
        return self.compare("ogt", high).select(high, self)

    def bits(self) -> Int:
        """The encoding."""
        e = self.emitter
        return Int(e, e.emit(f"bitcast {e.float_type} {self.name} to {e.int_type}"))

    def sign(self) -> Int:
        """The sign bit alone."""
        return self.bits() & self.emitter.format.sign_mask

    def with_sign(self, sign: Int) -> Float:
        """Change the sign where `sign` has its sign bit set and no other bit."""
        return (self.bits() ^ sign).as_float()
