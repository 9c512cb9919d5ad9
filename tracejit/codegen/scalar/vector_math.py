"""Names of elementary functions become LLVM IR: one internal function per name, format and width.

The functions are straight-line code over explicit vectors, so that LLVM's code generator alone,
with no optimisation pass, gives the final code; they need no library but for sin and cos of huge
arguments, which call libm lane by lane and are as good as it is. Every other result is within 1 ULP
(erf without FMA: 1.25). A result's bits depend on the argument and on `fma`, not on the width, the
other lanes or the CPU. Special values, subnormal numbers and signed zeros are NumPy's.
`benchmarks/vector_math.py` measures errors and speed.

The method throughout: reduce the argument with its rounding error kept apart, evaluate a minimax
polynomial for the small tail of the result, and add the tail to a head that is exact, so that one
rounding decides. Reductions follow Cody and Waite, "Software Manual for the Elementary Functions"
(1980); exact sums are Dekker's Fast2Sum (1971). The numbers are in `vector_math_tables`.

A vector type must be passed alike by caller and callee: give the functions that call these no
attribute that changes which vectors are legal (`min-legal-vector-width` below the width in use).
"""

from __future__ import annotations

import math
from collections.abc import Callable

from .vector_exp import (
    cosh,
    exp,
    expm1,
    nearest_integer,
    power_of_two,
    reduce_exp,
    sinh,
    tanh,
)
from .vector_math_emit import FORMATS, Float, Int, Mask, VectorBuilder, literal
from .vector_math_tables import ERFC_CENTRE, TABLES

__all__ = ["VECTOR_FUNCTIONS", "define", "symbol"]


def symbol(name: str, dtype: str, width: int) -> str:
    """Name of the function over `width` elements: `symbol("exp", "f64", 8)` is "tj_exp_f64x8"."""
    return f"tj_{name}_{dtype}x{width}"


def define(name: str, dtype: str, width: int, fma: bool = True) -> tuple[str, tuple[str, ...]]:
    """LLVM IR text of `symbol(name, dtype, width)`, and the `declare` lines that it needs.

    The function takes and returns a vector of `width` elements (width 1: a scalar) of "f64" or
    "f32". `fma` says whether the host has a fused multiply-add instruction; both forms keep the
    same bounds. Raises KeyError for an unknown name or dtype, ValueError for a width below 1.
    """
    if width < 1:
        raise ValueError(f"width must be at least 1, not {width}")
    body = _BODIES[name]
    e = VectorBuilder(FORMATS[dtype], width, fma)
    x = e.argument("%x")
    result = body(e, x)
    vector = e.float_type
    head = [f"define internal {vector} @{symbol(name, dtype, width)}({vector} %x) nounwind {{"]
    end = [f"  ret {vector} {result.name}", "}", ""]
    if name in _FAR:
        lanes = f"[{width} x {e.format.type}]"
        head += [f"  %in = alloca {lanes}", f"  %out = alloca {lanes}"]
        far = e.any(abs(x).compare("ogt", _trig_limit(e)))
        end = [f"  br i1 {far}, label %far, label %near", "near:", end[0]]
        end += [*_far_lanes(name, e, result), "}", ""]
        e.declarations |= {f"declare double @{f}(double)": None for f in (name, "llvm.fabs.f64")}
    return "\n".join([*head, *e.lines, *end]), tuple(e.declarations)


