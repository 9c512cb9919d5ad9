"""From function definitions to the coefficients of `codegen/vector_math/{tables,polynomials}.py`.

Each table is a weighted minimax polynomial, found by the exchange algorithm of Remez (Cheney,
"Introduction to Approximation Theory", chapter 3) in 50-digit arithmetic. The coefficients are
rounded to the target format one by one, lowest degree first, and the rest is fitted again to what
is left after each rounding (Muller, "Elementary Functions", section 4.4), so that the rounding of
a coefficient does not show in the error.

    python -m benchmarks.vector_math.coefficients
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

from tracejit.codegen.vector_math.formats import FORMATS

Function = Callable[[mp.mpf], mp.mpf]


@dataclass(frozen=True)
class Fit:
    """Polynomial of `degree` for `function` on [low, high], least max of |error| * `weight`."""

    name: str
    function: Function
    weight: Function
    low: float
    high: float
    degree: int
    dtype: str


def _series(function: Function, coefficients: Callable[[int], mp.mpf]) -> Function:
    """`function`, by its power series near zero, where its closed form cancels."""

    def evaluate(x: mp.mpf) -> mp.mpf:
        if abs(x) > mp.mpf("1e-3"):
            return function(x)
        return mp.fsum(coefficients(i) * x**i for i in range(18))

    return evaluate


# exp(r) = 1 + r + r^2 * exp_tail(r)
_exp_tail = _series(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda i: 1 / mp.factorial(i + 2))
# 2^r = 1 + r * exp2_tail(r)
_exp2_tail = _series(
    lambda r: (mp.mpf(2) ** r - 1) / r, lambda i: mp.log(2) ** (i + 1) / mp.factorial(i + 1)
)
# sin(r) = r + r^3 * sin_tail(r^2);  cos(r) = 1 - r^2 / 2 + r^4 * cos_tail(r^2)
_sin_tail = _series(
    lambda z: (mp.sin(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    lambda i: (-1) ** (i + 1) / mp.factorial(2 * i + 3),
)
_cos_tail = _series(
    lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
    lambda i: mp.mpf((-1) ** i) / mp.factorial(2 * i + 4),
)


# (1 - e)^(-1/3) = 1 + e * cbrt_tail(e)
_cbrt_tail = _series(
    lambda e: (mp.cbrt(1 / (1 - e)) - 1) / e, lambda i: mp.rf(mp.mpf(1) / 3, i + 1) / mp.fac(i + 1)
)


# tan(r) = r / (1 - r^2 * cot_tail(r^2))
def _cot_tail(z: mp.mpf) -> mp.mpf:
    with mp.extradps(40):
        root = mp.sqrt(z)
        return (1 - root / mp.tan(root)) / z


# sinh(r) = r + r^3 * sinh_tail(r^2);  cosh(r) = 1 + r^2 * cosh_tail(r^2)
_sinh_tail = _series(
    lambda z: (mp.sinh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda i: 1 / mp.factorial(2 * i + 3)
)
_cosh_tail = _series(lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, lambda i: 1 / mp.factorial(2 * i + 2))
# arctan(t) = t + t^3 * arctan_tail(t^2)
_arctan_tail = _series(
    lambda z: (mp.atan(mp.sqrt(z)) / mp.sqrt(z) - 1) / z,
    lambda i: mp.mpf((-1) ** (i + 1)) / (2 * i + 3),
)


# arcsin(s) = s + s^3 * arcsin_tail(s^2)
def _arcsin_tail(z: mp.mpf) -> mp.mpf:
    with mp.extradps(40):
        root = mp.sqrt(z)
        return (mp.asin(root) / root - 1) / z


# artanh(s) = s + s^3 * artanh_tail(s^2)
_artanh_tail = _series(
    lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1) / z, lambda i: mp.mpf(1) / (2 * i + 3)
)
# log(1 + r) = r - r^2 / 2 + r^3 / 3 + r^4 * log_power_tail(r)
_log_power_tail = _series(
    lambda r: (mp.log1p(r) - r + r**2 / 2 - r**3 / 3) / r**4,
    lambda i: mp.mpf((-1) ** (i + 1)) / (i + 4),
)
# log2(1 + r) = (r - r^2 / 2) / log(2) + r^3 * log2_power(r)
_log2_power = _series(
    lambda r: (mp.log1p(r) - r + r**2 / 2) / r**3 / mp.log(2),
    lambda i: mp.mpf((-1) ** i) / (i + 3) / mp.log(2),
)
# log(1 + f) = f - f^2 / 2 + f^3 * log1p_tail(f)
_log1p_tail = _series(
    lambda f: (mp.log1p(f) - f + f**2 / 2) / f**3, lambda i: mp.mpf((-1) ** i) / (i + 3)
)
# log(1 + r) = r + r^2 * log_tail(r)
_log_tail = _series(lambda r: (mp.log1p(r) - r) / r**2, lambda i: mp.mpf((-1) ** (i + 1)) / (i + 2))


def _log_tail_in(base: int) -> Function:
    return lambda r: _log_tail(r) / mp.log(base)


def _octave(base: int) -> Function:
    inverse = 1 / mp.log(base)
    rounded = mp.mpf(_to_format(inverse, "f32"))
    return lambda r: inverse - rounded + r * _log_tail(r) * inverse


# erf(x) = x + x * erf_tail(x^2)
_erf_tail = _series(
    lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
    lambda i: 2 / mp.sqrt(mp.pi) * (-1) ** i / (mp.factorial(i) * (2 * i + 1)) - (i == 0),
)


def _solve(xs: list[mp.mpf], f: dict[mp.mpf, mp.mpf], w: dict[mp.mpf, mp.mpf]) -> list[mp.mpf]:
    degrees = range(len(xs) - 1)
    rows = [[w[x] * x**i for i in degrees] + [(-1) ** j] for j, x in enumerate(xs)]
    return list(mp.lu_solve(mp.matrix(rows), mp.matrix([w[x] * f[x] for x in xs])))


def _extrema(errors: list[mp.mpf], count: int) -> list[int]:
    """Indices of `count` alternating extrema, the largest run of them."""
    picked: list[int] = []
    for i, e in enumerate(errors):
        if e == 0:
            continue
        if picked and (errors[picked[-1]] > 0) == (e > 0):
            if abs(e) > abs(errors[picked[-1]]):
                picked[-1] = i
        else:
            picked.append(i)
    while len(picked) > count:
        first_is_smaller = abs(errors[picked[0]]) < abs(errors[picked[-1]])
        picked.pop(0 if first_is_smaller else -1)
    return picked


def minimax(
    xs: list[mp.mpf], f: dict[mp.mpf, mp.mpf], w: dict[mp.mpf, mp.mpf], degree: int
) -> tuple[list[mp.mpf], mp.mpf]:
    """Coefficients (lowest degree first) and the largest weighted error over the grid `xs`."""
    step = (len(xs) - 1) / (degree + 1)
    nodes = [xs[round(i * step)] for i in range(degree + 2)]
    coefficients: list[mp.mpf] = []
    worst = mp.mpf(0)
    for _ in range(40):
        solution = _solve(nodes, f, w)
        coefficients, level = solution[:-1], abs(solution[-1])
        errors = [(f[x] - mp.polyval(coefficients[::-1], x)) * w[x] for x in xs]
        worst = max(abs(e) for e in errors)
        picked = _extrema(errors, degree + 2)
        if worst <= level * mp.mpf("1.001") or len(picked) < degree + 2:
            break
        nodes = [xs[i] for i in picked]
    return coefficients, worst


def _to_format(value: mp.mpf, dtype: str) -> float:
    return float(value) if dtype == "f64" else float(np.float32(float(value)))


def fit(spec: Fit) -> tuple[list[float], float]:
    """Rounded coefficients, lowest degree first, and the weighted error that they leave."""
    count = 24 * (spec.degree + 2) + 1
    centre, radius = (mp.mpf(spec.high) + spec.low) / 2, (mp.mpf(spec.high) - spec.low) / 2
    xs = [centre - radius * mp.cos(mp.pi * (i + mp.mpf(1) / 3) / count) for i in range(count)]
    f = {x: spec.function(x) for x in xs}
    w = {x: spec.weight(x) for x in xs}
    if spec.low < 0:
        coefficients, _ = minimax(xs, f, w, spec.degree)
        rounded = [_to_format(c, spec.dtype) for c in coefficients]
    else:
        # What is left after c0 is fitted by x, x^2, ...: these obey the Haar condition, on which
        # the exchange rests, only where zero is not inside the interval.
        rounded = []
        rest, weight = dict(f), dict(w)
        for degree in range(spec.degree, -1, -1):
            coefficients, _ = minimax(xs, rest, weight, degree)
            rounded.append(_to_format(coefficients[0], spec.dtype))
            rest = {x: (rest[x] - rounded[-1]) / x for x in xs}
            weight = {x: weight[x] * x for x in xs}
    error = max(abs(f[x] - mp.polyval(rounded[::-1], x)) * w[x] for x in xs)
    return rounded, float(error)


# The polynomials for erfcx are in x - ERFC_CENTRE: least rounding where they count most.
ERFC_CENTRE = 1.0
_QUARTER = 0.7925  # pi / 4, and what the rounding of the quotient may add
_HALF_LN2 = 0.3475
# Of arctanh, whose k is log2 of the quotient within 0.5 + 0.086, or 0.75 + 0.086.
_ARTANH_Z = {"f64": 0.0405, "f32": 0.0805}
_TAN_HALF = 0.546875  # tan(1 / 2), and the next short number
_REST_LOW, _REST_HIGH = 0.0323, 0.0426  # of logarithms: what the 16 inverses leave


def _erfcx_of_offset(t: mp.mpf) -> mp.mpf:
    x = t + ERFC_CENTRE
    return mp.exp(x * x) * mp.erfc(x)


def _gaussian_of_offset(t: mp.mpf) -> mp.mpf:
    return mp.exp(-((t + ERFC_CENTRE) ** 2))


def specs() -> list[Fit]:
    """All tables; each weight makes the error relative to the function's own result."""
    from benchmarks.vector_math.special_coefficients import special_specs

    erfc = (_erfcx_of_offset, _gaussian_of_offset, 1 - ERFC_CENTRE)
    fits = []
    rest = (-_REST_LOW, _REST_HIGH)
    # The weights of logarithms make the errors relative to r where it is largest.
    for dtype, log in (("f64", 9), ("f32", 3)):
        fits += [Fit("log", _log_tail, lambda r: mp.mpf(_REST_HIGH), *rest, log, dtype)]
    fits += [Fit("log2", _log_tail_in(2), lambda r: _REST_HIGH * mp.log(2), *rest, 9, "f64")]
    fits += [Fit("log10", _log_tail_in(10), lambda r: _REST_HIGH * mp.log(10), *rest, 9, "f64")]
    # log_b(1 + r) = f * r + r * octave_b(r), f = 1 / log(b) rounded; the natural one as above.
    octave = (-0.01712, 1 / 32)
    fits += [Fit("octave", _log_tail, lambda r: mp.mpf(1) / 32, *octave, 3, "f32")]
    fits += [Fit("octave2", _octave(2), lambda r: mp.log(2), *octave, 3, "f32")]
    fits += [Fit("octave10", _octave(10), lambda r: mp.log(10), *octave, 3, "f32")]
    fits += [Fit("log1p", _log1p_tail, lambda f: f * f, -5 / 16, 3 / 8, 8, "f32")]
    fits += [Fit("erfc", *erfc, 6 - ERFC_CENTRE, 20, "f64")]
    fits += [Fit("erfc", *erfc, 4 - ERFC_CENTRE, 8, "f32")]
    for dtype, sinh, cosh in (("f64", 3, 2), ("f32", 1, 0)):
        # sinh has none of the steps up to 1 / 8.
        half, more = (mp.log(2) / 32 * mp.mpf("1.01")) ** 2, mp.mpf("0.125") ** 2
        fits += [
            Fit("sinh", _sinh_tail, lambda z: z, 0.0, more, sinh, dtype),
            Fit("cosh", _cosh_tail, lambda z: z, 0.0, half, cosh, dtype),
        ]
    fits += [Fit("expm1", _exp_tail, abs, -0.1251, 0.1251, 3, "f32")]
    for dtype, arcsin, arctan, artanh in (("f64", 12, 12, 7), ("f32", 4, 5, 3)):
        fits += [
            Fit("arcsin", _arcsin_tail, lambda z: z, 0.0, 0.2501, arcsin, dtype),
            Fit("arctan", _arctan_tail, lambda z: z, 0.0, _TAN_HALF**2, arctan, dtype),
            Fit("artanh", _artanh_tail, lambda z: z, 0.0, _ARTANH_Z[dtype], artanh, dtype),
        ]
    fits += [
        Fit("log_power", _log_power_tail, lambda r: mp.mpf(_REST_HIGH) ** 3, *rest, 9, "f64"),
        Fit("log2_power", _log2_power, lambda r: mp.log(2) / 1024, -0.0252, 1 / 32, 3, "f32"),
    ]
    for dtype, exp, exp2 in (("f64", 4, 6), ("f32", 1, 3)):
        step = mp.log(2) / 32 * mp.mpf("1.001")
        fits += [
            Fit("exp16", _exp_tail, lambda r: r * r, -step, step, exp, dtype),
            Fit("exp2", _exp2_tail, lambda r: mp.mpf(1) / 32, -1 / 32, 1 / 32, exp2, dtype),
        ]
        fits += [Fit("cbrt", _cbrt_tail, lambda e: mp.mpf(0.103), -0.103, 0.103, 2, dtype)]
    # Best at the end, where the other errors are greatest.
    fits += [Fit("cot", _cot_tail, lambda z: z**1.5, 0.0, _QUARTER**2, 8, "f64")]
    fits += [Fit("cot", _cot_tail, lambda z: z**2, 0.0, _QUARTER**2, 3, "f32")]
    for dtype, exp, sin, cos, erf in (("f64", 10, 5, 5, 11), ("f32", 5, 2, 2, 6)):
        fits += [
            Fit("exp", _exp_tail, lambda r: r * r, -_HALF_LN2, _HALF_LN2, exp, dtype),
            Fit("sin", _sin_tail, lambda z: z, 0.0, _QUARTER**2, sin, dtype),
            Fit("cos", _cos_tail, lambda z: z * z, 0.0, _QUARTER**2, cos, dtype),
            Fit("erf", _erf_tail, lambda z: mp.mpf(1), 0.0, 1.0, erf, dtype),
        ]
    fits += special_specs()
    return sorted(fits, key=lambda spec: (spec.name, spec.dtype))


