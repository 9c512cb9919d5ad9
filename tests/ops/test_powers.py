"""Cubes are products: as near to NumPy's as any power, and the same where it is special."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cubes(dtype: Any) -> None:
    """Random bits, zeros of both signs, infinities, NaN, and what leaves the range."""
    bits = np.random.default_rng(0).integers(0, 2**63, 20_000, dtype=np.int64)
    info = np.finfo(dtype)
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, -info.tiny]
    edges += [
        s * f * v ** (1 / 3) for v in (info.max, info.tiny) for f in (1, 2, 0.5) for s in (1, -1)
    ]
    x = np.concatenate([bits.view(dtype), np.array(edges, dtype)])
    with np.errstate(all="ignore"):
        assert_parity(lambda x: x**3, x, parity="ulp", ulp=2)
        assert_parity(lambda x: np.power(x, 3.0), x, parity="ulp", ulp=2)


def test_cubes_are_products() -> None:
    kernel = tracejit.jit(lambda x: x**3).lower(np.ones(9)).text("kernel")
    assert "power" not in kernel and kernel.count("multiply") == 2


def test_derivatives_of_cubes() -> None:
    x = np.linspace(-2, 2, 9)
    gradient = tracejit.jit(tracejit.grad(lambda x: (x**3).sum()))
    np.testing.assert_allclose(gradient(x), 3 * x * x, rtol=1e-15)
