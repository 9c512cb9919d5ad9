"""Sorts, masks and products read views where they lie, of stored and of computed arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.layouts import LAYOUTS

pytestmark = pytest.mark.sampled(9)


def around_stores(x: Any, m: Any) -> Any:
    rows, column = x[1:], x[:, 1]
    before = np.sort(rows), column[m[:, 1]]
    x[1] = 0
    x[:, 1] = 5
    x[0] = np.sort(x[0])
    return before, np.sort(rows), column[m[:, 1]], x


def in_a_loop(x: Any, m: Any) -> Any:
    total = 0.0
    for k in range(x.shape[0] - 1):
        x[k] = np.sort(x[k])[::-1]
        total += np.sort(x[k:, 0])[0] + x[k][m[k]].sum()
        x[k + 1, 0] = total
    return total, x


VIEWS: list[Callable[..., Any]] = [
    lambda x, m: (np.sort(x[1:, 2]), np.sort(x[:, 1:3], axis=0), np.sort(x[::2, ::3])),
    lambda x, m: (np.argsort(x[1:, ::2], axis=0), np.argsort(x[2:5], axis=1, stable=True)),
    lambda x, m: (np.sort(x[::-1]), np.sort(x[:, ::-1], axis=0), np.sort(x[5:5])),
    lambda x, m: (np.sort(x.T[1:]), np.sort(x[1:, 1:].T.reshape(-1)), np.sort((x * 2)[1:, 2])),
    lambda x, m: (np.sort(x.reshape(-1)[2:]), np.sort(x[:, 1:].reshape(-1))),
    lambda x, m: (x[1:][m[1:]], x[:, 1][m[:, 2]], ((x + 1)[1:])[m[:-1]]),
    lambda x, m: (x.ravel()[3:][m.ravel()[:-3]], x[0][::-1][m[1][::-1]]),
    lambda x, m: x[:, 1:].reshape(-1)[m[:, 1:].reshape(-1)],
    lambda x, m: (np.flatnonzero(m[::2]), np.flatnonzero(m[:, 1]), np.extract(m, x)),
    around_stores,
    in_a_loop,
]


@pytest.mark.parametrize("k", range(len(VIEWS)))
def test_views(k: int) -> None:
    random = np.random.default_rng(3)
    jitted = tracejit.jit(VIEWS[k])
    for shape in ((6, 7), (8, 5), (9, 9)):
        for lay in ("fortran", "strided", "reversed_rows", "transposed"):
            x = random.permutation(np.arange(float(shape[0] * shape[1]))).reshape(shape)
            mask = LAYOUTS[lay](random.random(shape) < 0.5)
            given, own = LAYOUTS[lay](x.copy()), LAYOUTS[lay](x.copy())
            assert_same(VIEWS[k](own, mask), jitted(given, mask))
            assert_same(own, given)
    assert not jitted.report().fallbacks and not jitted.report().bailouts


# Products over a batch ----------------------------------------------------------------------------


def product(w: Any, x: Any) -> Any:
    return x @ w


PRODUCTS: list[Callable[..., Any]] = [
    product,
    lambda w, x: x @ w[None],
    lambda w, x: np.einsum("ntk,km->ntm", x, w),
    lambda w, x: np.tensordot(x, w, 1),
    lambda w, x: tracejit.vmap(lambda rows: rows @ w)(x),
]


def loss_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda w, x: (f(w, x) ** 2).sum()


def by_weights(w: Any, x: Any) -> Any:
    return np.einsum("ntk,ntm->km", x, 2 * (x @ w))


@pytest.mark.parametrize("k", range(len(PRODUCTS)))
def test_the_gradient_by_weights_is_one_product_of_the_batch_as_it_lies(k: int) -> None:
    w, x = np.random.default_rng(4).random((50, 20)), np.random.default_rng(5).random((4, 3, 50))
    f = tracejit.grad(loss_of(PRODUCTS[k]))
    names = [n.op.name for n in tracejit.jit(f).lower(w, x).graphs["fuse"].nodes]
    assert (names.count("matmul"), names.count("fusion")) == (2, 1)
    np.testing.assert_allclose(f(w, x), by_weights(w, x))


def test_batches_that_lie_otherwise() -> None:
    jitted = tracejit.jit(tracejit.grad(loss_of(product)))
    whole, w = np.random.default_rng(6).random((9, 8, 7)), np.random.default_rng(7).random((5, 2))
    batches = [whole[:4, :3, :5], whole[1::2, 1:4, 2:], whole[4:0:-1, ::3, 1:6]]
    batches += [np.swapaxes(whole, 0, 2)[:, :, :5], np.broadcast_to(whole[:1, :3, :5], (4, 3, 5))]
    for x in batches:
        np.testing.assert_allclose(jitted(w, x), by_weights(w, x))
