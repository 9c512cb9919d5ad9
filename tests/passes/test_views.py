"""Views as operands of matrix products: read where they lie, copied where that would be wrong."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support import layouts
from tests.support.compare import assert_same
from tests.support.layouts import fortran, inner_block, reversed_rows, strided
from tests.support.native_flow import NativeGraph
from tracejit.ir.text.syntax import parse_graph

pytestmark = pytest.mark.usefixtures("never_eager")

RNG = np.random.default_rng(5)


def lowered(f: Callable[..., Any], *args: Any) -> str:
    return tracejit.jit(f).lower(*args).text("fuse")


def check(f: Callable[..., Any], *args: Any, layout: Callable[..., Any] = lambda a: a) -> Any:
    """Compare with NumPy, results and what is left in the arguments; the report's buffers."""
    laid = [layout(a) if isinstance(a, np.ndarray) else a for a in args]
    plain, other = copy.deepcopy(args), laid
    compiled = tracejit.jit(f)
    for _ in range(2):
        expected, actual = f(*plain), compiled(*other)
        for want, got in zip((expected, *plain), (actual, *other), strict=True):
            if want is None:
                assert got is None
            else:
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
                assert np.shape(got) == np.shape(want)
    return compiled.report().variants[0].buffers


def rows(n: int) -> np.ndarray:
    return RNG.random((n, n)) + np.eye(n)


LAYOUTS = [lambda a: a, fortran, strided, reversed_rows, inner_block, layouts.transposed]


def blocks(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    return a[1:, :-2] @ b[2:, 1:], a[:, 1:].T @ b[:, 2], a[0, 2:] @ b[2:], a[2:3, 1:] @ b[1:]


def steps(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    return a[::2, ::2] @ b[::2], a[::-1] @ b[:, ::-1], a @ b[::2, 0].repeat(2)[: a.shape[1]]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("f", [blocks, steps])
@pytest.mark.parametrize("n", [3, 4, 10])
def test_values(f: Callable[..., Any], layout: Callable[..., Any], n: int) -> None:
    a, b = rows(n), rows(n)
    compiled = tracejit.jit(f)
    for x, y in zip(f(a, b), compiled(layout(a), layout(b)), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-12)
        assert y.shape == x.shape


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128, np.int32])
def test_dtypes(dtype: Any) -> None:
    a = (RNG.random((6, 7)) * 9).astype(dtype)

    def f(a: np.ndarray) -> Any:
        return a[1:5, 2:] @ a[1:, :5].T, a[2, 1:] @ a[3, :-1], a[1:, 1] @ a[1:, 2:]

    for x, y in zip(f(a), tracejit.jit(f)(a), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-5)
        assert np.asarray(x).dtype == np.asarray(y).dtype


