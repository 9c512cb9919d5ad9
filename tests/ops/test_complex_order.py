"""Complex numbers in NumPy's order: extremes, their positions, products, signs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

PARTS = (np.nan, -1.0, 0.0, 1.0, 2.0, np.inf, -np.inf)
NUMBERS = np.array([complex(a, b) for a in PARTS for b in PARTS])
REDUCTIONS: dict[str, Callable[..., Any]] = {
    "max": lambda z: np.max(z),
    "min of rows": lambda z: np.min(z, axis=1),
    "max of columns": lambda z: z.max(axis=0),
    "min of both": lambda z: z.min(axis=(0, 1), initial=0.5),
    "argmax": lambda z: np.argmax(z),
    "argmin of rows": lambda z: z.argmin(axis=1),
    "argmax of columns": lambda z: np.argmax(z, axis=0),
    "ptp": lambda z: np.ptp(np.where(np.isfinite(z), z, 1)),
    "nanprod": lambda z: np.nanprod(z, axis=1),
}


def exactly(found: Any, expected: Any) -> None:
    """Part by part, NaN for NaN."""
    assert type(found) is type(expected)
    for part in ("real", "imag"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, dtype: Any) -> None:
    draw, f = np.random.default_rng(5), REDUCTIONS[name]
    jitted = tracejit.jit(f, strict=True)
    numbers = NUMBERS[~np.isnan(NUMBERS)]
    for shape in ((3, 5), (2, 21), (4, 1)):
        for values in (numbers, np.concatenate([numbers] * 9 + [NUMBERS])):
            z = draw.choice(values, shape).astype(dtype)
            for given in (z, np.asfortranarray(z), np.repeat(z, 2, axis=1)[:, ::2]):
                with np.errstate(all="ignore"):
                    exactly(jitted(given), f(given))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("f", [np.argmin, np.argmax])
def test_positions_along_long_axes(f: Any, dtype: Any) -> None:
    """Elements of several blocks: ties of real parts, of both, and NaN in either."""
    draw = np.random.default_rng(7)
    jitted = tracejit.jit(lambda z: f(z, axis=1), strict=True)
    numbers = NUMBERS[~np.isnan(NUMBERS)]
    for n in (64, 511, 512, 1025, 1700):
        with_nan = draw.choice(numbers, (3, n))
        with_nan[0, -1], with_nan[1, n // 2], with_nan[2, 5:] = NUMBERS[1], 1j * np.nan, np.nan
        steps = np.arange(n) - 1j * (np.arange(n) % 3)
        for z in (
            draw.choice(numbers, (3, n)),
            with_nan,
            np.stack([steps, steps[::-1], 1j * steps]),
            np.stack([np.full(n, complex(a, b)) for a, b in ((np.inf, np.inf), (-np.inf, 1))]),
        ):
            for given in (z.astype(dtype), np.repeat(z.astype(dtype), 2, axis=1)[:, ::2]):
                exactly(jitted(given), f(given, axis=1))


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_every_pair(f: Any) -> None:
    a, b = (v.ravel() for v in np.meshgrid(NUMBERS, NUMBERS))
    exactly(tracejit.jit(lambda a, b: f(a, b), strict=True)(a, b), f(a, b))


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("f", [np.sign, np.rint])
def test_sign_and_rounding(f: Any, dtype: Any) -> None:
    more = [3.5 - 2.5j, -0.0 + 0.4j, np.finfo(dtype).max * (1 + 1j), np.finfo(dtype).tiny / 4]
    z = np.append(NUMBERS, more).astype(dtype)
    with np.errstate(all="ignore"):
        exactly(tracejit.jit(lambda z: f(z), strict=True)(z), f(z))


def test_no_element() -> None:
    empty = np.zeros((0, 2), complex)
    for f in (np.max, np.argmin):
        with pytest.raises(ValueError, match="empty|zero-size"):
            tracejit.jit(lambda z, f=f: f(z))(empty)
    assert tracejit.jit(lambda z: np.prod(z))(empty) == 1


def test_running_products() -> None:
    draw = np.random.default_rng(6)
    z = np.exp(1j * draw.uniform(-3, 3, (7, 9)))
    for axis in (0, 1):
        f = tracejit.jit(lambda z, axis=axis: np.cumprod(z, axis=axis), strict=True)
        np.testing.assert_allclose(f(z), np.cumprod(z, axis=axis), rtol=1e-14)


def test_clipping_to_limits_with_nan() -> None:
    """A limit counts by its real part where only the other is NaN."""

    def f(z: Any, low: Any, high: Any) -> Any:
        return np.clip(z, low, high)

    few = NUMBERS[np.random.default_rng(8).permutation(len(NUMBERS))[:17]]
    given = [v.ravel() for v in np.meshgrid(few, few, few)]
    jitted = tracejit.jit(f, strict=True)
    exactly(jitted(*given), f(*given))
    exactly(jitted(few[0], few[1], few[2]), f(few[0], few[1], few[2]))
    exactly(jitted(NUMBERS, -0.5, 1j), f(NUMBERS, -0.5, 1j))
