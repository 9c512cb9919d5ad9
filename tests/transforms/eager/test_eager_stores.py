"""Stores and attributes of arrays in functions whose derivative is taken operation by operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import struve

import tracejit
from tests.transforms.gradient_checks import differences

POINTS = np.array([2.04, -2.56, 0.42, -0.57])


def gradient(f: Callable[..., Any], x: np.ndarray) -> Any:
    """Value and gradient on real values, the gradient checked by differences."""
    with tracejit.eager():
        value, slopes = tracejit.value_and_grad(f)(x.copy())
    np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
    (expected,) = differences(f, (x,), 0)
    np.testing.assert_allclose(slopes, expected, rtol=1e-7, atol=1e-7)
    compiled = tracejit.grad(f)(x.copy())
    np.testing.assert_allclose(compiled, expected, rtol=1e-7, atol=1e-7)


# Updates by a mask -------------------------------------------------------------------------------


def added_where(x: Any) -> Any:
    y = x * 1.0
    np.add.at(y, np.array([True, False, True, True]), x[1])
    np.subtract.at(y, (x > 0,), x[3])
    return (y**3).sum()


def test_an_update_by_a_mask_is_done_once() -> None:
    gradient(added_where, POINTS)


# Attributes --------------------------------------------------------------------------------------


def parts(z: Any) -> Any:
    w = z.copy()
    w.imag += w.real
    w.real[1:] *= 2
    w.real = w.imag**2 + 1
    w[1:].imag = w.real[:-1]
    return np.abs(w).sum()


def elements(x: Any) -> Any:
    y = x.copy()
    y.flat = x[:2]
    y.flat[::2] *= 3
    return (y * x).sum() + (y**2).sum()


def other_shape(x: Any) -> Any:
    y = x * 2
    z = y[:]
    z.shape = (2, 2)
    z[0] *= z[1]
    y.shape = 2, -1
    return (y**2).sum() + y[0, 1]


@pytest.mark.parametrize("f", [elements, other_shape], ids=lambda f: f.__name__)
def test_assignments_to_attributes(f: Any) -> None:
    gradient(f, POINTS)


def test_assignments_to_parts_of_complex_numbers() -> None:
    gradient(parts, POINTS + 1j * POINTS[::-1])


def test_parts_that_cannot_be_assigned() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        y.imag = 1.0
        return y.sum()

    with tracejit.eager(), pytest.raises(TypeError, match="imaginary part"):
        tracejit.grad(f)(POINTS)

    def g(x: Any) -> Any:
        y = x.reshape(2, 2).T
        y.shape = (4,)
        return y.sum()

    with tracejit.eager(), pytest.raises(AttributeError, match="[Ii]ncompatible shape"):
        tracejit.grad(g)(POINTS)


def locked(x: Any) -> Any:
    y = x * 2
    flags = y.flags
    flags.writeable = False
    later = y[1:]
    try:
        later[0] = 1.0
    except ValueError:
        y = y * 3
    return (y**3).sum() + flags.c_contiguous


def opened(x: Any) -> Any:
    y = x * 2
    z = y[:]
    z.setflags(write=False)
    assert not z.flags.writeable and y.flags.writeable
    z.flags["WRITEABLE"] = True
    z[0] = x[1] ** 2
    return (y**2).sum()


@pytest.mark.parametrize("f", [locked, opened], ids=lambda f: f.__name__)
def test_arrays_that_must_not_be_stored_into(f: Any) -> None:
    gradient(f, POINTS)


def shaped(x: Any) -> Any:
    x.shape = (2, 2)
    return (x**2).sum()


def frozen(x: Any) -> Any:
    x.flags.writeable = False
    return (x**2).sum()


@pytest.mark.parametrize("f", [shaped, frozen], ids=lambda f: f.__name__)
def test_an_argument_keeps_its_attributes(f: Any) -> None:
    for run in (tracejit.grad(f), tracejit.jit(tracejit.grad(f))):
        x = POINTS.copy()
        with pytest.raises(TypeError, match="the gradient cannot pass through") as caught:
            run(x)
        assert f"in {f.__name__}" in str(caught.value)
        assert x.shape == (4,) and x.flags.writeable


def diagonal_of_a_sum(x: Any) -> Any:
    y = np.outer(x, x) + np.eye(4)
    part = np.einsum("ii->i", y)
    part += 1
    part *= x[0]
    z = np.stack([y, y * 2, y, y])
    np.einsum("iii->i", z)[1:] = x[:3]
    return (y**3).sum() + (z * np.einsum(z, [0, 1, 2], [2, 1, 0])).sum() + np.einsum(y, [0, 0])


def test_diagonals_that_einsum_gives_are_stored_into() -> None:
    gradient(diagonal_of_a_sum, POINTS)


# Errors ------------------------------------------------------------------------------------------


def no_rule(x: Any, n: Any, kept: Any) -> Any:
    x[0] = x[1] * 2
    n[0] = 7
    kept.append(x)
    return struve(1.0, x).sum()


def no_number(x: Any, n: Any, kept: Any) -> Any:
    x += 1
    n += 1
    kept.clear()
    return x


def swallowed(x: Any, n: Any, kept: Any) -> Any:
    x *= 2
    n *= 2
    try:
        return struve(1.0, x).sum() * x.sum()
    except TypeError:
        return x.sum()


@pytest.mark.parametrize("f", [no_rule, no_number, swallowed], ids=lambda f: f.__name__)
def test_what_cannot_be_differentiated_leaves_arguments_as_they_were(f: Any) -> None:
    for eager in (True, False):
        for run in (
            tracejit.grad(f),
            tracejit.jit(tracejit.value_and_grad(f)),
            lambda x, n, kept: tracejit.hvp(f)(x, n, kept, x * 1),
            lambda x, n, kept: tracejit.vmap(tracejit.grad(f), (0, None, None))(x[None], n, kept),
        ):
            x, n, kept = POINTS.copy(), np.arange(3), [1.0]
            with pytest.raises(TypeError):
                if eager:
                    with tracejit.eager():
                        run(x, n, kept)
                else:
                    run(x, n, kept)
            np.testing.assert_array_equal(x, POINTS)
            np.testing.assert_array_equal(n, np.arange(3))
            assert kept == [1.0]


def test_what_was_stored_before_an_exception_of_the_program_is_kept() -> None:
    def f(x: Any, n: Any, kept: Any) -> Any:
        x[0] = x[1] * 2
        n[0] = 7
        kept.append(2.0)
        return np.linalg.solve(np.zeros((4, 4)), x).sum()

    expected = POINTS.copy()
    expected[0] = 2 * POINTS[1]
    for run in (tracejit.grad(f), lambda *args: tracejit.grad(tracejit.grad(f))(*args)):
        x, n, kept = POINTS.copy(), np.arange(3), [1.0]
        with pytest.raises(np.linalg.LinAlgError), tracejit.eager():
            run(x, n, kept)
        np.testing.assert_array_equal(x, expected)
        assert n[0] == 7 and kept == [1.0, 2.0]
