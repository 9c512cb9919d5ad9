"""Derivatives of the functions of scipy.special.

The formulas are those of the NIST Digital Library of Mathematical Functions (DLMF, dlmf.nist.gov);
the equations are named beside them. Bessel functions and the like have no derivative by their
order, nor incomplete gamma and beta functions by their parameters: that is an error that says so.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tracejit.ir.graph import Value
from tracejit.ir.terms import Number, Term, equal, function, where
from tracejit.ir.types import shape_of
from tracejit.ops.host.derivatives.partials import call, elementwise
from tracejit.ops.host.derivatives.registry import HostAdaptor, as_array, matched, rule
from tracejit.ops.rules.partials import Partial, partials_of

__all__: list[str] = []

exp, log, log1p, sqrt, sign = map(function, ("exp", "log", "log1p", "sqrt", "sign"))
sin, cos, sinh, cosh = map(function, ("sin", "cos", "sinh", "cosh"))

_PI = math.pi
_ROOT_PI = math.sqrt(math.pi)
_DEGREE = math.pi / 180


def _special(name: str, *operands: Number) -> Term:
    return call(f"scipy.special:{name}", *operands)


def _real(name: str, *partials: Partial) -> None:
    elementwise(f"scipy.special:{name}", *partials)


def _holomorphic(name: str, *partials: Partial) -> None:
    elementwise(f"scipy.special:{name}", *partials, takes_complex=True)


# Exponentials and logarithms ---------------------------------------------------------------------


# Where there is an op as well, its rule is this one too.
for _name in ("expm1", "log1p", "exp2", "cbrt", "py_erf", "py_erfc"):
    _holomorphic(_name.removeprefix("py_"), *partials_of(_name))
_real("exp10", lambda x, y: y * math.log(10))
_real("cosm1", lambda x, y: -sin(x))
_real("sindg", lambda x, y: _special("cosdg", x) * _DEGREE)
_real("cosdg", lambda x, y: _special("sindg", x) * -_DEGREE)
_real("tandg", lambda x, y: (1 + y * y) * _DEGREE)
_real("cotdg", lambda x, y: (1 + y * y) * -_DEGREE)
_real(
    "radian",
    _DEGREE,
    _DEGREE / 60,
    _DEGREE / 3600,
)
_real("expit", lambda x, y: y * _special("expit", -x))
_real("log_expit", lambda x, y: _special("expit", -x))
elementwise("scipy.special._basic:softplus", lambda x, y: _special("expit", x))
_real("logit", lambda x, y: 1 / (x * (1 - x)))
_holomorphic("xlogy", lambda x, y, out: log(y), lambda x, y, out: x / y)
_holomorphic("xlog1py", lambda x, y, out: log1p(y), lambda x, y, out: x / (1 + y))
_real("entr", lambda x, y: -log(x) - 1)
_real("rel_entr", lambda x, y, out: log(x / y) + 1, lambda x, y, out: -(x / y))
_real("kl_div", lambda x, y, out: log(x / y), lambda x, y, out: 1 - x / y)
_real("boxcox", lambda x, power, y: x ** (power - 1), None)
_real("boxcox1p", lambda x, power, y: (1 + x) ** (power - 1), None)
_real("inv_boxcox", lambda x, power, y: y ** (1 - power), None)


def _beyond(size: Term, residual: Term) -> Term:
    """How far residuals lie outside of [-size, size], with their signs."""
    high, low = residual - size, residual + size
    return where(high > 0, high, where(low < 0, low, 0))


def _huber_by_size(size: Term, residual: Term, y: Term) -> Term:
    return _beyond(size, residual) * sign(residual)


def _stretch(size: Term, residual: Term) -> Term:
    ratio = residual / size
    return sqrt(1 + ratio * ratio)


def _pseudo_huber_by_size(size: Term, residual: Term, y: Term) -> Term:
    stretch = _stretch(size, residual)
    return 2 * size * (stretch - 1) - residual * residual / (size * stretch)


_real("huber", _huber_by_size, lambda size, r, y: r - _beyond(size, r))
_real("pseudo_huber", _pseudo_huber_by_size, lambda size, r, y: r / _stretch(size, r))

# Error functions and the normal distribution: DLMF 7.2, 7.7, 7.10 --------------------------------

_holomorphic("erfi", lambda z, y: exp(z * z) * (2 / _ROOT_PI))
_holomorphic("erfcx", lambda z, y: 2 * z * y - 2 / _ROOT_PI)
_holomorphic("dawsn", lambda z, y: 1 - 2 * z * y)
_holomorphic("wofz", lambda z, y: -2 * z * y + 2j / _ROOT_PI)
_real("erfinv", lambda x, y: exp(y * y) * (_ROOT_PI / 2))
_real("erfcinv", lambda x, y: exp(y * y) * (-_ROOT_PI / 2))
_real("ndtr", lambda x, y: exp(x * x * -0.5) / math.sqrt(2 * _PI))
# The density over the distribution, neither of which it computes: they vanish to the left.
_real("log_ndtr", lambda x, y: math.sqrt(2 / _PI) / _special("erfcx", x * -math.sqrt(0.5)))
_real("ndtri", lambda x, y: exp(y * y * 0.5) * math.sqrt(2 * _PI))
_real("ndtri_exp", lambda x, y: exp(x + y * y * 0.5) * math.sqrt(2 * _PI))
_holomorphic("fresnel", lambda z, y: (sin(z * z * (_PI / 2)), cos(z * z * (_PI / 2))))

# Gamma and beta functions: DLMF 5.2, 5.12, 5.15, 8.8, 8.17, 25.11.17 -----------------------------


def _psi(x: Term) -> Term:
    return _special("psi", x)


def _log_gamma(x: Term, y: Term) -> Term:
    return _psi(x)


def _zeta(s: Number, q: Term) -> Term:
    return call("scipy.special._basic:zeta", s, q)


def _polygamma(n: Number, x: Term) -> Term:
    return call("scipy.special._basic:polygamma", n, x)


def _gamma_density(a: Term, x: Term) -> Term:
    """x**(a - 1) exp(-x) / Gamma(a)."""
    return exp(_special("xlogy", a - 1, x) - x - _special("gammaln", a))


def _beta_density(a: Term, b: Term, x: Term) -> Term:
    """x**(a - 1) (1 - x)**(b - 1) / B(a, b)."""
    powers = _special("xlogy", a - 1, x) + _special("xlog1py", b - 1, -x)
    return exp(powers - _special("betaln", a, b))


def _t_density(n: Term, t: Term) -> Term:
    """Student's t distribution with n degrees of freedom."""
    scale = _special("gammaln", (n + 1) / 2) - _special("gammaln", n / 2)
    return exp(scale - log1p(t * t / n) * ((n + 1) / 2)) / sqrt(n * _PI)


