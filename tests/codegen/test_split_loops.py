"""Loops that divide their position become nests: the same results, and no division is left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.native_kernels import M, N, P, call, every_target, kernel, load, output, run_both
from tracejit.codegen.lowering.split import split
from tracejit.ir.dims import Dim, floordiv, prod
from tracejit.ir.kernel import For, Kernel, Param, Reduce, Stmt, Store, Target, Var
from tracejit.ir.types import DTYPES

pytestmark = pytest.mark.sampled(9)


def digits(*sizes: Dim) -> list[Dim]:
    """The position P as an index of axes of those sizes, as lowering writes it."""
    out: list[Dim] = []
    before: Dim = 0
    for k, size in enumerate(sizes):
        quotient = floordiv(P, prod(sizes[k + 1 :]))
        out.append(quotient - before * size)
        before = quotient
    return out


def copying(sizes: tuple[Dim, ...], strides: tuple[Dim, ...], dtype: str = "i32") -> Kernel:
    total = prod(sizes)
    offset: Dim = 0
    reach: Dim = 1
    for digit, size, stride in zip(digits(*sizes), sizes, strides, strict=True):
        offset, reach = offset + digit * stride, reach + (size - 1) * stride
    body = (Store("out", (P,), load("a", offset, dtype=dtype)),)
    params = Param("a", dtype, (reach,)), output(dtype, total)
    return kernel(params, For("i", total, body, True))


def depth(s: Stmt) -> int:
    if not isinstance(s, (For, Reduce)):
        return 0
    return 1 + max(map(depth, s.body), default=0)


@every_target
def test_copies_of_what_lies_apart(target: str) -> None:
    for sizes, strides, loops in (
        ((5, 20), (50, 2), 2),
        ((3, 4, 32), (300, 70, 2), 3),
        ((N, 24), (100, 3), 2),
        ((M, N), (200, 3), 2),
        ((6, 3), (50, 2), 1),
    ):
        k = copying(sizes, strides)
        (nest,) = split(k.body)
        assert depth(nest) == loops
        assert ("floordiv" in str(nest)) == (loops == 1)
        given = {"n": 40, "m": 3}
        size = [d if isinstance(d, int) else given[str(d)] for d in sizes]
        reach = 1 + sum((n - 1) * int(str(s)) for n, s in zip(size, strides, strict=True))
        a = np.random.default_rng(1).integers(-9, 9, reach, np.int32)
        steps = [4 * int(str(s)) for s in strides]
        want = np.lib.stride_tricks.as_strided(a, size, steps).reshape(-1)
        for form in (k, replace(k, body=(nest,))):
            out = run_both(form, target, {"a": a, "out": np.zeros_like(want)}, given)["out"]
            assert np.array_equal(out, want)


@pytest.mark.sampled(4)
@every_target
@pytest.mark.parametrize("combine", ["max", "sum", "any"])
def test_reductions_of_what_lies_apart(combine: str, target: str) -> None:
    dtype = "b1" if combine == "any" else "i32"
    row, column = digits(N, 24)
    term = load("a", row * 60 + column * 2, dtype=dtype)
    if combine != "any":
        term = call("add", term, term, dtype=dtype)
    reduce = Reduce("i", N * 24, (), (Target("r", combine, dtype, term),), vector=True)
    k = kernel(
        (Param("a", dtype, (60 * N,)), output(dtype, 1)),
        reduce,
        Store("out", (0,), Var("r", dtype)),
    )
    rows = split(k.body)
    assert depth(rows[0]) == 2 and "floordiv" not in str(rows)
    for n in (1, 2, 7, 40):
        a = np.random.default_rng(n).integers(-9, 9, 60 * n).astype(np.int32)
        a = a > 9 if combine == "any" else a
        for spot in (0, 60 * n - 14, None):
            if combine == "any":
                a[:] = False
                if spot is not None:
                    a[spot] = True
            lying = a.reshape(n, 60)[:, :48:2]
            want = getattr(lying, combine)() * (1 if combine == "any" else 2)
            for body in (k.body, tuple(rows)):
                out = np.zeros(1, a.dtype)
                form = replace(k, body=body)
                assert run_both(form, target, {"a": a, "out": out}, {"n": n, "m": 0})["out"] == want


def test_sums_of_floats_keep_their_order() -> None:
    row, column = digits(N, 24)
    target = Target("r", "sum", "f64", load("a", row * 60 + column * 2))
    reduce = Reduce("i", N * 24, (), (target,), vector=True)
    assert split([reduce]) == [reduce]


def test_strided_matrices_flattened() -> None:
    wide = np.random.default_rng(3).integers(0, 99, (40, 100, 34))
    for x in (wide[:, :, ::2], wide[::2, ::3], np.asfortranarray(wide[0]), wide.transpose(2, 0, 1)):
        for f in (np.max, np.ravel, np.sum, lambda v: np.tile(v, 2), lambda v: np.any(v > 98)):
            found, want = tracejit.jit(lambda v, f=f: f(v))(x), f(x)
            assert np.array_equal(found, want)


@pytest.mark.sampled(48)
@every_target
@pytest.mark.parametrize("row", [24, 32, 20, 64])
@pytest.mark.parametrize(
    "combine, dtype", [("sum", "f64"), ("sum", "f32"), ("argmax", "f64"), ("argmax", "u8")]
)
def test_positions_in_rows_that_lanes_divide(
    combine: str, dtype: str, row: int, target: str
) -> None:
    """Of known steps and those of the run, neighbours and backwards; the last row ends early."""
    result = dtype if combine == "sum" else "i64"
    down, along = digits(N, row)
    for step in (1, 2, M, -1):
        first = row if step == -1 else 0
        offset = down * (5 * row) + along * step + first
        term = Target("r", combine, result, load("a", offset, dtype=dtype))
        size = N * row - 3
        reduce = Reduce("i", size, (), (term,), vector=True)
        params = Param("a", dtype, (5 * row * N,)), output(result, 1)
        k = kernel(params, reduce, Store("out", (0,), Var("r", result)))
        for n in (1, 2, 5, 40):
            a = np.random.default_rng(n).integers(0, 99, 5 * row * n).astype(DTYPES[dtype])
            lying = a.reshape(n, -1)[:, first :: 3 if step == M else step][:, :row]
            terms = lying.reshape(-1)[: n * row - 3]
            out = np.zeros(1, DTYPES[result])
            found = run_both(k, target, {"a": a, "out": out}, {"n": n, "m": 3})["out"][0]
            assert found == getattr(np, combine)(terms)


def first_of_all(x: Any) -> Any:
    return np.argmax(x), np.argmin(x)


@pytest.mark.parametrize("dtype", (np.uint8, np.bool_, np.float32, np.float64))
def test_positions_of_extremes_by_rows(dtype: Any) -> None:
    f = tracejit.jit(first_of_all)
    rng = np.random.default_rng(3)
    for k in range(40):
        whole = np.full((20, 60), k % 3 == 0, dtype)
        for _ in range(k % 4):
            number = rng.choice([0, 1, 1 if whole.dtype.kind != "f" else np.nan])
            whole[rng.integers(20), rng.integers(60)] = number
        for x in (whole[:, ::2], whole.T, whole.reshape(4, 5, 60).transpose(0, 2, 1)):
            assert f(x) == first_of_all(x)
    assert "//" not in f.lower(whole[:, ::2]).text("kernel")


@every_target
def test_loops_that_begin_and_end_inside_of_rows(target: str) -> None:
    """No quotient is left, wherever a loop over the elements of an array begins and ends."""
    x = np.random.default_rng(1).integers(-9, 9, 10_000, np.int32)
    for sizes, strides in (((7, 20), (2, 100)), ((4, 3, 32), (2, 70, 300))):
        total = int(np.prod(sizes))
        want = np.lib.stride_tricks.as_strided(x, sizes, [4 * s for s in strides]).reshape(-1)
        row = sizes[-1]
        for first in (0, 1, row - 1, row, 2 * row + 5):
            for size in (1, row - 2, row, row + 3, total - first):
                place: Dim = 0
                before: Dim = 0
                for k, stride in enumerate(strides):
                    quotient = floordiv(P + first, int(np.prod(sizes[k + 1 :])))
                    place, before = place + (quotient - before * sizes[k]) * stride, quotient
                body = (Store("out", (P,), load("a", place, dtype="i32")),)
                params = Param("a", "i32", (len(x),)), output("i32", size)
                k = kernel(params, For("i", size, body, True))
                cut = replace(k, body=tuple(split(k.body)))
                assert "floordiv" not in str(cut.body)
                for form in (k, cut):
                    arrays = {"a": x, "out": np.zeros(size, np.int32)}
                    out = run_both(form, target, arrays, {"n": 0, "m": 0})["out"]
                    assert np.array_equal(out, want[first : first + size])