def growing(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    y = np.zeros(a.shape[0])
    for i in range(a.shape[0]):
        y[i] = (a[:i, 1:i] @ x[1:i]).sum() + (x[:i] @ a[:i, i:]).sum()
    return y


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_sizes_of_a_loop(layout: Callable[..., Any], n: int) -> None:
    check(growing, RNG.random((n, n)), RNG.random(n), layout=layout)


def test_no_copy_is_made() -> None:
    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a[1:, 2:] @ b[2:, 1:4]

    a = rows(30)
    assert "fusion" not in lowered(f, a, a)
    assert check(f, a, a).temporaries == ()


def solved(a: np.ndarray, x: np.ndarray, b: np.ndarray) -> None:
    for i in range(x.shape[0]):
        x[i] = (b[i] - a[i, :i] @ x[:i]) / a[i, i]


def test_a_dot_of_slices_is_a_sum() -> None:
    """No call, and no block that grows."""
    buffers = check(solved, rows(20), np.zeros(20), RNG.random(20))
    assert buffers.growing == ()
    assert "matmul" not in lowered(solved, rows(20), np.zeros(20), RNG.random(20))


def test_a_dot_of_gathered_elements_is_a_sum() -> None:
    def f(v: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
        return v @ x[at]

    at = RNG.integers(0, 50, 300)
    temporaries = check(f, RNG.random(300), RNG.random(50), at).temporaries
    assert [t.size for t in temporaries] == [8]
    text = lowered(f, RNG.random(300), RNG.random(50), at)
    assert "reduce_sum" in text and "matmul" not in text


def test_a_dot_of_arrays_is_a_call() -> None:
    x = RNG.random(3000)
    assert "matmul" in lowered(lambda x, y: x @ y, x, x)


def test_what_is_computed_is_stored_once() -> None:
    """Its transpose is another name, and BLAS sees one matrix times its own transpose."""

    def f(a: np.ndarray) -> np.ndarray:
        centred = a - a.mean(axis=0)
        return centred.T @ centred

    a = rows(30)
    buffers = check(f, a)
    assert [t.size for t in buffers.temporaries].count(a.nbytes) == 1


def test_a_reshape_that_no_strides_describe() -> None:
    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.reshape(a, (a.shape[0] * a.shape[1], 3)) @ b

    a, b = RNG.random((4, 5, 6)), RNG.random((3, 2))
    compiled = tracejit.jit(f)
    for given in (a[:, :, :3], a[:, :, ::2], a[::-1, :, 3:], np.asfortranarray(a[..., :3])):
        np.testing.assert_allclose(compiled(given, b), f(given, b), rtol=1e-12)


# In place ---------------------------------------------------------------------------------------


def read_before(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The block is read before the array is stored into, and used after that."""
    block = a[1:, 1:]
    a[0] = 7.0
    a[2, 2] = -3.0
    return block @ x[1:]


def read_old(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    old = a[1:, 1:] + 0.0
    product = a[1:, 1:] @ x[1:]
    a[1:, 1:] = 2.0
    return old @ x[1:] + product + a[1:, 1:] @ x[1:]


def stores_its_product(a: np.ndarray, x: np.ndarray) -> None:
    for i in range(1, a.shape[1]):
        a[:i, i] = a[:i, :i] @ x[:i]
        a[i:, 0] = a[i:, :i] @ a[:i, i]


def over_its_operand(a: np.ndarray, x: np.ndarray) -> None:
    for _ in range(3):
        a[:, :] = a[::-1].T[::-1] @ a / 9
        x[1:] = a[1:, 1:] @ x[1:]
        x[:-1] = x[1:] @ a[:-1, 1:]


def in_turns(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The array that is read changes places with the one that is written."""
    b = a * 0.5
    for i in range(4):
        c = b[:, : i + 1] @ a[: i + 1, :]
        a, b = c, a
        if i == 2:
            b[0, 0] = 5.0
    return a[1:] @ x + b[1:, 1:] @ x[1:]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize(
    "f", [read_before, read_old, stores_its_product, over_its_operand, in_turns]
)
def test_stores_around_a_product(f: Callable[..., Any], n: int, layout: Callable[..., Any]) -> None:
    if f is read_before and n == 2:
        n = 3
    check(f, rows(n), RNG.random(n), layout=layout)


def test_an_old_version_that_a_product_still_reads() -> None:
    """Built by hand: the update comes between the view and the product."""
    graph = parse_graph(
        """
        def f(n: size, a: f64[n, 4], x: f64[4], y: f64[4]):
            v0: f64[n, 4] = slice(a, start=(0, 0), size=(n, 4), step=(1, 1))
            v1: f64[1, 4] = reshape(y, shape=(1, 4))
            v2: f64[n, 4] = update_slice(a, v1, start=(0, 0), size=(1, 4), step=(1, 1))
            v3: f64[n] = matmul(v0, x)
            v4: f64[n] = matmul(v2, x)
            return v3, v4
        """.replace("\n        ", "\n").strip()
    )
    a, x, y = RNG.random((5, 4)), RNG.random(4), RNG.random(4)
    after = a.copy()
    after[0] = y
    got = NativeGraph(graph)([a, x, y])
    assert got is not None
    np.testing.assert_allclose(got[0], a @ x)
    np.testing.assert_allclose(got[1], after @ x)


# Stacks -----------------------------------------------------------------------------------------


def stacked(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    return a @ b, np.reshape(a, (*a.shape[:2], 1, a.shape[2])) @ b, a @ b[:, 0]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 4, 5), (3, 0, 5), (1, 1, 5), (2, 3, 0)])
def test_a_stack_times_one_matrix(layout: Callable[..., Any], shape: tuple[int, ...]) -> None:
    a, b = RNG.random(shape), RNG.random((shape[-1], 6))
    for x, y in zip(stacked(a, b), tracejit.jit(stacked)(layout(a), layout(b)), strict=True):
        np.testing.assert_allclose(y, x, rtol=1e-12)
        assert_same(np.asarray(y.shape), np.asarray(x.shape))


def test_a_stack_is_one_product_without_copies() -> None:
    def f(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.reshape(np.reshape(a, (3, 4, 1, 5)) @ b, (3, 4, 5))

    a, b = RNG.random((3, 4, 5)), RNG.random((5, 5))
    text = lowered(f, a, b)
    assert text.count("matmul") == 1 and "fusion" not in text
    assert check(f, a, b).temporaries == ()