def _log(e: VectorBuilder, x: Float) -> Float:
    """log(x) = k * log(2) + log(1 + f), sqrt(1/2) <= 1 + f < sqrt(2).

    f - f^2 / 2 is kept as an exact sum of two numbers, so that only the tail f^3 / 3 - ... rounds.
    """
    fmt, t = e.format, TABLES[e.format.name]
    lift = fmt.mantissa + 2
    subnormal = x.compare("olt", fmt.tiny)
    normal = subnormal.select(x * 2.0**lift, x)
    # Counting from sqrt(1/2) instead of 1 moves the step of the exponent field there.
    start = fmt.encode(math.sqrt(0.5))
    shifted = normal.bits() + (fmt.encode(1.0) - start)
    f = ((shifted & ((1 << fmt.mantissa) - 1)) + start).as_float() - 1.0
    # The integer k + bias becomes a float as the low bits of 2^mantissa.
    base = 2.0**fmt.mantissa
    offset = base + fmt.bias
    k = ((shifted >> fmt.mantissa) | fmt.encode(base)).as_float()
    k = k - subnormal.select(offset + lift, f.like(offset))

    half_f = f * 0.5
    h = half_f * f
    h_low = e.product_error(half_f, f, h)
    head = f - h
    head_low = ((f - head) - h) - h_low
    k_high = k * t.ln2[0]
    total = k_high + head
    low = e.muladd(k, t.ln2[1], (head - (total - k_high)) + head_low)
    if fmt.bits == 64:
        s = f / (f + 2.0)
        z = s * s
        low = e.muladd(s, e.muladd(z, e.polynomial(z, t.log), h), low)
    else:
        low = e.muladd(f * f * f, e.polynomial(f, t.log), low)
    y = total + low

    y = x.compare("olt", math.inf).select(y, x)  # +inf and NaN are their own logarithms.
    pole = x.compare("oeq", 0.0).select(-math.inf, x.like(math.nan))
    return x.compare("ole", 0.0).select(pole, y)


def _sin(e: VectorBuilder, x: Float) -> Float:
    sin, cos, quadrant = _sin_and_cos(e, abs(x))
    y = _is_odd(quadrant).select(cos, sin)
    return y.with_sign(_sign_of_quadrant(quadrant) ^ x.sign())


def _cos(e: VectorBuilder, x: Float) -> Float:
    sin, cos, quadrant = _sin_and_cos(e, abs(x))
    y = _is_odd(quadrant).select(sin, cos)
    return y.with_sign(_sign_of_quadrant(quadrant + 1))


def _is_odd(quadrant: Int) -> Mask:
    return (quadrant & 1).compare("ne", 0)


def _sign_of_quadrant(quadrant: Int) -> Int:
    """The sign bit where the quadrant is 2 or 3, modulo 4."""
    return (quadrant & 2) << (quadrant.emitter.format.bits - 2)


def _sin_and_cos(e: VectorBuilder, x: Float) -> tuple[Float, Float, Int]:
    """sin(r), cos(r) and n modulo 4 in the low bits, x = n * pi / 2 + r, |r| <= pi / 4, x >= 0."""
    t = TABLES[e.format.name]
    r, r_low, quadrant = _reduce_trig(e, x)
    z = r * r
    half_z = z * 0.5
    correction = e.muladd(-half_z, r_low, r_low)  # r_low * cos(r), to first order
    sin = r + e.muladd(z * r, e.polynomial(z, t.sin), correction)
    head = 1.0 - half_z
    head_low = (1.0 - head) - half_z
    correction = e.muladd(e.product_error(r, r, z), 0.5, r * r_low)
    cos = head + e.muladd(z * z, e.polynomial(z, t.cos), head_low - correction)
    return sin, cos, quadrant


def _reduce_trig(e: VectorBuilder, x: Float) -> tuple[Float, Float, Int]:
    """r, its rounding error, and n in the low bits, x = n * pi / 2 + r, 0 <= x <= the limit.

    The difference of two numbers a - p and its error are found by Fast2Sum although |a| may be the
    smaller: it asks only that a be a multiple of the last place of p (Boldo, Graillat and Muller,
    "On the robustness of the 2Sum and Fast2Sum algorithms", 2017). Where n is not 0, x is at least
    pi / 4, so a is a multiple of the last place of 0.5; and up to the limit p is below 0.5.
    """
    t = TABLES[e.format.name]
    n, quadrant = nearest_integer(e, x, t.two_over_pi[0])
    if e.fma:
        first, second, third = t.half_pi_fused
        rest = e.muladd(n, -first, x)  # Exact: no more bits than x has below pi / 4.
        r = rest - n * second
        r_low = e.muladd(n, -third, e.muladd(n, -second, rest - r))
        return r, r_low, quadrant
    first, second, third, fourth = t.half_pi_plain
    rest = x - n * first
    middle = rest - n * second
    r = middle - n * third
    r_low = ((rest - middle) - n * second) + ((middle - r) - n * third)
    return r, r_low - n * fourth, quadrant


