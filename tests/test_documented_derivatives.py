"""The derivatives that the README's table gives at points where they jump or do not exist."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit

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
