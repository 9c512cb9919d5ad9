"""What functions of vectors are made of: branches for rare lanes, tables, exact sums, polynomials.

`VectorBuilder` writes them as LLVM IR text, around the single operations of `values`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast

from tracejit.codegen.vector_math.formats import Definition, literal, symbol
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.values import Emitter, Float, Int, Mask

__all__ = ["Value", "VectorBuilder"]


#: What a function takes, gives and carries from block to block.
Value: TypeAlias = "Float | Int"
_Values = TypeVar("_Values", bound=tuple["Value", ...])


class VectorBuilder(Emitter):
    """A function over vectors, and what its formulas have in common."""

    def definition(
        self, name: str, parameters: Sequence[str], results: Sequence[Float | Int]
    ) -> Definition:
        """The function of what was built: it returns `results`, several as a structure."""
        function = self._function
        types = [result.type for result in results]
        kind = types[0] if len(types) == 1 else f"{{ {', '.join(types)} }}"
        if len(results) == 1:
            returned = results[0].name
        else:
            returned = "poison"
            for i, result in enumerate(results):
                returned = self.emit(
                    f"insertvalue {kind} {returned}, {result.type} {result.name}, {i}"
                )
        head = f"define internal {kind} @{name}({', '.join(parameters)}) nounwind {{"
        text = "\n".join([head, "entry:", *function.lines, f"  ret {kind} {returned}", "}", ""])
        return Definition(
            name, text, tuple(function.declarations), tuple(function.helpers.values())
        )

    def shared(
        self, name: str, argument: Float, body: Callable[[VectorBuilder, Float], Sequence[Value]]
    ) -> list[Value]:
        """Call a function of the module's own, which all that need it share; its results.

        It takes at most 8 lanes, so that wide vectors cost no more code.
        """
        lanes = min(self.width, 8)
        own = symbol(name, self.format.name, lanes)
        inner = VectorBuilder(self.format, lanes, self.fma, self.permutes)
        results = body(inner, inner.argument("%x"))
        definition = inner.definition(own, [f"{inner.float_type} %x"], results)
        self._function.helpers.setdefault(own, definition)
        kind = f"{{ {', '.join(result.type for result in results)} }}"
        parts: list[list[str]] = [[] for _ in results]
        for start in range(0, self.width, lanes):
            part = self._lanes_from(self.format.type, argument.name, start, lanes)
            value = self.emit(f"call {kind} @{own}({inner.float_type} {part})")
            for i, values in enumerate(parts):
                values.append(self.emit(f"extractvalue {kind} {value}, {i}"))
        return [
            type(r)(self, self._joined(r.element, values, lanes))
            for r, values in zip(results, parts, strict=True)
        ]

    def _lanes_from(self, element: str, value: str, start: int, count: int) -> str:
        """`count` lanes of a vector of this builder's width."""
        if count == self.width:
            return value
        kind, places = self.vector(element), ", ".join(f"i32 {start + i}" for i in range(count))
        return self.emit(f"shufflevector {kind} {value}, {kind} poison, <{count} x i32> <{places}>")

    def _joined(self, element: str, parts: Sequence[str], size: int) -> str:
        """Vectors of `size` lanes end to end; as many as a power of 2."""
        while len(parts) > 1:
            kind, places = f"<{size} x {element}>", ", ".join(f"i32 {i}" for i in range(2 * size))
            parts = [
                self.emit(f"shufflevector {kind} {a}, {kind} {b}, <{2 * size} x i32> <{places}>")
                for a, b in zip(parts[::2], parts[1::2], strict=True)
            ]
            size *= 2
        return parts[0]

    def where_any(self, mask: Mask, usual: _Values, unusual: Callable[[], _Values]) -> _Values:
        """What `unusual` builds in a branch of its own where a lane of `mask` is set, else `usual`.

        `unusual` gives values for all lanes.
        """
        function = self._function
        label = f"b{len(function.lines)}"
        before = function.block
        function.lines += [
            f"  br i1 {self.any(mask)}, label %{label}.some, label %{label}.none",
            f"{label}.some:",
        ]
        function.block = f"{label}.some"
        others = unusual()
        after = function.block
        function.lines += [f"  br label %{label}.none", f"{label}.none:"]
        function.block = f"{label}.none"
        merged = (
            type(u)(
                u.emitter,
                self.emit(f"phi {u.type} [ {u.name}, %{before} ], [ {o.name}, %{after} ]"),
            )
            for u, o in zip(usual, others, strict=True)
        )
        return cast("_Values", tuple(merged))

    def argument(self, name: str) -> Float:
        return Float(self, name)

    def lookup(self, table: Sequence[int], index: Int) -> Int:
        """Each lane's entry of a constant table of integers; every index must be in range."""
        kind, count = self.format.integer, len(table)
        entries = ", ".join(f"{kind} {value}" for value in table)
        name = f"tj_table_{kind}_{zlib.crc32(entries.encode()):08x}"
        text = f"@{name} = internal constant [{count} x {kind}] [{entries}]"
        self._function.helpers.setdefault(name, Definition(name, text, ()))
        pointers, flags = self.vector("ptr"), self.vector("i1")
        address = self.emit(f"getelementptr {kind}, ptr @{name}, {self.int_type} {index.name}")
        if self.width == 1:
            return Int(self, self.emit(f"load {kind}, ptr {address}"))
        function = f"{self.int_type} @llvm.masked.gather.v{self.width}{kind}.v{self.width}p0"
        self.declare(function, pointers, flags, self.int_type)
        gathered = self.emit(
            f"call {function}({pointers} align {self.format.bits // 8} {address}, "
            f"{flags} splat (i1 true), {self.int_type} poison)"
        )
        return Int(self, gathered)

    def permuted(self, table: Sequence[float], index: Int) -> Float:
        """Each lane's entry of a table of 16 or 32 numbers, by the low 4 or 5 bits of the index."""
        lanes = self.register_lanes
        if not lanes:
            bits = [self.format.encode(value) for value in table]
            return self.lookup(bits, index & (len(table) - 1)).as_float()
        kind = self.format.type
        entries = [f"{kind} {literal(value)}" for value in table]
        registers = [f"<{', '.join(entries[i : i + lanes])}>" for i in range(0, len(table), lanes)]
        chunk, indices = f"<{lanes} x {kind}>", f"<{lanes} x {self.format.integer}>"
        two = len(registers) == 2
        name = {16: "vpermi2var.pd" if two else "permvar.sf", 32: "vpermi2var.ps"}[len(table)]
        function = f"{chunk} @llvm.x86.avx512.{name}.512"
        self.declare(function, *([chunk, indices, chunk] if two else [chunk, indices]))
        operands = [
            f"{chunk} {registers[0]}",
            f"{indices} {{}}",
            *(f"{chunk} {r}" for r in registers[1:]),
        ]
        return self._by_registers(index, f"call {function}({', '.join(operands)})")

    @property
    def register_lanes(self) -> int:
        """The lanes of an AVX-512 register where the host has these and the width fills them."""
        lanes = 512 // self.format.bits
        return lanes if self.permutes and self.width % lanes == 0 else 0

    def registers_exponent_and_mantissa(self, x: Float) -> tuple[Float, Float]:
        """k and m, |x| = 2^k * m, 1 <= m < 2, by an instruction each; there must be register lanes.

        For 0 and infinity k is -inf and +inf and m is 1 or -1; for x < 0 and NaN m is NaN.
        """
        kind = f"<{self.register_lanes} x {self.format.type}>"
        mask, letter = f"i{self.register_lanes}", {"float": "s", "double": "d"}[self.format.type]
        # 8 asks for 1 <= m < 2 and NaN for x < 0; the last operand is the rounding in force.
        rest, types = f"{kind} poison, {mask} -1, i32 4", (kind, mask, "i32")
        exponent = f"{kind} @llvm.x86.avx512.mask.getexp.p{letter}.512"
        mantissa = f"{kind} @llvm.x86.avx512.mask.getmant.p{letter}.512"
        self.declare(exponent, kind, *types)
        self.declare(mantissa, kind, "i32", *types)
        return (
            self._by_registers(x, f"call {exponent}({kind} {{}}, {rest})"),
            self._by_registers(x, f"call {mantissa}({kind} {{}}, i32 8, {rest})"),
        )

    def _by_registers(self, x: Value, instruction: str) -> Float:
        """The results of an instruction, for one register of `x` after the other."""
        lanes = self.register_lanes
        found = []
        for start in range(0, self.width, lanes):
            part = self._lanes_from(x.element, x.name, start, lanes)
            found.append(self.emit(instruction.format(part)))
        return Float(self, self._joined(self.format.type, found, lanes))

    def muladd(self, a: Float, b: Float | float, c: Float | float) -> Float:
        """`a * b + c`, rounded once where the host can, else twice."""
        if self.fma:
            return self.intrinsic("fma", a, a.like(b), a.like(c))
        return a * b + c

    def fitted(self, name: str, x: Float, skip: int = 0) -> Float:
        """The polynomial of that name for this format, without its first `skip` coefficients."""
        return self.polynomial(x, POLYNOMIALS[self.format.name][name][skip:])

    def ordered_sum(self, a: Float, b: Float) -> tuple[Float, Float]:
        """a + b rounded, and its error: |a| >= |b|, or a is 0 or a multiple of b's last place.

        Dekker's Fast2Sum; for the last condition Boldo, Graillat and Muller, "On the robustness of
        the 2Sum and Fast2Sum algorithms" (2017).
        """
        total = a + b
        return total, b - (total - a)

    def multiply_add(self, a: Float, b: Float | float, c: Float | float) -> tuple[Float, Float]:
        """a * b + c rounded, and its error: c less the sum must be exact.

        It is where c is 0 or the sum within a factor of 2 of c (Sterbenz), and where the product is
        exact and the two are as `ordered_sum` asks.
        """
        b, c = a.like(b), a.like(c)
        if self.fma:
            total = self.muladd(a, b, c)
            return total, self.muladd(a, b, c - total)
        product = a * b
        total, low = self.ordered_sum(c, product)
        return total, low + self.product_error(a, b, product)

    def short_muladd(self, a: Float, b: Float, c: Float) -> Float:
        """a * b + c rounded once, fused or not.

        `b` has at most 9 significant bits, and the sum of `c` and the product of b with the upper
        half of a is exact.
        """
        if self.fma:
            return self.muladd(a, b, c)
        high = self._high_half(a)
        return (high * b + c) + (a - high) * b

    def polynomial(self, x: Float, coefficients: Sequence[float]) -> Float:
        """Sum of c[i] * x**i: even and odd powers in two chains of Horner's steps.

        One operation more than a single chain, at half its latency; what more parallel schemes
        gain in latency they lose in operations.
        """
        if len(coefficients) <= 3:
            return self.horner(x, coefficients)
        square = x * x
        even = self.horner(square, coefficients[::2])
        return self.muladd(self.horner(square, coefficients[1::2]), x, even)

    def horner(self, x: Float, coefficients: Sequence[float]) -> Float:
        """The same by the fewest operations, one chain: for short functions, which overlap."""
        *rest, last = coefficients
        total = x.like(last)
        for coefficient in reversed(rest):
            total = self.muladd(total, x, coefficient)
        return total

    def product_error(self, a: Float, b: Float, product: Float) -> Float:
        """`a * b - product` for a `product` within some ULP of `a * b`; exact but for underflow.

        Without FMA: Dekker, "A floating-point technique for extending the available precision"
        (1971), with the factors split by clearing the low half of their bits.
        """
        if self.fma:
            return self.intrinsic("fma", a, b, -product)
        a_high, b_high = self._high_half(a), self._high_half(b)
        a_low, b_low = a - a_high, b - b_high
        error = a_high * b_high - product
        return error + a_high * b_low + a_low * b_high + a_low * b_low

    def _high_half(self, x: Float) -> Float:
        low_bits = self.format.mantissa // 2 + 1
        return (x.bits() & -(1 << low_bits)).as_float()
