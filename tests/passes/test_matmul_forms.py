"""Products of columns and rows are computed where they are read, with the zeros of sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit

RNG = np.random.default_rng(3)
SHAPES = {
    "matrices": ((5, 1), (1, 4)),
    "stack, matrix": ((3, 5, 1), (1, 4)),
    "matrix, stack": ((5, 1), (3, 1, 4)),
    "stacks": ((2, 3, 5, 1), (3, 1, 4)),
    "numbers": ((1, 1), (1, 1)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_products_of_columns_and_rows(name: str) -> None:
    a, b = (RNG.integers(-1, 2, shape) * RNG.random(shape) for shape in SHAPES[name])
    f = tracejit.jit(lambda a, b: a @ b)
    found, want = f(a, b), a @ b
    assert found.strides == want.strides
    assert found.tobytes() == want.tobytes()  # no -0.0


def test_products_of_turned_vectors_keep_their_layout() -> None:
    a, b = RNG.random((1, 5)), RNG.random((4, 1))
    found = tracejit.jit(lambda a, b: a.T @ b.T)(a, b)
    assert found.strides == (a.T @ b.T).strides
    assert np.array_equal(found, a.T @ b.T)


def test_cotangents_of_products_with_a_column_are_not_stored() -> None:
    def loss(x: Any, m: Any) -> Any:
        return np.sum((np.sin(x) @ m) ** 2)

    gradient = tracejit.grad(loss)
    x, m = RNG.random((30, 30)), RNG.random((30, 1))
    assert np.allclose(gradient(x, m), 2 * (np.sin(x) @ m) @ m.T * np.cos(x))
    stored = gradient.report().variants[0].buffers.temporaries
    assert sum(t.size == x.nbytes for t in stored) <= 1  # the sines, for the product
