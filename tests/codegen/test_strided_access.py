"""Elements in even steps: native code against the reference, and what it does not touch."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.native_kernels import (
    TARGETS,
    M,
    N,
    P,
    Q,
    call,
    compiled,
    every_target,
    kernel,
    load,
    output,
    run_both,
    same_bits,
    values,
)
from tracejit.codegen.kernel.function import emit_kernel
from tracejit.codegen.llvm.text import Module
from tracejit.codegen.lowering.collapse import collapse
from tracejit.ir.dims import Dim
from tracejit.ir.kernel import For, IndexValue, Kernel, Param, Reduce, Store, Target, Var

STEPS: dict[str, Dim] = {"known": 7 * P + 1, "of the run": M * P + 1, "down": 7 * (N - 1 - P)}


def total(index: Dim, dtype: str, lanes: int) -> Kernel:
    """out[0] = the sum of a[index] * b[i]."""
    product = call(
        "multiply", load("a", index, dtype=dtype), load("b", P, dtype=dtype), dtype=dtype
    )
    reduce = Reduce("i", N, (), (Target("r", "sum", dtype, product),), lanes, 512, True)
    params = Param("a", dtype, (7 * N + 2,)), Param("b", dtype, (N,)), output(dtype, 1)
    return kernel(params, reduce, Store("out", (0,), Var("r", dtype)))


@pytest.mark.sampled(24, kind=lambda step, **_: step)
@every_target
@pytest.mark.parametrize("dtype", ["f64", "f32", "i32", "i16"])
@pytest.mark.parametrize("step", STEPS)
def test_sums_of_products_with_what_lies_apart(step: str, dtype: str, target: str) -> None:
    for lanes in (8, 64):
        k = total(STEPS[step], dtype, lanes)
        for n in (0, 1, 7, 8, 9, 60, 64, 65, 130, 520):
            a, b = values(dtype, 7 * n + 2), values(dtype, n, 1)
            # Steps of 2 have a form of their own.
            for m in (7, 2):
                run_both(k, target, {"a": a, "b": b, "out": np.ones(1, a.dtype)}, {"n": n, "m": m})


@pytest.mark.sampled(8)
@every_target
@pytest.mark.parametrize("dtype", ["f64", "f32", "i64", "i8"])
@pytest.mark.parametrize("step", STEPS)
def test_updates_of_what_lies_apart(step: str, dtype: str, target: str) -> None:
    """What is in between is left alone."""
    index = STEPS[step]
    old = load("out", index, dtype=dtype)
    more = call("add", old, load("b", P, dtype=dtype), dtype=dtype)
    body = (Store("out", (index,), call("multiply", more, more, dtype=dtype)),)
    k = kernel([Param("b", dtype, (N,)), output(dtype, 7 * N + 2)], For("i", N, body, True))
    for n in (0, 1, 6, 16, 33, 70):
        a, b = values(dtype, 7 * n + 2), values(dtype, n, 1)
        out = run_both(k, target, {"b": b, "out": a}, {"n": n, "m": 7})["out"]
        want, first = a.copy(), 0 if step == "down" else 1
        part = want[first : first + 7 * n : 7][:: -1 if step == "down" else 1]
        part[:] = (part + b) * (part + b)
        assert same_bits(out, want)


class Guarded:
    """Memory that ends at a page that nobody may read."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        libc = ctypes.CDLL(None, use_errno=True)
        second = ctypes.c_void_p(start + mmap.PAGESIZE)
        assert libc.mprotect(second, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0

    def ending(self, x: Any) -> Any:
        """A copy of an array that ends there."""
        at = mmap.PAGESIZE - x.nbytes
        out = np.frombuffer(self.memory, x.dtype, x.size, at)
        out[:] = x
        return out


@every_target
@pytest.mark.parametrize("lanes", [8, 64])
def test_nothing_is_read_behind_the_last_element(lanes: int, target: str) -> None:
    guarded = Guarded()
    for n in (1, 3, 8, 13, 21, 67):
        a = values("f64", 7 * n + 2)[: 7 * n - 5]
        for dims in (STEPS["known"], STEPS["of the run"]):
            k = compiled(total(dims, "f64", lanes), target)
            b, expected, found = values("f64", n, 1), np.zeros(1), np.zeros(1)
            assert k({"a": a, "b": b, "out": expected}, {"n": n, "m": 7}) == 0
            assert k({"a": guarded.ending(a), "b": b, "out": found}, {"n": n, "m": 7}) == 0
            assert same_bits(found, expected)


def test_what_lies_apart_is_loaded_one_by_one_on_x86() -> None:
    for target in ("512-masked", "256-masked", "256"):
        module = Module(TARGETS[target])
        emit_kernel(total(STEPS["known"], "f64", 64), module, TARGETS[target])
        assert ("masked.gather" in module.text()) == (not TARGETS[target].is_x86)


# Inner loops of one position -------------------------------------------------------------------


def nest(expr: Any) -> For:
    inner = For("j", 1, (Store("out", (3 * P + Q, 0), expr),), vector=True)
    return For("i", N, (inner,))


def test_a_loop_of_one_position_is_none() -> None:
    (loop,) = collapse([nest(load("a", P, Q))])
    assert loop == For("i", N, (Store("out", (3 * P, 0), load("a", P, 0)),), vector=True)


def test_a_loop_stays_whose_position_is_a_value() -> None:
    (loop,) = collapse([nest(IndexValue(P + Q))])
    assert isinstance(loop, For) and isinstance(loop.body[0], For)


def test_columns_are_updated_where_they_lie() -> None:
    @tracejit.jit
    def f(a: Any, x: Any) -> Any:
        for k in range(a.shape[1]):
            a[: k + 1, k] += x[: k + 1] * a[k, k]
            a[k:, k] = a[k:, k][::-1]
        return a

    for n in (1, 2, 9, 40):
        a, x = np.arange(n * n + 0.0).reshape(n, n), np.linspace(-1.0, 1.0, n)
        want = a.copy()
        for k in range(n):
            want[: k + 1, k] += x[: k + 1] * want[k, k]
            want[k:, k] = want[k:, k][::-1].copy()
        assert same_bits(f(a, x), want)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64"])
def test_rows_by_rows_are_multiplied_in_lanes(dtype: str) -> None:
    f = tracejit.jit(lambda x, y: x @ y.T, strict=True)
    random = np.random.default_rng(5)
    for m, n, k in ((20, 17, 100), (16, 33, 65), (3, 40, 600)):
        x, y = (
            random.integers(0, 2, (rows, k)).astype(bool)
            if dtype == "bool"
            else random.integers(-99, 99, (rows, k)).astype(dtype)
            for rows in (m, n)
        )
        for a, b in (
            (x, y),
            (x[::-1, ::-1], y[::-1]),
            (x[:, ::2], y[:, ::2]),
            (x, np.zeros_like(y)),
        ):
            got = f(a, b)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, a @ b.T)
    (reduction,) = (s for s in f.lower(x, y).text("kernel").splitlines() if "reduce(" in s)
    assert "lanes=64" in reduction and reduction.endswith("# vector")


@pytest.mark.parametrize("width", [8, 64])
def test_sums_over_rows_that_an_index_picks(width: int) -> None:
    f = tracejit.jit(lambda table, rows, y: ((table[rows] - y) ** 2).sum(), strict=True)
    random = np.random.default_rng(3)
    table = random.normal(size=(20, width))
    for count in (40, 64):
        rows, y = random.integers(0, 20, count), random.normal(size=(count, width))
        assert np.isclose(f(table, rows, y), ((table[rows] - y) ** 2).sum(), rtol=1e-13)