def _arctan(e: VectorBuilder, x: Float) -> Float:
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
    tail = tail + e.muladd(z * r, e.polynomial(z, t.arctan), r_low)
    return (total + (((head - total) + r) + tail)).with_sign(x.sign())


def _erf(e: VectorBuilder, x: Float) -> Float:
    """erf(x) = x + x * p(x^2) below 1, 1 - exp(-x^2) * erfcx(x) above.

    erfcx(x) = exp(x^2) * erfc(x) is smooth enough for one polynomial; what exp and it round away is
    scaled down by erfc(1) = 0.16.
    """
    t = TABLES[e.format.name]
    a = abs(x).at_most(t.erf_one)
    z = a * a
    # The two large coefficients apart, so that the rest rounds less.
    line = e.muladd(z, t.erf[1], z.like(t.erf[0]))
    low = e.muladd(a, e.muladd(z * z, e.polynomial(z, t.erf[2:]), line), a)
    r, _, biased = reduce_exp(e, -z, e.format.bias)
    r = r - e.product_error(a, a, z)
    gaussian = (e.muladd(r * r, e.polynomial(r, t.exp), r) + 1.0) * power_of_two(biased)
    tail = e.polynomial(a - ERFC_CENTRE, t.erfc)
    high = 1.0 - gaussian * tail
    return a.compare("olt", 1.0).select(low, high).with_sign(x.sign())


def _trig_limit(e: VectorBuilder) -> float:
    t = TABLES[e.format.name]
    return t.trig_limit_fused if e.fma else t.trig_limit_plain


def _far_lanes(name: str, e: VectorBuilder, near: Float) -> list[str]:
    """The blocks that a vector with an argument beyond the limit goes on to.

    Lanes beyond it take their value from libm, the others keep `near`. float32 goes through libm's
    float64 function, whose error is far below float32's rounding. A loop over memory: it is short
    to compile, and the stack frame stays out of the way of the vectors that never come here.
    """
    fmt, vector, align = e.format, e.float_type, e.format.bits // 8
    kind, wide, narrow = fmt.type, "%value", "%called"
    widened, narrowed = [], []
    if fmt.bits == 32:
        wide, narrow = "%wide", "%narrow"
        widened = [f"  {wide} = fpext float %value to double"]
        narrowed = [f"  {narrow} = fptrunc double %called to float"]
    return [
        "far:",
        f"  store {vector} %x, ptr %in, align {align}",
        f"  store {vector} {near.name}, ptr %out, align {align}",
        "  br label %lane",
        "lane:",
        "  %i = phi i64 [ 0, %far ], [ %next, %done ]",
        f"  %source = getelementptr inbounds {kind}, ptr %in, i64 %i",
        f"  %value = load {kind}, ptr %source, align {align}",
        *widened,
        f"  %size = call double @llvm.fabs.f64(double {wide})",
        f"  %beyond = fcmp ogt double %size, {literal(_trig_limit(e))}",
        "  br i1 %beyond, label %libm, label %done",
        "libm:",
        f"  %called = call double @{name}(double {wide}) cold",
        *narrowed,
        f"  %target = getelementptr inbounds {kind}, ptr %out, i64 %i",
        f"  store {kind} {narrow}, ptr %target, align {align}",
        "  br label %done",
        "done:",
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {e.width}",
        "  br i1 %more, label %lane, label %end",
        "end:",
        f"  %all = load {vector}, ptr %out, align {align}",
        f"  ret {vector} %all",
    ]


_FAR = frozenset({"sin", "cos"})
_BODIES: dict[str, Callable[[VectorBuilder, Float], Float]] = {
    "exp": exp,
    "expm1": expm1,
    "sinh": sinh,
    "cosh": cosh,
    "arctan": _arctan,
    "log": _log,
    "sin": _sin,
    "cos": _cos,
    "tanh": tanh,
    "erf": _erf,
}
#: sqrt is an LLVM intrinsic and not here.
VECTOR_FUNCTIONS = frozenset(_BODIES)
