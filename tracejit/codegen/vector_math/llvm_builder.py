"""Operations on vectors as LLVM IR text: each is one instruction. Width 1 gives scalars."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Self, cast

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.vector_math.builder import Value, Values, VectorBuilder
from tracejit.codegen.vector_math.formats import F64, Format
from tracejit.codegen.vector_math.llvm_text import Definition, literal, symbol
from tracejit.codegen.vector_math.values import Float, Int, Mask

__all__ = ["LlvmBuilder"]

_TYPES = {"f64": "double", "f32": "float"}
_INTRINSICS = frozenset({"sqrt", "trunc", "fma", "smin", "smax"})


@dataclass
class _Function:
    """What builders of one function share, whatever their format."""

    lines: list[str] = field(default_factory=list)
    #: In the order of their first use.
    declarations: dict[str, None] = field(default_factory=dict)
    helpers: dict[str, Definition] = field(default_factory=dict)
    block: str = "entry"


class LlvmBuilder(VectorBuilder):
    """A function over vectors of `width` elements.

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
        #: Of an element: its type and that of the integer of its size.
        self._element, self._integer = _TYPES[fmt.name], f"i{fmt.bits}"
        self._float_type, self._int_type = self._vector(self._element), self._vector(self._integer)

    def doubles(self) -> Self:
        return type(self)(F64, self.width, self.fma, self.permutes, self._function)

    # Text.

    def _vector(self, element: str) -> str:
        """The type of a value whose elements have type `element`."""
        return element if self.width == 1 else f"<{self.width} x {element}>"

    def _element_of(self, value: Value) -> str:
        """The type of an element of a value of either format."""
        fmt = value.emitter.format
        return _TYPES[fmt.name] if isinstance(value, Float) else f"i{fmt.bits}"

    def _emit(self, instruction: str) -> str:
        """Append an instruction; its result's name."""
        lines = self._function.lines
        name = f"%v{len(lines)}"
        lines.append(f"  {name} = {instruction}")
        return name

    def _declare(self, function: str, *types: str) -> None:
        """An external function, by its result's type and its name."""
        self._function.declarations[f"declare {function}({', '.join(types)})"] = None

    def _operation(self, operation: str, element: str, operands: Sequence[str]) -> str:
        """An instruction, or an intrinsic, all of whose operands have the result's type."""
        kind = self._vector(element)
        if operation not in _INTRINSICS:
            return self._emit(f"{operation} {kind} {', '.join(operands)}")
        suffix = element if element == self._integer else self.format.name
        lanes = "" if self.width == 1 else f"v{self.width}"
        function = f"{kind} @llvm.{operation}.{lanes}{suffix}"
        self._declare(function, *[kind] * len(operands))
        return self._emit(f"call {function}({', '.join(f'{kind} {x}' for x in operands)})")

    def _converted(self, conversion: str, source: str, value: str, target: str) -> str:
        """A value whose elements have type `source` as one of `target`."""
        return self._emit(f"{conversion} {self._vector(source)} {value} to {self._vector(target)}")

    # Operations.

    def constant(self, value: float) -> str:
        text = literal(value)
        return text if self.width == 1 else f"splat ({self._element} {text})"

    def int_constant(self, value: int) -> str:
        return str(value) if self.width == 1 else f"splat ({self._integer} {value})"

    def float_operation(self, operation: str, *operands: str) -> str:
        return self._operation(operation, self._element, operands)

    def int_operation(self, operation: str, left: str, right: str) -> str:
        return self._operation(operation, self._integer, (left, right))

    def mask_operation(self, operation: str, left: str, right: str) -> str:
        return self._operation(operation, "i1", (left, right))

    def negated(self, mask: str) -> str:
        return self.mask_operation("xor", mask, "true" if self.width == 1 else "splat (i1 true)")

    def compare_floats(self, predicate: str, left: str, right: str) -> str:
        return self._emit(f"fcmp {predicate} {self._float_type} {left}, {right}")

    def compare_ints(self, predicate: str, left: str, right: str) -> str:
        return self._emit(f"icmp {predicate} {self._int_type} {left}, {right}")

    def select_floats(self, mask: str, true: str, false: str) -> str:
        return self._select(self._float_type, mask, true, false)

    def select_ints(self, mask: str, true: str, false: str) -> str:
        return self._select(self._int_type, mask, true, false)

    def _select(self, kind: str, mask: str, true: str, false: str) -> str:
        return self._emit(f"select {self._vector('i1')} {mask}, {kind} {true}, {kind} {false}")

    def bits(self, value: str) -> str:
        return self._converted("bitcast", self._element, value, self._integer)

    def from_bits(self, value: str) -> str:
        return self._converted("bitcast", self._integer, value, self._element)

    def from_int(self, value: str) -> str:
        return self._converted("sitofp", self._integer, value, self._element)

    def widen(self, value: str) -> str:
        return self._converted("fpext", self._element, value, "double")

    def narrow(self, value: str) -> str:
        return self._converted("fptrunc", "double", value, self._element)

    def narrow_int(self, value: str) -> str:
        return self._converted("trunc", "i64", value, self._integer)

    # Functions and branches.

    def definition(
        self, name: str, parameters: Sequence[str], results: Sequence[Value]
    ) -> Definition:
        """The function of what was built: it returns `results`, several as a structure.

        The parameters are of this builder's format.
        """
        function = self._function
        kind = self._structure(results)
        if len(results) == 1:
            returned = results[0].value
        else:
            returned = "poison"
            for i, result in enumerate(results):
                element = f"{self._vector(self._element_of(result))} {result.value}"
                returned = self._emit(f"insertvalue {kind} {returned}, {element}, {i}")
        given = ", ".join(f"{self._float_type} {parameter}" for parameter in parameters)
        head = f"define internal {kind} @{name}({given}) nounwind {{"
        text = "\n".join([head, "entry:", *function.lines, f"  ret {kind} {returned}", "}", ""])
        return Definition(
            name, text, tuple(function.declarations), tuple(function.helpers.values())
        )

    def _structure(self, results: Sequence[Value]) -> str:
        types = [self._vector(self._element_of(result)) for result in results]
        return types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"

    def shared(
        self, name: str, argument: Float, body: Callable[[VectorBuilder, Float], Sequence[Value]]
    ) -> list[Value]:
        """Call a function of the module's own.

        It takes at most 8 lanes, so that wide vectors cost no more code.
        """
        lanes = min(self.width, 8)
        own = symbol(name, self.format.name, lanes)
        inner = LlvmBuilder(self.format, lanes, self.fma, self.permutes)
        results = body(inner, Float(inner, "%x"))
        self._function.helpers.setdefault(own, inner.definition(own, ["%x"], results))
        kind = inner._structure(results)
        parts: list[list[str]] = [[] for _ in results]
        for start in range(0, self.width, lanes):
            part = self._lanes_from(self._element, argument.value, start, lanes)
            value = self._emit(f"call {kind} @{own}({inner._float_type} {part})")
            for i, values in enumerate(parts):
                values.append(self._emit(f"extractvalue {kind} {value}, {i}"))
        return [
            type(r)(self, self._joined(self._element_of(r), values, lanes))
            for r, values in zip(results, parts, strict=True)
        ]

    def where_any(self, mask: Mask, usual: Values, unusual: Callable[[], Values]) -> Values:
        """A branch, taken where any lane's mask is set."""
        function = self._function
        label = f"b{len(function.lines)}"
        before = function.block
        function.lines += [
            f"  br i1 {self._any(mask.value)}, label %{label}.some, label %{label}.none",
            f"{label}.some:",
        ]
        function.block = f"{label}.some"
        others = unusual()
        after = function.block
        function.lines += [f"  br label %{label}.none", f"{label}.none:"]
        function.block = f"{label}.none"
        merged = []
        for u, o in zip(usual, others, strict=True):
            kind = self._vector(self._element_of(u))
            phi = self._emit(f"phi {kind} [ {u.value}, %{before} ], [ {o.value}, %{after} ]")
            merged.append(type(u)(u.emitter, phi))
        return cast("Values", tuple(merged))

    def _any(self, mask: str) -> str:
        """An `i1` that is true where any lane is."""
        if self.width == 1:
            return mask
        packed = f"i{self.width}"
        bits = self._emit(f"bitcast {self._vector('i1')} {mask} to {packed}")
        return self._emit(f"icmp ne {packed} {bits}, 0")

    # Tables.

    def lookup(self, table: tuple[int, ...], index: Int) -> Int:
        kind, count = self._integer, len(table)
        entries = ", ".join(f"{kind} {value}" for value in table)
        name = f"tj_table_{kind}_{zlib.crc32(entries.encode()):08x}"
        text = f"@{name} = internal constant [{count} x {kind}] [{entries}]"
        self._function.helpers.setdefault(name, Definition(name, text, ()))
        pointers, flags, values = self._vector("ptr"), self._vector("i1"), self._int_type
        address = self._emit(f"getelementptr {kind}, ptr @{name}, {values} {index.value}")
        if self.width == 1:
            return Int(self, self._emit(f"load {kind}, ptr {address}"))
        function = f"{values} @llvm.masked.gather.v{self.width}{kind}.v{self.width}p0"
        self._declare(function, pointers, flags, values)
        gathered = self._emit(
            f"call {function}({pointers} align {self.format.bits // 8} {address}, "
            f"{flags} splat (i1 true), {values} poison)"
        )
        return Int(self, gathered)

    def permuted(self, table: tuple[float, ...], index: Int) -> Float:
        lanes = self.register_lanes
        if not lanes:
            return super().permuted(table, index)
        kind = self._element
        entries = [f"{kind} {literal(value)}" for value in table]
        registers = [f"<{', '.join(entries[i : i + lanes])}>" for i in range(0, len(table), lanes)]
        chunk, indices = f"<{lanes} x {kind}>", f"<{lanes} x {self._integer}>"
        two = len(registers) == 2
        name = {16: "vpermi2var.pd" if two else "permvar.sf", 32: "vpermi2var.ps"}[len(table)]
        function = f"{chunk} @llvm.x86.avx512.{name}.512"
        self._declare(function, *([chunk, indices, chunk] if two else [chunk, indices]))
        operands = [
            f"{chunk} {registers[0]}",
            f"{indices} {{}}",
            *(f"{chunk} {r}" for r in registers[1:]),
        ]
        return self._by_registers(index, f"call {function}({', '.join(operands)})")

    # Registers.

    @property
    def register_lanes(self) -> int:
        lanes = 512 // self.format.bits
        return lanes if self.permutes and self.width % lanes == 0 else 0

    def registers_exponent_and_mantissa(self, x: Float) -> tuple[Float, Float]:
        kind = f"<{self.register_lanes} x {self._element}>"
        mask, letter = f"i{self.register_lanes}", {"float": "s", "double": "d"}[self._element]
        # 8 asks for 1 <= m < 2 and NaN for x < 0; the last operand is the rounding in force.
        rest, types = f"{kind} poison, {mask} -1, i32 4", (kind, mask, "i32")
        exponent = f"{kind} @llvm.x86.avx512.mask.getexp.p{letter}.512"
        mantissa = f"{kind} @llvm.x86.avx512.mask.getmant.p{letter}.512"
        self._declare(exponent, kind, *types)
        self._declare(mantissa, kind, "i32", *types)
        return (
            self._by_registers(x, f"call {exponent}({kind} {{}}, {rest})"),
            self._by_registers(x, f"call {mantissa}({kind} {{}}, i32 8, {rest})"),
        )

    def _by_registers(self, x: Value, instruction: str) -> Float:
        """The results of an instruction, for one register of `x` after the other."""
        lanes = self.register_lanes
        found = []
        for start in range(0, self.width, lanes):
            part = self._lanes_from(self._element_of(x), x.value, start, lanes)
            found.append(self._emit(instruction.format(part)))
        return Float(self, self._joined(self._element, found, lanes))

    def _lanes_from(self, element: str, value: str, start: int, count: int) -> str:
        """`count` lanes of a vector of this builder's width."""
        if count == self.width:
            return value
        places = ", ".join(f"i32 {start + i}" for i in range(count))
        both = f"{self._vector(element)} {value}, {self._vector(element)} poison"
        return self._emit(f"shufflevector {both}, <{count} x i32> <{places}>")

    def _joined(self, element: str, parts: Sequence[str], size: int) -> str:
        """Vectors of `size` lanes end to end; as many as a power of 2."""
        while len(parts) > 1:
            kind, places = f"<{size} x {element}>", ", ".join(f"i32 {i}" for i in range(2 * size))
            parts = [
                self._emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * size} x i32> <{places}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            size *= 2
        return parts[0]
