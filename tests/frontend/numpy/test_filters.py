"""SciPy's correlations and convolutions are compiled as products in windows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal

import tracejit

RNG = np.random.default_rng(5)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate", "convolve2d", "correlate2d"])
def test_filters(name, mode):
    f = getattr(scipy.signal, name)
    jitted = tracejit.jit(lambda x, k: f(x, k, mode=mode), strict=True)
    shapes = [((12, 15), (3, 4)), ((9, 9), (4, 1)), ((5, 6), (5, 6))]
    if not name.endswith("2d"):
        shapes += [((20,), (4,)), ((20,), (3,)), ((4, 7, 6), (2, 3, 3))]
    for dtype in ("f4", "f8"):
        for shape, taps in shapes:
            x, k = (RNG.standard_normal(s).astype(dtype) for s in (shape, taps))
            got, expected = jitted(x, k), f(x, k, mode=mode)
            assert got.dtype == expected.dtype and got.shape == expected.shape
            bound = 16 * np.finfo(dtype).eps * np.abs(k).sum() * np.abs(x).max()
            np.testing.assert_allclose(got, expected, rtol=0, atol=bound)


def test_infinite_taps_are_not_multiplied_by_zeros_around():
    x, k = np.ones(6), np.array([1.0, np.inf, 2.0])
    f = tracejit.jit(lambda x, k: scipy.signal.correlate(x, k, "same", "direct"))
    assert np.isinf(f(x, k)).all()
    np.testing.assert_array_equal(f(x, k), scipy.signal.correlate(x, k, "same", "direct"))


def test_other_forms_are_left_to_scipy():
    x, k = RNG.standard_normal((8, 8)), RNG.standard_normal((3, 3))
    calls = (
        lambda x, k: scipy.signal.convolve2d(x, k, boundary="wrap"),
        lambda x, k: scipy.signal.convolve(x, k, method="fft"),
        lambda x, k: scipy.signal.correlate(k, x, "valid"),
        lambda x, k: scipy.signal.convolve(x * 1j, k),
    )
    for f in calls:
        np.testing.assert_allclose(tracejit.jit(f)(x, k), f(x, k), rtol=1e-12, atol=1e-12)


def test_gradients_of_filters():
    x, k = RNG.standard_normal((9, 8)), RNG.standard_normal((3, 2))

    def loss(x, k):
        return np.sum(scipy.signal.correlate(x, k, mode="same") ** 3)

    got = tracejit.jit(tracejit.grad(loss, argnums=(0, 1)), strict=True)(x, k)
    for number, (grad, at) in enumerate(zip(got, (x, k), strict=True)):
        for place in ((0, 0), (2, 1)):
            step = np.zeros_like(at)
            step[place] = 1e-6
            ends = [[x, k], [x, k]]
            ends[0][number], ends[1][number] = at - step, at + step
            slope = (loss(*ends[1]) - loss(*ends[0])) / 2e-6
            np.testing.assert_allclose(grad[place], slope, rtol=1e-5, atol=1e-5)
