"""Square roots as sums of two numbers."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import Float, Int, VectorBuilder

__all__ = ["square_root"]


def square_root(
    e: VectorBuilder, x: Float, x_low: Float | None = None, sign: Int | None = None
) -> tuple[Float, Float]:
    """sqrt(x + x_low), with that sign: its rounded value and a correction good to 5 % of itself.

    `x` is not subnormal, `x_low` small against it.
    """
    root = x.sqrt()
    if sign is not None:
        root = root.with_sign(sign)
    excess = e.product_error(root, root, x)
    if x_low is not None:
        excess = excess - x_low
    # -1 / (2 * root): the encoding of a power of 2 is linear in its exponent, and nearly so between
    # two of them; 0.1 halves the greatest error. The difference has the sign of the quotient.
    fmt = e.format
    estimate = round((2 * fmt.bias - 1 - 0.1) * 2.0**fmt.mantissa) | fmt.sign_mask
    return root, excess * (estimate - root.bits()).as_float()
