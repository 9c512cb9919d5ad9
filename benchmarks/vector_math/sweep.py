"""Where vector math is measured, and what is right there: points, mpmath values, errors in ULP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[Any]  # float64 or float32

DTYPES: dict[str, Any] = {"f64": np.float64, "f32": np.float32}
NAMES = (
    "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh erf cbrt "
    "arcsin arccos arctan arcsinh arccosh arctanh"
).split()

#: What mpmath has under another name, or lacks.
FUNCTIONS: dict[str, Callable[[mp.mpf], mp.mpf]] = {
    "arccos": mp.acos,
    "arccosh": mp.acosh,
    "arcsin": mp.asin,
    "arcsinh": mp.asinh,
    "arctan": mp.atan,
    "arctanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "exp2": lambda x: mp.mpf(2) ** x,
    "log2": lambda x: mp.log(x, 2),
}
#: Function -> ends of its domain, where it is not the whole line.
_DOMAIN = {"log": (0.0, np.inf), "log2": (0.0, np.inf), "log10": (0.0, np.inf)}
_DOMAIN |= {"arcsin": (-1.0, 1.0), "arccos": (-1.0, 1.0), "log1p": (-1.0, np.inf)}
_DOMAIN |= {"arccosh": (1.0, np.inf), "arctanh": (-1.0, 1.0)}
#: Arguments of infinite results.
_POLES = {"log": 0.0, "log2": 0.0, "log10": 0.0, "log1p": -1.0, "arctanh": 1.0}
_EXPONENTIALS = ("exp", "exp2", "expm1", "sinh", "cosh")


def points(name: str, dtype: str, count: int, seed: int = 0) -> Floats:
    """About `count` arguments, most of them where the function's method is strained.

    These are: ends of the reduced range, zeros, one, the borders of overflow, underflow and
    saturation, subnormal numbers, and all magnitudes. One in eight is a random bit pattern.
    """
    draw = np.random.default_rng([seed, NAMES.index(name)])
    info = np.finfo(DTYPES[dtype])
    groups: list[Callable[[int], Floats]]

    def between(low: float, high: float) -> Callable[[int], Floats]:
        return lambda n: draw.uniform(low, high, n)

    def magnitudes(low: float, high: float) -> Callable[[int], Floats]:
        return lambda n: draw.choice([-1.0, 1.0], n) * np.exp2(draw.uniform(low, high, n))

    def near(step: float, most: int) -> Callable[[int], Floats]:
        """Multiples of `step` up to `most`, a few ULP to either side."""

        def sample(n: int) -> Floats:
            at = (draw.integers(-most, most, n, endpoint=True) * step).astype(info.dtype)
            shift = draw.integers(-3, 3, n, endpoint=True)
            return np.asarray(at + shift * np.spacing(at), np.float64)

        return sample

    least, most = float(np.log2(info.smallest_subnormal)), float(info.maxexp)
    digits = info.nmant + 1.0
    half_log2 = np.log(2) / 2
    if name == "exp":
        under, normal, over = least * np.log(2), info.minexp * np.log(2), most * np.log(2)
        groups = [between(-1, 1), between(under - 2, over + 2), between(under - 1, normal + 1)]
        groups += [
            near(half_log2, 2 * info.maxexp),
            magnitudes(-digits - 2, 1),
            between(over - 1, over),
        ]
    elif name == "exp2":
        groups = [between(-1, 1), between(least - 2, most + 2), between(least - 1, info.minexp + 1)]
        groups += [near(1 / 32, 64 * info.maxexp), magnitudes(-digits - 2, 1)]
    elif name == "log1p":
        groups = [between(-1, 1), between(-0.04, 0.1), magnitudes(-digits - 5, 1)]
        groups += [lambda n: np.abs(magnitudes(-2, most)(n)), near(1 / 64, 128)]
        groups += [lambda n: np.abs(magnitudes(-digits, 0)(n)) - 1]
    elif name == "cbrt":
        groups = [between(-1, 1), between(-1000, 1000), magnitudes(least, most)]
        groups += [lambda n: np.asarray(draw.integers(-(2**17), 2**17, n), np.float64) ** 3]
        groups += [magnitudes(least, info.minexp)]
    elif name in ("log", "log2", "log10"):
        groups = [between(0.5, 2), between(0.99, 1.01), between(0.7, 0.715), between(1.4, 1.42)]
        groups += [lambda n: np.abs(magnitudes(least, most)(n))]
        groups += [lambda n: 1 + magnitudes(-digits, 0)(n)]
        groups += [lambda n: np.abs(magnitudes(least, info.minexp)(n))]
    elif name in ("sin", "cos", "tan"):
        exact = 2 ** (40 if dtype == "f64" else 24)
        groups = [between(-1, 1), between(-10, 10), between(-1e5, 1e5), near(np.pi / 4, 2000)]
        groups += [near(np.pi / 2, 200_000), near(np.pi / 2, exact), magnitudes(-digits - 5, 44)]
        groups += [magnitudes(0, most)]
    elif name in ("expm1", "sinh", "cosh"):
        over = (most + (name != "expm1")) * np.log(2)
        groups = [between(-1, 1), between(-over - 1, over + 1), near(half_log2, 2 * info.maxexp)]
        groups += [magnitudes(-digits - 2, 1), between(over - 1, over), between(-40, 40)]
        groups += [magnitudes(-digits / 2 - 2, -digits / 2 + 2)]
    elif name == "arctan":
        groups = [between(-1, 1), between(-10, 10), between(0.54, 0.58), between(1.99, 2.01)]
        groups += [between(0.99, 1.01), magnitudes(-digits - 2, digits + 8)]
        groups += [magnitudes(least, most)]
    elif name in ("arcsin", "arccos"):
        groups = [between(-1, 1), between(-1.01, -0.9), between(0.49, 0.51), between(0.5, 0.55)]
        groups += [magnitudes(-digits - 2, 0), lambda n: 1 - np.abs(magnitudes(-digits, -1)(n))]
        groups += [lambda n: np.abs(magnitudes(-digits, -1)(n)) - 1]
    elif name == "arcsinh":
        groups = [between(-2, 2), between(-50, 50), between(0.3, 0.4), magnitudes(-digits - 2, 1)]
        groups += [magnitudes(least, most), magnitudes(most / 2 - 1, most / 2 + 1)]
    elif name == "arccosh":
        groups = [between(0.99, 3), between(1, 1.1), between(-5, 50), between(1.4, 1.8)]
        groups += [lambda n: 1 + np.abs(magnitudes(-digits, 1)(n)), magnitudes(0, most)]
        groups += [lambda n: np.abs(magnitudes(0, most)(n))]
        groups += [lambda n: np.abs(magnitudes(most / 2 - 1, most / 2 + 1)(n))]
    elif name == "arctanh":
        groups = [between(-1, 1), between(0.16, 0.17), between(0.4, 0.6), between(0.99, 1.01)]
        groups += [magnitudes(-digits - 2, 0), lambda n: 1 - np.abs(magnitudes(-digits, -1)(n))]
        groups += [lambda n: np.abs(magnitudes(-digits, -1)(n)) - 1]
    elif name == "tanh":
        one = 0.5 * digits * np.log(2)
        groups = [between(-1, 1), between(-25, 25), near(half_log2 / 2, 120), between(0.1, 0.2)]
        groups += [magnitudes(-digits, 5), between(one - 2, one + 2)]
    else:
        one = 5.9 if dtype == "f64" else 3.9
        groups = [between(-1, 1), between(-7, 7), between(0.9, 1.1), between(one - 2, one + 0.3)]
        groups += [magnitudes(-digits, 3)]
    each = -(-count * 7 // (8 * len(groups)))
    integer = np.uint64 if dtype == "f64" else np.uint32
    patterns = draw.integers(0, np.iinfo(integer).max, count // 8, integer, endpoint=True)
    with np.errstate(over="ignore"):
        planned = np.concatenate([group(each) for group in groups]).astype(info.dtype)
    return np.concatenate([planned, patterns.view(info.dtype)])


def special_points(name: str, dtype: str, count: int, seed: int = 0) -> Floats:
    """About `count` arguments of one of SciPy's functions: all magnitudes, and where they bend."""
    draw = np.random.default_rng([seed, len(name)])
    info = np.finfo(DTYPES[dtype])
    n = count // 8
    least, most = float(np.log2(info.smallest_subnormal)), float(info.maxexp)
    sign = draw.choice([-1.0, 1.0], n)
    near_one = 1 - np.exp2(draw.uniform(-info.nmant - 1.0, -1, n))
    groups = [draw.uniform(-1, 1, n), draw.uniform(-9, 9, n), draw.uniform(-40, 180, n)]
    groups += [draw.uniform(0, 1, n), near_one, sign * np.exp2(draw.uniform(-60, 5, n))]
    groups += [sign * np.exp2(draw.uniform(least, most, n)), 0.5 + sign * near_one / 2]
    x = np.concatenate(groups).astype(info.dtype)
    # These have a zero between any two poles: near it the terms are what counts, not the sum.
    return np.abs(x) if name in ("gammaln", "psi") else x


