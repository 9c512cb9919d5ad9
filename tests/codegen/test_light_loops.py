"""Loops over single elements: vectors and unrolled copies, polls outside of them, NumPy's bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.codegen.llvm.engine import PARTS, optimized_text

Array = np.ndarray[Any, Any]
_VECTOR_STORE = re.compile(r"store <\d+ x double>")


def matmul(a: Array, b: Array) -> Array:
    """By three loops, the rows innermost."""
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            for j in range(b.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def heat(u: Array, v: Array) -> Array:
    """One step, over positions."""
    out = np.empty_like(u)
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            out[i, j] = v[i, j] + 0.1 * (u[i + 1, j] + u[i, j + 1] - 2.0 * u[i, j])
    return out[1:-1, 1:-1]


def blur(x: Array, k: Array) -> Array:
    """A window of known size around each position."""
    out = np.zeros((x.shape[0] - 2, x.shape[1] - 2))
    for i in range(x.shape[0] - 2):
        for j in range(x.shape[1] - 2):
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += x[i + a, j + b] * k[a, b]
            out[i, j] = s
    return out


def running(x: Array, y: Array) -> Array:
    """Each element after the one before it, which no vector may overtake."""
    out = x.copy()
    for i in range(1, x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] += 0.5 * out[i - 1, j] + y[i, j]
    for j in range(1, x.shape[1]):
        out[0, j] -= out[0, j - 1]
    return out


def shifted(x: Array, y: Array) -> Array:
    """Stores into what later iterations read."""
    for j in range(x.shape[1] - 3):
        x[0, j + 3] = x[0, j] + y[0, j]
    return x


_RANDOM = np.random.default_rng(3)
_A, _B = _RANDOM.random((2, 41, 41))
_A[3, 5], _B[7, 7], _A[1, 2] = np.nan, -0.0, np.inf


@pytest.mark.parametrize("f", [matmul, heat, blur, running, shifted], ids=lambda f: f.__name__)
def test_values(f: Callable[[Array, Array], Array]) -> None:
    """Bit for bit, whatever LLVM makes of the loops."""
    window = _B[:3, :3] if f is blur else _B
    with np.errstate(all="ignore"):
        expected = f(_A.copy(), window.copy())
    found = tracejit.jit(f)(_A.copy(), window.copy())
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))


@pytest.mark.parametrize("f", [matmul, heat, blur], ids=lambda f: f.__name__)
def test_innermost_loops_store_vectors(f: Callable[[Array, Array], Array]) -> None:
    """Positions that do not depend on each other are computed side by side."""
    window = _B[:3, :3].copy() if f is blur else _B
    text = optimized_text(tracejit.jit(f).lower(_A, window).text("llvm"))
    assert _VECTOR_STORE.search(text)


def test_chains_keep_their_order() -> None:
    """A sum that the user wrote element by element is one chain."""

    def total(x: Array) -> float:
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    x = _RANDOM.random(10_000) * 10.0 ** _RANDOM.integers(-9, 9, 10_000)
    assert tracejit.jit(total)(x) == total(x)


def test_views_of_one_array() -> None:
    """Arguments may overlap: what a store changes, later iterations read."""

    def add(x: Array, y: Array) -> None:
        for i in range(len(x)):
            y[i] = x[i] + 1.0

    for begin in (0, 1, 3, 8):
        found, expected = np.arange(64.0), np.arange(64.0)
        add(expected[:40], expected[begin : begin + 40])
        compiled = tracejit.jit(add)
        compiled(found[:40], found[begin : begin + 40])
        np.testing.assert_array_equal(found, expected)


def test_short_loops_do_not_poll() -> None:
    """They end soon: the loop around them counts their iterations."""
    text = tracejit.jit(blur).lower(_A, _B[:3, :3].copy()).text("llvm")
    # Once in the loop over a row, once in the one around it.
    assert text.count("call i32 @tj_poll") == 2


def test_kernels_beside_loops() -> None:
    """They are compiled as they are, in a module of their own; the loops are vectorised."""

    def f(a: Array, b: Array) -> Any:
        return np.exp(-blur(a, b)).sum()

    a, b = _RANDOM.random((24, 24)), _RANDOM.random((3, 3))
    compiled = tracejit.jit(f)
    loops, kernels = compiled.lower(a, b).text("llvm").split(PARTS)
    assert _VECTOR_STORE.search(optimized_text(loops))
    assert "noalias" in kernels and "noalias" not in loops
    assert tracejit.jit(strict=True)(f)(a, b) == pytest.approx(f(a, b), rel=1e-14)
