"""Draws by NumPy's C functions: numbers and states are those of NumPy's methods."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.drawn_streams import CASES, compare, state

POSITIVE = np.random.default_rng(0).random((4, 5)) + 0.2


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("cls", "name", "args"), CASES)
def test_numbers_and_states(cls: str, name: str, args: tuple[Any, ...]) -> None:
    for size in (None, 7, (2, 3)):
        compare(cls, name, args, size)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", "beta gamma f normal lognormal wald vonmises gumbel".split())
def test_arrays_of_parameters(name: str) -> None:
    compare("Generator", name, (POSITIVE, POSITIVE[::-1].copy()), None)
    compare("Generator", name, (POSITIVE, 2.5), (4, 5))
    compare("Generator", name, (1.5, POSITIVE[0]), None)


@pytest.mark.parametrize("name", "poisson chisquare standard_t geometric logseries zipf".split())
def test_arrays_of_one_parameter(name: str) -> None:
    scale = 1 / 2 if name in ("geometric", "logseries") else 1
    compare("Generator", name, (POSITIVE * scale + (name == "zipf"),), None)


def test_parameters_of_other_forms_are_numpys() -> None:
    compare("Generator", "beta", (POSITIVE, POSITIVE[0]), None, strict=False)
    compare("Generator", "beta", (POSITIVE.T, POSITIVE.T), None, strict=False)
    compare("Generator", "binomial", (np.arange(5), 0.5), None, strict=False)
    for n, p in ((0, 0.5), (5, 0.0)):
        compare("RandomState", "binomial", (n, p), 4, strict=False)


def test_sizes_of_parameters_vary() -> None:
    jitted: Any = tracejit.jit(lambda s, a, b: s.beta(a, b), strict=True)
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    for n in (3, 5, 1, 8, 0):
        a = np.arange(n) + 1.0
        assert np.array_equal(one.beta(a, 2 * a), jitted(other, a, 2 * a))
    assert state(one) == state(other)


REFUSED: list[tuple[str, tuple[Any, ...]]] = [
    ("beta", (POSITIVE - 1, POSITIVE)),
    ("binomial", (-1, 0.5)),
    ("binomial", (5, 1.5)),
    ("geometric", (0.0,)),
    ("hypergeometric", (5, 6, 14)),
    ("logseries", (1.0,)),
    ("negative_binomial", (0.0, 0.5)),
    ("poisson", (-1.0,)),
    ("poisson", (np.array([1.0, 1e19]),)),
    ("triangular", (1.0, 1.0, 1.0)),
    ("triangular", (1.0, 0.0, 2.0)),
    ("zipf", (1.0,)),
]


@pytest.mark.parametrize(("name", "args"), REFUSED)
def test_what_numpy_refuses_leaves_the_stream(name: str, args: tuple[Any, ...]) -> None:
    jitted: Any = tracejit.jit(lambda s, *args: s.random() + getattr(s, name)(*args))
    one, other = np.random.default_rng(1), np.random.default_rng(1)
    with pytest.raises(ValueError) as expected:
        one.random() + getattr(one, name)(*args)
    for _ in range(2):
        with pytest.raises(ValueError, match=".") as found:
            jitted(other, *args)
        assert str(found.value) == str(expected.value)
        assert state(one) == state(other)
        other = np.random.default_rng(1)


def test_sizes_that_data_decide() -> None:
    def f(s: Any, x: Any, k: Any) -> Any:
        n = int((x > 0.5).sum()) - k
        drawn = s.random(n), s.normal(size=(n, 2)), s.integers(0, 5, n), s.uniform(-1, 2, n)
        return *drawn, s.poisson(3.0, (2, n)), s.permutation(n)

    jitted: Any = tracejit.jit(f, strict=True)
    x = np.linspace(0, 1, 9)
    for k in (0, 1, 4, 0):
        one, other = np.random.default_rng(k), np.random.default_rng(k)
        for a, b in zip(f(one, x, k), jitted(other, x, k), strict=True):
            assert np.array_equal(a, b) and a.dtype == b.dtype
        assert state(one) == state(other)
    one = np.random.default_rng(1)
    before = state(one)
    with pytest.raises(ValueError, match="negative dimensions"):
        jitted(one, x, 5)
    assert state(one) == before
