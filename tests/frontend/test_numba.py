"""Functions that numba has compiled are traced by their plain functions; prange is range."""

from __future__ import annotations

import numpy as np
import pytest

import tracejit
from tests.frontend import numba_samples


def test_dispatchers_are_traced_by_their_plain_functions() -> None:
    g = tracejit.jit(numba_samples.uses_dispatchers, strict=True)
    for n in (5, 5, 8):
        x = np.random.default_rng(n).normal(size=n)
        np.testing.assert_allclose(g(x), numba_samples.plain(x), rtol=1e-14)


def test_another_plain_function_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    g = tracejit.jit(numba_samples.uses_dispatchers, strict=True)
    x = np.arange(-3.0, 3.0)
    g(x)
    before = numba_samples.plain(x)
    monkeypatch.setattr(numba_samples.weighted, "py_func", lambda x, w: x * w)
    after = numba_samples.plain(x)
    assert not np.allclose(before, after)
    np.testing.assert_allclose(g(x), after, rtol=1e-14)