def parts(value: mp.mpf, widths: list[int]) -> list[float]:
    """Numbers of at most `widths` significant bits whose sum is nearly `value`."""
    taken = []
    for width in widths:
        mantissa, exponent = mp.frexp(value)
        taken.append(float(mp.ldexp(mp.nint(mp.ldexp(mantissa, width)), int(exponent) - width)))
        value -= taken[-1]
    return taken


def constants(dtype: str) -> dict[str, list[float]]:
    """Constants of the argument reductions, in parts; the tables say what each part must hold."""
    mp.mp.dps = 80
    bits = 53 if dtype == "f64" else 24
    return {
        "ln2": parts(mp.log(2), [42 if dtype == "f64" else 16, bits]),
        "log2_e": parts(1 / mp.log(2), [bits]),
        "sixteenth": parts(16 / mp.log(2), [bits])
        + parts(mp.log(2) / 16, [37 if dtype == "f64" else 12, bits]),
        "per_log 2": parts(1 / mp.log(2), [bits] * 2),
        "per_log 10": parts(1 / mp.log(10), [bits] * 2),
        "log10_2": parts(mp.log10(2), [42 if dtype == "f64" else 16, bits]),
        "two_over_pi": parts(2 / mp.pi, [bits]),
        "half_pi_fused": parts(mp.pi / 2, [bits] * 3),
        "half_pi_plain": parts(mp.pi / 2, [33 if dtype == "f64" else 13] * 3 + [bits]),
    }