_holomorphic("gamma", lambda z, y: y * _psi(z))
for _name in ("gammaln", "loggamma"):
    _holomorphic(_name, _log_gamma)
_real("rgamma", lambda x, y: -y * _psi(x))
_real("psi", lambda x, y: _zeta(2.0, x))
elementwise(
    "scipy.special._basic:polygamma",
    *(None, lambda n, x, y: _polygamma(n + 1, x)),
    names=("n", "x"),
)
elementwise(
    "scipy.special._basic:zeta", None, lambda s, q, y: -s * _zeta(s + 1, q), names=("x", "q")
)
_real("beta", *[lambda a, b, y, k=k: y * (_psi((a, b)[k]) - _psi(a + b)) for k in range(2)])
_real("betaln", *[lambda a, b, y, k=k: _psi((a, b)[k]) - _psi(a + b) for k in range(2)])
_real(
    "binom",
    lambda n, k, y: y * (_psi(n + 1) - _psi(n - k + 1)),
    lambda n, k, y: y * (_psi(n - k + 1) - _psi(k + 1)),
)
_real("poch", lambda a, m, y: y * (_psi(a + m) - _psi(a)), lambda a, m, y: y * _psi(a + m))
_real("gammainc", None, lambda a, x, y: _gamma_density(a, x))
_real("gammaincc", None, lambda a, x, y: -_gamma_density(a, x))
_real("gammaincinv", None, lambda a, p, x: 1 / _gamma_density(a, x))
_real("gammainccinv", None, lambda a, p, x: -1 / _gamma_density(a, x))
_real("betainc", None, None, lambda a, b, x, y: _beta_density(a, b, x))
_real("betaincc", None, None, lambda a, b, x, y: -_beta_density(a, b, x))
_real("betaincinv", None, None, lambda a, b, p, x: 1 / _beta_density(a, b, x))
_real("betainccinv", None, None, lambda a, b, p, x: -1 / _beta_density(a, b, x))
_real("chdtr", None, lambda n, x, y: _gamma_density(n / 2, x / 2) / 2)
_real("chdtrc", None, lambda n, x, y: _gamma_density(n / 2, x / 2) / -2)
_real("stdtr", None, lambda n, t, y: _t_density(n, t))
_real("stdtrit", None, lambda n, p, t: 1 / _t_density(n, t))

# Integrals: DLMF 6.2, 6.6, 8.19.13, 19.4.1, 19.4.2, 25.12.2 -------------------------------------


def _sinh_ratio(x: Term) -> Term:
    """sinh(x) / x, 1 at 0."""
    return where(equal(x, 0), 1, sinh(x) / where(equal(x, 0), 1, x))


def _log_ratio(z: Term) -> Term:
    """log(z) / (1 - z), -1 at 1."""
    other = where(equal(z, 1), 2, z)
    return where(equal(z, 1), -1, log(other) / (1 - other))


