"""Derivatives of calls through NumPy that equal formulas over ops, and their batches."""

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.test_host_derivatives import (  # noqa: F401 - a fixture
    F,
    check,
    numbers,
    same_numbers,
)

NARROW = {"f": np.float32, "c": np.complex64}


def check_all(f: F, *args: Any, batched: bool = True) -> None:
    """Second order in double precision, first order in single, and a batch against a loop."""
    check(f, *args)
    check(f, *(narrow(x) for x in args), order=1)
    if batched:
        check_batch(f, *args)


def narrow(x: Any) -> Any:
    """In single precision, if it is a float or complex number."""
    kind = np.asarray(x).dtype.kind
    return x.astype(NARROW[kind]) if kind in NARROW else x


def check_batch(f: F, *args: Any) -> None:
    """Values and gradients of two lanes are those of each alone."""

    def total(*args: Any) -> Any:
        leaves = f(*args)
        leaves = leaves if isinstance(leaves, (tuple, list)) else [leaves]
        out = 0.0
        for y in leaves:
            if y.dtype.kind in "fc":
                out = out + np.sum(np.sin(y.real) + y.imag**2)
        return out

    lanes = [[x, x * (x.dtype.type(1.25))] for x in map(np.asarray, args)]
    wrt = tuple(range(len(args)))
    slope = tracejit.value_and_grad(total, argnums=wrt)
    value, gradients = tracejit.vmap(slope)(*map(np.stack, lanes))
    for k in range(2):
        alone, expected = slope(*(x[k] if x[k].ndim else x[k][()] for x in lanes))
        np.testing.assert_allclose(value[k], alone, rtol=1e-10)
        for found, g in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(found[k], g, rtol=1e-8, atol=1e-10)


POLYNOMIALS: list[tuple[F, tuple[tuple[int, ...], ...], str]] = [
    (lambda x: np.vander(x), ((4,),), "fc"),
    (lambda x: np.vander(x, 3, increasing=True), ((4,),), "fc"),
    (lambda x: np.vander(x, 1), ((4,),), "f"),
    (lambda p, q: np.polyadd(p, q), ((3,), (5,)), "fc"),
    (lambda p, q: np.polysub(p, q), ((4,), (2,)), "fc"),
    (lambda p: np.sum(np.polyder(p, 2) ** 3), ((5,),), "fc"),
    (lambda p: np.sum(np.polyint(p) ** 3), ((4,),), "fc"),
    (lambda p, k: np.sum(np.polyint(p, 2, k) ** 3), ((4,), (2,)), "f"),
    (lambda p, q: np.sum(np.polymul(p, q) ** 3), ((4,), (3,)), "fc"),
    (lambda p, q: np.sum(np.polymul(p * [0, 1, 1, 1], q) ** 3), ((4,), (3,)), "f"),
    (lambda p, x: np.polyval(p, x), ((4,), (2, 3)), "fc"),
    (lambda a, b, x: np.polyval([a, b, 2 * a, 1.0], x), ((), (), (3,)), "f"),
    (lambda x: np.poly(x), ((4,),), "fc"),
    (lambda p: np.roots(p), ((4,),), "c"),
    (lambda p: np.sum(np.abs(np.roots(p * [0, 1, 1, 1, 0])) ** 2), ((5,),), "c"),
    (lambda x, y: np.polyfit(x, y, 2), ((6,), (6,)), "f"),
    (lambda x, y: np.polyfit(x, y, 1), ((6,), (6, 2)), "f"),
    (lambda x, y, w: np.polyfit(x, y, 1, w=w), ((6,), (6,), (6,)), "f"),
]


@pytest.mark.parametrize("k", range(len(POLYNOMIALS)))
def test_polynomials(k: int) -> None:
    f, shapes, kinds = POLYNOMIALS[k]
    for kind in kinds:
        dtype = {"f": np.float64, "c": np.complex128}[kind]
        check_all(f, *(numbers(*shape, dtype=dtype) for shape in shapes))


def test_real_polynomials_with_complex_roots() -> None:
    p = np.array([1.0, -2.0, 4.0, -3.0, 7.0])
    g = tracejit.grad(lambda p: np.sum(np.abs(np.roots(p)) ** 3))(p)
    for k in range(5):
        a, b = (np.sum(np.abs(np.roots(p + h * np.eye(5)[k])) ** 3) for h in (1e-5, -1e-5))
        np.testing.assert_allclose(g[k], (a - b) / 2e-5, rtol=1e-7)
