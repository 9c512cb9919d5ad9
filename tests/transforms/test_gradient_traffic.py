"""Compiled gradients pass over memory no more often than they must: no array is copied or cleared
where a few elements change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.transforms.gradient_checks import differences


def checked(f: Callable[..., Any], *args: Any) -> Any:
    """What the compile of the gradient by all arguments reports, once it is right."""
    floats = tuple(k for k, x in enumerate(args) if np.asarray(x).dtype.kind == "f")
    gradient = tracejit.grad(f, argnums=floats)
    for k, found in zip(floats, gradient(*args), strict=True):
        slopes = differences(f, args, k)[0]
        assert np.allclose(found, slopes, rtol=1e-5, atol=1e-7)
    report = gradient.report()
    assert not report.fallbacks
    return report.variants[0].buffers


def added_where_positive(x, y, table):
    """A store on one side of a branch, of a row found by indices."""
    y = y * 2.0
    for i in range(len(y)):
        for j in range(len(table)):
            if i - j >= 0:
                y[i] += np.sin(x[i, j, table[j]])
    return np.sum(y * y)


def rows_of_planes(x, table):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(table)):
            s += np.sum(x[i, :, 0][table[j]] ** 3)
    return s


def rows_of_turned_planes(x, table):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(table)):
            s += np.sum(x[i, ::-1][table[j]] ** 2 * j)
    return s


RNG = np.random.default_rng(5)
CASES = {
    "store in a branch": (
        added_where_positive,
        (RNG.random((3, 4, 5, 2)), RNG.random((3, 2)), np.array([1, -1, 0, 3])),
    ),
    "rows of planes": (rows_of_planes, (RNG.random((3, 5, 1, 2)), np.array([0, -2, 4, 0]))),
}


@pytest.mark.parametrize("name", CASES)
def test_loops_that_change_a_few_elements_copy_no_arrays(name: str) -> None:
    f, args = CASES[name]
    buffers = checked(f, *args)
    assert not buffers.copies
    assert all(t.size <= 64 for t in buffers.temporaries if isinstance(t.size, int))


def test_rows_of_turned_planes_are_right() -> None:
    checked(rows_of_turned_planes, RNG.random((3, 5, 2)), np.array([0, -2, 4, 0]))


def scaled_row_products(s, a, x):
    return np.sum((s * a @ x) ** 2)


def scaled_column_products(s, a, x):
    return np.sum((x @ (a * s)) ** 2)


@pytest.mark.parametrize("f", [scaled_row_products, scaled_column_products])
@pytest.mark.parametrize("shape", [(40, 40), (150, 150), (2, 5, 40)])
def test_matrices_times_numbers_are_not_stored(f: Any, shape: tuple[int, ...]) -> None:
    if f is scaled_column_products:
        shape = shape[-2:]
    a = RNG.random(shape)
    x = RNG.random(shape[-1] if f is scaled_row_products else shape[0])
    gradient = tracejit.grad(f, argnums=(1, 2))
    found = gradient(2.5, a, x)
    y = f.__name__ == "scaled_row_products"
    g = 2 * 2.5 * (2.5 * a @ x if y else 2.5 * x @ a)
    assert np.allclose(found[0], g[..., None] * x if y else x[:, None] * g)
    assert np.allclose(found[1], np.tensordot(g, a, g.ndim) if y else a @ g)
    stored = gradient.report().variants[0].buffers.temporaries
    if len(shape) == 2 and shape[0] == 150:  # shorter rows are products of BLAS
        assert all(t.size != a.nbytes for t in stored)


def sweeps(p, s):
    p = p * 1.0
    for _ in range(3):
        q = p.copy()
        p[1:-1, 1:-1] = (q[1:-1, 2:] + q[1:-1, :-2] + 2.0 * (q[2:, 1:-1] + q[:-2, 1:-1])) / s
    return np.sum(p * p)


def test_small_cotangents_are_divided_once() -> None:
    gradient = tracejit.grad(sweeps)
    p = RNG.random((31, 35))
    assert np.allclose(gradient(p, 6.0), differences(sweeps, (p, 6.0), 0)[0], rtol=1e-5)
    assert gradient.lower(p, 6.0).text("fuse").count("divide_no_nan(") == 1


@pytest.mark.parametrize("f", [lambda x, w: x @ w.T, lambda x, w: (w @ x.T).T])
def test_the_gradient_of_a_transposed_operand_lies_as_the_operand(f: Any) -> None:
    """A layer's weights are (outputs, inputs): their gradient is a product, and no copy."""
    x, w = np.random.default_rng(3).standard_normal((2, 40, 40))
    x = x[:30]

    def both(x: Any, w: Any) -> Any:
        out, pull = tracejit.vjp(f, x, w)
        return pull(np.cos(out))

    jitted = tracejit.jit(both, strict=True)
    g = np.cos(x @ w.T)
    np.testing.assert_allclose(jitted(x, w)[1], g.T @ x, rtol=1e-12)
    fused = jitted.lower(x, w).graphs["fuse"]
    assert sum(node.op.name == "fusion" for node in fused.nodes) == 1
