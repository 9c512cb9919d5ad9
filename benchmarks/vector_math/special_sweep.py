"""Where special functions are measured, and what is right there: points, mpmath values, errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special

from benchmarks.vector_math.sweep import ulp_errors

__all__ = ["NAMES", "PRECISE", "errors", "points", "rounded", "rounded_and_rest"]

Array = np.ndarray[Any, Any]


def _log_erfc(x: mp.mpf) -> mp.mpf:
    """Also where erfc(x) is too small for any format."""
    if x < 1e6:
        return mp.log(mp.erfc(x))
    return -x * x - mp.log(x * mp.sqrt(mp.pi)) + mp.log1p(-1 / (2 * x * x))


def _far_erfcx(x: mp.mpf) -> mp.mpf:
    if x < 0:
        return mp.inf
    return (1 - 1 / (2 * x * x) + 3 / (4 * x**4) - 15 / (8 * x**6)) / (x * mp.sqrt(mp.pi))


def _erfcinv(c: mp.mpf) -> mp.mpf:
    if c > 1:
        return -_erfcinv(2 - c)
    if c == 1:
        return mp.mpf(0)
    log = mp.log(c)
    with mp.extradps(40):
        y = (1 - c) * mp.sqrt(mp.pi) / 2 if c > 0.5 else mp.sqrt(-log) * mp.mpf("0.95")
        for _ in range(60):
            value = mp.erfc(y)
            slope = mp.sqrt(mp.pi) / 2 * value * mp.exp(y * y)
            step = (mp.log(value) - log) * slope
            y += step
            if abs(step) <= abs(y) * mp.mpf(10) ** -(mp.mp.dps - 30):
                break
    return y


def _gamma(x: mp.mpf) -> mp.mpf:
    if abs(x) < 1000:
        return mp.gamma(x)
    if x > 0 or x == mp.floor(x):
        return mp.inf
    return (-1) ** int(mp.floor(x)) * mp.mpf(10) ** -1000


def _log_gamma(x: mp.mpf) -> mp.mpf:
    return mp.loggamma(x) if x > 0 else mp.log(mp.pi / abs(x * mp.sinpi(x))) - mp.loggamma(-x)


def _scaled_i(order: int) -> Callable[[mp.mpf], mp.mpf]:
    def value(x: mp.mpf) -> mp.mpf:
        if abs(x) > 1e15:
            return mp.sign(x) ** order / mp.sqrt(2 * mp.pi * abs(x))
        return mp.besseli(order, x) * mp.exp(-abs(x))

    return value


def _i(order: int) -> Callable[[mp.mpf], mp.mpf]:
    return lambda x: mp.besseli(order, x if abs(x) < 800 else mp.sign(x) * 800)


def _j(order: int) -> Callable[[mp.mpf], mp.mpf]:
    def value(x: mp.mpf) -> mp.mpf:
        if abs(x) < 1e10:
            return mp.besselj(order, x)
        a = abs(x)
        with mp.workdps(mp.mp.dps + int(mp.log10(a)) + 10):
            phase = a - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
            odd = mp.mpf(4 * order**2 - 1) / (8 * a)
            size = mp.cos(phase) - odd * mp.sin(phase)
            return mp.sign(x) ** order * mp.sqrt(2 / (mp.pi * a)) * size

    return value


def _y(order: int) -> Callable[[mp.mpf], mp.mpf]:
    def value(x: mp.mpf) -> mp.mpf:
        if x <= 0:
            return mp.nan
        if x < 1e10:
            return mp.bessely(order, x)
        with mp.workdps(mp.mp.dps + int(mp.log10(x)) + 10):
            phase = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
            odd = mp.mpf(4 * order**2 - 1) / (8 * x)
            size = mp.sin(phase) + odd * mp.cos(phase)
            return mp.sqrt(2 / (mp.pi * x)) * size

    return value


def _divergence(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    with mp.extradps(40):
        return x * mp.log(x / y) - x + y if x > 0 and y > 0 else mp.nan


#: By the ufunc's name, for finite numbers inside the domain.
PRECISE: dict[str, Callable[..., Any]] = {
    "erf": mp.erf,
    "erfc": lambda x: mp.erfc(x) if abs(x) < 50 else mp.mpf(0 if x > 0 else 2),
    "erfcx": lambda x: mp.exp(x * x) * mp.erfc(x) if abs(x) < 1e4 else _far_erfcx(x),
    "erfinv": lambda x: (
        mp.sign(x) * _erfcinv(1 - abs(x)) if abs(x) > 1e-20 else x * mp.sqrt(mp.pi) / 2
    ),
    "erfcinv": _erfcinv,
    "expit": lambda x: 1 / (1 + mp.exp(-x)) if x > -1e4 else mp.mpf(0),
    "log_expit": lambda x: -mp.log1p(mp.exp(-x)) if x > 0 else x - mp.log1p(mp.exp(x)),
    "logit": lambda x: mp.log(x / (1 - x)),
    "ndtr": lambda x: mp.erfc(-x / mp.sqrt(2)) / 2 if abs(x) < 60 else mp.mpf(x > 0),
    "log_ndtr": lambda x: (
        mp.log1p(-mp.erfc(min(x, 60) / mp.sqrt(2)) / 2)
        if x > 0
        else _log_erfc(-x / mp.sqrt(2)) - mp.log(2)
    ),
    "ndtri": lambda x: -mp.sqrt(2) * _erfcinv(2 * x),
    "gamma": _gamma,
    "gammaln": _log_gamma,
    "psi": mp.digamma,
    "i0": _i(0),
    "i1": _i(1),
    "i0e": _scaled_i(0),
    "i1e": _scaled_i(1),
    "j0": _j(0),
    "j1": _j(1),
    "y0": _y(0),
    "y1": _y(1),
    "kl_div": _divergence,
    "xlogy": lambda x, y: x * mp.log(y) if x else mp.mpf(0),
    "xlog1py": lambda x, y: x * mp.log1p(y) if x else mp.mpf(0),
    "rel_entr": lambda x, y: x * mp.log(x / y) if x > 0 and y > 0 else mp.nan,
    "entr": lambda x: -x * mp.log(x),
}


#: The functions of one number that have vector code; erf is with the elementary ones.
NAMES = sorted(set(PRECISE) - {"erf", "entr", "kl_div", "rel_entr", "xlogy", "xlog1py"})


def rounded_and_rest(name: str, columns: Sequence[Array]) -> tuple[Array, Array]:
    """The values rounded to the operands' dtype, and what is missing from them, in their own ULP.

    SciPy's where an operand is not finite or a zero, and at poles and outside of domains.
    """
    first = columns[0]
    with np.errstate(all="ignore"):
        head = np.array(getattr(scipy.special, name)(*columns))
    rest = np.zeros(first.shape)
    for i, row in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if not all(np.isfinite(row)) or np.isnan(head[i]) or not row[0]:
            continue
        exact = _exact(name, row)
        if exact is None:
            continue
        if not exact:
            head[i] = np.copysign(0.0, head[i])
            continue
        with np.errstate(over="ignore"):
            head[i] = float(exact) if abs(exact) < mp.mpf(2) ** 1024 else mp.sign(exact) * np.inf
        if head[i] == 0:
            head[i] = np.copysign(head[i], float(mp.sign(exact)))
        if np.isfinite(head[i]):
            unit = mp.mpf(float(_spacing(np.abs(head[i]))))
            rest[i] = float((exact - mp.mpf(float(head[i]))) / unit)
    return head, rest


def _spacing(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.spacing(x))


def _exact(name: str, row: Sequence[float]) -> mp.mpf | None:
    with mp.workdps(45):
        try:
            exact = PRECISE[name](*map(mp.mpf, row))
        except (ZeroDivisionError, ValueError):
            return None
        return exact if isinstance(exact, mp.mpf) and mp.isfinite(exact) else None


def rounded(name: str, columns: Sequence[Array]) -> Array:
    """The values rounded to the operands' dtype."""
    return rounded_and_rest(name, columns)[0]


