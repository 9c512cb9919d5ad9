"""Arrays that stores fill along an axis are written once, by one kernel, and not cleared first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

RNG = np.random.default_rng(8)


def cross(p, q):
    out = np.empty((len(p), 3))
    out[:, 0] = p[:, 1] * q[:, 2] - p[:, 2] * q[:, 1]
    out[:, 1] = p[:, 2] * q[:, 0] - p[:, 0] * q[:, 2]
    out[:, 2] = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]
    return out


def backwards(p, q):
    out = np.zeros((3, len(p), 2), p.dtype)
    out[1:] = p[None, :, :2] + q[0, 0]
    out[0] = q[:, :2]
    return out


def by_columns(p, q):
    out = np.empty((len(p), 3), order="F")
    out[:, :2] = p[:, :2]
    out[:, 2] = q[:, 0] * 2.0
    return out


def complex_pairs(p, q):
    out = np.ones((len(p), 2), complex)
    out[:, 1] = p[:, 0] + 1j * q[:, 0]
    out[:, 0] = p[:, 1] - 1j * q[:, 2]
    return out


def joined_twice(p, q):
    a = np.empty((len(p), 2))
    a[:, 0], a[:, 1] = p[:, 0], p[:, 1]
    b = np.empty((len(p), 4))
    b[:, :2], b[:, 2:] = a, q[:, :2]
    return b


def read_between(p, q):
    out = np.empty((len(p), 2))
    out[:, 0] = p[:, 0]
    out[:, 1] = out[:, 0] * q[:, 0]
    return out


def in_a_loop(p, q):
    out = np.empty((len(p), 2))
    for _ in range(3):
        x = np.empty((len(p), 2))
        x[:, 0], x[:, 1] = p[:, 0], q[:, 1]
        p = p + np.hstack((x, x[:, :1]))
        out = x
    return out + p[:, :2]


FILLED = [cross, backwards, complex_pairs, joined_twice, read_between, in_a_loop]


def partly(p, q):
    out = np.zeros((len(p), 4))
    out[:, 0], out[:, 1], out[:, 3] = p[:, 0], p[:, 1], q[:, 0]
    return out


def overlapping(p, q):
    out = np.zeros((len(p), 3))
    out[:, :2] = p[:, :2]
    out[:, 1:] = q[:, :2]
    return out


def every_other(p, q):
    out = np.zeros((len(p), 4))
    out[:, ::2], out[:, 1::2] = p[:, :2], q[:, 1:]
    return out


def left_as_it_was(p, q):
    out = np.ones((len(p), 2))
    out[:, 0] = p[:, 0]
    half = out.copy()
    out[:, 1] = q[:, 0]
    return out + half


@pytest.mark.parametrize(
    "f", [*FILLED, by_columns, partly, overlapping, every_other, left_as_it_was]
)
def test_values_and_layouts(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (5, 40, 7):  # the last two with a size symbol
        p, q = RNG.random((n, 3)), RNG.random((n, 3))
        found, want = jitted(p, q), f(p, q)
        assert found.dtype == want.dtype and found.strides == want.strides
        assert np.array_equal(found, want)
    assert not jitted.report().fallbacks


@pytest.mark.parametrize("f", FILLED[:5])
def test_no_fill_and_one_kernel(f: Callable[..., Any]) -> None:
    p, q = RNG.random((6, 3)), RNG.random((6, 3))
    text = tracejit.jit(f).lower(p, q).text("fuse")
    assert "update_slice" not in text and text.count("concatenate(") <= 2
    assert text.count(" fusion(") == 1
    kernels = tracejit.jit(cross).lower(p, q).text("kernel")
    assert kernels.count("for ") == 1 and kernels.count("o0[") == 3


def test_gradients_of_columns_are_columns_of_one_kernel() -> None:
    def loss(p: Any, q: Any, w: Any) -> Any:
        return np.sum(w * cross(p, q))

    p, q, w = RNG.random((3, 30, 3))
    gradient = tracejit.grad(loss, argnums=(0, 1))
    by_p, by_q = gradient(p, q, w)
    assert np.allclose(by_p, np.cross(q, w)) and np.allclose(by_q, np.cross(w, p))
    text = gradient.lower(p, q, w).text("fuse")
    assert text.count(" fusion(") == 2 and "update_slice" not in text


def scaled(p, q):
    c = np.concatenate((p[:1] + q[:1], p[1:] - q[1:], q[:2]))
    return np.where(c > 0.5, 0.0, 2.0)


def of_two_joins(p, q):
    return np.concatenate((p, q[1:])) * np.concatenate((p[1:], q))


def stored_between(p, q):
    c = np.concatenate((p, q))
    q[:] = -1.0
    return c * q[0] + np.concatenate((q, p))


def read_twice(p, q):
    c = np.concatenate((p, q))
    return c * 2.0, c[1:] - c[:-1]


def of_other_orders(p, q):
    return np.concatenate((p.T, q.T), axis=1) * np.ones((p.shape[1], 2 * len(p)))


def widened(p, q):
    return np.concatenate((p > 0.5, q > 0.2)) + p[0]


def with_empty_parts(p, q):
    return np.concatenate((p[:0], q, p[len(p) :])) / (p - p)


THROUGH = [scaled, of_two_joins, stored_between, read_twice, of_other_orders, widened]


@pytest.mark.parametrize("f", [*THROUGH, with_empty_parts])
def test_elementwise_work_on_joins(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (5, 40, 7):  # the last two with a size symbol
        for columns in (3, 20):
            p, q = RNG.random((n, columns)), RNG.random((n, columns))
            p[0, 1], q[-1, 2], q[0, 0], p[1, 1] = np.nan, -np.inf, -0.0, np.inf
            with np.errstate(all="ignore"):
                found, want = jitted(p.copy(), q.copy()), f(p.copy(), q.copy())
            for x, y in zip(
                *(r if isinstance(r, tuple) else (r,) for r in (found, want)), strict=True
            ):
                assert x.dtype == y.dtype and x.strides == y.strides
                assert np.array_equal(x, y, equal_nan=True)
                assert np.array_equal(np.signbit(x), np.signbit(y)) or np.isnan(y).any()
    assert not jitted.report().fallbacks


def test_one_kernel_computes_the_parts_of_a_join() -> None:
    p, q = RNG.random((6, 20)), RNG.random((6, 20))
    for f in (scaled, of_other_orders):
        assert tracejit.jit(f).lower(p, q).text("fuse").count(" fusion(") == 1

    def limited(x: Any, w: Any) -> Any:
        slope = x[1:] - x[:-1]
        return np.sum(w * np.diff(np.where(slope * x[1:] > 0.0, 0.0, slope), axis=0))

    x, w = RNG.random((30, 20)), RNG.random((28, 20))
    text = tracejit.grad(limited).lower(x, w).text("fuse")
    assert text.count("concatenate(") == 2 and text.count(" fusion(") == 2