def pairs(name: str, dtype: str, count: int, seed: int = 0) -> list[Floats]:
    """About `count` pairs: of all magnitudes, alike, of small integers, and for powers in range."""
    draw = np.random.default_rng([seed, len(name)])
    info = np.finfo(DTYPES[dtype])
    n = -(-count // (6 if name == "power" else 4))
    least, most = float(np.log2(info.smallest_subnormal)), float(info.maxexp)

    def magnitudes(low: float, high: float) -> Floats:
        return np.asarray(draw.choice([-1.0, 1.0], n) * np.exp2(draw.uniform(low, high, n)))

    wide, close = magnitudes(least, most), magnitudes(least, most - 3)
    first = [wide, close, magnitudes(-2, 2), draw.integers(-99, 99, n).astype(np.float64)]
    second = [magnitudes(least, most), close * magnitudes(-3, 3), magnitudes(-3, 3)]
    second += [draw.integers(-30, 30, n).astype(np.float64)]
    if name == "power":
        base, near_one = np.abs(wide), 1 + magnitudes(-info.nmant / 2.0, -1)
        first += [base, near_one]
        second += [draw.uniform(least, most, n) / np.log2(base)]
        second += [draw.uniform(least, most, n) / np.log2(near_one)]
    if name == "kl_div":
        first, second = ([np.abs(x) for x in group] for group in (first, second))
        first += [np.abs(wide)]
        second += [np.abs(wide) * (1 + magnitudes(-info.nmant, -1))]
    with np.errstate(all="ignore"):
        return [np.concatenate(column).astype(info.dtype) for column in (first, second)]


def reference(name: str, x: Floats) -> tuple[Floats, Floats]:
    """The function's value rounded to `x`'s dtype, and what is missing from it, in its own ULP.

    Where the first is infinite or NaN the second is 0.
    """
    head = np.empty_like(x)
    rest = np.zeros(x.shape)
    function = FUNCTIONS.get(name) or getattr(mp, name)
    with np.errstate(all="ignore"), mp.workprec(160):
        for i, value in enumerate(x.tolist()):
            low, high = _DOMAIN.get(name, (-np.inf, np.inf))
            if not low <= value <= high:
                head[i] = np.nan
            elif np.isinf(value) or _is_pole(name, value):
                head[i] = _limit(name, value)
            elif name in _EXPONENTIALS and abs(value) > 1100:
                head[i] = _limit(name, np.copysign(np.inf, value))
            else:
                exact = function(mp.mpf(value))
                head[i] = float(exact)
                if np.isfinite(head[i]):
                    unit = mp.mpf(float(np.spacing(np.abs(head[i]))))
                    rest[i] = float((exact - float(head[i])) / unit)
    return head, rest


def _is_pole(name: str, value: float) -> bool:
    pole = _POLES.get(name)
    return pole is not None and (value == pole or (name == "arctanh" and value == -pole))


def _limit(name: str, value: float) -> float:
    if name in _POLES:
        return -np.inf if _is_pole(name, value) and name != "arctanh" else value * np.inf
    if name in ("sin", "cos", "tan"):
        return np.nan
    if name in ("exp", "exp2"):
        return 0.0 if value < 0 else np.inf
    if name == "expm1" and value < 0:
        return -1.0
    if name == "cbrt":
        return value
    if name in _EXPONENTIALS:
        return np.inf if name == "cosh" else value
    if name in ("arcsinh", "arccosh", "arctanh"):
        return float(np.copysign(np.inf, value))
    if name == "arctan":
        return float(np.copysign(np.pi / 2, value))
    return float(np.sign(value))


def ulp_errors(got: Floats, head: Floats, rest: Floats) -> Floats:
    """Distance of `got` from the exact value, `head` and `rest` ULP, in ULP.

    Infinite where one of `got` and `head` is NaN or infinite and the other is not the same.
    """
    with np.errstate(all="ignore"):
        # The spacing of the last number itself is infinite.
        most = np.ldexp(head.dtype.type(1), np.finfo(head.dtype).maxexp - 1)
        unit = np.spacing(np.minimum(np.abs(head), most)).astype(np.float64)
        errors = np.abs((got.astype(np.float64) - head.astype(np.float64)) / unit - rest)
    same = (got == head) | (np.isnan(got) & np.isnan(head))
    special = ~np.isfinite(head) | ~np.isfinite(got)
    return np.where(special, np.where(same, 0.0, np.inf), errors)
