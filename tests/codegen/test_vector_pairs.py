"""arctan2 and hypot in lanes: error bounds against mpmath, special values, symmetry, widths."""

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
from tracejit.ir.kernel import Call, For, Param, Store

HOSTS: dict[str, HostTarget] = {
    "fused": TARGETS["host"],
    "plain": replace(TARGETS["host"], has_fma=False),
}
every_host = pytest.mark.parametrize("host", HOSTS)
every_kind = pytest.mark.parametrize("kind", (np.float64, np.float32))
TRUTH: dict[str, Callable[..., Any]] = {"arctan2": mpmath.atan2, "hypot": mpmath.hypot}
every_function = pytest.mark.parametrize("fn", TRUTH)
#: ULP. Subnormal results of hypot are rounded twice.
BOUNDS = {"arctan2": 0.9, "hypot": 0.8}
COUNT = 3_000


def run(fn: str, host: str, *columns: Array) -> Array:
    """The function over two columns of one dtype."""
    dtype = {8: "f64", 4: "f32", 2: "f16"}[columns[0].itemsize]
    expr = Call(fn, (load("a", P, dtype=dtype), load("b", P, dtype=dtype)), dtype)
    params = [Param("a", dtype, (N,)), Param("b", dtype, (N,)), output(dtype)]
    k = kernel(params, For("i", N, (Store("out", (P,), expr),), True))
    out = np.zeros_like(columns[0])
    buffers = dict(zip("ab", columns, strict=True)) | {"out": out}
    assert NativeKernel(k, HOSTS[host])(buffers, {"n": out.size, "m": 0}) == 0
    return out


def hard_points(kind: Any, seed: int = 0) -> tuple[Array, Array]:
    """Pairs of all directions and magnitudes, dense beside the borders of the methods."""
    rng = np.random.default_rng(seed)
    info = np.finfo(kind)
    least, most = np.log2(float(info.smallest_subnormal)), float(info.maxexp)

    def signed(sizes: Array) -> Array:
        return np.asarray(rng.choice([-1.0, 1.0], sizes.size) * sizes)

    def magnitudes(low: float, high: float) -> Array:
        return signed(np.exp2(rng.uniform(low, high, COUNT)))

    middle, far, near_border = rng.uniform(-1, 1, COUNT), magnitudes(least, most), magnitudes(-3, 3)
    x = [middle, magnitudes(-10, 10), far, far, near_border, near_border]
    y = [rng.uniform(-1, 1, COUNT), magnitudes(-10, 10), magnitudes(least, most)]
    quotients = [np.exp2(rng.uniform(-8, 8, COUNT))]
    quotients += [rng.uniform(0.54, 0.56, COUNT), rng.uniform(0.99, 1.01, COUNT)]
    scale = 2.0**-20  # So that quotients of subnormal numbers are rounded once.
    with np.errstate(over="ignore"):
        y += [signed(q) * (b * scale) / scale for q, b in zip(quotients, x[3:], strict=True)]
        columns = np.concatenate(y).astype(kind), np.concatenate(x).astype(kind)
    return columns


def greatest_error(fn: str, columns: tuple[Array, Array], got: Array) -> float:
    """In units in the last place of the true values, rounded to the columns' dtype."""
    worst = 0.0
    kind = got.dtype.type
    with mpmath.workprec(160), np.errstate(over="ignore"):
        for a, b, value in zip(*columns, got, strict=True):
            if not np.isfinite(a) or not np.isfinite(b) or a == 0:
                continue  # mpmath has no signed zeros.
            truth = TRUTH[fn](mpmath.mpf(float(a)), mpmath.mpf(float(b)))
            rounded = kind(float(truth))
            if np.isinf(rounded) or np.isinf(value):
                worst = max(worst, 0.0 if rounded == value else np.inf)
                continue
            unit = mpmath.mpf(float(np.spacing(abs(rounded))))
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - truth) / unit))
    return worst


@pytest.mark.sampled(8)
@every_host
@every_kind
@every_function
def test_error_bound(fn: str, kind: Any, host: str) -> None:
    columns = hard_points(kind)
    assert greatest_error(fn, columns, run(fn, host, *columns)) <= BOUNDS[fn]


def test_the_bound_can_fail() -> None:
    """A result that is off by one unit is found."""
    columns = hard_points(np.float64)
    got = np.nextafter(run("arctan2", "fused", *columns), np.inf)
    assert greatest_error("arctan2", columns, got) > 0.9


def grid(kind: Any) -> list[Array]:
    """Zeros, infinities, NaN, the ends of the range and what is between, in all combinations."""
    limits = np.finfo(kind)
    sizes = [0, 1, 2.5, 3, 1e4, np.inf, limits.max, limits.tiny, limits.smallest_subnormal]
    values = np.array([*sizes, *(-s for s in sizes), 5 * limits.smallest_subnormal, np.nan], kind)
    return [np.array(c, kind) for c in zip(*itertools.product(values, repeat=2), strict=True)]