def places(dtype: str) -> list[int]:
    """From 2^(j / 16) to the nearest number whose product with its rounded reciprocal is nearly 1.

    In units in the last place. Numbers near sqrt(2) are wanted from 2^36 on: a number t and 2 / t
    are there at like distances from it, so that the products change slowly.
    """
    mp.mp.dps = 80
    fmt, bound = FORMATS[dtype], {"f64": mp.mpf(2) ** -60, "f32": mp.mpf(2) ** -31}[dtype]
    found = []
    for j in range(16):
        nearest = fmt.encode(float(mp.mpf(2) ** (mp.mpf(j) / 16)))
        start = 1 << 36 if j == 8 and dtype == "f64" else 0
        for k in (sign * size + start for size in range(100_000) for sign in (1, -1)):
            t = fmt.decode(nearest + k)
            if abs(mp.mpf(t) * fmt.rounded(1 / t) - 1) < bound:
                found.append(k)
                break
    return found


def _source(head: str, values: list[float], comment: str = "") -> str:
    words = [value.hex().replace("0000000p", "p") for value in values]
    rows = [" ".join(words[start : start + 3]) for start in range(0, len(words), 3)]
    lines = [f'            "{row} "' for row in rows[:-1]] + [f'            "{rows[-1]}"']
    return "\n".join([f"        {head}_hex({comment}", *lines, "        ),"])


def main(argv: list[str] | None = None) -> int:
    """Print the tables' entries as Python source; the comments are weighted errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="polynomials; without any, all, and the constants")
    names = parser.parse_args(argv).names
    for dtype in ("f64", "f32"):
        print(dtype)
        for name, values in constants(dtype).items():
            if not names:
                print(_source(f"{name}=", values))
        if not names:
            print(f"        places={places(dtype)}")
        mp.mp.dps = 50
        for spec in specs():
            if spec.dtype == dtype and (not names or spec.name in names):
                values, error = fit(spec)
                comment = f"  # error 2^{np.log2(error):.1f}"
                print(_source(f'"{spec.name}": ', values, comment))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
