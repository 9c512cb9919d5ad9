"""Logarithms and powers in lanes: error bounds against mpmath, exact results, special values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import mpmath
import numpy as np
import pytest

from tests.support.native_kernels import (
    TARGETS,
    Array,
    N,
    NativeKernel,
    P,
    kernel,
    load,
    output,
    same_bits,
)
from tracejit.codegen.llvm.engine import HostTarget
from tracejit.codegen.vector_math.define import ARITY
from tracejit.ir.kernel import Call, For, Param, Store

FEATURES = TARGETS["host"].features
NO_AVX512 = frozenset(f for f in FEATURES if not f.startswith("avx512"))
HOSTS: dict[str, HostTarget] = {
    "fused": TARGETS["host"],
    "plain": replace(TARGETS["host"], has_fma=False),
    "no avx512": replace(TARGETS["host"], features=NO_AVX512),
}
every_host = pytest.mark.parametrize("host", ["fused", "plain"])
COUNT = 2_000

TRUTH: dict[str, Callable[..., Any]] = {
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "log10": lambda x: mpmath.log(x) / mpmath.log(10),
    "log1p": mpmath.log1p,
    "log2": lambda x: mpmath.log(x) / mpmath.log(2),
    "power": mpmath.power,
}


def run(fn: str, host: str, *columns: Array) -> Array:
    """The function over columns of one dtype."""
    dtype = {8: "f64", 4: "f32", 2: "f16"}[columns[0].itemsize]
    names = "ab"[: len(columns)]
    expr = Call(fn, tuple(load(name, P, dtype=dtype) for name in names), dtype)
    params = [*(Param(name, dtype, (N,)) for name in names), output(dtype)]
    k = kernel(params, For("i", N, (Store("out", (P,), expr),), True))
    out = np.zeros_like(columns[0])
    buffers = dict(zip(names, columns, strict=True)) | {"out": out}
    assert NativeKernel(k, HOSTS[host])(buffers, {"n": out.size, "m": 0}) == 0
    return out


def spread(low: float, high: float, seed: int = 0) -> Array:
    """Positive numbers of all magnitudes between two powers of 2."""
    return 2.0 ** np.random.default_rng(seed).uniform(low, high, COUNT)


def beside_one() -> Array:
    """Numbers at all distances from 1."""
    rng = np.random.default_rng(1)
    return 1 + rng.standard_normal(COUNT) * 2.0 ** rng.uniform(-52, -3, COUNT)


def hard_points(fn: str) -> list[tuple[Array, ...]]:
    """Arguments over the whole domain, and dense where the function is hard to compute."""
    rng = np.random.default_rng(2)
    if fn in ("log2", "log10"):
        return [(spread(-1074, 1023),), (beside_one(),)]
    if fn == "log1p":
        near_zero = rng.standard_normal(COUNT) * spread(-60, 0)
        return [
            (spread(-1000, 1024),),
            (near_zero[near_zero > -1],),
            (spread(-52, -1) - 1,),
        ]
    if fn == "exp2":
        return [(rng.uniform(-1080, 1024, COUNT),), (rng.standard_normal(COUNT),)]
    close = beside_one()
    return [
        (spread(-20, 20), rng.uniform(-50, 50, COUNT)),
        (spread(-1074, 1000), rng.uniform(-0.99, 0.99, COUNT)),
        # Results of all magnitudes from a logarithm close to 0.
        (close, rng.uniform(-700, 700, COUNT) / np.log(np.where(close == 1, 2, close))),
    ]


def greatest_error(fn: str, columns: tuple[Array, ...], got: Array) -> float:
    """In units in the last place of the true values."""
    worst = 0.0
    with mpmath.workprec(160):
        for *arguments, y in zip(*columns, got, strict=True):
            truth = TRUTH[fn](*(mpmath.mpf(float(a)) for a in arguments))
            unit = np.spacing(abs(np.float64(truth)))
            worst = max(worst, float(abs(mpmath.mpf(float(y)) - truth) / mpmath.mpf(float(unit))))
    return worst


@pytest.mark.sampled(10)
@every_host
@pytest.mark.parametrize("fn", TRUTH)
def test_error_bound(fn: str, host: str) -> None:
    bound = {"log1p": 0.6, "log2": 0.9, "log10": 0.8}.get(fn, 0.7)
    for columns in hard_points(fn):
        assert greatest_error(fn, columns, run(fn, host, *columns)) <= bound


def single_powers() -> tuple[Array, Array]:
    """float32 bases of all magnitudes, near 1 and between the tables' intervals; all results."""
    rng = np.random.default_rng(4)
    near = 1 + rng.standard_normal(20_000) * 2.0 ** rng.uniform(-23, -2, 20_000)
    borders = (1 + rng.integers(0, 33, 20_000) / 32) * 2.0 ** rng.integers(-3, 3, 20_000)
    beside = np.nextafter(borders.astype(np.float32), rng.choice([0, 9], 20_000).astype("f4"))
    x = np.concatenate([2.0 ** rng.uniform(-149, 128, 20_000), abs(near), beside])
    x = x.astype(np.float32)
    x = x[(x > 0) & (x != 1)]
    y = rng.uniform(-151, 127.9, x.size) / np.log2(x.astype(np.float64))
    fits = abs(y) < np.finfo(np.float32).max
    return x[fits], y[fits].astype(np.float32)


