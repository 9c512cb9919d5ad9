"""Square roots as sums of two numbers, and hypot."""

from __future__ import annotations

import math

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.values import Float, Int

__all__ = ["estimated_quotient", "hypot", "square_root", "wide_hypot"]


def square_root(
    e: VectorBuilder, x: Float, x_low: Float | None = None, sign: Int | None = None
) -> tuple[Float, Float, Float]:
    """sqrt(x + x_low), with that sign, rounded, and two factors whose product corrects it.

    The correction is good to 5 % of itself. `x` is not subnormal, `x_low` small against it.
    """
    root = x.sqrt()
    if sign is not None:
        root = root.with_sign(sign)
    excess = e.product_error(root, root, x)
    if x_low is not None:
        excess = excess - x_low
    return root, excess, estimated_quotient(-0.5, root)


def estimated_quotient(power: float, x: Float) -> Float:
    """`power` / x within 5 %, for a power of 2 or its negative; neither is subnormal.

    The encoding of a power of 2 is linear in its exponent, and nearly so between two of them; what
    is taken away halves the greatest error. The difference has the sign of the quotient.
    """
    fmt = x.emitter.format
    zero = round((fmt.bias - 0.1) * 2.0**fmt.mantissa)
    return (fmt.encode(power) + zero - x.bits()).as_float()


def hypot(e: VectorBuilder, x: Float, y: Float) -> Float:
    """sqrt(x^2 + y^2), the sum with its error; beyond the squares' range by way of a multiple."""
    a, b = abs(x), abs(y)
    swap = a.compare("olt", b)
    high, low = swap.select(b, a), swap.select(a, b)
    size = e.format.bias // 2 - 30
    least, most = (e.format.encode(2.0**power) for power in (-size, size))
    unusual = (high.bits() - least).compare("uge", most - least)
    one = high.like(1.0)
    far = 2.0 ** (size + 60)
    scale = unusual.select(high.compare("ogt", 1.0).select(1 / far, high.like(far)), one)

    def scaled() -> tuple[Float, Float]:
        return high * scale, low * scale

    high, low = e.where_any(unusual, (high, low), scaled)
    square = high * high
    total, rest = e.multiply_add(low, low, square)
    rest = rest + e.product_error(high, high, square)
    root, excess, factor = square_root(e, total, rest)
    result = e.muladd(excess, factor, root)

    def limits() -> tuple[Float]:
        return (_infinite(x, y, result / scale),)

    return e.where_any(unusual, (result,), limits)[0]


def wide_hypot(e: VectorBuilder, x: Float, y: Float) -> Float:
    """The same for float32 as float64, whose squares are exact and in range."""
    return _infinite(x, y, e.muladd(x, x, y * y).sqrt())


def _infinite(x: Float, y: Float, other: Float) -> Float:
    """Infinity where x or y is infinite, though the other be NaN."""
    either = abs(x).compare("oeq", math.inf) | abs(y).compare("oeq", math.inf)
    return either.select(math.inf, other)
