"""ldexp, frexp, modf and spacing against NumPy's, bit by bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit


def numbers(dtype: str) -> np.ndarray[Any, Any]:
    """Bit patterns at random, and what is special."""
    info, kind = np.finfo(dtype), np.dtype(dtype)
    patterns = np.random.default_rng(2).bytes(3001 * kind.itemsize)
    special = [0.0, 1.0, 0.5, 3.0, np.inf, np.nan, info.max, info.tiny, info.smallest_subnormal]
    special += [float(info.tiny) * 0.75, 1 + float(info.eps), 2 - float(info.eps)]
    plain = np.array(special).astype(dtype)
    return np.concatenate([np.frombuffer(patterns, kind), plain, -plain])


def same(found: Any, expected: Any) -> None:
    np.testing.assert_array_equal(found, expected, strict=True)
    if expected.dtype.kind == "f":
        number = ~np.isnan(expected)
        assert (np.signbit(found) == np.signbit(expected))[number].all()


@pytest.mark.parametrize("dtype", ("f2", "f4", "f8"))
def test_parts(dtype: str) -> None:
    x = numbers(dtype)
    with np.errstate(all="ignore"):
        for function in (np.frexp, np.modf):
            jitted = tracejit.jit(lambda x, f=function: f(x))
            for found, expected in zip(jitted(x), function(x), strict=True):
                same(found, expected)
        same(tracejit.jit(lambda x: np.spacing(x))(x), np.spacing(x))


@pytest.mark.parametrize("count", ("i1", "i4", "i8"))
@pytest.mark.parametrize("dtype", ("f2", "f4", "f8"))
def test_any_exponent(dtype: str, count: str) -> None:
    info = np.iinfo(count)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, -1]
    many = [n for n in range(-2300, 2300, 23) if info.min <= n <= info.max]
    n = np.array(ends + many, count)
    x = numbers(dtype)[::20, None]
    with np.errstate(all="ignore"):
        jitted = tracejit.jit(lambda x, n: np.ldexp(x, n))
        same(jitted(x, n), np.ldexp(x, n))
    assert not any(line.kind == "host" for line in jitted.report().lines)


def test_derivatives() -> None:
    x, w = np.array([0.0, -2.0, 3.5, -0.3, 1e-300]), np.arange(1.0, 6.0)
    n = np.array([1, -2, 3, 0, 5])
    for function, factor in (
        (lambda x: np.ldexp(x, n), np.ldexp(1.0, n)),
        (lambda x: np.modf(x)[0], 1.0),
        (lambda x: np.frexp(x)[0], np.ldexp(1.0, -np.frexp(x)[1])),
        (lambda x: np.spacing(x), 0.0),
    ):
        slope = tracejit.grad(lambda x, f=function: np.sum(f(x) * w))(x)
        np.testing.assert_array_equal(slope, factor * w)
