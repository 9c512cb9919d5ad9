"""Numbers spaced evenly on a log scale: NumPy's bits, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

GRIDS: dict[str, Callable[..., Any]] = {
    "geometric": lambda a, b, n: np.geomspace(a, b, n),
    "without end": lambda a, b, n: np.geomspace(a, b, n, endpoint=False),
    "along the last axis": lambda a, b, n: np.geomspace(a, b, n, axis=-1),
    "single": lambda a, b, n: np.geomspace(a, b, n, dtype=np.float32),
    "integers": lambda a, b, n: np.geomspace(abs(a), abs(b), n, dtype=np.int64),
    "fixed": lambda a, b, n: np.geomspace(0.3, 700, 9),
    "powers": lambda a, b, n: np.logspace(a, b, n),
    "powers without end": lambda a, b, n: np.logspace(a, b, n, endpoint=False),
    "powers of two": lambda a, b, n: np.logspace(a, b, n, base=2),
    "powers of a NumPy number": lambda a, b, n: np.logspace(a, b, n, base=np.float64(0.7)),
    "powers below zero": lambda a, b, n: np.logspace(a, b, n, base=-1.5),
    "half": lambda a, b, n: np.logspace(a, b, n, dtype=np.float16),
}
ENDS: dict[str, Any] = {
    "float": (1.3, 7.9),
    "negative": (-2.7, -0.4),
    "through zero": (-2.7, 3.0),
    "equal": (3.3, 3.3),
    "int": (2, 1000),
    "float32": (np.float32(0.7), np.float32(8.3)),
    "float16": (np.float16(0.7), np.float16(8.3)),
    "complex": (1.5 + 2j, -3 + 0.1j),
    "array": (np.array([1.5, 2.7, 0.3]), np.array([9.0, 3.1, 5.5])),
    "rows": (np.arange(1.0, 7).reshape(3, 2).T, 9.7),
    "reversed": (np.linspace(0.1, 7.7, 20, dtype=np.float32)[::-1], np.float32(2.2)),
    "complex array": (np.array([1j, 2 - 3j], np.complex64), np.array([3, -1 - 1j], np.complex64)),
}


@pytest.mark.parametrize("ends", ENDS)
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.sampled(12)
def test_grids_have_the_bits_of_numpys(name: str, ends: str) -> None:
    f, (a, b) = GRIDS[name], ENDS[ends]
    if name == "integers" and ends == "equal":
        b = b + 1
    for n in (0, 1, 2, 3, 50, 1001):
        assert_parity(f, a, b, n)


def test_grids_of_zeros_are_refused() -> None:
    jitted = tracejit.jit(lambda a, b: np.geomspace(a, b, 4))
    for a, b in ((1.0, 2.0), (0.0, 2.0), (2.0, 0.0), (np.array([1.0, 0.0]), 3.0)):
        if np.all(a) and b:
            assert np.array_equal(jitted(a, b), np.geomspace(a, b, 4))
        else:
            with pytest.raises(ValueError, match="cannot include zero"):
                jitted(a, b)


def test_grids_of_many_sizes_are_one_program() -> None:
    jitted = tracejit.jit(lambda x, a: np.geomspace(a, 10.0, x.size) + np.logspace(0, a, x.size))
    for n in (5, 6, 7, 99):
        expected = np.geomspace(2.5, 10.0, n) + np.logspace(0, 2.5, n)
        assert np.array_equal(jitted(np.ones(n), 2.5), expected)
    assert len(jitted.report().variants) <= 2


def test_derivatives_of_grids() -> None:
    """Of start**(1 - t) * stop**t and of 10**(start + t * (stop - start))."""
    t = np.linspace(0, 1, 7)
    a, b = 1.7, 5.2
    for f, value, slopes in (
        (np.geomspace, a ** (1 - t) * b**t, ((1 - t) / a, t / b)),
        (np.logspace, 10 ** (a + t * (b - a)), ((1 - t) * np.log(10), t * np.log(10))),
    ):
        for k in (0, 1):
            g = tracejit.jit(tracejit.grad(lambda a, b, f=f: f(a, b, 7).sum(), argnums=k))
            np.testing.assert_allclose(g(a, b), (value * slopes[k]).sum(), rtol=1e-13)
            _, tangent = tracejit.jvp(lambda a, b, f=f: f(a, b, 7), (a, b), (1.0 - k, 1.0 * k))
            np.testing.assert_allclose(tangent, value * slopes[k], rtol=1e-13)
