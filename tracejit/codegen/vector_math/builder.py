"""What functions of vectors are made of: branches for rare lanes, tables, exact sums, polynomials.

A `VectorBuilder` is what a definition is written with; it is made of the single operations of
`values`, and says nothing of how these are carried out: `llvm_builder` writes LLVM IR text,
`numpy_builder` computes arrays.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.values import Emitter, Float, Int, Mask

__all__ = ["Value", "Values", "VectorBuilder"]


#: What a function takes, gives and carries from block to block.
Value: TypeAlias = "Float | Int"
Values = TypeVar("Values", bound=tuple["Value", ...])


class VectorBuilder(Emitter):
    """What the formulas of functions over vectors have in common."""

    @abstractmethod
    def where_any(self, mask: Mask, usual: Values, unusual: Callable[[], Values]) -> Values:
        """What `unusual` gives where a lane of `mask` is set, else `usual`.

        `unusual` gives values for all lanes.
        """

    @abstractmethod
    def shared(
        self, name: str, argument: Float, body: Callable[[VectorBuilder, Float], Sequence[Value]]
    ) -> list[Value]:
        """What `body` makes of the argument, by code that all its uses share where that can be."""

    @abstractmethod
    def lookup(self, table: tuple[int, ...], index: Int) -> Int:
        """Each lane's entry of a constant table of integers; every index must be in range."""

    def permuted(self, table: tuple[float, ...], index: Int) -> Float:
        """Each lane's entry of a table of 16 or 32 numbers, by the low 4 or 5 bits of the index."""
        encoded = tuple(map(self.format.encode, table))
        return self.lookup(encoded, index & (len(table) - 1)).as_float()

    @property
    def register_lanes(self) -> int:
        """The lanes of an AVX-512 register where the host has these and the width fills them."""
        return 0

    def registers_exponent_and_mantissa(self, x: Float) -> tuple[Float, Float]:
        """k and m, |x| = 2^k * m, 1 <= m < 2, by an instruction each; there must be register lanes.

        For 0 and infinity k is -inf and +inf and m is 1 or -1; for x < 0 and NaN m is NaN.
        """
        raise NotImplementedError

    def muladd(self, a: Float, b: Float | float, c: Float | float) -> Float:
        """`a * b + c`, rounded once where the host can, else twice."""
        return a.fused(b, c) if self.fma else a * b + c

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

    def exact_sum(self, a: Float, b: Float) -> tuple[Float, Float]:
        """a + b rounded, and its error, whichever is greater.

        Knuth, "The Art of Computer Programming", volume 2, 4.2.2.
        """
        total = a + b
        moved = total - a
        return total, (a - (total - moved)) + (b - moved)

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
            return a.fused(b, -product)
        a_high, b_high = self._high_half(a), self._high_half(b)
        a_low, b_low = a - a_high, b - b_high
        error = a_high * b_high - product
        return error + a_high * b_low + a_low * b_high + a_low * b_low

    def _high_half(self, x: Float) -> Float:
        low_bits = self.format.mantissa // 2 + 1
        return (x.bits() & -(1 << low_bits)).as_float()
