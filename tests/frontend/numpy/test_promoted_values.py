"""Values and dtypes that follow from NumPy's arithmetic: weak numbers, grids, sums from zero."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity

F32, I8, BYTES = np.ones(2, np.float32), np.arange(2, dtype=np.int8), np.ones(2, np.uint8)
SPECIAL = np.array([np.inf, -1.0, np.nan, -0.0])


def agree(f: Any, *args: Any) -> None:
    """Compiled, `f` gives the bits that NumPy gives."""
    with np.errstate(all="ignore"):
        assert_parity(f, *args, jitted=tracejit.jit(f, strict=True), calls=1)


@pytest.mark.parametrize("number", [2.5, 3, -1, 300, 1e300, 1 + 2j, True, np.float64(2.0)])
@pytest.mark.parametrize("array", [F32, I8, BYTES, np.ones(1, np.complex64)], ids=str)
def test_numbers_give_way_where_all_is_flattened(array: Any, number: Any) -> None:
    agree(lambda x, n: np.concatenate((x, n), axis=None), array, number)


def test_indices_are_ints() -> None:
    agree(lambda n: list(np.ndindex(2, np.uint8(3))), 1)
    agree(lambda s: list(np.ndindex(*s)), np.array([2, 3], np.int16))
    agree(lambda x: list(enumerate(x, np.uint8(255))), np.arange(3.0))
    agree(lambda x: list(enumerate(x, True)), np.arange(3.0))


@pytest.mark.parametrize("z", [1 + 2j, 2 + 0j])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", "c8"])
def test_complex_numbers_in_lists(z: complex, dtype: str) -> None:
    for f in (
        lambda z: np.array([1, z], dtype=dtype),
        lambda z: np.array([[1, 2], [z, 3.0]], dtype=dtype),
    ):
        assert_parity(f, z, jitted=tracejit.jit(f), calls=1)


ZEROS = np.array([0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 2.5] * 3)
BOUNDS = (0.0, -0.0, 0, 1, -1.5, np.nan, np.float32(-0.0))


@pytest.mark.sampled(9)
@pytest.mark.parametrize("low", BOUNDS)
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_signs_of_zeros_at_bounds(low: Any, dtype: str) -> None:
    with np.errstate(invalid="ignore"):
        x = ZEROS.astype(dtype)
    for high in BOUNDS:
        agree(lambda x, a, b: np.clip(x, a, b), x, low, high)
    agree(lambda x, a: (np.clip(x, a, None), np.clip(x, None, a)), x, low)
    agree(lambda x, a: np.clip(x, np.full(x.shape, a), 2.0), x, low)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("order", ["C", "F", "back"])
def test_signs_of_zeros_at_bounds_that_are_arrays(order: str, dtype: str) -> None:
    with np.errstate(invalid="ignore"):
        x = np.resize(ZEROS, (8, 5)).astype(dtype)
    x = x[:, ::-1] if order == "back" else x.copy(order)
    given: Any = ((5,), (8, 1), (8, 5), (1,), (1, 1), ())
    bounds = [np.full(shape, v) for shape in given for v in (0.0, -0.0)]
    for low in bounds:
        assert_parity(
            lambda x, a: (np.clip(x, a, a), np.clip(x, a, 1.0), np.clip(x, -1.0, a)),
            x,
            low,
            calls=1,
        )


@pytest.mark.parametrize("f", [np.maximum, np.minimum, np.fmax, np.fmin])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_which_of_equal_numbers_is_the_larger(f: Any, dtype: str) -> None:
    x = ZEROS.astype(dtype)
    agree(lambda x, y: f(x, y), x, x[::-1].copy())
    agree(lambda x: (f(x, 0), f(-0.0, x)), x)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("f", [np.multiply, np.divide, np.add, np.subtract])
def test_real_operands_of_a_complex_loop(f: Any, dtype: str) -> None:
    agree(lambda x: f(x, 0.5, dtype=dtype), SPECIAL)
    agree(lambda x: f(x, x, dtype=dtype), np.arange(12.0).reshape(3, 4).T)


def test_lists_of_unlike_lengths_are_unequal() -> None:
    agree(lambda x: np.array_equal([x[0], [1]], [x[0]]), F32)
    agree(lambda x: np.array_equal([x[0], 1.0], [x[0], 1.0]), F32)


def test_grids_of_complex_steps() -> None:
    agree(lambda x: np.mgrid[0.1 : 0.3 : np.complex64(3.3j)] + x[0], F32)
    agree(lambda x: (np.ogrid[0:1:1j, 0 : np.int8(3) : np.complex64(4j)], x), F32)
    agree(lambda x: np.mgrid[0.1 : np.float32(7.3) : np.float32(0.1), 0:2] + x[0], F32)
    agree(lambda x: np.r_[x, 0.1:0.7:7j], np.ones(2))


@pytest.mark.parametrize("decimals", [-300, -100, -25, -23, -22, 22, 23, 25, 100, 300])
def test_rounding_beyond_exact_powers(decimals: int) -> None:
    x = np.random.default_rng(0).uniform(1, 1e6, 100)
    with np.errstate(all="ignore"):
        agree(lambda x: np.round(x, decimals), x * 10.0 ** np.clip(-decimals, -302, 302))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", [[True, False, True, False], True, [True], np.bool_(True), [1.0]])
def test_truths_are_no_positions(key: Any) -> None:
    x = np.arange(4.0)
    f = tracejit.jit(lambda x: x.flat[key])
    with np.errstate(all="ignore"):
        try:
            expected = x.flat[key]
        except (IndexError, ValueError) as e:
            with pytest.raises(type(e), match=str(e)[:20]):
                f(x)
        else:
            assert np.array_equal(f(x), expected)


FACTORS = [np.zeros(1), -np.zeros((1, 1)), np.ones(1), np.array(0.0), np.array([np.nan])]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("x", FACTORS, ids=str)
def test_products_with_one_element(x: Any) -> None:
    for y in (SPECIAL, SPECIAL[:, None], SPECIAL[None], SPECIAL[3:]):
        for f in (np.dot, np.inner, lambda a, b: np.tensordot(a, b, 0)):
            for pair in ((x, y), (y, x)):
                try:
                    f(*pair)
                except ValueError:
                    continue
                agree(lambda a, b, f=f: f(a, b), *pair)


def test_sums_begin_with_zero() -> None:
    zeros = -np.zeros(3)
    agree(lambda a, b: np.einsum("i,j->ij", a, b), np.ones(3), zeros)
    agree(lambda a: (np.einsum("i->", a), np.einsum("i,i->i", a, a + 1)), zeros)
    agree(lambda a, b: np.dot(a, b), 1.0, -np.zeros((1, 3)))
    agree(lambda a, b: np.tensordot(a, b, 1), zeros[::2], np.ones(3)[::2])


def test_numbers_of_optimized_sums() -> None:
    for f in (
        lambda a: np.einsum("i->", a, optimize=True),
        lambda a: np.einsum("i,i->", a, a, optimize=True),
        lambda a: np.einsum("i,j->", a, a, optimize="greedy"),
        lambda a: np.einsum("i,i,i->", a, a, a, optimize=True),
    ):
        agree(f, np.arange(3.0))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_products_begin_with_their_initial_number(axis: Any) -> None:
    x = np.array([[1e200, 1e200, 1e-300], [3.0, -0.0, 1e-10]])
    for number in (1e-300, 1.0, -0.0, np.inf):
        agree(lambda x: np.prod(x, axis=axis, initial=number), x)  # noqa: B023
        agree(lambda x: np.multiply.reduce(x, axis=axis, initial=number), x - 0.0j)  # noqa: B023
    agree(lambda x: np.prod(x[:0], axis=axis, initial=2.5), x)


#: Complex numbers with parts that are zeros of both signs, infinite and no numbers.
PARTS = (0.0, -0.0, 1.5, -np.inf, np.inf, np.nan)
ODD = np.array([complex(a, b) for a in PARTS for b in PARTS]).reshape(6, 6)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_products_of_few_elements(dtype: Any) -> None:
    """One element times the first number, which is 1 if none is given: for no size is it left."""
    programs = (
        lambda x, n: np.prod(x[:n]),
        lambda x, n: np.prod(x[:n], initial=1),
        lambda x, n: np.prod(x[n - 1 : n], initial=2 - 1j),
        lambda x, n: np.multiply.reduce(x[:n], initial=x[0]),
        lambda x, n: np.prod(x[:n, None] * np.ones(2), axis=0, initial=-1.0),
        lambda x, n: np.prod(np.stack([x, x])[:, :n], axis=1, initial=1.0, keepdims=True),
        lambda x, n: np.prod(np.stack([x, x], axis=1)[:n, :n].T, axis=(0, 1), initial=1j),
        lambda x, n: np.prod(x[:n], where=x[:n].imag < 1, initial=-0.0),
        lambda x, n: np.prod(x[:n], axis=(), initial=3.0),
        lambda x, n: np.prod(x[np.arange(x.size) < n], initial=1j),
    )
    for f in programs:
        jitted = tracejit.jit(f, strict=True)
        with np.errstate(all="ignore"):
            for row in ODD.astype(dtype):
                for n in (1, 0, 2, 1):
                    assert_parity(f, row, n, jitted=jitted, calls=1)
                    assert_parity(f, row[::-1], n, jitted=jitted, calls=1)


def test_gradients_of_products_that_begin_with_a_complex_number() -> None:
    z = np.array([[1 + 2j, 3 - 1j], [0.5j, 2 + 0j]])
    for axis in (None, 0, 1, (0, 1)):
        f = lambda z: np.prod(z, axis=axis, initial=2j)  # noqa: B023, E731
        _, tangent = tracejit.jvp(f, (z,), (z * 1j,))
        np.testing.assert_allclose(tangent, f(z) * 1j * (4 if axis in (None, (0, 1)) else 2))


def test_gradients_by_a_factor_of_zero() -> None:
    slope = tracejit.grad(lambda w: np.dot(np.arange(1.0, 4.0)[:, None], w).sum())(np.zeros(1))
    assert np.array_equal(slope, [6.0])


def test_edges_are_elements_of_an_array() -> None:
    for value in (300, -1, 2.5, math.nan, np.float64(1e300)):
        for dtype in ("i1", "u1", "f4"):
            f = tracejit.jit(lambda x, v: np.pad(x, 1, constant_values=v))
            with np.errstate(all="ignore"):
                assert_parity(
                    lambda x, v: np.pad(x, 1, constant_values=v),
                    np.ones(2, dtype),
                    value,
                    jitted=f,
                    calls=1,
                )