_holomorphic("exp1", lambda z, y: -exp(-z) / z)
_holomorphic("expi", lambda z, y: exp(z) / z)
_real("expn", None, lambda n, x, y: -_special("expn", n - 1, x))
_real("sici", lambda x, y: (call("numpy:sinc", x / _PI), cos(x) / x))
_real("shichi", lambda x, y: (_sinh_ratio(x), cosh(x) / x))
_holomorphic("spence", lambda z, y: _log_ratio(z))
_real("ellipk", lambda m, y: (_special("ellipe", m) / (1 - m) - y) / (2 * m))
_real("ellipe", lambda m, y: (y - _special("ellipk", m)) / (2 * m))
_real("wrightomega", lambda z, y: y / (1 + y))
elementwise(
    "scipy.special._lambertw:lambertw",
    *(lambda z, k, tol, y: 1 / (exp(y) * (1 + y)), None, None),
    names=("z", "k", "tol"),
    takes_complex=True,
)

# Bessel and Airy functions: DLMF 9.2, 10.6, 10.29 ------------------------------------------------


def _neighbours(name: str, order: Number, z: Term, below: int, above: int) -> Term:
    """below / 2 times the function of the order less one, and above / 2 times that of one more."""
    low, high = _special(name, order - 1, z), _special(name, order + 1, z)
    return low * (below / 2) + high * (above / 2)


def _over_argument(x: Term, y: Term) -> Term:
    """y / x for y = J1(x) and its like, 1 / 2 at 0."""
    at_zero = equal(x, 0)
    return where(at_zero, 0.5, y / where(at_zero, 1, x))


def _i0(x: Term, y: Term) -> Term:
    return _special("i1", x)


for _name in ("jv", "yv", "hankel1", "hankel2"):
    _holomorphic(_name, None, lambda v, z, y, name=_name: _neighbours(name, v, z, 1, -1))
_real("yn", None, lambda n, x, y: _neighbours("yn", n, x, 1, -1))
_holomorphic("iv", None, lambda v, z, y: _neighbours("iv", v, z, 1, 1))
_holomorphic("kv", None, lambda v, z, y: _neighbours("kv", v, z, -1, -1))
_real("kn", None, lambda n, x, y: _neighbours("kn", n, x, -1, -1))
_real("ive", None, lambda v, x, y: _neighbours("ive", v, x, 1, 1) - sign(x) * y)
_holomorphic("kve", None, lambda v, z, y: _neighbours("kve", v, z, -1, -1) + y)
_real("j0", lambda x, y: -_special("j1", x))
_real("j1", lambda x, y: _special("j0", x) - _over_argument(x, y))
_real("y0", lambda x, y: -_special("y1", x))
_real("y1", lambda x, y: _special("y0", x) - y / x)
for _module in ("scipy.special", "numpy"):
    elementwise(f"{_module}:i0", _i0)
_real("i1", lambda x, y: _special("i0", x) - _over_argument(x, y))
_real("k0", lambda x, y: -_special("k1", x))
_real("k1", lambda x, y: _neighbours("kv", 1.0, x, -1, -1))
_real("i0e", lambda x, y: _special("i1e", x) - sign(x) * y)
_real("i1e", lambda x, y: _special("i0e", x) - _over_argument(x, y) - sign(x) * y)
_real("k0e", lambda x, y: y - _special("k1e", x))
_real("k1e", lambda x, y: _neighbours("kve", 1.0, x, -1, -1) + y)
_holomorphic("airy", lambda z, y: (y[1], z * y[0], y[3], z * y[2]))

# Hypergeometric functions by their argument: DLMF 13.3.15, 15.5.1, 16.3.1 ------------------------

_holomorphic("hyp0f1", None, lambda b, z, y: _special("hyp0f1", b + 1, z) / b)
_holomorphic("hyp1f1", None, None, lambda a, b, z, y: _special("hyp1f1", a + 1, b + 1, z) * a / b)
_holomorphic(
    "hyp2f1",
    *(None, None, None),
    lambda a, b, c, z, y: _special("hyp2f1", a + 1, b + 1, c + 1, z) * a * b / c,
)

# Softmax -----------------------------------------------------------------------------------------


def _over_axes(at: HostAdaptor) -> tuple[Value, list[int]]:
    """The result, and the axes that it is normalised over."""
    y = as_array(at.c, at.call.y())
    ndim = len(shape_of(y.type))
    axis = at.constant("axis")
    axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return y, sorted(k % ndim for k in axes)


def _softmax_jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
    """y (t - sum(y t))."""
    c = at.c
    y, axes = _over_axes(at)
    weighted = c.mul_no_nan(as_array(c, tangents["x"]), y)
    mean = c.keep_axes(c.sum(weighted, axes), axes, y.type)
    return (matched(c, c.sub(weighted, c.mul(y, mean)), at.call.outputs[0]),)


def _log_softmax_jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | None]:
    c = at.c
    y, axes = _over_axes(at)
    t = as_array(c, tangents["x"])
    mean = c.sum(c.mul_no_nan(t, c.op("exp", y)), axes)
    return (matched(c, c.sub(t, c.keep_axes(mean, axes, y.type)), at.call.outputs[0]),)


rule(["scipy.special._logsumexp:softmax"], "x", jvp=_softmax_jvp)
rule(["scipy.special._logsumexp:log_softmax"], "x", jvp=_log_softmax_jvp)
