"""Functions that ask whether two arguments are one array, as SciPy's cross spectra do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.signal

import tracejit

FIRST = np.random.default_rng(0).normal(size=64)
SECOND = FIRST.copy()


class Pair:
    a: Any = None
    b: Any = None


PAIR = Pair()
A = B = FIRST


def spectrum(x: Any, y: Any) -> Any:
    return scipy.signal.csd(x, y, nperseg=16)[1]


def by_arguments(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    return spectrum, (x, y)


def by_a_list(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    return lambda pair: spectrum(pair[0], pair[1]), ([x, y],)


def by_an_object(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    pair = Pair()
    pair.a, pair.b = x, y
    return lambda pair: spectrum(pair.a, pair.b), (pair,)


def by_attributes(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    PAIR.a, PAIR.b = x, y
    return lambda: spectrum(PAIR.a, PAIR.b), ()


def by_names(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    globals().update(A=x, B=y)
    return lambda: spectrum(A, B), ()


def by_a_name(x: Any, y: Any) -> tuple[Any, tuple[Any, ...]]:
    globals().update(B=y)
    return lambda x: spectrum(x, B), (x,)


WAYS: Sequence[Callable[..., Any]] = (
    by_arguments,
    by_a_list,
    by_an_object,
    by_attributes,
    by_names,
    by_a_name,
)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    globals().update(A=FIRST, B=FIRST)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("way", WAYS)
def test_one_array_or_two(way: Any, first: int) -> None:
    function, _ = way(FIRST, SECOND)
    compiled = tracejit.jit(function)
    for k in range(4):
        x, y = FIRST, (SECOND, FIRST)[(first + k) % 2]
        _, args = way(x, y)
        expected, found = function(*args), compiled(*args)
        assert found.dtype == expected.dtype == (complex if y is SECOND else float)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_copy_is_another_array() -> None:
    compiled = tracejit.jit(lambda x: (spectrum(x, x), spectrum(x, x.copy())))
    one, two = compiled(FIRST)
    assert (one.dtype, two.dtype) == (float, complex)