@every_host
@every_function
@pytest.mark.parametrize("kind", (np.float64, np.float32, np.float16))
def test_special_values_are_numpys(fn: str, kind: Any, host: str) -> None:
    """What is no zero, infinity or NaN within a unit."""
    columns = grid(kind)
    with np.errstate(all="ignore"):
        want = getattr(np, fn)(*columns)
    got = run(fn, host, *columns)
    special = ~np.isfinite(want) | (want == 0)
    assert same_bits(got[special], want[special])
    np.testing.assert_array_equal(np.signbit(got[~special]), np.signbit(want[~special]))
    # NumPy's own float32 functions are up to 3 units off.
    allowed = 1 if kind == np.float64 else 3
    np.testing.assert_array_max_ulp(got[~special], want[~special], allowed)


@every_host
@every_kind
@pytest.mark.parametrize("fn", (*TRUTH, "power"))
def test_special_values_need_no_others_beside_them(fn: str, kind: Any, host: str) -> None:
    """Rare cases are found in a vector that holds nothing but one of them, too."""
    columns = grid(kind)
    want = run(fn, host, *columns)
    assert same_bits(run(fn, host, *(np.repeat(c, 64) for c in columns)), np.repeat(want, 64))


@every_host
@every_kind
def test_right_triangles_have_whole_sides(kind: Any, host: str) -> None:
    triples = [(m * m - n * n, 2 * m * n, m * m + n * n) for m in range(2, 60) for n in range(1, m)]
    a, b, c = (np.array(column, kind) for column in zip(*triples, strict=True))
    for scale in (1.0, float(np.finfo(kind).tiny) * 8, float(np.finfo(kind).max) / 2**14):
        factor = kind(2.0 ** np.floor(np.log2(scale)))
        assert same_bits(run("hypot", host, a * factor, -b * factor), c * factor)


@every_host
@every_kind
def test_symmetry(kind: Any, host: str) -> None:
    y, x = hard_points(kind, seed=1)
    angle = run("arctan2", host, y, x)
    assert same_bits(run("arctan2", host, -y, x), -angle)
    size = run("hypot", host, x, y)
    assert same_bits(run("hypot", host, y, -x), size)


@every_host
@every_kind
@every_function
def test_lanes_are_independent(fn: str, kind: Any, host: str) -> None:
    """A lane's result is the same by itself, beside others and in the rest of a loop."""
    columns = hard_points(kind, seed=2)
    picked = np.random.default_rng(3).permutation(columns[0].size)[:67]
    want = run(fn, host, *columns)
    assert same_bits(run(fn, host, *(c[picked] for c in columns)), want[picked])
    for i in picked[:9]:
        assert same_bits(run(fn, host, *(c[i : i + 1] for c in columns)), want[i : i + 1])


LOG_SUMS: dict[str, Callable[..., Any]] = {
    "logaddexp": lambda a, b: mpmath.log(mpmath.exp(a) + mpmath.exp(b)),
    "logaddexp2": lambda a, b: mpmath.log(mpmath.mpf(2) ** a + mpmath.mpf(2) ** b, 2),
}


@every_host
@every_kind
@pytest.mark.parametrize("fn", LOG_SUMS)
def test_logarithms_of_sums(fn: str, kind: Any, host: str) -> None:
    """Within 1 ULP, and near zero within 1/16 of one of the larger argument."""
    rng = np.random.default_rng(5)
    scale = np.array([1e-3, 1.0, 3.0, 100.0]).repeat(500)
    a, b = (rng.standard_normal(scale.size) * scale for _ in range(2))
    columns = a.astype(kind), np.concatenate([b[:1500], a[1500:] + b[:500]]).astype(kind)
    got = run(fn, host, *columns)
    with mpmath.workprec(200):
        for x, y, value in zip(*columns, got, strict=True):
            truth = LOG_SUMS[fn](mpmath.mpf(float(x)), mpmath.mpf(float(y)))
            unit = np.spacing(abs(kind(float(truth))))
            unit = max(unit, np.spacing(max(abs(x), abs(y))) / 16)
            assert abs(mpmath.mpf(float(value)) - truth) <= mpmath.mpf(float(unit)), (x, y)


@every_host
@pytest.mark.parametrize("kind", (np.float64, np.float32, np.float16))
@pytest.mark.parametrize("fn", LOG_SUMS)
def test_logarithms_of_special_sums_are_numpys(fn: str, kind: Any, host: str) -> None:
    columns = grid(kind)
    got = run(fn, host, *columns)
    with np.errstate(all="ignore"):
        want = getattr(np, fn)(*columns)
        near = np.abs(got - want) <= 4 * np.spacing(np.abs(want))
    special = ~np.isfinite(want) | (want == 0)
    assert same_bits(got[special], want[special])
    assert near[~special].all()
