"""Long kernels shared by threads: the same bits, whoever computes what, and after `fork`."""

from __future__ import annotations

import concurrent.futures
import ctypes
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tracejit
from tracejit import config
from tracejit.codegen.support import blas
from tracejit.codegen.support.threads import pool_address
from tracejit.link import blas as routines

pytestmark = pytest.mark.skipif(pool_address() is None, reason="no pool of threads here")

F = Callable[..., Any]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = config.num_threads()
    yield
    config.set_num_threads(before)


def chain(x: Any) -> Any:
    return np.exp(x) * 2 + np.sin(x)


def halves(x: Any) -> Any:
    return (x[::2] * 3 - x[1::2]).astype(np.float32)


def complex_chain(x: Any) -> Any:
    return (x + 1j * x) * (x - 2j)


def rows(x: Any) -> Any:
    y = x.reshape(-1, 300)
    return (y - y.max(axis=1, keepdims=True)).sum(axis=1)


def short_rows(x: Any) -> Any:
    return np.exp(x.reshape(-1, 6)).sum(axis=1)


def columns(x: Any) -> Any:
    return np.tanh(x.reshape(30, -1)).sum(axis=0)


def softmax(x: Any) -> Any:
    """Blocks of rows, with numbers of each row in between."""
    y = x.reshape(-1, 300)
    e = np.exp(y - y.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def masked(x: Any) -> Any:
    """Blocks of rows, with matrices of a block that nothing else reads."""
    y = x.reshape(3, -1, 100)
    y = np.where(y > 0.1, y, -1e9)
    e = np.exp(y - y.max(axis=-1, keepdims=True))
    p = e / e.sum(axis=-1, keepdims=True)
    return p.max(axis=-1) + p.sum(axis=-1)


def loop(x: Any) -> Any:
    y = x.copy()
    for _ in range(3):
        y += np.cos(y)
    return y


def total(x: Any) -> Any:
    return np.sum(np.exp(x))


PROGRAMS = [chain, halves, complex_chain, rows, short_rows, columns, softmax, masked, loop, total]
X = np.random.default_rng(3).normal(size=480_600)
SPLIT = "call void @tj_parallel"


def llvm(f: F, *args: Any) -> str:
    return str(tracejit.jit(f).lower(*args).text("llvm"))


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_bits_do_not_depend_on_the_number_of_threads(f: F) -> None:
    compiled, found = tracejit.jit(f), []
    # The first call is compiled for its sizes, the others may be for any.
    for x in (X, X[:-300], X[:600], X):
        alone = None
        for n in (1, 2, 3, 8):
            config.set_num_threads(n)
            result = np.asarray(compiled(x)).tobytes()
            alone = alone or result
            assert result == alone
        found.append(alone)
    assert found[0] == found[-1]
    np.testing.assert_allclose(compiled(X), f(X), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("f", [chain, *(f for f in PROGRAMS if f is not chain)][:3])
def test_a_function_may_have_a_number_of_threads_of_its_own(f: F) -> None:
    config.set_num_threads(2)
    expected = tracejit.jit(f)(X)
    for n in (1, 3):
        own = tracejit.jit(f, num_threads=n)
        assert np.asarray(own(X)).tobytes() == np.asarray(expected).tobytes()
        word = own.lower(X).program.symbols.get("tj_threads")
        assert word is None or ctypes.c_int64.from_address(word).value == n
    config.set_num_threads(1)
    assert ctypes.c_int64.from_address(word or config.thread_word(3)).value == 3


def test_the_last_decorator_with_a_number_of_threads_counts() -> None:
    once = tracejit.jit(chain, num_threads=2)
    assert tracejit.jit(once) is once
    word = tracejit.jit(once, num_threads=3).lower(X).program.symbols["tj_threads"]
    assert ctypes.c_int64.from_address(word).value == 3
    with pytest.raises(ValueError, match="at least one thread"):
        tracejit.jit(chain, num_threads=0)


def test_only_long_kernels_are_shared() -> None:
    assert SPLIT in llvm(chain, X)
    assert SPLIT not in llvm(chain, X[:1000])
    assert SPLIT in llvm(softmax, X) and SPLIT in llvm(masked, X)


def test_kernels_that_may_fail_are_not_shared() -> None:
    def picked(x: Any, k: Any) -> Any:
        return np.exp(x[k])

    k = np.arange(X.size)
    compiled = tracejit.jit(picked)
    assert SPLIT not in llvm(picked, X, k)
    config.set_num_threads(2)
    k[-1] = X.size
    with pytest.raises(IndexError):
        compiled(X, k)


def test_calls_from_many_threads_at_once() -> None:
    config.set_num_threads(3)
    compiled, expected = tracejit.jit(chain), {}
    for n in range(8):
        expected[n] = compiled(X + n).tobytes()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for k, result in enumerate(pool.map(lambda k: compiled(X + k % 8), range(64))):
            assert result.tobytes() == expected[k % 8]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_after_fork() -> None:
    config.set_num_threads(2)
    compiled = tracejit.jit(chain)
    expected = compiled(X).tobytes()
    for _ in range(3):
        child = os.fork()
        if not child:
            same = all(compiled(X).tobytes() == expected for _ in range(5))
            os._exit(0 if same else 1)
        assert compiled(X).tobytes() == expected
        assert os.waitpid(child, 0)[1] == 0


def in_process(x: Any) -> bytes:
    return bytes(tracejit.jit(chain)(x).tobytes())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_in_multiprocessing() -> None:
    config.set_num_threads(2)
    expected = in_process(X)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(in_process, [X, X]) == [expected] * 2


def test_the_number_of_threads() -> None:
    config.set_num_threads(5)
    assert config.num_threads() == 5
    with pytest.raises(ValueError, match="at least one"):
        config.set_num_threads(0)
    code = "from tracejit import config; print(config.num_threads())"

    def printed(**more: str) -> subprocess.CompletedProcess[str]:
        env = {k: v for k, v in os.environ.items() if k != "TRACEJIT_NUM_THREADS"} | more
        return subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
        )

    assert printed(TRACEJIT_NUM_THREADS="3").stdout == "3\n"
    assert "positive number" in printed(TRACEJIT_NUM_THREADS="many").stderr
    assert 1 <= int(printed().stdout) <= len(os.sched_getaffinity(0))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_products_have_the_same_bits_for_any_number_of_threads(dtype):
    rng = np.random.default_rng(8)
    product = tracejit.jit(lambda a, b: a @ b)
    for m, k, n in ((600, 200, 90), (70, 200, 900), (1000, 40, 300), (520, 3000, 9)):
        a, b = (rng.standard_normal(s).astype(dtype) for s in ((m, k), (k, n)))
        for x, y in ((a, b), (np.asfortranarray(a), b), (a, np.asfortranarray(b))):
            found = []
            for threads in (1, 2, 3, 8):
                config.set_num_threads(threads)
                found.append(product(x, y))
            np.testing.assert_allclose(found[0], x @ y, rtol=2e-3 if dtype == "f4" else 1e-9)
            assert all(np.array_equal(found[0], other) for other in found)


def test_convolutions_have_the_same_bits_for_any_number_of_threads():
    def convolution(x, w):
        p = sliding_window_view(x, (3, 3), axis=(2, 3))
        return np.einsum("nchwij,ocij->nohw", p, w)

    def loss(x, w):
        return np.sum(convolution(x, w) ** 2)

    rng = np.random.default_rng(10)
    f, g = tracejit.jit(convolution), tracejit.jit(tracejit.grad(loss, argnums=(0, 1)))
    for shape, filters in (((2, 16, 40, 40), 32), ((1, 4, 30, 30), 600)):
        x, w = rng.standard_normal(shape), rng.standard_normal((filters, shape[1], 3, 3))
        found = []
        for threads in (1, 2, 3, 8):
            config.set_num_threads(threads)
            found.append((f(x, w), *g(x, w)))
        np.testing.assert_allclose(found[0][0], convolution(x, w), rtol=1e-9, atol=1e-9)
        for other in found[1:]:
            assert all(map(np.array_equal, found[0], other))


def test_blas_has_its_threads_back_after_a_call():
    multiarray, _ = routines._numpy_libraries()
    get = getattr(multiarray, "scipy_openblas_get_num_threads64_", None)
    if get is None:
        pytest.skip("NumPy has another BLAS")
    before, a = get(), np.random.default_rng(9).random((400, 400))
    tracejit.jit(lambda a: np.linalg.solve(a @ a, a[0]))(a)
    assert get() == before
    guard = ctypes.CFUNCTYPE(None)
    enter, leave = (guard(blas.guard_symbols()[f"tj_blas_{x}"]) for x in ("enter", "leave"))
    enter()
    enter()
    leave()
    assert get() == 1
    leave()
    assert get() == before
