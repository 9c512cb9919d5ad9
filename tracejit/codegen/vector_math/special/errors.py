"""erf."""

from __future__ import annotations

from tracejit.codegen.vector_math.builder import VectorBuilder
from tracejit.codegen.vector_math.exponentials import power_of_two, reduce_exp
from tracejit.codegen.vector_math.polynomials import POLYNOMIALS
from tracejit.codegen.vector_math.tables import ERFC_CENTRE, TABLES
from tracejit.codegen.vector_math.values import Float

__all__ = ["erf"]

#: About the derivative of the polynomial for erf in z = 1, where errors of z count most.
_SLOPE = -0.2109375


def erf(e: VectorBuilder, x: Float) -> Float:
    """erf(x) = x + x * p(x^2) below 1, 1 - exp(-x^2) * erfcx(x) above.

    erfcx(x) = exp(x^2) * erfc(x) is smooth enough for one polynomial; what exp and it round away is
    scaled down by erfc(1) = 0.16.
    """
    t, near = TABLES[e.format.name], POLYNOMIALS[e.format.name]["erf"]
    a = abs(x).at_most(t.erf_one)
    z = a * a
    first, rest = near[:2], near[2:]
    # The two large coefficients apart and with their errors, so that the rest rounds less.
    z_low = e.product_error(a, a, z)
    term = z * first[1]
    term_low = e.muladd(z_low, _SLOPE, e.product_error(z, z.like(first[1]), term))
    line, line_low = e.exact_sum(term, z.like(first[0]))
    curve = e.muladd(z * z, e.polynomial(z, rest), line_low + term_low)
    # Without fused operations errors of products are numbers only where these are not too small.
    lift = 1.0 if e.fma else 2.0**e.format.mantissa
    lifted = a if e.fma else a * lift
    head, head_low = e.multiply_add(lifted, line, lifted)
    low = head + e.muladd(lifted, curve, head_low)
    low = low if e.fma else low * (1 / lift)
    r, _, biased = reduce_exp(e, -z, e.format.bias)
    r = r - z_low
    gaussian = (e.muladd(r * r, e.fitted("exp", r), r) + 1.0) * power_of_two(biased)
    tail = e.fitted("erfc", a - ERFC_CENTRE)
    high = e.muladd(-gaussian, tail, 1.0)
    return a.compare("olt", 1.0).select(low, high).with_sign(x.sign())
