"""Stencils of stencils: one kernel where arithmetic is cheaper than memory, else several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

Program = Callable[..., Any]


def diffusion(x: Any) -> Any:
    lap = 4.0 * x[1:-1, 1:-1] - (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])
    flux = lap[1:] - lap[:-1]
    down = np.where(flux * (x[2:-1, 1:-1] - x[1:-2, 1:-1]) > 0, 0.0, flux)
    flux = lap[:, 1:] - lap[:, :-1]
    right = np.where(flux * (x[1:-1, 2:-1] - x[1:-1, 1:-2]) > 0, 0.0, flux)
    return x[2:-2, 2:-2] - 0.1 * (
        down[1:, 1:-1] - down[:-1, 1:-1] + right[1:-1, 1:] - right[1:-1, :-1]
    )


def in_place(x: Any) -> Any:
    """A store over what the stencil reads."""
    lap = 4.0 * x[1:-1] - x[2:] * 2 - x[:-2] * 2 + x[1:-1] * x[2:] - x[:-2] * 3 + 1
    x[2:-2] = lap[1:-1] - lap[2:] * lap[:-2]
    return lap[0]


def over_a_sum(x: Any) -> Any:
    means = x.sum(axis=1) * 2 + x[:, 0] * 3 - x[:, 1] * 2 - x[:, 2] + 5
    slopes = means[1:] - means[:-1]
    return x[1:] * slopes[:, np.newaxis], (x[1:] - slopes[:, np.newaxis]).sum(axis=1)


def smooth_exponentials(x: Any) -> Any:
    y = np.exp(x)
    return y[1:] - y[:-1]


def deep(x: Any) -> Any:
    """Every level doubles the ways to an element, and adds one place."""
    for _ in range(9):
        y = x * x - x * 3 + (x + 1) * (x - 2)
        x = (y[1:] - y[:-1]) * 0.01
    return x


PROGRAMS: list[Program] = [diffusion, in_place, over_a_sum, smooth_exponentials, deep]


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program: Program) -> None:
    f = tracejit.jit(strict=True)(program)
    rng = np.random.default_rng(2)
    for shape in ((12, 12), (15, 40), (30, 11), (12, 70)):
        for order in ("C", "F"):
            x = rng.integers(-4, 5, shape).astype(np.float64)
            given, plain = (np.array(x, order=order) for _ in range(2))
            actual, expected = f(given), program(plain)
            if not isinstance(actual, tuple):
                actual, expected = (actual,), (expected,)
            for a, b in zip(actual, expected, strict=True):
                if program is smooth_exponentials:
                    np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
                else:
                    np.testing.assert_array_equal(a, b, strict=True)
            np.testing.assert_array_equal(given, plain)


def kernels(program: Program, shape: tuple[int, ...]) -> int:
    text = tracejit.jit(program).lower(np.ones(shape)).text("fuse")
    return text.count("= fusion(")


def test_arithmetic_is_computed_again() -> None:
    assert kernels(diffusion, (40, 50)) == 1


def test_what_costs_more_than_memory_is_stored() -> None:
    assert kernels(smooth_exponentials, (40, 50)) == 2
    assert 2 <= kernels(deep, (60, 50)) <= 9


def framed(x: Any) -> Any:
    """Negative sums in the middle and, of some rows and columns, around it."""
    y = -np.cumsum(x, axis=0)
    out = np.zeros((len(x) + 4, x.shape[1] + 4))
    out[2:-2, 2:-2] = y
    for k, place in enumerate((0, 1, -1, -2)):
        out[place, 2:-2] = y[k]
        out[2:-2, place] = y[:, k]
    return out


def test_small_parts_are_cheap_to_compute_again() -> None:
    x = np.random.default_rng(4).random((30, 40))
    np.testing.assert_array_equal(tracejit.jit(framed)(x), framed(x))
    assert tracejit.jit(framed).lower(x).text("fuse").count("negative(") == 9
