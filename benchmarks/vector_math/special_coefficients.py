"""What the polynomials of the special functions approximate, and on which intervals.

Part of `benchmarks.vector_math.coefficients`, which fits and prints them. All are for float64: the
functions of float32 are computed with them.
"""

from __future__ import annotations

import mpmath as mp

from benchmarks.vector_math.coefficients import Fit, Function

__all__ = ["special_specs"]


def _erfcx(x: mp.mpf) -> mp.mpf:
    if x < 1000:
        return mp.exp(x * x) * mp.erfc(x)
    return mp.fsum((-1) ** k * mp.fac2(2 * k - 1) / (2 * x * x) ** k for k in range(12)) / (
        x * mp.sqrt(mp.pi)
    )


def _erfcx_line(t: mp.mpf) -> mp.mpf:
    """(1 + 2 x) erfcx(x), nearly constant; t = (x - 4) / (x + 4), 1 for infinity."""
    if t == 1:
        return 2 / mp.sqrt(mp.pi)
    x = 4 * (1 + t) / (1 - t)
    return (1 + 2 * x) * _erfcx(x)


def _inverse_erf(w: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """x and y = erfinv(x) for w = -log(1 - x^2)."""
    x = mp.sqrt(-mp.expm1(-w))
    target = -w - mp.log(1 + x)  # log(1 - x)
    root = mp.sqrt(w)
    y = root * x if w < 1 else mp.sqrt(mp.fabs(w - mp.log(root * mp.sqrt(mp.pi))))
    for _ in range(60):
        c = mp.erfc(y)
        step = (mp.log(c) - target) * c / (2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        y += step
        if abs(step) < y * mp.mpf(10) ** -(mp.mp.dps - 4):
            break
    return x, y


def _erfinv_middle(t: mp.mpf) -> mp.mpf:
    """erfinv(x) / x, w = t + ERFINV_CENTRE."""
    w = t + ERFINV_CENTRE
    with mp.extradps(30):
        if abs(w) < mp.mpf("1e-20"):
            return mp.sqrt(mp.pi) / 2
        x, y = _inverse_erf(w)
        return y / x


def _erfinv_of_root(centre: float) -> Function:
    """erfinv(x) / s, s = sqrt(w) = t + centre."""

    def function(t: mp.mpf) -> mp.mpf:
        s = t + centre
        return _inverse_erf(s * s)[1] / s

    return function


def _erfinv_far(t: mp.mpf) -> mp.mpf:
    """erfinv(x) / s, 1 / s = t + ERFINV_FAR."""
    s = 1 / (t + ERFINV_FAR)
    return _inverse_erf(s * s)[1] / s


ERFINV_CENTRE = 3.125
ERFINV_NEAR_TAIL, ERFINV_TAIL, ERFINV_FAR = 3.25, 5.125, 0.09765625


# Gamma functions ---------------------------------------------------------------------------------


def _gamma_core(t: mp.mpf) -> mp.mpf:
    """(Gamma(2 + t) - 1) / t: integers have exact results."""
    with mp.extradps(30):
        return 1 - mp.euler if abs(t) < mp.mpf("1e-40") else (mp.gamma(2 + t) - 1) / t


def _gammaln_core(t: mp.mpf) -> mp.mpf:
    """log(Gamma(2 + t)) / t."""
    with mp.extradps(30):
        return 1 - mp.euler if abs(t) < mp.mpf("1e-40") else mp.loggamma(2 + t) / t


def _stirling(z: mp.mpf) -> mp.mpf:
    """x * (log(Gamma(x)) - ((x - 1 / 2) log(x) - x + log(2 pi) / 2)), z = 1 / x^2."""
    if z < mp.mpf("1e-5"):
        return mp.fsum(
            mp.bernoulli(2 * k) / (2 * k * (2 * k - 1)) * z ** (k - 1) for k in range(1, 9)
        )
    x = 1 / mp.sqrt(z)
    with mp.extradps(30):
        return x * (mp.loggamma(x) - (x - 0.5) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def _stirling_factor(v: mp.mpf) -> mp.mpf:
    """(Gamma(x) / (sqrt(2 pi) x^(x - 1 / 2) exp(-x)) - 1) / v, v = 1 / x."""
    with mp.extradps(30):
        if v < mp.mpf("1e-40"):
            return mp.mpf(1) / 12
        return mp.expm1(v * _stirling(v * v)) / v


def _sine_of_turn(z: mp.mpf) -> mp.mpf:
    """sin(pi f) / f, z = f^2."""
    return mp.sinpi(mp.sqrt(z)) / mp.sqrt(z) if z else mp.pi


def _cosine_of_turn(z: mp.mpf) -> mp.mpf:
    """cos(pi f) / (1 - 4 f^2), z = f^2."""
    with mp.extradps(30):
        return mp.cospi(mp.sqrt(z)) / (1 - 4 * z)


PSI_CENTRE = 1.75


def _psi_root() -> mp.mpf:
    return mp.findroot(mp.digamma, mp.mpf("1.4616321449683623"))


def _psi_core(t: mp.mpf) -> mp.mpf:
    """psi(x) / (x - root), x = t + PSI_CENTRE."""
    with mp.extradps(30):
        x, root = t + PSI_CENTRE, _psi_root()
        return mp.digamma(x) / (x - root)


def _psi_series(z: mp.mpf) -> mp.mpf:
    """(psi(x) - log(x) + 1 / (2 x)) x^2, z = 1 / x^2."""
    if z < mp.mpf("1e-5"):
        return -mp.fsum(mp.bernoulli(2 * k) / (2 * k) * z ** (k - 1) for k in range(1, 9))
    x = 1 / mp.sqrt(z)
    with mp.extradps(30):
        return (mp.digamma(x) - mp.log(x) + 1 / (2 * x)) * x * x


# Bessel functions --------------------------------------------------------------------------------


def _i_near(order: int) -> Function:
    """(I0(x) - 1) / z or (I1(x) / (x / 2) - 1) / z, z = x^2 / 4."""

    def function(z: mp.mpf) -> mp.mpf:
        return mp.fsum(
            z**k / (mp.factorial(k + 1) * mp.factorial(k + 1 + order)) for k in range(60)
        )

    return function


def _i_near_weight(order: int) -> Function:
    function = _i_near(order)
    return lambda z: z / (1 + z * function(z))


def _hankel_sum(order: int, sign: int, x: mp.mpf) -> mp.mpf:
    """The asymptotic series of order `order`; the odd terms have the sign."""
    total, term = mp.mpf(0), mp.mpf(1)
    for k in range(1, 400):
        total += term
        next_term = term * sign * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k * x)
        if abs(next_term) < mp.mpf(10) ** -mp.mp.dps:
            break
        term = next_term
    return total


def _i_far(order: int) -> Function:
    """sqrt(x) exp(-x) I(x), 8 / x = t + 1 / 2."""

    def function(t: mp.mpf) -> mp.mpf:
        v = t + mp.mpf(1) / 2
        if v < mp.mpf("0.01"):
            series = _hankel_sum(order, -1, 8 / v) if v else 1
            return series / mp.sqrt(2 * mp.pi)
        x = 8 / v
        with mp.extradps(30):
            return mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)

    return function


def _phase_parts(order: int, x: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """P and Q: J = sqrt(2 / (pi x)) (P cos(c) - Q sin(c)), c = x - (order / 2 + 1 / 4) pi."""
    with mp.extradps(40):
        c = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        size = mp.sqrt(mp.pi * x / 2)
        p = size * (j * mp.cos(c) + y * mp.sin(c))
        q = size * (y * mp.cos(c) - j * mp.sin(c))
    return p, q


def _phase(order: int, part: int) -> Function:
    """P, or Q x, of z = 1 / x^2."""
    at_infinity = (mp.mpf(1), mp.mpf(4 * order**2 - 1) / 8)[part]

    def function(z: mp.mpf) -> mp.mpf:
        if z < mp.mpf("1e-12"):
            return at_infinity
        x = 1 / mp.sqrt(z)
        p, q = _phase_parts(order, x)
        return (p, q * x)[part]

    return function


def j_roots(order: int) -> list[mp.mpf]:
    """The first three positive zeros of J."""
    return [mp.besseljzero(order, k) for k in (1, 2, 3)]


def _j_near(order: int) -> Function:
    """J0(x) / (x^2 - root^2) or J1(x) / (x (x^2 - root^2)), x^2 = t + J_CENTRE."""

    def function(t: mp.mpf) -> mp.mpf:
        with mp.extradps(40):
            z, root = t + J_CENTRE, j_roots(order)[0]
            x = mp.sqrt(z)
            size = mp.besselj(order, x) / x**order if x else mp.mpf(1) / (1 + order)
            return size / (z - root * root)

    return function


def _j_middle(order: int) -> Function:
    """J(x) / ((x - root) (x - other)) for the two zeros next to J_MIDDLE, x = t + J_MIDDLE."""

    def function(t: mp.mpf) -> mp.mpf:
        with mp.extradps(40):
            x = t + J_MIDDLE
            root, other = j_roots(order)[1 - order : 3 - order]
            return mp.besselj(order, x) / ((x - root) * (x - other))

    return function


def y_roots(order: int) -> list[mp.mpf]:
    """The first three positive zeros of Y."""
    return [mp.besselyzero(order, k) for k in (1, 2, 3)]


def _y_near(order: int) -> Function:
    """(Y0(x) - 2 / pi log(x / root) J0(x)) / (x^2 - root^2), of Y1 times x; x^2 = t + Y_CENTRE."""

    def function(t: mp.mpf) -> mp.mpf:
        with mp.extradps(40):
            z, root = t + Y_CENTRE, y_roots(order)[0]
            x = mp.sqrt(max(z, mp.mpf("1e-30")))
            wave = 2 / mp.pi * mp.log(x / root) * mp.besselj(order, x)
            return (mp.bessely(order, x) - wave) * x**order / (x * x - root * root)

    return function


def _y_middle(order: int) -> Function:
    """Y(x) / ((x - root) (x - other)) for the two zeros next to Y_MIDDLE, x = t + Y_MIDDLE."""

    def function(t: mp.mpf) -> mp.mpf:
        with mp.extradps(40):
            x = t + Y_MIDDLE
            root, other = y_roots(order)[1:]
            return mp.bessely(order, x) / ((x - root) * (x - other))

    return function


J_CENTRE, J_MIDDLE = 8.0, 6.0
Y_CENTRE, Y_MIDDLE = 4.5, 5.5


def special_specs() -> list[Fit]:
    """The fits of the special functions."""
    far = ERFINV_FAR

    def one(t: mp.mpf) -> mp.mpf:
        return mp.mpf(1)

    return [
        Fit("erfcx", _erfcx_line, lambda t: 1 / _erfcx_line(t), -0.78, 1.0, 22, "f64"),
        Fit("erfinv", _erfinv_middle, one, -3.125, 3.13, 24, "f64"),
        Fit("erfinv_near_tail", _erfinv_of_root(3.25), one, -0.76, 0.76, 18, "f64"),
        Fit("erfinv_tail", _erfinv_of_root(5.125), one, -1.13, 1.13, 18, "f64"),
        Fit("erfinv_far", _erfinv_far, one, 1 / 27.5 - far, 1 / 6.24 - far, 24, "f64"),
        Fit("gamma", _gamma_core, one, -0.5, 0.5, 18, "f64"),
        Fit("gammaln", _gammaln_core, one, -0.5, 0.5, 18, "f64"),
        Fit("gammaln_far", _stirling, one, 0.0, 1 / 6.5**2, 7, "f64"),
        Fit("gamma_far", _stirling_factor, lambda v: v, 0.0, 1 / 6.5, 8, "f64"),
        Fit("sin_turn", _sine_of_turn, one, 0.0, 0.25, 9, "f64"),
        Fit("cos_turn", _cosine_of_turn, one, 0.0, 0.2499999999, 8, "f64"),
        Fit("psi", _psi_core, one, -0.5, 0.5, 20, "f64"),
        Fit("psi_far", _psi_series, one, 0.0, 1 / 6.25**2, 8, "f64"),
        *(Fit(f"i{n}", _i_near(n), _i_near_weight(n), 0.0, 16.0, 15, "f64") for n in (0, 1)),
        *(Fit(f"i{n}_far", _i_far(n), one, -0.5, 0.5, 24, "f64") for n in (0, 1)),
        *(Fit(f"j{n}", _j_near(n), one, -8.0, 8.0, 10, "f64") for n in (0, 1)),
        *(Fit(f"j{n}_middle", _j_middle(n), one, -2.0, 2.0, 16, "f64") for n in (0, 1)),
        *(Fit(f"j{n}_p", _phase(n, 0), one, 0.0, 1 / 64, 12, "f64") for n in (0, 1)),
        *(Fit(f"y{n}", _y_near(n), one, -4.5, 4.5, 12, "f64") for n in (0, 1)),
        *(Fit(f"y{n}_middle", _y_middle(n), one, -2.5, 2.5, 23, "f64") for n in (0, 1)),
        *(Fit(f"j{n}_q", _phase(n, 1), one, 0.0, 1 / 64, 12, "f64") for n in (0, 1)),
    ]