def points(name: str, count: int) -> Array:
    """`count` arguments in each of several groups, most of them where the method is strained.

    These are the borders of pieces, zeros, and tails.
    """
    draw = np.random.default_rng(NAMES.index(name))

    def between(low: float, high: float) -> Array:
        return draw.uniform(low, high, count)

    def sizes(low: float, high: float) -> Array:
        return 2.0 ** between(low, high)

    if name in ("expit", "log_expit"):
        groups = [between(-40, 40), between(-1, 1), sizes(-60, 5), -sizes(-60, 9.4)]
    elif name == "logit":
        groups = [between(0, 1), between(0.49, 0.51), sizes(-1070, -1), 1 - sizes(-53, -1)]
    elif name == "erfc":
        groups = [between(-6, 6), between(0.7, 0.8), between(0, 27), sizes(-60, 2), -sizes(-60, 2)]
    elif name == "erfcx":
        groups = [between(-6, 6), between(0.7, 0.8), between(-26.6, 30), sizes(-60, 300)]
    elif name in ("ndtr", "log_ndtr"):
        groups = [between(-8, 8), between(-38, 0), between(-1.2, 1.2), between(5, 30)]
        groups += [-sizes(0, 9)] if name == "log_ndtr" else []
    elif name == "erfinv":
        groups = [between(-1, 1), 1 - sizes(-53, -1), sizes(-60, -1), between(-1, -0.99)]
    elif name in ("erfcinv", "ndtri"):
        top = 2.0 if name == "erfcinv" else 1.0
        groups = [between(0, 1), sizes(-1060, -1), 0.5 + sizes(-50, -2), 1 - sizes(-52, -1)]
        groups = [top * x for x in groups]
    elif name == "gammaln":
        groups = [between(0.01, 10), between(0.9, 1.1), between(1.9, 2.1), sizes(-1020, -1)]
        groups += [sizes(3, 1000), -sizes(-300, -2), -between(0.01, 0.4)]
    elif name == "gamma":
        groups = [between(0.01, 10), sizes(-1020, -1), between(6, 171.6), -between(0, 10)]
        groups += [-between(10, 170), -sizes(-1000, -2), np.arange(1.0, 172.0)]
    elif name == "psi":
        groups = [between(0.01, 10), sizes(-1020, -1), sizes(3, 1000), between(1.4, 1.5)]
        groups += [-sizes(-1000, -2)]
    elif name[0] == "i":
        groups = [between(-20, 20), between(7, 9), between(0, 700), sizes(-50, 2)]
    elif name[0] == "y":
        groups = [between(0, 9), between(0, 50), sizes(-1020, 2), sizes(5, 900)]
    else:
        groups = [between(-9, 9), between(-50, 50), sizes(-50, 2), sizes(5, 900)]
    return np.concatenate(groups)


def errors(name: str, x: Array, got: Array) -> Array:
    """Errors in ULP; infinite where one of two values is NaN or infinite and the other is not."""
    head, rest = rounded_and_rest(name, [x])
    found = ulp_errors(got, head, rest)
    if name[0] in "jy":
        # Near zeros, but for the first two, the size of the waves is what counts.
        waves = 0.3 * np.minimum(1, 1 / np.sqrt(np.maximum(np.abs(x.astype(np.float64)), 1)))
        unit = np.spacing(np.abs(head)).astype(np.float64)
        scaled = found * unit / np.maximum(unit, np.spacing(waves.astype(x.dtype)))
        found = np.where(np.isfinite(head), scaled, found)
    return np.asarray(found)
