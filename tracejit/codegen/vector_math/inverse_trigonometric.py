"""arctan."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import Float, VectorBuilder
from tracejit.codegen.vector_math.tables import TABLES

__all__ = ["arctan"]


def arctan(e: VectorBuilder, x: Float) -> Float:
    """arctan(a) = c + arctan(t): t = a, (a - 1) / (a + 1) or -1 / a, c = 0, pi / 4 or pi / 2."""
    t = TABLES[e.format.name]
    a = abs(x).at_most(2.0 ** (e.format.mantissa + 8))
    # About tan(pi / 8) and tan(3 pi / 8), in either format.
    low, high = a.compare("olt", 0.4140625), a.compare("ogt", 2.4140625)
    # The sums of a and 1 with their errors: 1 is a multiple of the last place of a above 1.
    below, above = a - 1.0, a + 1.0
    below_low, above_low = a - (below + 1.0), a - (above - 1.0)
    one, zero = a.like(1.0), a.like(0.0)
    top = low.select(a, high.select(-1.0, below))
    bottom = low.select(one, high.select(a, above))
    reciprocal = 1.0 / bottom
    r = top * reciprocal
    middle_low = e.muladd(-r, above_low, below_low)
    rest = low.select(zero, high.select(zero, middle_low)) - e.product_error(r, bottom, top)
    r_low = rest * reciprocal
    start, start_low = t.half_pi_fused[0], t.half_pi_fused[1]
    head = low.select(zero, high.select(start, a.like(start / 2)))
    tail = low.select(zero, high.select(start_low, a.like(start_low / 2)))
    z = r * r
    total = head + r
    tail = tail + e.muladd(z * r, e.fitted("arctan", z), r_low)
    return (total + (((head - total) + r) + tail)).with_sign(x.sign())
