"""What is computed from one matrix factors it once; triangular factors are substituted into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity

FACTORING = ("solve", "inv", "cholesky", "lu_diagonal", "lu_factor", "triangular_solve")


def factored(f: Callable[..., Any], *args: Any) -> dict[str, int]:
    """How often the compiled program calls each routine that factors or solves."""
    names = Counter(n.op.name for n in tracejit.jit(f).lower(*args).graphs["fuse"].nodes)
    return {k: n for k, n in names.items() if k in FACTORING or k.startswith("factored")}


def matrices(*shape: int, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(7)
    x = rng.standard_normal(shape) + (
        1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else 0
    )
    return x.astype(dtype) + 3 * np.eye(shape[-1])[::-1]


def several(a: Any, b: Any) -> Any:
    x = np.linalg.solve(a, b)
    return x, np.linalg.slogdet(a)[1], np.linalg.solve(a, x)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("shapes", [((4, 4), (4,)), ((4, 4), (4, 3)), ((2, 3, 3), (2, 3, 2))])
def test_one_matrix_is_factored_once(dtype: Any, shapes: Any) -> None:
    a, b = matrices(*shapes[0], dtype=dtype), np.ones(shapes[1], dtype)
    assert_parity(several, a, b, parity="order", ulp=64)
    expected = {"lu_factor": 1, "factored_solve": 2, "factored_diagonal": 1}
    assert factored(several, a, b) == expected


def test_one_system_keeps_its_routine() -> None:
    a, b = matrices(4, 4), np.ones(4)
    assert factored(np.linalg.solve, a, b) == {"solve": 1}
    assert factored(lambda a, b: (np.linalg.solve(a, b), np.linalg.solve(a.T, b)), a, b) == {
        "solve": 2
    }


def loss(a: Any, b: Any) -> Any:
    return (np.abs(np.linalg.solve(a, b)) ** 2).sum()


def test_the_gradient_of_a_system_reuses_the_factors() -> None:
    a, b = matrices(4, 4), np.ones(4)
    f = tracejit.value_and_grad(loss, argnums=(0, 1))
    assert factored(f, a, b) == {"lu_factor": 1, "factored_solve": 2}
    (value, (by_a, by_b)), inverse = f(a, b), np.linalg.inv(a)
    x = inverse @ b
    np.testing.assert_allclose(value, x @ x)
    np.testing.assert_allclose(by_b, 2 * inverse.T @ x)
    np.testing.assert_allclose(by_a, -2 * np.outer(inverse.T @ x, x))
    stack = np.stack([a, a.T, 2 * a])
    lanes = tracejit.vmap(tracejit.grad(loss), in_axes=(0, None))
    np.testing.assert_allclose(lanes(stack, b), [tracejit.grad(loss)(x, b) for x in stack])
    assert factored(lanes, stack, b) == {"lu_factor": 1, "factored_solve": 2}


def test_the_gradient_of_a_determinant_reuses_the_factors() -> None:
    a = matrices(4, 4)

    def logarithm(a: Any) -> Any:
        return np.linalg.slogdet(a)[1]

    f = tracejit.value_and_grad(logarithm)
    np.testing.assert_allclose(f(a)[1], np.linalg.inv(a).T)
    found = factored(f, a)
    assert found == {"lu_factor": 1, "factored_diagonal": 1, "factored_inverse": 1}


def test_the_gradient_of_a_factor_substitutes() -> None:
    a = matrices(4, 4) @ matrices(4, 4).T

    def f(a: Any) -> Any:
        return np.log(np.diagonal(np.linalg.cholesky(a))).sum() * 2

    assert factored(tracejit.grad(f), a) == {"cholesky": 1, "triangular_solve": 2}
    np.testing.assert_allclose(tracejit.grad(f)(a), np.linalg.inv(a), atol=1e-12)


def test_singular_matrices_are_errors() -> None:
    for f in (several, tracejit.grad(loss)):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            tracejit.jit(f)(np.ones((3, 3)), np.ones(3))
