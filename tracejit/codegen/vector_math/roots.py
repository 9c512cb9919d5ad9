"""Square roots as sums of two numbers."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import Float, Int, VectorBuilder

__all__ = ["square_root"]


def square_root(e: VectorBuilder, x: Float, sign: Int | None = None) -> tuple[Float, Float]:
    """sqrt(x), with that sign: its rounded value and a correction good to 5 % of itself.

    `x` is not subnormal.
    """
    fmt = e.format
    root = x.sqrt()
    if sign is not None:
        root = root.with_sign(sign)
    # 1 / (2 * root): the encoding of a power of 2 is linear in its exponent, and nearly so between
    # two of them; 0.1 halves the greatest error. The sign bit makes it negative.
    estimate = round((2 * fmt.bias - 1 - 0.1) * 2.0**fmt.mantissa) | fmt.sign_mask
    reciprocal = (estimate - root.bits()).as_float()
    return root, e.product_error(root, root, x) * reciprocal
