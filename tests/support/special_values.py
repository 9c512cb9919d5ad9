"""Functions of scipy.special in many digits: what results are measured by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import scipy.special

__all__ = ["PRECISE", "rounded", "rounded_and_rest"]

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
    "xlogy": lambda x, y: x * mp.log(y) if x else mp.mpf(0),
    "xlog1py": lambda x, y: x * mp.log1p(y) if x else mp.mpf(0),
    "rel_entr": lambda x, y: x * mp.log(x / y) if x > 0 and y > 0 else mp.nan,
    "entr": lambda x: -x * mp.log(x),
}


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