@every_host
def test_error_bound_of_float32_power(host: str) -> None:
    x, y = single_powers()
    truth = x.astype(np.float64) ** y.astype(np.float64)
    error = abs(run("power", host, x, y) - truth) / np.spacing(truth.astype(np.float32))
    assert error.max() <= 0.8
    assert error[truth > np.finfo(np.float32).tiny].max() <= 0.6


@pytest.mark.skipif(NO_AVX512 == FEATURES, reason="the host has no AVX-512")
def test_float32_power_is_alike_without_avx512() -> None:
    x, y = single_powers()
    edges = np.array([0.0, np.inf, np.nan, 1.0, 1e-45, 1e-39, 3e38, 0.5, 3.0, 1e9], np.float32)
    edges = np.concatenate([edges, -edges])
    pairs = np.meshgrid(edges, edges)
    x, y = (np.concatenate([a, b.ravel()]) for a, b in zip((x, y), pairs, strict=True))
    got, want = run("power", "no avx512", x, y), run("power", "fused", x, y)
    np.testing.assert_array_equal(got, want)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(want)[number])


def test_the_bound_can_fail() -> None:
    """A result that is off by one unit is found."""
    (columns, *_) = hard_points("log2")
    got = np.nextafter(run("log2", "fused", *columns), np.inf)
    assert greatest_error("log2", columns, got) > 0.9


@every_host
def test_exact_where_the_result_is_representable(host: str) -> None:
    powers = np.arange(-1074.0, 1024.0)
    assert same_bits(run("log2", host, 2.0**powers), powers)
    assert same_bits(run("exp2", host, powers), 2.0**powers)
    tens = np.array([float(10**n) for n in range(23)])
    assert same_bits(run("log10", host, tens), np.arange(23.0))
    pairs = [(a, b) for a in range(-60, 61) for b in range(40) if abs(a) ** b < 2**53]
    bases, exponents = (np.array(c, np.float64) for c in zip(*pairs, strict=True))
    assert same_bits(
        run("power", host, bases, exponents), np.array([float(a**b) for a, b in pairs])
    )
    squares = np.arange(1.0, 3000.0) ** 2
    assert same_bits(run("power", host, squares, np.full_like(squares, 0.5)), np.sqrt(squares))


@every_host
@pytest.mark.parametrize("kind", (np.float64, np.float32, np.float16))
@pytest.mark.parametrize("fn", TRUTH)
def test_special_values_are_numpys(fn: str, kind: Any, host: str) -> None:
    """Infinities, NaN, zeros and their signs, odd, even and broken exponents, both ends."""
    limits = np.finfo(kind)
    sizes = [0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 1e4, np.inf, limits.max, limits.tiny]
    sizes += [limits.smallest_subnormal, 2.0 ** (limits.nmant + 1), 2.0 ** (limits.nmant + 1) - 1]
    values = np.array([*sizes, *(-s for s in sizes), np.nan], kind)
    grid = zip(*itertools.product(values, repeat=ARITY[fn]), strict=True)
    columns = [np.array(c, kind) for c in grid]
    with np.errstate(all="ignore"):
        want = getattr(np, fn)(*columns)
    got = run(fn, host, *columns)
    special = ~np.isfinite(want) | (want == 0) | (np.abs(want) == 1)
    assert same_bits(got[special], want[special])
    assert np.isfinite(got[~special]).all()
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(want[~special]))
    off = np.abs(got[~special].astype(np.float64) - want[~special]) / unit
    # NumPy's own float32 functions are up to 2 units off.
    assert off.max() <= (1 if kind == np.float64 else 3)
