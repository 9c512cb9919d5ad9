"""Reshapes inside fusions: only grouped axes are taken apart, and reductions count instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.ir.axis_groups import groups
from tracejit.ir.dims import Dim, prod, symbol

N, M = symbol("n"), symbol("m")
GROUPS: list[tuple[tuple[Dim, ...], tuple[Dim, ...], list[Any]]] = [
    ((4, 3, 3, 3, 16), (4, 27, 16), [((0,), (0,)), ((1, 2, 3), (1,)), ((4,), (2,))]),
    ((N, 3, 5, M), (N, 15, M), [((0,), (0,)), ((1, 2), (1,)), ((3,), (2,))]),
    ((N, M, 7), (N * M, 7), [((0, 1), (0,)), ((2,), (1,))]),
    ((6, 4), (4, 6), [((0, 1), (0, 1))]),
    ((1, 6, 1, 4), (6, 4, 1), [((1,), (0,)), ((3,), (1,))]),
    ((2, 6, 35), (3, 4, 5, 7), [((0, 1), (0, 1)), ((2,), (2, 3))]),
    # The beginnings cannot be compared, the ends can.
    ((symbol("k"), 3, 16), (N, 16), [((0, 1), (0,)), ((2,), (1,))]),
    ((), (1, 1), []),
    ((N,), (N,), [((0,), (0,))]),
]


@pytest.mark.parametrize(("one", "other", "expected"), GROUPS)
def test_groups(one: tuple[Dim, ...], other: tuple[Dim, ...], expected: list[Any]) -> None:
    assert groups(one, other) == expected
    assert groups(other, one) == [(b, a) for a, b in expected]


@pytest.mark.parametrize("seed", range(40))
def test_groups_have_equal_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    factors = [int(f) for f in rng.choice([1, 2, 3, 5], size=7)]
    one, other = (
        tuple(int(np.prod(p)) for p in np.split(factors, np.sort(rng.integers(0, 8, size=cuts))))
        for cuts in rng.integers(0, 5, size=2)
    )
    found = groups(one, other)
    for a, b in found:
        assert prod([one[k] for k in a]) == prod([other[k] for k in b]) != 1
    for side, shape in enumerate((one, other)):
        assert [k for g in found for k in g[side]] == [k for k, n in enumerate(shape) if n != 1]


def window_sum(image: Any, weights: Any) -> Any:
    """The sum over three axes between two others, as a convolution has it at each place."""
    return np.sum(image[:, :, 1:, :, np.newaxis] * weights[np.newaxis], axis=(1, 2, 3))


def test_sums_over_adjacent_axes_count_instead_of_dividing() -> None:
    f = tracejit.jit(window_sum)
    image, weights = np.ones((4, 3, 4, 5), np.float32), np.ones((3, 3, 5, 16), np.float32)
    stages = f.lower(image, weights)
    # One quotient for each of the two outer axes, and the loop counts it.
    divisions = [line.strip() for line in stages.text("kernel").splitlines() if "//" in line]
    assert divisions == ["q1 = i2 // (15)", "q2 = i2 // (5)"]
    assert "%" not in stages.text("kernel")
    code = stages.text("llvm")
    assert not any(word in code for word in ("gather", "fdiv", "sitofp", "floor"))


SHAPES = [
    ((4, 3, 4, 3), 16),
    ((2, 3, 4, 16), 16),
    ((2, 5, 8, 13), 9),
    ((1, 1, 3, 7), 3),
    ((3, 2, 3, 1), 40),
    ((2, 0, 4, 3), 5),
    ((2, 3, 1, 3), 5),
    ((0, 3, 2, 3), 5),
    ((2, 9, 12, 5), 1),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", (np.float32, np.float64, np.int32, np.complex128))
def test_sums_over_windows(dtype: Any) -> None:
    f = tracejit.jit(strict=True)(window_sum)
    rng = np.random.default_rng(3)
    for shape, columns in SHAPES:
        image = rng.integers(-9, 9, shape).astype(dtype)
        kernel = (shape[1], max(0, shape[2] - 1), shape[3], columns)
        weights = rng.integers(-9, 9, kernel).astype(dtype)
        for x in (image, np.asfortranarray(image)):
            np.testing.assert_array_equal(f(x, weights), window_sum(x, weights), strict=True)
    assert len(f.report().variants) < 2 * len(SHAPES)


def blocks(x: Any, steps: int) -> Any:
    """Two arrays of zeros that are written in loops, and a zero that is only compared with."""
    first = np.zeros(x.shape)
    for k in range(steps):
        first[k] = np.maximum(x[k], 0) * k
    second = np.zeros(x.shape)
    for k in range(steps):
        second[k] = first[k] + 1
    return np.maximum(x, 0) + second, first, np.zeros(x.shape)


def test_arrays_of_one_number_are_not_shared() -> None:
    f = tracejit.jit(strict=True)(blocks)
    for shape, steps in (((5, 4), 5), ((9, 3), 2), ((6, 6), 0)):
        x = np.linspace(-1, 1, shape[0] * shape[1]).reshape(shape)
        results = f(x, steps)
        for actual, expected in zip(results, blocks(x, steps), strict=True):
            np.testing.assert_array_equal(actual, expected, strict=True)
        assert not any(np.shares_memory(a, b) for a in results for b in results if a is not b)
    text = f.lower(x, steps).text("fuse")
    (maximum,) = [k for k in text.split("def k") if "maximum" in k and "def body" not in k][-1:]
    assert "constant(value=0.0" in maximum
    assert not f.report().variants[0].buffers.copies


def products(a: Any) -> Any:
    return (
        a.reshape(a.shape[0] * a.shape[1], a.shape[2]).sum(axis=0),
        (a.reshape(a.shape[0], -1)[:, ::2] + 1).prod(axis=0),
        (a.transpose(1, 0, 2) * 2).reshape(-1, a.shape[2]).max(axis=0),
        (a[:, :, 1:] * 3).reshape(-1).sum(),
        (a[:, 1:] - 1).sum(axis=(0, 1)),
        (a[:, 1:] - 1).sum(axis=(0, 2)),
        (a[:, 1:] - 1).sum(axis=(1, 2)),
    )


def test_reductions_through_reshapes() -> None:
    f = tracejit.jit(strict=True)(products)
    rng = np.random.default_rng(4)
    for shape in ((2, 3, 4), (5, 7, 6), (40, 9, 33), (3, 2, 9)):
        a = rng.integers(-2, 3, shape).astype(np.float64)
        for actual, expected in zip(f(a), products(a), strict=True):
            np.testing.assert_array_equal(actual, expected, strict=True)


def pairs(x: Any) -> Any:
    return np.reshape(x.T, (-1, 2))


def test_copies_in_another_order_walk_the_source() -> None:
    f = tracejit.jit(pairs)
    x = np.arange(72.0).reshape(6, 3, 4)[:, 1]
    np.testing.assert_array_equal(f(x), pairs(x), strict=True)
    text = f.lower(x).text("kernel")
    assert "//" not in text and "%" not in text
