"""The derivatives at points where they jump or do not exist: the table of docs/gradients.md."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gradients.md"
INF, NAN = np.inf, np.nan
PAIR = np.array([2.0, 2.0])

#: (function, where, gradient, derivative along ones in forward mode)
CASES: list[tuple[Callable[..., Any], Any, Any, Any]] = [
    (lambda x: abs(x), 0.0, 0.0, 0.0),
    (lambda x: np.linalg.norm(x), np.zeros(3), np.zeros(3), 0.0),
    (lambda x: np.std(x), PAIR, np.zeros(2), 0.0),
    (lambda x: np.maximum(x, 2.0 * x), 0.0, 1.5, 1.5),
    (lambda x: np.minimum(x, 2.0 * x), 0.0, 1.5, 1.5),
    (lambda x: np.maximum(x[0], x[1]), PAIR, [0.5, 0.5], 1.0),
    (lambda x: np.max(x), PAIR, [0.5, 0.5], 1.0),
    (lambda x: np.min(x), PAIR, [0.5, 0.5], 1.0),
    (lambda x: np.sqrt(x), 0.0, INF, INF),
    (lambda x: x**2.5, 0.0, 0.0, 0.0),
    (lambda x: x**1.0, 0.0, 1.0, 1.0),
    (lambda x: x**0.5, 0.0, INF, INF),
    (lambda x: x**0.0, 0.0, 0.0, 0.0),
    (lambda p: np.float64(0.0) ** p, 1.5, 0.0, 0.0),
    (lambda x: np.sort(x)[0], PAIR, [1.0, 0.0], 1.0),
    (lambda x: np.median(x), np.array([1.0, 1.0, 1.0]), [0.0, 1.0, 0.0], 1.0),
    (lambda x: np.floor(x) + np.sign(x) + np.round(x), 0.0, 0.0, 0.0),
    (lambda x: np.where(x > 0, np.sqrt(x), x), 0.0, 1.0, 1.0),
    (lambda x: np.where(x > 0, np.log(x), 0.0), 0.0, 0.0, 0.0),
    (lambda x: np.sqrt(x) ** 2, 0.0, 0.0, NAN),
]


#: The beginning of each row of the table -> the cases that it says, in order.
ROWS = {
    "`abs(x)`": 3,
    "`maximum(a, b)`": 5,
    "`sqrt(x)` at 0": 1,
    "`x ** p` at 0": 5,
    "`sort`": 2,
    "`det`": 0,  # test_the_determinant_of_a_singular_matrix
    "`cholesky`": 0,  # test_functions_of_one_triangle
    "`floor`": 1,
    "the lane": 2,
    "a cotangent of exactly 0": 1,
    "complex z": 0,  # test_complex_numbers
}


def test_each_row_of_the_table_has_its_cases() -> None:
    table = PAGE.read_text(encoding="utf-8").partition("| at a point where")[2]
    rows = re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
    assert len(rows) == len(ROWS)
    for row, start in zip(rows, ROWS, strict=True):
        assert row.startswith(start)
    assert sum(ROWS.values()) == len(CASES)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", range(len(CASES)))
@pytest.mark.parametrize("eager", [False, True], ids=["compiled", "eager"])
def test_values(k: int, eager: bool) -> None:
    f, x, gradient, along = CASES[k]

    def check() -> None:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(tracejit.grad(f)(x), gradient)
            tangent = np.ones_like(x)[()]
            np.testing.assert_array_equal(tracejit.jvp(f, (x,), (tangent,))[1], along)

    if eager:
        with tracejit.eager():
            check()
    else:
        check()


def test_complex_numbers() -> None:
    """f(z) = real(z**2): du/dx - i du/dy."""
    z = 1.0 + 2.0j
    assert tracejit.grad(lambda z: (z * z).real)(z) == 2 * z


def test_the_determinant_of_a_singular_matrix() -> None:
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    np.testing.assert_allclose(tracejit.grad(np.linalg.det)(a), [[4.0, -2.0], [-2.0, 1.0]])


def test_functions_of_one_triangle() -> None:
    """The gradient is symmetric, though an upper triangle is never read."""
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    for f in (lambda a: np.linalg.cholesky(a)[1, 0], lambda a: np.linalg.eigh(a)[0][0]):
        g = tracejit.grad(f)(a)
        assert g[0, 1] == g[1, 0] != 0
