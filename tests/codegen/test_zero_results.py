"""Results that begin as zeros are allocated so; all others are filled when their turn comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.runtime import native


def stored(x: Any, n: int) -> Any:
    out = np.zeros((len(x), len(x)))
    for k in range(n):
        out[k, :k] = x[:k]
    return out


def columns(x: Any, n: int) -> Any:
    out = np.zeros((len(x), 3), order="F")
    out[n:, 1] = x[n:]
    return out, np.zeros(len(x), bool), np.zeros(2, np.complex64)


def negative_zero(x: Any, n: int) -> Any:
    out = np.full(len(x), -0.0)
    out[n] = x[n]
    return out


def again(x: Any, n: int) -> Any:
    """Each iteration begins with zeros."""
    out = np.ones(len(x))
    for k in range(n):
        out = np.zeros(len(x))
        out[k] = x[k]
    return out


def branches(x: Any, n: int) -> Any:
    if x[0] > 0:
        out = np.zeros(len(x))
        out[n] = 1
    else:
        out = x * 2
        out[n] = 0
    return out


def late(x: Any, n: int) -> Any:
    """Zeros after something else has been in the same memory, perhaps."""
    v = x * 3
    s = 0.0
    for k in range(n):
        v[k] = v[k - 1] * s
        s = v.sum()
    out = np.zeros(len(x))
    out[0] = s
    return out


def turned(x: Any, n: int) -> Any:
    out = np.zeros((3, len(x), 2)).transpose(1, 2, 0)
    out = out.copy(order="K")
    out[n] = x[n]
    return out


ALL: list[tuple[Callable[..., Any], int]] = [
    (stored, 1),
    (columns, 2),  # The first one's zeros are written with the store, by one kernel.
    (negative_zero, 0),
    (again, 0),
    (branches, 0),
]


@pytest.mark.parametrize("f", [*(f for f, _ in ALL), late, turned])
@pytest.mark.parametrize("machine_code", [True, False])
def test_results(f: Callable[..., Any], machine_code: bool, monkeypatch: Any) -> None:
    if not machine_code:
        monkeypatch.setattr(native, "available", lambda: False)
    compiled = tracejit.jit(strict=True)(f)
    x = np.arange(1.0, 41.0)
    for sign, n in ((1, 3), (-1, 5), (1, 0), (1, 7)):
        for _ in range(3):
            got, expected = compiled(sign * x, n), f(sign * x, n)
            pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
            for a, b in pairs:
                np.testing.assert_array_equal(a, b, strict=True)
                assert np.signbit(a.real).tobytes() == np.signbit(b.real).tobytes()
                assert a.strides == b.strides
                a[:] = 5  # What is freed is not zero.


@pytest.mark.parametrize(("f", "count"), ALL)
def test_no_kernel_fills_them(f: Callable[..., Any], count: int) -> None:
    program = tracejit.jit(strict=True)(f).lower(np.arange(1.0, 41.0), 3).program
    assert len(program.zeroed) == count


def test_the_gradient_of_what_is_read_in_part() -> None:
    def loss(x: Any, n: int) -> Any:
        s = 0.0
        for k in range(n):
            s += x[k] @ x[k]
        return s

    x = np.random.default_rng(1).normal(size=(20, 6))
    g = tracejit.grad(loss)
    for _ in range(2):
        expected = np.where(np.arange(20)[:, None] < 7, 2 * x, 0)
        np.testing.assert_allclose(g(x, 7), expected, rtol=1e-14)


def zeros_beside_arguments(x: Any, f1: float, y: Any, m: Any) -> Any:
    a = np.zeros_like(y)
    m[:, 0] = x.copy()
    return 1, x, f1, a


def test_entries_that_give_arguments_back_make_zeros_too() -> None:
    f = tracejit.jit(zeros_beside_arguments)
    for k in range(4):
        # Memory of this size that is given back is not zero.
        used = [np.full(3, 7.0) for _ in range(50)]
        del used
        _, x, _, a = f(np.full(3, float(k)), 2.0, np.ones(3), np.ones((3, 3)))
        assert (x == k).all() and not a.any()
