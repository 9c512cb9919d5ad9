"""Products, norms and linear algebra of NumPy on tracers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_parity, assert_same
from tests.support.tracing import check, wave

pytestmark = pytest.mark.sampled(9)

F = Callable[..., Any]


ORDER: list[F] = [
    lambda x, y: x @ y,
    lambda x, y: np.matmul(x, y),
    lambda x, y: x.T @ x,
    lambda x, y: x[0] @ y,
    lambda x, y: x @ y[:, 0],
    lambda x, y: x[0] @ y[:, 0],
    lambda x, y: np.dot(x, y),
    lambda x, y: x.dot(y[:, 0]),
    lambda x, y: np.dot(x[0], y[:, 0]),
    lambda x, y: np.dot(x, 2),
    lambda x, y: np.dot(x[0, 0], y[0, 0]),
    lambda x, y: np.dot(x, np.stack([y, y])),
    lambda x, y: np.dot(np.stack([x, x]), np.stack([y, y])),
    lambda x, y: np.stack([x, x]) @ y,
    lambda x, y: x @ np.stack([y, y]),
    lambda x, y: np.stack([x, x])[:, None] @ np.stack([y, y, y]),
    lambda x, y: np.stack([x, x]) @ y[:, 0],
    lambda x, y: np.inner(x, y.T),
    lambda x, y: np.inner(x, y[:, 0]),
    lambda x, y: np.inner(x, 3),
    lambda x, y: np.outer(x, y),
    lambda x, y: np.vdot(x, 2 * x),
    lambda x, y: np.tensordot(x, y, 1),
    lambda x, y: np.tensordot(x, y, 0),
    lambda x, y: np.tensordot(x, y.T, ((0, 1), (0, 1))) if x.shape == y.T.shape else x,
    lambda x, y: np.tensordot(x, y, (1, 0)),
    lambda x, y: np.tensordot(x, y, ((-1,), (-2,))),
    lambda x, y: np.kron(x, y),
    lambda x, y: np.kron(x[0], y),
    lambda x, y: np.trace(x),
    lambda x, y: np.trace(x, 1),
    lambda x, y: np.trace(np.stack([x, x]), 0, 1, 2),
    lambda x, y: np.vecdot(x, 2 * x),
    lambda x, y: np.cross(x[:, :3], y.T[:3, :3]) if x.shape[0] == 3 else x,
    lambda x, y: np.linalg.norm(x),
    lambda x, y: np.linalg.norm(x[0]),
    lambda x, y: np.linalg.norm(x, axis=1),
    lambda x, y: np.linalg.norm(x, axis=1, keepdims=True),
    *(lambda x, y, p=p: np.linalg.norm(x[0], p) for p in (0, 1, 2, 3, np.inf, -np.inf)),
    *(lambda x, y, p=p: np.linalg.norm(x, p) for p in ("fro", 1, -1, np.inf, -np.inf)),
    lambda x, y: np.linalg.norm(np.stack([x, 2 * x]), axis=(1, 2)),
    lambda x, y: np.einsum("ij,jk->ik", x, y),
    lambda x, y: np.einsum("ij,jk", x, y),
    lambda x, y: np.einsum("ij,jk->ki", x, y),
    lambda x, y: np.einsum("ij->ji", x),
    lambda x, y: np.einsum("ij->", x),
    lambda x, y: np.einsum("ij->i", x),
    lambda x, y: np.einsum("ji", x),
    lambda x, y: np.einsum("ij,ij->ij", x, y.T) if x.shape == y.T.shape else x,
    lambda x, y: np.einsum("ij,kj->ik", x, x),
    lambda x, y: np.einsum("ij,kl->ijkl", x, y),
    lambda x, y: np.einsum("i,j", x[0], y[0]),
    lambda x, y: np.einsum("i,i", x[0], y[:, 0]),
    lambda x, y: np.einsum("ij,jk,k->i", x, y, y[0]),
    lambda x, y: np.einsum("bij,bjk->bik", np.stack([x, x]), np.stack([y, y])),
    lambda x, y: np.einsum("bij,jk->bik", np.stack([x, x]), y),
    lambda x, y: np.einsum("...ij,...jk->...ik", np.stack([x, x]), y),
    lambda x, y: np.einsum("...j,j...->...", x, y[:, :1]),
    lambda x, y: np.einsum("ii->i", x @ x.T),
    lambda x, y: np.einsum("ii", x @ x.T),
    lambda x, y: np.einsum("iij->j", np.stack([x[:2], x[:2]])),
    lambda x, y: np.einsum("ij,j->i", x, y[:1, 0]),
    lambda x, y: np.einsum("ij,jk->", x, y, optimize=True),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("k", range(len(ORDER)))
def test_products(k: int) -> None:
    for dtype in ("f8", "f4", "c16", "i4"):
        a, b = wave(3, 4, dtype=dtype), wave(4, 3, dtype=dtype)
        c, d = wave(5, 6, dtype=dtype), wave(6, 4, dtype=dtype)
        check(ORDER[k], (a, b), (c, d), parity="order", ulp=64)


@pytest.mark.parametrize(
    "shapes", [((2, 3, 3), (2, 3, 3)), ((2, 3, 1), (2, 1, 3)), ((2, 4), (2, 4))]
)
def test_sums_of_products_begin_with_zero(shapes: tuple[tuple[int, ...], ...]) -> None:
    multiply = np.vecdot if len(shapes[0]) == 2 else np.matmul
    for dtype in ("f4", "f8"):
        a, b = np.full(shapes[0], -0.0, dtype), np.ones(shapes[1], dtype)
        want, got = multiply(a, b), tracejit.jit(lambda a, b: multiply(a, b))(a, b)
        assert np.array_equal(np.signbit(want), np.signbit(got))


def test_products_of_other_dtypes() -> None:
    for a, b in (("?", "?"), ("u1", "i2"), ("f4", "f8"), ("i4", "f4"), ("f2", "f2"), ("c8", "f8")):
        x, y = wave(3, 4, dtype=a), wave(4, 3, dtype=b)
        check(lambda x, y: x @ y, (x, y), parity="order", ulp=64)
        check(lambda x, y: np.dot(x, y), (x, y), parity="order", ulp=64)


def _regular(n: int, dtype: Any) -> np.ndarray:
    x = wave(n, n, dtype=dtype)
    return x @ x.conj().T + (10 * np.eye(n)).astype(dtype)


SOLVERS: list[F] = [
    lambda a, b: np.linalg.solve(a, b),
    lambda a, b: np.linalg.solve(a, b[:, 0]),
    lambda a, b: np.linalg.solve(np.stack([a, 2 * a]), b),
    lambda a, b: np.linalg.solve(a, np.stack([b, 2 * b])),
    lambda a, b: np.linalg.inv(a) @ b,
    lambda a, b: np.linalg.inv(np.stack([a, 2 * a])),
    lambda a, b: np.linalg.cholesky(a),
    lambda a, b: np.linalg.cholesky(a, upper=True),
]


@pytest.mark.parametrize("k", range(len(SOLVERS)))
def test_solvers(k: int) -> None:
    for dtype in ("f8", "f4", "c16", "c8", "i4"):
        first = (_regular(4, dtype), wave(4, 3, dtype=dtype))
        second = (_regular(6, dtype), wave(6, 2, dtype=dtype))
        check(SOLVERS[k], first, second, parity="order", ulp=200)


PRODUCTS = [
    *(((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((2, 3, 4), (4,))),
    *(((2, 3, 4), (4, 5)), ((4,), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 4), (4, 1))),
    *(((0, 4), (4, 2)), ((3, 0), (0, 2)), ((0,), (0,)), ((1, 4), (4, 3)), ((20, 30), (30, 40))),
]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64"])
def test_products_of_whole_numbers_and_truths(dtype: str) -> None:
    def computed(x: Any, y: Any) -> Any:
        return (x | x) @ (y | y)

    def plain(x: Any, y: Any) -> Any:
        return x @ y

    random = np.random.default_rng(3)
    native, of_computed = tracejit.jit(plain, strict=True), tracejit.jit(computed)
    for shapes in PRODUCTS:
        a, b = (random.integers(-9, 9, shape) for shape in shapes)
        x, y = (v > 4 if dtype == "bool" else v.astype(dtype) for v in (a, b))
        for order in "CF":
            x, y = np.array(x, order=order), np.array(y, order=order)
            for f in (native, of_computed):
                assert_same(x @ y, f(x, y))


@pytest.mark.parametrize("dtypes", [("bool", "int64"), ("uint8", "int16")])
def test_products_of_whole_numbers_of_two_widths(dtypes: tuple[str, str]) -> None:
    f = tracejit.jit(lambda x, y: x @ y, strict=True)
    random = np.random.default_rng(4)
    for m, k, n in ((5, 3, 4), (20, 70, 33), (3, 0, 2)):
        x = random.integers(0, 2 if dtypes[0] == "bool" else 99, (m, k)).astype(dtypes[0])
        y = random.integers(-99, 99, (k, n)).astype(dtypes[1])
        for a, b in ((x, y), (y.T, x.T), (x[::-1], np.asfortranarray(y))):
            assert_same(a @ b, f(a, b))


def test_vecdot_along_an_axis_and_complex_products() -> None:
    z = np.arange(12.0).reshape(3, 4) * (1 - 2j)
    for f in (
        *(lambda x, k=k: np.vecdot(x, x + 1, axis=k) for k in (0, 1, -2)),
        lambda x: np.vdot(x, x + 1),
        lambda x: np.linalg.vecdot(x, x[0]),
        lambda x: np.linalg.norm(x.T),
        lambda x: np.linalg.norm(x[:, ::2]),
    ):
        for x in (z, z.real.copy(), np.asfortranarray(z), z.real.astype(int), z.real > 5):
            if x.dtype != bool or "norm" not in f.__code__.co_names:
                assert_parity(f, x, parity="order", ulp=16)
