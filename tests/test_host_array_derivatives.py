"""Derivatives of convolutions, interpolation, order statistics and others, called through NumPy."""

from typing import Any

import numpy as np
import pytest

from tests.test_host_derivatives import KINDS, RNG, F, check, gradient, numbers
from tracejit.errors import Underivable


def apart(*shape: int) -> Any:
    """Numbers that lie apart from each other."""
    x = RNG.permutation(int(np.prod(shape))).reshape(shape) / 3 - 1.2
    return np.asarray(x)


LENGTHS = pytest.mark.parametrize(("m", "n"), [(7, 3), (3, 7), (6, 4), (4, 6), (5, 5), (4, 1)])


@KINDS
@LENGTHS
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(m: int, n: int, mode: str, dtype: Any) -> None:
    a, v = numbers(m, dtype=dtype), numbers(n, dtype=dtype)
    check(lambda a, v: np.convolve(a, v, mode), a, v)
    check(lambda a, v: np.correlate(a, v, mode), a, v)
    check(lambda a: np.correlate(a, a, mode), a)


def test_convolutions_of_two_dtypes() -> None:
    a = numbers(5)
    check(lambda a, v: np.convolve(a, v), a, numbers(3, dtype=np.complex128))
    check(lambda a, v: np.correlate(a, v), a, numbers(3, dtype=np.complex128))


def test_interpolation() -> None:
    xp, fp = np.array([-1.0, 0.5, 1, 3]), numbers(4)
    x = np.array([[-2.0, -0.3, 0.7], [1.5, 2.9, 4]])
    check(lambda x, xp, fp: np.interp(x, xp, fp), x, xp, fp)
    check(lambda x, xp, fp: np.interp(x, xp, fp, left=2.0), x, xp, fp)
    check(lambda x, xp, fp: np.interp(x, xp, fp, right=0), x, xp, fp)
    check(lambda x, fp: np.interp(x, [-1.0, 0.5, 1, 3], fp), x, numbers(4, dtype=np.complex128))
    check(lambda x, xp, fp: np.interp(x[0, 1], xp, fp), x, xp, fp)
    assert gradient(lambda x, fp: np.interp(x, [0.0, 1.0], fp).sum(), np.ones(2), np.ones(2))[
        1
    ].tolist() == [0, 2]
    with pytest.raises(Underivable, match="period"):
        gradient(lambda x, xp, fp: np.interp(x, xp, fp, period=3.0).sum(), x, xp, fp)


def test_partitions() -> None:
    x = apart(4, 7)
    check(lambda x: np.partition(x, 2), x)
    check(lambda x: np.partition(x, 2, axis=0), x)
    check(lambda x: np.partition(x, (2, 9), axis=None), x)


QUANTILES: list[F] = [
    lambda x: np.percentile(x, 30),
    lambda x: np.percentile(x, [10, 62.5], axis=0),
    lambda x: np.quantile(x, 0.4, axis=1),
    lambda x: np.quantile(x, 0.4, axis=(0, 1), keepdims=True),
    lambda x: np.quantile(x, [0.0, 1.0, 0.5], axis=-1, keepdims=True),
    lambda x: np.median(x),
    lambda x: np.median(x, axis=0),
]


@pytest.mark.parametrize("k", range(len(QUANTILES)))
def test_quantiles(k: int) -> None:
    check(QUANTILES[k], apart(4, 5))
    check(QUANTILES[k], apart(5, 3))


def test_quantiles_of_another_method() -> None:
    with pytest.raises(Underivable, match="method"):
        gradient(lambda x: np.quantile(x, 0.3, method="lower"), numbers(5))


def test_running_extremes() -> None:
    x = apart(4, 6)
    check(lambda x: np.maximum.accumulate(x), x)
    check(lambda x: np.minimum.accumulate(x, axis=1), x)


def test_others() -> None:
    x = numbers(6)
    check(lambda x: np.unwrap(x * 4), x)
    check(lambda x: np.sinc(x), x)
    check(lambda x: np.sinc(x), np.array([0.0, 1e-3, 0.3, 0.32, 2.5]))
    check(lambda x: np.sum(np.bincount(np.array([1, 0, 3, 1, 0, 0]), weights=x) ** 3), x)


def test_functions_without_rules_are_named() -> None:
    with pytest.raises(Underivable, match=r"numpy\.i0 has no derivative"):
        gradient(lambda x: np.i0(x).sum(), numbers(3))
    with pytest.raises(Underivable, match=r"percentile has no derivative by q"):
        gradient(lambda x, q: np.percentile(x, q), numbers(5), 30.0)
